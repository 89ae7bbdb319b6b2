// Tabs: one leads, the others go through it. Locks and channels in memory; real browsers: see browser/.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { WebSocket } from "ws";
import { type Db, MemoryStore, type Tabs, open } from "../src/index.js";
import { Gateways, until } from "./gateway.js";

/** The part of a browser that tabs share, and each tab's own end of it. */
class Browser {
  readonly store = new MemoryStore();
  readonly #holders = new Map<string, number>();
  #waiting: { name: string; tab: number; run: () => void }[] = [];
  #channels: { tab: number; channel: { onmessage: ((event: { data: unknown }) => void) | null } }[] = [];
  #tabs = 0;
  readonly #dead = new Set<number>();
  readonly #frozen = new Set<number>();

  tab(): { tabs: Tabs; kill(): void; freeze(): () => void; store: MemoryStore } {
    const tab = ++this.#tabs;
    const locks = {
      request: (name: string, options: any, callback: any = options): Promise<unknown> => {
        if (this.#dead.has(tab)) return new Promise(() => undefined);
        if (options.ifAvailable && this.#holders.has(name)) return Promise.resolve(callback(null));
        return new Promise((resolve, reject) => {
          const run = () => {
            this.#holders.set(name, tab);
            Promise.resolve(callback({ name }))
              .then(resolve, reject)
              .finally(() => !this.#dead.has(tab) && this.#release(name));
          };
          if (this.#holders.has(name)) this.#waiting.push({ name, tab, run });
          else run();
        });
      },
    };
    const channel = () => {
      const end = {
        onmessage: null as ((event: { data: unknown }) => void) | null,
        postMessage: (message: unknown) => {
          if (this.#dead.has(tab)) return;
          const data = structuredClone(message);
          for (const other of this.#channels) {
            if (other.channel === end || this.#frozen.has(other.tab)) continue;
            queueMicrotask(() => !this.#dead.has(other.tab) && other.channel.onmessage?.({ data: structuredClone(data) }));
          }
        },
        close: () => {
          this.#channels = this.#channels.filter(({ channel }) => channel !== end);
        },
      };
      this.#channels.push({ tab, channel: end });
      return end;
    };
    const store = Object.create(this.store) as MemoryStore;
    store.load = () => this.store.load();
    store.apply = (step) => {
      if (this.#dead.has(tab)) throw new Error("killed");
      return this.store.apply(step);
    };
    let resumed = () => {};
    const onResume = (then: () => void) => void (resumed = then);
    // A frozen tab gets no message, and not later either; the result lets it go on.
    const freeze = () => {
      this.#frozen.add(tab);
      return () => {
        this.#frozen.delete(tab);
        resumed();
      };
    };
    return { tabs: { locks: locks as unknown as Tabs["locks"], channel, onResume }, store, freeze, kill: () => this.#kill(tab) };
  }

  #kill(tab: number): void {
    this.#dead.add(tab);
    this.#waiting = this.#waiting.filter((waiting) => waiting.tab !== tab);
    for (const [name, holder] of [...this.#holders]) if (holder === tab) this.#release(name);
  }

  #release(name: string): void {
    this.#holders.delete(name);
    const at = this.#waiting.findIndex((waiting) => waiting.name === name);
    if (at >= 0) this.#waiting.splice(at, 1)[0].run();
  }
}

async function setup(t: TestContext) {
  const g = await Gateways.start();
  t.after(() => g.stop());
  const browser = new Browser();
  const sockets: WebSocket[] = [];
  const tab = async () => {
    const { tabs, store, kill, freeze } = browser.tab();
    let dead = false;
    const own: WebSocket[] = [];
    class Socket extends WebSocket {
      constructor(url: string) {
        super(dead ? "ws://127.0.0.1:1" : url);
        own.push(this);
        sockets.push(this);
      }
    }
    const db = await open({ name: "n", endpoints: g.urls, WebSocket: Socket, store, tabs });
    t.after(() => (dead ? undefined : db.close()));
    const die = () => {
      dead = true;
      kill();
      for (const socket of own) socket.terminate();
      // Its timers would keep this process; nothing that it says gets out.
      void db.close();
    };
    return { db, die, freeze, sockets: own, store };
  };
  return { g, tab };
}

const settled = (db: Db) => until(() => db.status.phase === "live" && db.status.pending === 0, "settled");

test("a follower reads and commits through the leader, with one connection", async (t) => {
  const { g, tab } = await setup(t);
  const [one, two] = [await tab(), await tab()];
  assert.ok(one.db.leading && !two.db.leading);
  const likes = one.db.counter("c:likes");
  await two.db.load([likes]);
  const commit = two.db.tx((tx) => tx.add(likes, 1));
  assert.equal(commit.k, undefined);
  assert.equal(two.db.get(likes), 1, "visible at once");
  assert.equal(two.db.read(likes).pending, 1);
  assert.equal(await commit.durable, 1);
  assert.equal(two.db.get(likes), 1);
  await one.db.load([likes]);
  assert.equal(one.db.get(likes), 1);
  one.db.tx((tx) => tx.add(likes, 1));
  await until(() => two.db.get(likes) === 2, "the follower sees the leader's");
  await settled(two.db);
  assert.equal(two.db.read(likes).pending, 0);
  assert.equal(g.ops.length, 2);
  assert.equal(two.sockets.length, 0);
});

test("the leader closes: a follower takes over, with what was not confirmed", async (t) => {
  const { g, tab } = await setup(t);
  const [one, two, three] = [await tab(), await tab(), await tab()];
  const likes = one.db.counter("c:likes");
  for (const { db } of [one, two, three]) await db.load([likes]);
  two.db.tx((tx) => tx.add(likes, 1));
  three.db.tx((tx) => tx.add(likes, 1));
  await one.db.close();
  two.db.tx((tx) => tx.add(likes, 1));
  three.db.tx((tx) => tx.add(likes, 1));
  await until(() => two.db.leading, "takes over");
  await two.db.load([likes]);
  await settled(two.db);
  await until(() => two.db.get(likes) === 4 && three.db.get(likes) === 4, "all count, once");
  assert.equal(g.ops.length, 4);
});

test("the leader is killed at any moment: each transaction of the others counts once", async (t) => {
  const { g, tab } = await setup(t);
  let [leader, follower] = [await tab(), await tab()];
  const likes = leader.db.counter("c:likes");
  await follower.db.load([likes]);
  let total = 0;
  for (let round = 0; round < 8; round++) {
    const durable = Array.from({ length: 5 }, () => follower.db.tx((tx) => tx.add(likes, 1)).durable);
    total += 5;
    for (let i = 0; i < round; i++) await Promise.resolve();
    if (round % 2 === 1) await new Promise((resolve) => setTimeout(resolve, round * 3));
    leader.die();
    await until(() => follower.db.leading, "takes over");
    await Promise.all(durable);
    await follower.db.load([likes]);
    assert.equal(follower.db.get(likes), total, `round ${round}`);
    leader = follower;
    follower = await tab();
    await follower.db.load([likes]);
  }
  await settled(leader.db);
  assert.equal(leader.db.get(likes), total);
  assert.equal(g.ops.length, total);
});

test("a follower's subscribers see one moment", async (t) => {
  const { tab } = await setup(t);
  const [one, two] = [await tab(), await tab()];
  const [from, to] = [one.db.counter("c:from"), one.db.counter("c:to")];
  let calls = 0;
  two.db.subscribe([from, to], (view) => {
    calls++;
    assert.equal(view.get(from) + view.get(to), 0);
  });
  await one.db.load([from, to]);
  for (let i = 0; i < 30; i++) {
    (i % 2 ? one : two).db.tx((tx) => {
      tx.add(from, -1);
      tx.add(to, 1);
    });
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await until(() => two.db.read(to).value === 30, "all");
  await settled(two.db);
  assert.ok(calls > 5);
});

test("a tab does not see what another tab may still lose: so nothing follows from what never happened", async (t) => {
  const { g, tab } = await setup(t);
  const [one, two] = [await tab(), await tab()];
  const [cause, effect] = [one.db.register("r:cause"), one.db.register("r:effect")];
  for (const { db } of [one, two]) await db.load([cause, effect]);
  // The disk takes long, and then this tab dies.
  one.store.apply = () => new Promise(() => undefined) as never;
  one.db.tx((tx) => tx.set(cause, "yes"));
  assert.equal(one.db.get(cause), "yes");
  await new Promise((resolve) => setTimeout(resolve, 50));
  two.db.tx((tx) => tx.set(effect, tx.get(cause) === undefined ? "of nothing" : "of the cause"));
  one.die();
  await until(() => two.db.leading, "takes over");
  await two.db.load([cause, effect]);
  await settled(two.db);
  assert.deepEqual([two.db.get(cause), two.db.get(effect)], [undefined, "of nothing"]);
  assert.equal(g.ops.length, 1);
});

test("a tab sees what another tab has made durable, before it is sent", async (t) => {
  const { g, tab } = await setup(t);
  const [one, two] = [await tab(), await tab()];
  const cause = one.db.register("r:cause");
  for (const { db } of [one, two]) await db.load([cause]);
  await g.downAll();
  await until(() => one.db.status.phase === "offline", "offline");
  await one.db.tx((tx) => tx.set(cause, "yes")).durable;
  await until(() => two.db.get(cause) === "yes", "the other tab sees it");
  assert.equal(two.db.read(cause).pending, 1);
});

test("transactions that become durable at once show whole to other tabs", async (t) => {
  const { tab } = await setup(t);
  const [one, two] = [await tab(), await tab()];
  const [shared, a, b] = ["r:shared", "r:a", "r:b"].map((name) => one.db.register(name));
  for (const { db } of [one, two]) await db.load([shared, a, b]);
  await settled(one.db);
  const torn: string[] = [];
  two.db.subscribe([shared, a, b], (view) => {
    const [last, ...all] = [shared, a, b].map((register) => view.get(register));
    if (last === "second" && all.join() !== "first,second") torn.push(all.join());
  });
  // Both wait for the disk, and it takes them together.
  const { apply } = one.store;
  let begin = () => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  one.store.apply = ((step: Parameters<typeof apply>[0]) => begun.then(() => apply(step))) as never;
  one.db.tx((tx) => tx.set(shared, "zeroth"));
  for (const [register, value] of [[a, "first"], [b, "second"]] as const) {
    one.db.tx((tx) => {
      tx.set(shared, value);
      tx.set(register, value);
    });
  }
  begin();
  await until(() => two.db.get(b) === "second", "the other tab sees both");
  assert.deepEqual(torn, []);
});

test("tabs edit a list together: a follower pushes, also when it takes over", async (t) => {
  const { g, tab } = await setup(t);
  const [one, two] = [await tab(), await tab()];
  const list = one.db.list("l:list");
  for (const { db } of [one, two]) await db.load([list]);
  await one.db.tx((tx) => tx.push(list, "a")).durable;
  await until(() => two.db.get(list).length === 1, "the follower sees it");
  const commit = two.db.tx((tx) => {
    tx.push(list, "b");
    tx.insertAt(list, 1, "x");
    tx.setAt(list, 0, "a!");
  });
  assert.deepEqual(two.db.get(list), ["a!", "x", "b"], "visible at once");
  assert.deepEqual([...two.db.read(list).pendingIn], ["0", "1", "2"]);
  assert.equal(await commit.durable, 2);
  assert.deepEqual(one.db.get(list), ["a!", "x", "b"]);
  await g.downAll();
  await until(() => one.db.status.phase === "offline", "offline");
  await two.db.tx((tx) => tx.removeAt(list, 1)).durable;
  two.db.tx((tx) => tx.push(list, "c"));
  one.die();
  await until(() => two.db.leading, "takes over");
  await two.db.load([list]);
  two.db.tx((tx) => tx.push(list, "d"));
  assert.deepEqual(two.db.get(list), ["a!", "b", "c", "d"]);
  await g.upAll();
  await settled(two.db);
  assert.deepEqual([two.db.get(list), [...two.db.read(list).pendingIn]], [["a!", "b", "c", "d"], []]);
  assert.equal(g.world.txs.filter(({ refused }) => refused.size > 0).length, 0);
});

test("a leader that was frozen gets all that followers committed meanwhile, in order", async (t) => {
  const { g, tab } = await setup(t);
  const [one, two] = [await tab(), await tab()];
  const [likes, last] = [two.db.counter("c:likes"), two.db.register("r:last")];
  await two.db.load([likes, last]);
  const commit = (value: string) =>
    two.db.tx((tx) => {
      tx.add(likes, 1);
      tx.set(last, value);
    }).durable;
  const durable = [commit("a")];
  await durable[0];
  const resume = one.freeze();
  durable.push(commit("b"), commit("c"));
  const inspected = two.db.inspect();
  await settled(one.db);
  assert.equal(g.ops.length, 2, "none of those has arrived");
  resume();
  // It gets this one, and must not take it for all that come before.
  durable.push(commit("d"));
  await Promise.all(durable);
  await inspected;
  await settled(two.db);
  assert.deepEqual([two.db.get(likes), two.db.get(last)], [4, "d"]);
  assert.equal(g.ops.length, 8, "each counts once");
});

test("a follower that was frozen catches up as a whole, and learns what is durable", async (t) => {
  const { g, tab } = await setup(t);
  const [one, two] = [await tab(), await tab()];
  const pair = ["r:left", "r:right"].map((name) => two.db.register(name));
  for (const { db } of [one, two]) await db.load(pair);
  const write = (db: Db, value: string) => db.tx((tx) => pair.forEach((register) => tx.set(register, value))).durable;
  const seen: string[] = [];
  two.db.subscribe(pair, (view) => seen.push(pair.map((register) => view.get(register)).join()));
  const told = write(two.db, "a");
  const resume = two.freeze();
  await until(() => one.db.get(pair[0]) === "a", "the leader has it");
  await settled(one.db);
  await write(one.db, "b");
  await one.db.tx((tx) => tx.set(pair[0], "c")).durable;
  resume();
  // Told to all tabs: beside what this one missed, it would be a part of a transaction.
  await one.db.tx((tx) => tx.set(pair[1], "d")).durable;
  await until(() => pair.map((register) => two.db.get(register)).join() === "c,d", "it catches up");
  await told;
  assert.ok(!seen.some((values) => ["a,d", "c,a"].includes(values)), seen.join(" "));
  assert.equal(g.ops.length, 6);
});
