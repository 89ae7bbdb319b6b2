// Against real clusters. `npm run real`; TIDEMARK names the binary.

import assert from "node:assert/strict";
import test, { type TestContext, after, before } from "node:test";
import { WebSocket } from "ws";
import { type Db, MemoryStore, type Options, type Refusal, json, open } from "../../src/index.js";
import { until } from "../gateway.js";
import { Cluster, Redis, Wires } from "./cluster.js";

let shared: Cluster;

before(async () => {
  shared = await Cluster.start();
});

after(() => shared?.stop());

let names = 0;

/** Tests share a cluster, but no keys. */
function fresh(name: string): string {
  return `${name}:${++names}`;
}

async function client(t: TestContext, urls: readonly string[], options: Partial<Options> = {}): Promise<Db> {
  const db = await open({ name: "real", endpoints: urls, WebSocket, store: new MemoryStore(), ...options });
  t.after(() => db.close());
  return db;
}

function redis(t: TestContext, cluster: Cluster, m = 0): Redis {
  const redis = cluster.redis(m);
  t.after(() => redis.close());
  return redis;
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const show = (db: Db) => () => JSON.stringify(db.status);
const settled = (db: Db) => until(() => db.status.phase === "live" && db.status.pending === 0, "settled", show(db));
const live = (db: Db) => until(() => db.status.phase === "live", "live", show(db));
/** The endpoints, with region m first. */
const from = (urls: readonly string[], m: number) => [...urls.slice(m), ...urls.slice(0, m)];

test("a commit of each type is seen by Redis clients in all regions", async (t) => {
  const db = await client(t, shared.urls);
  const [title, likes, cart, tags] = [db.register(fresh("r")), db.counter(fresh("c")), db.map(fresh("m")), db.set(fresh("s"))];
  await db.load([title, likes, cart, tags]);
  assert.equal(db.status.region, "a");
  assert.equal(db.get(title), undefined);
  const began = Date.now();
  const { durable } = db.tx((tx) => {
    tx.set(title, "Grüße");
    tx.add(likes, 3);
    tx.put(cart, "apples", "7");
    tx.addTo(cart, "pears", 2);
    tx.insert(tags, "new");
    tx.insert(tags, "sale");
  });
  assert.equal(await durable, 1);
  for (let m = 0; m < shared.regions; m++) {
    const r = redis(t, shared, m);
    await until(async () => (await r.call("GET", title.name)) !== null, `region ${m}`);
    assert.equal(await r.call("GET", title.name), "Grüße");
    assert.equal(await r.call("GET", likes.name), "3");
    assert.deepEqual(await r.hash(cart.name), new Map([["apples", "7"], ["pears", "2"]]));
    assert.deepEqual(((await r.call("SMEMBERS", tags.name)) as string[]).sort(), ["new", "sale"]);
  }
  await settled(db);
  console.log(`in all regions, and in the base, after ${Date.now() - began} ms`);
  db.tx((tx) => {
    tx.remove(cart, "apples");
    tx.remove(tags, "new");
    tx.delete(title);
    tx.add(likes, -5);
  });
  await settled(db);
  const r = redis(t, shared);
  assert.deepEqual([await r.call("GET", title.name), await r.call("GET", likes.name)], [null, "-2"]);
  assert.deepEqual([[...(await r.hash(cart.name)).keys()], await r.call("SMEMBERS", tags.name)], [["pears"], ["sale"]]);
  assert.deepEqual([db.get(title), db.get(likes), [...db.get(cart)], [...db.get(tags)]], [undefined, -2, [["pears", "2"]], ["sale"]]);
});

test("what Redis clients of another region write is seen", async (t) => {
  const db = await client(t, shared.urls);
  const r = redis(t, shared, 1);
  const [title, likes, cart, tags] = [db.register(fresh("r")), db.counter(fresh("c")), db.map(fresh("m")), db.set(fresh("s"))];
  await r.call("SET", title.name, "before");
  await db.load([title, likes, cart, tags]);
  await until(() => db.get(title) === "before", "a write before the watch");
  const began = Date.now();
  await r.call("SET", title.name, "after");
  await until(() => db.get(title) === "after", "SET");
  console.log(`seen after ${Date.now() - began} ms`);
  for (const command of [["INCRBY", likes.name, 5], ["DECR", likes.name], ["HSET", cart.name, "a", "1", "b", "2"], ["SADD", tags.name, "x", "y"]]) await r.call(...command);
  await until(() => db.get(likes) === 4 && db.get(cart).size === 2 && db.get(tags).size === 2, "INCRBY, DECR, HSET, SADD");
  await r.call("HDEL", cart.name, "a");
  await r.call("HINCRBY", cart.name, "b", 40);
  await r.call("SREM", tags.name, "x");
  await r.call("DEL", title.name);
  await until(() => db.get(title) === undefined && db.get(tags).size === 1, "HDEL, HINCRBY, SREM, DEL");
  assert.deepEqual([...db.get(cart)], [["b", "42"]]);
  // Another type under the same key, and no key.
  await r.call("DEL", cart.name);
  await until(() => db.get(cart).size === 0, "DEL");
  await r.call("RPUSH", cart.name, "x");
  await r.call("SET", tags.name, "text");
  await until(() => db.get(tags).size === 0, "SET over a set");
});

test("many writes of Redis: each base is whole, and of one moment", async (t) => {
  const db = await client(t, shared.urls);
  const r = redis(t, shared, 2);
  const [one, two] = [db.counter(fresh("c")), db.counter(fresh("c"))];
  await db.load([one, two]);
  let told = 0;
  db.subscribe([one, two], (view) => {
    told++;
    // `two` follows `one`: so it is never ahead.
    assert.ok(view.get(one) - view.get(two) <= 1 && view.get(one) >= view.get(two), `${view.get(one)} ${view.get(two)}`);
  });
  for (let n = 0; n < 300; n++) {
    await r.call("INCR", one.name);
    await r.call("INCR", two.name);
  }
  await until(() => db.get(two) === 300, "300");
  assert.equal(db.get(one), 300);
  console.log(`600 writes in ${told} bases`);
});

test("a client without news stays live", async (t) => {
  const db = await client(t, shared.urls.slice(0, 1));
  const likes = db.counter(fresh("c"));
  await db.load([likes]);
  await live(db);
  // Without ticks its base would stand still, and it would take the region for lost.
  const bases = new Set<string>();
  await until(() => bases.add(db.base.join()).size > 3, "its base goes on", () => `${bases.size} bases`);
  assert.equal(db.status.region, "a");
});

test("two clients at two regions converge", async (t) => {
  const [a, b] = [await client(t, shared.urls), await client(t, from(shared.urls, 1))];
  const [title, likes, cart, tags] = [a.register(fresh("r")), a.counter(fresh("c")), a.map(fresh("m"), json<number>()), a.set(fresh("s"))];
  await Promise.all([a, b].map((db) => db.load([title, likes, cart, tags])));
  assert.deepEqual([a.status.region, b.status.region], ["a", "b"]);
  for (let n = 0; n < 60; n++) {
    for (const [i, db] of [a, b].entries()) {
      db.tx((tx) => {
        tx.set(title, `${i}/${n}`);
        tx.add(likes, 1 + i);
        tx.put(cart, `item${n % 7}`, n);
        if (n % 5 === i) tx.remove(cart, `item${n % 3}`);
        tx.insert(tags, `tag${n % 11}`);
        if (n % 4 === i) tx.remove(tags, `tag${n % 5}`);
      });
    }
    if (n % 10 === 0) await sleep(50);
  }
  await Promise.all([settled(a), settled(b)]);
  const plain = (db: Db) => JSON.stringify([db.get(title), db.get(likes), [...db.get(cart)].sort(), [...db.get(tags)].sort()]);
  await until(() => plain(a) === plain(b), "the same", () => `${plain(a)} ${plain(b)}`);
  assert.equal(a.get(likes), 180);
  const r = redis(t, shared, 2);
  assert.equal(await r.call("GET", likes.name), "180");
  assert.deepEqual(((await r.call("SMEMBERS", tags.name)) as string[]).sort(), [...a.get(tags)].sort());
  assert.equal((await r.hash(cart.name)).size, a.get(cart).size);
  assert.equal(await r.call("GET", title.name), a.get(title));
});

test("operations of the wrong type are refused, and the rest of the transaction counts", async (t) => {
  const db = await client(t, shared.urls);
  const r = redis(t, shared);
  const [word, list, likes] = [fresh("r"), fresh("l"), db.counter(fresh("c"))];
  await r.call("SET", word, "abc");
  await r.call("RPUSH", list, "x");
  const refusals: Refusal[] = [];
  db.onRefused((refusal) => refusals.push(refusal));
  const [asCounter, asMap, listAsSet] = [db.counter(word), db.map(word), db.set(list)];
  const seen = db.register(fresh("r"));
  await db.load([asCounter, listAsSet, likes, seen]);
  // Which type a key has is a matter of the base that the transaction was prepared in: this one comes after both.
  await r.call("SET", seen.name, "x");
  await until(() => db.get(seen) === "x", "the base has both");
  db.tx((tx) => {
    tx.add(asCounter, 1);
    tx.put(asMap, "a", "1");
    tx.insert(listAsSet, "y");
    tx.add(likes, 1);
  });
  await settled(db);
  assert.deepEqual(refusals.map(({ k, op }) => [k, op]).sort(), [[1, 0], [1, 1], [1, 2]]);
  console.log(refusals.map(({ op, code, text }) => `${op}: ${code} ${text}`).join("; "));
  assert.equal(await r.call("GET", word), "abc");
  assert.equal(await r.call("GET", likes.name), "1");
  assert.deepEqual(await r.call("LRANGE", list, 0, -1), ["x"]);
});

test("lists: what clients insert and what Redis clients of other regions insert have one order", async (t) => {
  const [a, b] = [await client(t, shared.urls), await client(t, from(shared.urls, 1))];
  const list = a.list(fresh("l"));
  const [first, third] = [redis(t, shared), redis(t, shared, 2)];
  const range = async () => ((await third.call("LRANGE", list.name, 0, -1)) as string[]).join(" ");
  const agree = async (what: string, ...elements: string[]) => {
    await Promise.all([settled(a), settled(b)]);
    const expected = elements.join(" ");
    await until(async () => (await range()) === expected, `${what}: Redis`);
    await until(() => [a, b].every((db) => db.get(list).join(" ") === expected), `${what}: clients`, () => `${a.get(list)} / ${b.get(list)}`);
  };
  await Promise.all([a, b].map((db) => db.load([list])));
  a.tx((tx) => ["1", "2", "3"].forEach((value) => tx.push(list, value)));
  a.tx((tx) => tx.insertAt(list, 0, "0"));
  await agree("a list of a client", "0", "1", "2", "3");
  await third.call("RPUSH", list.name, "4", "5");
  await third.call("LPUSH", list.name, "-1");
  await third.call("LINSERT", list.name, "BEFORE", "2", "1.5");
  await agree("beside the client's", "-1", "0", "1", "1.5", "2", "3", "4", "5");
  b.tx((tx) => {
    tx.insertAt(list, 4, "1.7");
    tx.setAt(list, 3, "1.6");
    tx.removeAt(list, 0);
    tx.push(list, "6");
  });
  await agree("beside those of Redis", "0", "1", "1.6", "1.7", "2", "3", "4", "5", "6");
  await third.call("LSET", list.name, 0, "zero");
  await third.call("LREM", list.name, 0, "3");
  await third.call("RPOP", list.name);
  await agree("changed by Redis", "zero", "1", "1.6", "1.7", "2", "4", "5");
  // All at once: whatever the order is, all have the same, and each one's run is in one piece.
  for (const db of [a, b]) db.disconnect();
  for (let n = 0; n < 5; n++) {
    a.tx((tx) => tx.insertAt(list, 2 + n, `a${n}`));
    b.tx((tx) => tx.insertAt(list, 2 + n, `b${n}`));
    b.tx((tx) => tx.push(list, `d${n}`));
  }
  await first.call("RPUSH", list.name, "c0", "c1", "c2");
  for (const db of [a, b]) db.connect();
  await Promise.all([settled(a), settled(b)]);
  await until(() => a.get(list).length === 25 && a.get(list).join() === b.get(list).join(), "the same", () => `${a.get(list)} / ${b.get(list)}`);
  const all = a.get(list).join(" ");
  await until(async () => (await range()) === all, "Redis has the same");
  for (const run of ["a0 a1 a2 a3 a4", "b0 b1 b2 b3 b4", "c0 c1 c2", "d0 d1 d2 d3 d4"]) assert.ok(all.includes(run), all);
  await first.call("DEL", list.name);
  await until(() => [a, b].every((db) => db.get(list).length === 0), "DEL");
});

test("large values, and many keys", async (t) => {
  const db = await client(t, shared.urls);
  const [big, wide] = [db.register(fresh("r")), db.map(fresh("m"))];
  const counters = Array.from({ length: 1000 }, () => db.counter(fresh("c")));
  await db.load([big, wide, ...counters]);
  const text = "0123456789abcdef".repeat(1 << 16);
  db.tx((tx) => tx.set(big, text));
  db.tx((tx) => {
    for (let n = 0; n < 2000; n++) tx.put(wide, `field${n}`, `value ${n}`);
    for (const counter of counters) tx.add(counter, 1);
  });
  await settled(db);
  const other = await client(t, from(shared.urls, 1));
  await other.load([big, wide, ...counters]);
  await until(() => other.get(big) === text && other.get(wide).size === 2000 && counters.every((counter) => other.get(counter) === 1), "all of it");
});

test("offline for a while, and back with commits: each counts once", async (t) => {
  const wires = await Wires.lay(shared);
  t.after(() => wires.close());
  const store = new MemoryStore();
  const name = fresh("c");
  const db = await client(t, wires.urls, { store });
  const [likes, tags] = [db.counter(name), db.set(fresh("s"))];
  await db.load([likes, tags]);
  const r = redis(t, shared, 1);
  let total = 0;
  for (let round = 0; round < 4; round++) {
    const add = (n: number) => {
      for (; n > 0; n--) db.tx((tx) => {
        tx.add(likes, 1);
        tx.insert(tags, `member ${total++}`);
      });
    };
    // Some are under way when the wire breaks, in the middle of their replies.
    add(20);
    await sleep(round * 15);
    wires.cut();
    await until(() => db.status.phase !== "live", "offline");
    add(100);
    await r.call("INCRBY", likes.name, 1000);
    assert.equal(db.get(likes) % 1000, total % 1000);
    assert.ok(db.status.pending >= 100);
    await sleep(300);
    wires.mend();
    await settled(db);
    await until(() => db.get(likes) === total + 1000 * (round + 1), "each once", () => `${db.get(likes)} of ${total}`);
    assert.equal(db.get(tags).size, total);
  }
  assert.equal(await r.call("GET", name), String(total + 4000));
});

test("a process that ends with unsent commits goes on with them", async (t) => {
  const wires = await Wires.lay(shared);
  t.after(() => wires.close());
  const store = new MemoryStore();
  const name = fresh("c");
  const one = await client(t, wires.urls, { store });
  const likes = one.counter(name);
  await one.load([likes]);
  one.tx((tx) => tx.add(likes, 1));
  await settled(one);
  for (let n = 0; n < 10; n++) one.tx((tx) => tx.add(likes, 1));
  await sleep(5);
  wires.cut();
  for (let n = 0; n < 10; n++) one.tx((tx) => tx.add(likes, 1));
  const copy = store.copy();
  await one.close();
  wires.mend();
  const two = await client(t, from(wires.urls, 1), { store: copy });
  await two.load([likes]);
  await settled(two);
  assert.equal(two.get(likes), 21);
  assert.equal(two.identity, undefined);
});

test("a copy of the store is used, too: it takes a new identity, and nothing counts twice", async (t) => {
  const store = new MemoryStore();
  const name = fresh("c");
  const one = await client(t, shared.urls, { store });
  const likes = one.counter(name);
  await one.load([likes]);
  one.tx((tx) => tx.add(likes, 1));
  await settled(one);
  const copy = store.copy();
  one.tx((tx) => tx.add(likes, 10));
  await settled(one);
  await one.close();
  const two = await client(t, shared.urls, { store: copy });
  await two.load([likes]);
  await until(() => two.identity === "forked", "forked");
  two.tx((tx) => tx.add(likes, 100));
  await settled(two);
  await until(() => two.get(likes) === 111, "111", () => String(two.get(likes)));
});

test("K during a cut: the base of three regions stands still, that of two goes on", async (t) => {
  const cluster = await Cluster.start();
  t.after(() => cluster.stop());
  // Who has one endpoint stays, however long its region is isolated.
  const [first, , last] = cluster.urls;
  const [two, three, alone] = [await client(t, cluster.urls, { k: 2 }), await client(t, [first], { k: 3 }), await client(t, [last], { k: 2 })];
  const all = [two, three, alone];
  const [likes, word] = [two.counter("c:likes"), two.register("r:word")];
  await Promise.all(all.map((db) => db.load([likes, word])));
  await cluster.isolate(2);
  const [a, c] = [redis(t, cluster), redis(t, cluster, 2)];
  // What was under way when the links were cut has arrived once servers have answered and bases stand still.
  const still = () => [three, alone].map(({ base }) => base.join());
  let bases = still();
  await until(async () => {
    const before = bases;
    await Promise.all([a.call("PING"), c.call("PING"), sleep(500)]);
    bases = still();
    return bases.join() === before.join();
  }, "the bases stand still");
  await a.call("SET", "r:word", "of a");
  await until(() => two.get(word) === "of a", "K = 2 goes on where two regions are");
  for (const db of all) db.tx((tx) => tx.add(likes, 1));
  await settled(two);
  await until(async () => (await c.call("GET", "c:likes")) === "1", "the region that is cut off takes what its clients commit");
  await until(async () => (await a.call("GET", "c:likes")) === "2", "and so do the others");
  await until(() => two.get(likes) === 2, "both of this side");
  await sleep(1000);
  assert.deepEqual([three, alone].map((db) => db.get(word)), [undefined, undefined]);
  assert.deepEqual([three, alone].map((db) => db.get(likes)), [1, 1], "own writes are visible");
  assert.deepEqual([three, alone].map((db) => db.status.pending), [1, 1]);
  assert.deepEqual(still(), bases, "their bases stand still");
  console.log(`during the cut: ${[three, alone].map((db) => JSON.stringify(db.status)).join(" ")}`);
  const began = Date.now();
  await cluster.heal();
  await Promise.all(all.map((db) => settled(db)));
  await until(() => all.every((db) => db.get(likes) === 3 && db.get(word) === "of a"), "healed");
  console.log(`healed within ${Date.now() - began} ms`);
});

test("setK of a running client", async (t) => {
  const cluster = await Cluster.start();
  t.after(() => cluster.stop());
  const db = await client(t, cluster.urls.slice(0, 1), { k: 3 });
  const word = db.register("r:word");
  await db.load([word]);
  await cluster.isolate(0);
  await sleep(300);
  const r = redis(t, cluster);
  await r.call("SET", "r:word", "alone");
  await sleep(1000);
  assert.equal(db.get(word), undefined);
  db.setK(1);
  await until(() => db.get(word) === "alone", "K = 1 reads what one region has");
  await cluster.heal();
  await settled(db);
});

test("a node is killed: its clients are at another region within seconds, and nothing counts twice", async (t) => {
  const cluster = await Cluster.start();
  t.after(() => cluster.stop());
  const db = await client(t, cluster.urls);
  const other = await client(t, from(cluster.urls, 1));
  const [likes, tags] = [db.counter("c:likes"), db.set("s:tags")];
  await Promise.all([db, other].map((one) => one.load([likes, tags])));
  let total = 0;
  const commits = setInterval(() => db.tx((tx) => {
    tx.add(likes, 1);
    tx.insert(tags, `member ${total++}`);
  }), 5);
  t.after(() => clearInterval(commits));
  await sleep(600);
  const began = Date.now();
  await cluster.kill(0);
  await until(() => db.status.region === "b" && db.status.phase === "live", "at b", show(db));
  console.log(`live at b after ${Date.now() - began} ms`);
  const at = db.get(likes);
  await until(() => other.get(likes) > at, "the other client sees what is committed after the failover");
  console.log(`and others see it after ${Date.now() - began} ms`);
  await sleep(500);
  await cluster.restart(0);
  await sleep(500);
  clearInterval(commits);
  await settled(db);
  await until(() => db.get(likes) === total && other.get(likes) === total, "each once", () => `${db.get(likes)} ${other.get(likes)} of ${total}`);
  assert.equal(db.get(tags).size, total);
  const a = redis(t, cluster);
  await until(async () => (await a.call("GET", "c:likes")) === String(total), "the one that was killed, too");
  console.log(`${total} commits`);
});

test("failover while the region that is left was cut off: what it has goes on elsewhere", async (t) => {
  const cluster = await Cluster.start();
  t.after(() => cluster.stop());
  const db = await client(t, cluster.urls);
  const likes = db.counter("c:likes");
  await db.load([likes]);
  await cluster.isolate(0);
  await sleep(300);
  for (let n = 0; n < 5; n++) db.tx((tx) => tx.add(likes, 1));
  await until(() => db.status.unsent === 0, "a takes them");
  // Nobody else has them; a dies, and the client takes them to b.
  await cluster.kill(0);
  await until(() => db.status.region === "b" && db.status.pending === 0, "b takes them", show(db));
  const b = redis(t, cluster, 1);
  assert.equal(await b.call("GET", "c:likes"), "5");
  // Now a comes back with its own copies of them.
  await cluster.restart(0);
  await cluster.heal();
  const a = redis(t, cluster);
  await b.call("SET", "r:after", "x");
  await until(async () => (await a.call("GET", "r:after")) === "x", "a has caught up");
  for (let m = 0; m < 3; m++) {
    const r = redis(t, cluster, m);
    await until(async () => (await r.call("GET", "c:likes")) === "5", `all at ${m}`);
    await sleep(500);
    assert.equal(await r.call("GET", "c:likes"), "5", `each once at ${m}`);
  }
  assert.equal(db.get(likes), 5);
});

test("what no region has taken for too long gets a new time, and counts once", async (t) => {
  const cluster = await Cluster.start({ params: ["edge_retain=3s"] });
  t.after(() => cluster.stop());
  const wires = await Wires.lay(cluster);
  t.after(() => wires.close());
  const db = await client(t, wires.urls);
  const [likes, tags] = [db.counter("c:likes"), db.set("s:tags")];
  await db.load([likes, tags]);
  db.tx((tx) => tx.insert(tags, "old"));
  await settled(db);
  let total = 0;
  for (let round = 0; round < 3; round++) {
    wires.isDeaf = true;
    // More than a window, so that some are sent and others are not.
    for (let n = 0; n < 100; n++) db.tx((tx) => {
      tx.add(likes, 1);
      tx.insert(tags, `member ${total++}`);
    });
    if (round === 0) db.tx((tx) => tx.remove(tags, "old"));
    await sleep(300);
    wires.cut();
    await sleep(4500);
    wires.mend();
    await settled(db);
    await until(() => db.get(likes) === total, "each once", () => `${db.get(likes)} of ${total}`);
  }
  assert.equal(db.get(tags).size, total);
  assert.equal(db.identity, "created", "no fork");
  for (let m = 0; m < 3; m++) {
    const r = redis(t, cluster, m);
    await until(async () => (await r.call("GET", likes.name)) === String(total), `at ${m}`);
    assert.equal(await r.call("SCARD", tags.name), total);
  }
});

test("a wrong token: nothing is read and nothing taken; with the right one it is", async (t) => {
  const cluster = await Cluster.start({ regions: 2, password: "secret" });
  t.after(() => cluster.stop());
  const store = new MemoryStore();
  const wrong = await client(t, cluster.urls, { token: "wrong", store });
  const codes = new Set<string>();
  wrong.on("error", ({ code }) => codes.add(code));
  const likes = wrong.counter("c:likes");
  wrong.watch([likes]);
  wrong.tx((tx) => tx.add(likes, 1));
  await until(() => codes.size > 0, "told why");
  await sleep(500);
  assert.notEqual(wrong.status.phase, "live");
  assert.deepEqual([...codes], ["NOAUTH"]);
  assert.deepEqual([wrong.read(likes).available, wrong.status.unsent], [false, 1]);
  await wrong.close();
  const right = await client(t, cluster.urls, { token: "secret", store });
  await right.load([likes]);
  await settled(right);
  assert.equal(right.get(likes), 1);
  // A gateway that closes with frames unread resets the connection: then nobody gets to know why.
  let told = 0;
  for (let n = 0; n < 20; n++) {
    const many = await client(t, cluster.urls);
    many.on("error", ({ code }) => code === "NOAUTH" && told++);
    many.watch(Array.from({ length: 100 }, (_, i) => many.counter(`c:${i}`)));
    await until(() => told > n, "told");
    await many.close();
  }
  const none = await client(t, cluster.urls);
  await sleep(1000);
  assert.notEqual(none.status.phase, "live");
});
