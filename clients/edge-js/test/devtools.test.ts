// What the devtools make of what a client says of itself. How they look in a browser: see examples/board.

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { WebSocket } from "ws";
import { MemoryStore, open } from "../src/index.js";
import { Timeline } from "../src/devtools/timeline.js";
import { Gateways, until } from "./gateway.js";

async function setup(t: TestContext, store = new MemoryStore()) {
  const g = await Gateways.start();
  t.after(() => g.stop());
  const db = await open({ name: "n", endpoints: g.urls, WebSocket, store });
  t.after(() => db.close());
  const timeline = new Timeline(60_000);
  const look = async () => timeline.add(await db.inspect(), performance.now());
  return { g, db, timeline, look };
}

test("each transaction from its commit to the base, and where the client was meanwhile", async (t) => {
  const { g, db, timeline, look } = await setup(t);
  const [likes, cart, todo] = [db.counter("c:likes"), db.map("m:cart"), db.list("l:todo")];
  await db.load([likes, cart, todo]);
  await look();
  db.disconnect();
  await until(() => db.status.phase === "offline", "offline");
  await db.tx((tx) => {
    tx.add(likes, -2);
    tx.put(cart, "apples", "3");
    tx.remove(cart, "pears");
    tx.push(todo, "wash");
    tx.removeAt(todo, 0);
  }).durable;
  await look();
  const [span] = timeline.spans;
  assert.deepEqual([span.k, span.stage, span.ops], [1, "stored", ["c:likes − 2", "m:cart · apples = “3”", "m:cart · without pears", "l:todo · an element = “wash”", "l:todo · without an element"]]);
  // One region alone takes it: two do not have it.
  g.linked.clear();
  db.connect();
  await until(() => db.status.unsent === 0, "accepted");
  await look();
  assert.equal(timeline.pending.length, 1);
  assert.equal(span.stage, "accepted");
  assert.ok(span.accepted! >= span.committed);
  for (let m = 0; m < 3; m++) g.linked.add(m);
  await until(() => db.status.pending === 0, "in the base");
  await look();
  assert.deepEqual([timeline.pending.length, span.stage], [0, "base"]);
  assert.ok(span.ended! >= span.accepted!);
  assert.ok(timeline.bases.length >= 2);
  const phases = timeline.turns.map(({ phase }) => phase);
  assert.deepEqual([phases[0], phases.includes("offline"), timeline.turns.at(-1)!.region], ["live", true, "region0"]);
  assert.equal(timeline.names.get(0), "region0");
});

test("what could not be stored is gone", async (t) => {
  const store = new MemoryStore();
  const { db, timeline, look } = await setup(t, store);
  const likes = db.counter("c:likes");
  await db.load([likes]);
  let fail!: (error: Error) => void;
  store.apply = () => new Promise((_, reject) => (fail = reject)) as never;
  const { durable } = db.tx((tx) => tx.add(likes, 1));
  await look();
  assert.equal(timeline.pending[0].stage, "storing");
  fail(new Error("full"));
  await assert.rejects(durable);
  await look();
  assert.deepEqual(timeline.spans.map(({ stage }) => stage), ["gone"]);
});

test("what is over is forgotten after a while", async (t) => {
  const { db, timeline, look } = await setup(t);
  const likes = db.counter("c:likes");
  await db.load([likes]);
  db.tx((tx) => tx.add(likes, 1));
  await look();
  await until(() => db.status.pending === 0, "settled");
  await look();
  assert.equal(timeline.spans.length, 1);
  timeline.add(await db.inspect(), performance.now() + 61_000);
  assert.deepEqual([timeline.spans.length, timeline.turns.length], [0, 1]);
});
