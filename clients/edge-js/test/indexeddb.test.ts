// The IndexedDB store, on fake-indexeddb. Real browsers: see browser/.

import assert from "node:assert/strict";
import test from "node:test";
import { IDBFactory } from "fake-indexeddb";
import "fake-indexeddb/auto";
import { WebSocket } from "ws";
import { type Step, freshMeta } from "../src/core/client.js";
import { encodeBody } from "../src/core/frames.js";
import type { Value } from "../src/core/value.js";
import { IndexedDbStore, MemoryStore, type Refusal, open } from "../src/index.js";
import { Gateways, until } from "./gateway.js";

function row(k: number, h = k): Step {
  return { type: "rows", rows: [{ k, body: encodeBody({ k, h, dep: [], ops: [{ op: "delete", key: "r" }] }) }] };
}

test("what is applied is loaded again, by another store", async () => {
  const factory = new IDBFactory();
  const store = new IndexedDbStore("a", factory);
  const memory = new MemoryStore();
  assert.equal(await store.load(), undefined);
  const meta = freshMeta("s".repeat(32), 2);
  for (const step of [{ type: "replace", meta, rows: [] } as Step, row(1), row(2), row(1, 9), { type: "base", meta: { ...meta, before: 1, g: 1, base: [7n] } } as Step, row(3)]) {
    await store.apply(step);
    memory.apply(step);
  }
  store.close();
  const again = new IndexedDbStore("a", factory);
  assert.deepEqual(await again.load(), memory.load());
  assert.equal(await new IndexedDbStore("b", factory).load(), undefined);
});

test("values are those of the base, and gone with an identity", async () => {
  const factory = new IDBFactory();
  const store = new IndexedDbStore("a", factory);
  const memory = new MemoryStore();
  const meta = freshMeta("s".repeat(32), 2);
  const [text, fields, members] = [
    { kind: "string", ts: 1, bytes: "\xff" },
    { kind: "map", fields: new Map([["a", { ts: 2, value: "1" }]]) },
    { kind: "set", members: new Set(["x", "y"]) },
  ] as Value[];
  const base = (values: [string, Value | undefined][]): Step => ({ type: "base", meta: { ...meta, base: [7n] }, values: new Map(values) });
  const apply = async (step: Step) => {
    await store.apply(step);
    memory.apply(step);
    assert.deepEqual(await new IndexedDbStore("a", factory).load(), memory.load());
  };
  await apply({ type: "replace", meta, rows: [] });
  await apply(base([["\xfe", text], ["m", fields]]));
  await apply(base([["\xfe", undefined], ["s", members]]));
  assert.deepEqual([...memory.load()!.values!], [["m", fields], ["s", members]]);
  await apply({ type: "replace", meta, rows: [] });
  assert.equal(memory.load()!.values!.size, 0);
});

test("a store of the version before has its log, and no values", async () => {
  const factory = new IDBFactory();
  const meta = freshMeta("s".repeat(32), 2);
  await new Promise<void>((resolve) => {
    const request = factory.open("tidemark-edge/a", 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore("log", { keyPath: "k" });
      request.result.createObjectStore("meta").put(meta, "meta");
    };
    request.onsuccess = () => resolve(request.result.close());
  });
  assert.deepEqual(await new IndexedDbStore("a", factory).load(), { meta, rows: [], values: new Map() });
});

test("each step is one transaction, with strict durability", async () => {
  const factory = new IDBFactory();
  const store = new IndexedDbStore("a", factory);
  await store.load();
  const database = await new Promise<IDBDatabase>((resolve) => {
    const request = factory.open("tidemark-edge/a");
    request.onsuccess = () => resolve(request.result);
  });
  const prototype = Object.getPrototypeOf(database);
  const original = prototype.transaction;
  const options: unknown[] = [];
  prototype.transaction = function (...args: unknown[]) {
    options.push(args[2]);
    return original.apply(this, args);
  };
  try {
    await store.apply({ type: "base", meta: freshMeta("s".repeat(32), 2) });
  } finally {
    prototype.transaction = original;
  }
  assert.deepEqual(options, [{ durability: "strict" }]);
  database.close();
});

test("a step that fails changes nothing", async () => {
  const factory = new IDBFactory();
  const store = new IndexedDbStore("a", factory);
  const meta = freshMeta("s".repeat(32), 2);
  await store.apply({ type: "replace", meta, rows: [] });
  await store.apply(row(1));
  const before = await store.load();
  // A base with its pruning, whose second half fails.
  const bad = { type: "replace", meta: { ...meta, g: 9 }, rows: [{ k: 2, body: (() => 1) as unknown as Uint8Array }] } as Step;
  await assert.rejects(store.apply(bad));
  assert.deepEqual(await store.load(), before);
});

test("lost rows are noticed", async () => {
  const factory = new IDBFactory();
  const store = new IndexedDbStore("a", factory);
  await store.apply({ type: "replace", meta: freshMeta("s".repeat(32), 2), rows: [] });
  await store.apply(row(2));
  assert.equal(await store.load(), "lost");
});

test("a database over it: commits are durable later, and visible at once", async (t) => {
  const g = await Gateways.start();
  t.after(() => g.stop());
  const factory = new IDBFactory();
  const start = () => open({ name: "n", endpoints: g.urls, WebSocket, store: new IndexedDbStore("n", factory) });
  let db = await start();
  assert.equal(db.identity, "created");
  const likes = db.counter("c:likes");
  await db.load([likes]);
  const all = Array.from({ length: 50 }, () => db.tx((tx) => tx.add(likes, 1)).durable);
  assert.equal(db.get(likes), 50);
  assert.deepEqual(await Promise.all(all), Array.from({ length: 50 }, (_, i) => i + 1));
  await g.downAll();
  await db.tx((tx) => tx.add(likes, 1)).durable;
  await db.close();
  await g.upAll();
  db = await start();
  t.after(() => db.close());
  assert.equal(db.identity, undefined);
  await db.load([likes]);
  await until(() => db.status.phase === "live" && db.status.pending === 0, "settled");
  assert.equal(db.get(likes), 51);
});

test("cleared while it runs: a new identity, what was not sent goes on, the rest is told", async (t) => {
  const g = await Gateways.start();
  t.after(() => g.stop());
  const factory = new IDBFactory();
  const db = await open({ name: "n", endpoints: g.urls, WebSocket, store: new IndexedDbStore("n", factory) });
  t.after(() => db.close());
  const likes = db.counter("c:likes");
  await db.load([likes]);
  await g.downAll();
  await until(() => db.status.phase === "offline", "offline");
  await db.tx((tx) => tx.add(likes, 1)).durable;
  const refused: Refusal[] = [];
  db.onRefused((refusal) => refused.push(refusal));
  await new Promise<void>((resolve, reject) => {
    const request = factory.deleteDatabase("tidemark-edge/n");
    request.onsuccess = () => resolve();
    request.onerror = () => reject(request.error);
  });
  await until(() => db.identity === "cleared", "told");
  await g.upAll();
  await until(() => db.status.phase === "live" && db.status.pending === 0, "settled");
  assert.equal(db.get(likes), 1);
  assert.deepEqual(refused, []);
  const kept = (await new IndexedDbStore("n", factory).load()) as { meta: { before: number } };
  assert.equal(kept.meta.before, 1);
});
