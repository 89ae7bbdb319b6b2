// The database against gateways over real WebSockets.

import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { WebSocket } from "ws";
import { type Db, MemoryStore, type Options, type Refusal, Unavailable, json, open } from "../src/index.js";
import { FileStore } from "../src/store/file.js";
import { Gateways, until } from "./gateway.js";

async function gateways(t: TestContext, regions = 3): Promise<Gateways> {
  const gateways = await Gateways.start(regions);
  t.after(() => gateways.stop());
  return gateways;
}

async function client(t: TestContext, gateways: Gateways, options: Partial<Options> = {}): Promise<Db> {
  const db = await open({ name: "test", endpoints: gateways.urls, k: 2, WebSocket, store: new MemoryStore(), ...options });
  t.after(() => db.close());
  return db;
}

const live = (db: Db) => until(() => db.status.phase === "live", "live");
const settled = (db: Db) => until(() => db.status.phase === "live" && db.status.pending === 0, "settled");

test("an application disconnects, connects, and goes to another region", async (t) => {
  const g = await gateways(t);
  const db = await client(t, g);
  const cart = db.map("m:cart");
  await db.load([cart]);
  db.disconnect();
  await until(() => db.status.phase === "offline", "offline");
  db.tx((tx) => {
    tx.put(cart, "apples", "3");
    tx.remove(cart, "pears");
  });
  assert.deepEqual([...db.read(cart).pendingIn], ["apples", "pears"]);
  db.prefer(2);
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(db.status.phase, "offline");
  db.connect();
  await settled(db);
  assert.equal(db.status.region, "region2");
  assert.deepEqual([...db.read(cart).pendingIn], []);
  db.prefer(1);
  await until(() => db.status.region === "region1" && db.status.phase === "live", "at region 1");
  await g.down(1);
  await until(() => db.status.region === "region2", "the next one");
  assert.throws(() => db.prefer(3), RangeError);
});

test("in an isolated region K is lowered if the application says so", async (t) => {
  const g = await gateways(t);
  const here = { endpoints: [g.urls[0]] };
  const [lowers, stays, one] = [await client(t, g, { ...here, lower: true }), await client(t, g, here), await client(t, g, { ...here, k: 1 })];
  const title = one.register("r:title");
  await Promise.all([lowers, stays, one].map((db) => db.load([title])));
  const say = (K: number) => g.world.regions[0].sessions.forEach((session) => session.send({ type: "shared", K }));
  g.linked.delete(0);
  say(1);
  await until(() => lowers.status.isolated && stays.status.isolated, "both know");
  one.tx((tx) => tx.set(title, "alone"));
  await until(() => lowers.get(title) === "alone", "K is 1");
  assert.equal(stays.get(title), undefined);
  assert.equal(one.status.isolated, false, "one region is all that it wants");
  g.linked.add(0);
  say(2);
  await until(() => stays.get(title) === "alone" && !stays.status.isolated && !lowers.status.isolated, "two regions share it");
});

test("two clients converge", async (t) => {
  const g = await gateways(t);
  const [a, b] = [await client(t, g), await client(t, g, { endpoints: [...g.urls].reverse() })];
  const [title, likes, cart, tags] = [a.register("r:title"), a.counter("c:likes"), a.map("m:cart", json<number>()), a.set("s:tags")];
  const all = [title, likes, cart, tags];
  await Promise.all([a.load(all), b.load(all)]);
  assert.equal(a.get(title), undefined);
  assert.equal(a.get(likes), 0);
  const { k, durable } = a.tx((tx) => {
    tx.set(title, "Grüße");
    tx.add(likes, 2);
    assert.equal(tx.get(likes), 2);
    tx.put(cart, "apples", 3);
    tx.insert(tags, "new");
  });
  assert.equal(k, 1);
  assert.equal(await durable, 1);
  assert.equal(a.get(title), "Grüße");
  assert.equal(a.read(title).pending, 1);
  b.tx((tx) => {
    tx.add(likes, 5);
    tx.put(cart, "pears", 1);
    tx.insert(tags, "sale");
  });
  await Promise.all([settled(a), settled(b)]);
  await until(() => a.get(likes) === 7 && b.get(likes) === 7 && b.get(title) === "Grüße", "both have all");
  assert.deepEqual(a.get(cart), new Map([["apples", 3], ["pears", 1]]));
  assert.deepEqual(a.get(cart), b.get(cart));
  assert.deepEqual(a.get(tags), new Set(["new", "sale"]));
  assert.equal(a.read(title).pending, 0);
  b.tx((tx) => {
    tx.remove(cart, "apples");
    tx.remove(tags, "new");
    tx.delete(title);
  });
  await until(() => a.get(title) === undefined && a.get(cart).size === 1 && a.get(tags).size === 1, "removals");
});

test("offline and back", async (t) => {
  const g = await gateways(t);
  const db = await client(t, g);
  const likes = db.counter("c:likes");
  await db.load([likes]);
  db.tx((tx) => tx.add(likes, 1));
  await settled(db);
  const phases: string[] = [];
  db.on("status", ({ phase }) => phases.push(phase));
  await g.downAll();
  await until(() => db.status.phase === "offline", "offline");
  for (let i = 0; i < 100; i++) db.tx((tx) => tx.add(likes, 1));
  assert.equal(db.get(likes), 101);
  assert.equal(db.status.unsent, 100);
  assert.equal(db.read(likes).pending, 100);
  assert.throws(() => db.get(db.register("r:other")), Unavailable);
  await g.upAll();
  await settled(db);
  assert.equal(db.get(likes), 101);
  assert.equal(g.ops.length, 101, "each once");
  assert.ok(phases.includes("offline") && phases.at(-1) === "live");
});

test("failover to another region, and each transaction counts once", async (t) => {
  const g = await gateways(t);
  const db = await client(t, g);
  const likes = db.counter("c:likes");
  await db.load([likes]);
  const regions = new Set<string | undefined>();
  db.on("status", ({ region }) => regions.add(region));
  let committed = 0;
  for (const m of [0, 1, 2]) {
    for (let i = 0; i < 20; i++, committed++) db.tx((tx) => tx.add(likes, 1));
    // Its transactions are acknowledged by region m alone, and it goes away.
    g.linked.delete(m);
    await until(() => db.status.unsent === 0 || db.status.phase === "offline", "acknowledged");
    await g.down(m);
    g.linked.add(m);
    await until(() => db.status.phase === "live", "elsewhere", () => JSON.stringify(db.status) + m);
    assert.ok(db.get(likes) === committed);
    await g.up(m);
  }
  await settled(db);
  assert.equal(db.get(likes), committed);
  assert.ok(regions.size >= 3, [...regions].join());
});

test("subscribers see one moment, at most once a base", async (t) => {
  const g = await gateways(t);
  const [a, b] = [await client(t, g), await client(t, g)];
  const [from, to] = [a.counter("c:from"), a.counter("c:to")];
  await a.load([from, to]);
  const bases: string[] = [];
  let calls = 0;
  const end = b.subscribe([from, to], (view) => {
    calls++;
    assert.equal(view.get(from) + view.get(to), 0, "money is neither made nor lost");
    assert.equal(view.read(from).pending, 0);
    bases.push(view.base.join());
  });
  for (let i = 0; i < 50; i++) {
    a.tx((tx) => {
      tx.add(from, -1);
      tx.add(to, 1);
    });
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
  await until(() => b.read(to).value === 50, "all there");
  assert.ok(calls >= 2);
  assert.equal(new Set(bases).size, bases.length, "once a base");
  end();
  a.tx((tx) => tx.add(to, 1));
  await settled(a);
  await new Promise((resolve) => setTimeout(resolve, 60));
  assert.equal(bases.length, calls);
});

test("refused operations are told once", async (t) => {
  const g = await gateways(t);
  const db = await client(t, g);
  const list = db.counter("o:list");
  const likes = db.counter("c:likes");
  await db.load([list, likes]);
  const refusals: Refusal[] = [];
  db.onRefused((refusal) => refusals.push(refusal));
  db.tx((tx) => {
    tx.add(likes, 1);
    tx.add(list, 1);
  });
  await until(() => refusals.length > 0, "refused");
  await g.down(0);
  await settled(db);
  assert.deepEqual(refusals.map(({ k, op, code }) => ({ k, op, code })), [{ k: 1, op: 1, code: "WRONGTYPE" }]);
  assert.equal(db.get(likes), 1);
});

test("a quota that is exceeded takes the transaction back", async (t) => {
  const g = await gateways(t);
  const store = new MemoryStore();
  let full = false;
  const apply = store.apply.bind(store);
  store.apply = (step) => {
    if (full && step.type === "rows") throw new DOMException("full", "QuotaExceededError");
    return apply(step);
  };
  const db = await client(t, g, { store });
  const name = db.register("r:name");
  await db.load([name]);
  db.tx((tx) => tx.set(name, "Ada"));
  full = true;
  const failures: unknown[] = [];
  db.on("failed", (error) => failures.push(error));
  await assert.rejects(db.tx((tx) => tx.set(name, "Bob")).durable, { name: "QuotaExceededError" });
  assert.equal(db.get(name), "Ada");
  assert.equal(failures.length, 1);
  full = false;
  assert.equal(await db.tx((tx) => tx.set(name, "Cleo")).durable, 2);
  await settled(db);
  assert.equal(db.get(name), "Cleo");
});

test("a transaction whose function throws did nothing", async (t) => {
  const g = await gateways(t);
  const db = await client(t, g);
  const likes = db.counter("c:likes");
  await db.load([likes]);
  assert.throws(() =>
    db.tx((tx) => {
      tx.add(likes, 1);
      throw new Error("no");
    }),
  );
  assert.equal(db.get(likes), 0);
  assert.equal(db.tx(() => undefined).k, undefined);
});

test("a restart from the file store loses nothing", async (t) => {
  const g = await gateways(t);
  const directory = mkdtempSync(join(tmpdir(), "edge-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, "log");
  let total = 0;
  for (let run = 0; run < 5; run++) {
    const db = await client(t, g, { store: new FileStore(path, { compactAbove: 2000 }) });
    const likes = db.counter("c:likes");
    await db.load([likes]);
    if (run % 2 === 1) {
      await g.downAll();
      await until(() => db.status.phase === "offline", "offline");
    }
    for (let i = 0; i < 10; i++, total++) db.tx((tx) => tx.add(likes, 1));
    assert.equal(db.get(likes), total);
    if (run % 2 === 0) await settled(db);
    await db.close();
    await g.upAll();
  }
  const db = await client(t, g, { store: new FileStore(path) });
  const likes = db.counter("c:likes");
  await db.load([likes]);
  await settled(db);
  assert.equal(db.get(likes), total);
});

test("a copied disk becomes another client, and is told", async (t) => {
  const g = await gateways(t);
  const directory = mkdtempSync(join(tmpdir(), "edge-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const [one, two] = [join(directory, "one"), join(directory, "two")];
  const a = await client(t, g, { store: new FileStore(one) });
  const likes = a.counter("c:likes");
  await a.load([likes]);
  a.tx((tx) => tx.add(likes, 1));
  await settled(a);
  copyFileSync(one, two);
  a.tx((tx) => tx.add(likes, 10));
  await settled(a);
  await a.close();

  const b = await client(t, g, { store: new FileStore(two), endpoints: ["ws://127.0.0.1:1/edge"] });
  b.tx((tx) => tx.add(likes, 100));
  await b.close();
  const refused: Refusal[] = [];
  const c = await client(t, g, { store: new FileStore(two) });
  c.onRefused((refusal) => refused.push(refusal));
  await c.load([likes]);
  c.tx((tx) => tx.add(likes, 1000));
  await settled(c);
  await until(() => c.identity === "forked", "a new identity");
  await c.load([likes]);
  await settled(c);
  const lost = refused.filter(({ code }) => code === "forked").flatMap(({ ops }) => ops);
  const told = lost.reduce((sum, op) => sum + (op.op === "add" ? Number(op.by) : 0), 0);
  assert.equal(c.get(likes) + told, 1111, "each counts once, or was told to be dropped");
  assert.ok(c.get(likes) >= 11);
});

test("K may be changed, and the base shows how far it is", async (t) => {
  const g = await gateways(t);
  const db = await client(t, g, { k: 3 });
  const likes = db.counter("c:likes");
  await db.load([likes]);
  g.linked.delete(2);
  db.tx((tx) => tx.add(likes, 1));
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(db.status.pending, 1, "three regions do not have it");
  db.setK(2);
  await settled(db);
  assert.equal(db.get(likes), 1);
});

test("without a connection, what is not watched for a while is still here", async (t) => {
  const g = await gateways(t);
  const db = await client(t, g);
  const likes = db.counter("c:likes");
  const end = db.subscribe([likes], () => undefined);
  await until(() => db.read(likes).available, "here");
  await settled(db);
  await g.downAll();
  await until(() => db.status.phase === "offline", "offline");
  // As when a component is replaced by another one.
  end();
  const seen: number[] = [];
  db.subscribe([likes], (view) => seen.push(view.get(likes)));
  assert.deepEqual(seen, [0]);
  db.tx((tx) => tx.add(likes, 1));
  assert.deepEqual(seen, [0, 1]);
  await g.upAll();
  await settled(db);
  assert.equal(db.get(likes), 1);
});

test("a start without a connection: the values of the last base are here, with own transactions on top", async (t) => {
  const g = await gateways(t);
  const store = new MemoryStore();
  const one = await client(t, g, { store });
  const [cart, likes, tags] = [one.map("m:cart"), one.counter("c:likes"), one.set("s:tags")];
  await one.load([cart, likes]);
  one.tx((tx) => tx.put(cart, "apples", "3"));
  one.tx((tx) => tx.add(likes, 2));
  await settled(one);
  // Asked for later, and told of by the next base.
  await one.load([tags]);
  one.tx((tx) => tx.insert(tags, "new"));
  await settled(one);
  await g.downAll();
  await until(() => one.status.phase === "offline", "offline");
  one.tx((tx) => tx.put(cart, "pears", "1"));
  const [copy, base] = [store.copy(), one.base.join()];
  await one.close();
  const two = await client(t, g, { store: copy });
  await two.load([cart, likes, tags]);
  assert.deepEqual([[...two.get(cart)], two.get(likes), [...two.get(tags)]], [[["apples", "3"], ["pears", "1"]], 2, ["new"]]);
  assert.equal(two.base.join(), base);
  await g.upAll();
  await settled(two);
  assert.deepEqual([...two.get(cart)], [["apples", "3"], ["pears", "1"]]);
});

test("a list: elements by their indices, and which of them are pending", async (t) => {
  const g = await gateways(t);
  const db = await client(t, g);
  const todo = db.list("l:todo", json<{ text: string }>());
  assert.throws(() => db.tx((tx) => tx.insertAt(todo, 0, { text: "too early" })), Unavailable);
  await db.load([todo]);
  assert.deepEqual(db.get(todo), []);
  db.tx((tx) => ["a", "b", "c"].forEach((text) => tx.push(todo, { text })));
  assert.deepEqual(db.get(todo).map(({ text }) => text), ["a", "b", "c"]);
  await settled(db);
  assert.deepEqual([...db.read(todo).pendingIn], []);
  db.disconnect();
  db.tx((tx) => {
    tx.insertAt(todo, 1, { text: "x" });
    tx.setAt(todo, 2, { text: "b!" });
    tx.removeAt(todo, 0);
  });
  db.tx((tx) => tx.push(todo, { text: "d" }));
  const shown = db.read(todo);
  assert.deepEqual(shown.value!.map(({ text }) => text), ["x", "b!", "c", "d"]);
  assert.deepEqual([shown.pending, [...shown.pendingIn]], [2, ["0", "1", "3"]], "what is gone has no index");
  assert.throws(() => db.tx((tx) => tx.removeAt(todo, 4)), RangeError);
  db.connect();
  await settled(db);
  const other = await client(t, g, { endpoints: [...g.urls].reverse() });
  await other.load([todo]);
  assert.deepEqual(other.get(todo), shown.value);
  db.tx((tx) => tx.delete(todo));
  await until(() => other.get(todo).length === 0, "deleted");
});

test("two clients edit a list at once: one order, all insertions, and no run of one within that of the other", async (t) => {
  const g = await gateways(t);
  const [a, b] = [await client(t, g), await client(t, g, { endpoints: [...g.urls].reverse() })];
  const list = a.list("l:text");
  await Promise.all([a.load([list]), b.load([list])]);
  a.tx((tx) => ["1", "2", "3", "4", "5"].forEach((value) => tx.push(list, value)));
  await until(() => b.get(list).length === 5, "b has it");
  for (const db of [a, b]) db.disconnect();
  for (const [db, name] of [[a, "a"], [b, "b"]] as const) {
    // Forward in the middle, backward at the beginning.
    for (let n = 0; n < 4; n++) db.tx((tx) => tx.insertAt(list, 2 + n, `${name}${n}`));
    for (let n = 0; n < 4; n++) db.tx((tx) => tx.insertAt(list, 0, `${name}-${n}`));
  }
  // 3: set and removed. 4: removed twice. 5: moved by both.
  const at = (db: Db, value: string) => db.get(list).indexOf(value);
  a.tx((tx) => tx.setAt(list, at(a, "3"), "3!"));
  b.tx((tx) => tx.removeAt(list, at(b, "3")));
  for (const db of [a, b]) {
    db.tx((tx) => tx.removeAt(list, at(db, "4")));
    db.tx((tx) => {
      tx.removeAt(list, at(db, "5"));
      tx.insertAt(list, 0, "5");
    });
  }
  for (const db of [a, b]) db.connect();
  await Promise.all([settled(a), settled(b)]);
  const all = () => [a, b].map((db) => db.get(list).join(" "));
  await until(() => a.get(list).length === 21 && all()[0] === all()[1], "the same", () => all().join(" / "));
  const text = all()[0];
  for (const run of ["a0 a1 a2 a3", "b0 b1 b2 b3", "5 a-3 a-2 a-1 a-0", "5 b-3 b-2 b-1 b-0"]) assert.ok(text.includes(run), text);
  assert.ok(text.endsWith("3!") && text.includes("2 ") && !text.includes("4"), text);
});

test("a list offline, over restarts: nothing is lost, and all stands where it was put", async (t) => {
  const g = await gateways(t);
  const directory = mkdtempSync(join(tmpdir(), "edge-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const store = new MemoryStore();
  const one = await client(t, g, { store });
  const list = one.list("l:list");
  await one.load([list]);
  one.tx((tx) => ["a", "b"].forEach((value) => tx.push(list, value)));
  await settled(one);
  const path = join(directory, "log");
  let other = await client(t, g, { store: new FileStore(path) });
  await until(() => other.base.length > 0, "a base");
  await other.close();
  await g.downAll();
  await until(() => one.status.phase === "offline", "offline");
  one.tx((tx) => {
    tx.insertAt(list, 1, "x");
    tx.removeAt(list, 0);
    tx.push(list, "c");
  });
  const copy = store.copy();
  await one.close();
  const two = await client(t, g, { store: copy });
  await two.load([list]);
  assert.deepEqual([two.get(list), [...two.read(list).pendingIn]], [["x", "b", "c"], ["0", "2"]]);
  two.tx((tx) => tx.push(list, "d"));
  // This store keeps no values: each run pushes to a list that it does not know, and draws another author.
  for (let run = 0; run < 8; run++) {
    other = await client(t, g, { store: new FileStore(path) });
    other.tx((tx) => [0, 1].forEach((n) => tx.push(list, String(2 * run + n))));
    await other.close();
  }
  await g.upAll();
  other = await client(t, g, { store: new FileStore(path) });
  await other.load([list]);
  await Promise.all([settled(two), settled(other)]);
  const pushed = Array.from({ length: 16 }, (_, n) => String(n));
  await until(() => [two, other].every((db) => db.get(list).length === 20), "all of it", () => two.get(list).join());
  assert.deepEqual(two.get(list), other.get(list));
  assert.deepEqual(two.get(list).slice(0, 3), ["x", "b", "c"], "behind all that was there");
  assert.deepEqual(two.get(list).slice(3).filter((value) => value !== "d"), pushed, "each run behind the one before");
});

test("no room for values: the log has it, and goes on", async (t) => {
  const g = await gateways(t);
  const store = new MemoryStore();
  const db = await client(t, g, { store });
  const likes = db.counter("c:likes");
  await db.load([likes]);
  db.tx((tx) => tx.add(likes, 1));
  await settled(db);
  const { apply } = store;
  store.apply = (step) => {
    if (step.type === "base" && [...(step.values?.values() ?? [])].some((value) => value !== undefined)) throw new DOMException("full", "QuotaExceededError");
    return apply.call(store, step);
  };
  db.tx((tx) => tx.add(likes, 1));
  await until(() => db.status.phase !== "live", "the step has failed");
  await settled(db);
  assert.equal(db.get(likes), 2);
  assert.equal(store.load()!.values!.size, 0, "an old value would be of another base");
});

test("an error of a callback is reported, and what was under way goes on", async (t) => {
  const g = await gateways(t);
  const db = await client(t, g);
  const likes = db.counter("c:likes");
  const errors: unknown[] = [];
  // As browsers have it.
  globalThis.reportError = (error: unknown) => void errors.push(error);
  t.after(() => Reflect.deleteProperty(globalThis, "reportError"));
  db.subscribe([likes], () => {
    throw new Error("of the application");
  });
  db.on("status", () => {
    throw new Error("of the application, too");
  });
  await db.load([likes]);
  assert.equal(await db.tx((tx) => tx.add(likes, 1)).durable, 1);
  await settled(db);
  assert.equal(db.get(likes), 1);
  await until(() => errors.length > 2, "reported");
  assert.ok(errors.every((error) => (error as Error).message.startsWith("of the application")));
});
