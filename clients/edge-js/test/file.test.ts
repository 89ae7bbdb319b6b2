// The file store: a crash at every byte, damage, compaction, and one process at a time.

import assert from "node:assert/strict";
import fs, { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { type Durable, type Meta, type Step, freshMeta } from "../src/core/client.js";
import { encodeBody } from "../src/core/frames.js";
import { chain } from "../src/core/log.js";
import { WebSocket } from "ws";
import { open } from "../src/index.js";
import { FileStore } from "../src/store/file.js";
import { MemoryStore } from "../src/store/memory.js";

function place(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "edge-"));
  t.after(() => rmSync(directory, { recursive: true }));
  return join(directory, "log");
}

function body(k: number, later = 0): Uint8Array {
  return encodeBody({ k, h: 1000 + k + later, dep: [5n], ops: [{ op: "add", key: "c:likes", by: BigInt(k) }] });
}

/** A life of a client: commits, new times, bases that prune. */
function steps(transactions: number): Step[] {
  let meta: Meta = freshMeta("s".repeat(32), 2);
  const all: Step[] = [{ type: "replace", meta, rows: [] }];
  for (let k = 1; k <= transactions; k++) {
    const origin = k % 4 === 0 ? { tab: "tab", n: k } : undefined;
    all.push({ type: "rows", rows: [{ k, body: body(k), origin }] });
    all.push({ type: "rows", rows: [{ k, body: body(k, 1000), origin }] });
    if (k % 3 !== 0) continue;
    for (let i = meta.before + 1; i < k; i++) meta = { ...meta, before: i, digest: chain(meta.digest, body(i)), g: i };
    meta = { ...meta, base: [BigInt(k)], tabs: [{ tab: "tab", n: k }] };
    all.push({ type: "base", meta });
  }
  return all;
}

function plain(durable: unknown): unknown {
  return JSON.parse(JSON.stringify(durable ?? null, (_, value: unknown) => (typeof value === "bigint" ? `${value}n` : value)));
}

test("a crash at every byte of the file leaves what was confirmed before", async (t) => {
  const path = place(t);
  const store = new FileStore(path);
  const memory = new MemoryStore();
  // The size of the file after each step, and what it says then.
  const states = [{ size: 8, state: undefined as unknown }];
  for (const step of steps(6)) {
    await store.apply(step);
    memory.apply(step);
    states.push({ size: statSync(path).size, state: plain(memory.load()) });
  }
  await store.close();
  const bytes = readFileSync(path);
  for (let length = 0; length <= bytes.length; length++) {
    writeFileSync(path, bytes.subarray(0, length));
    const torn = new FileStore(path);
    const expected = states.filter(({ size }) => size <= length).at(-1)?.state;
    assert.deepEqual(plain(torn.load()), expected ?? null, `at byte ${length}`);
    // It goes on from there.
    await torn.apply({ type: "replace", meta: freshMeta("t".repeat(32), 1), rows: [] });
    await torn.close();
    const again = new FileStore(path);
    assert.equal((again.load() as Durable).meta.secret, "t".repeat(32));
    await again.close();
  }
  console.log(`${bytes.length + 1} lengths`);
});

test("a changed byte before the last record is an error, not a silent loss", async (t) => {
  const path = place(t);
  const store = new FileStore(path);
  for (const step of steps(3)) await store.apply(step);
  await store.close();
  const bytes = readFileSync(path);
  bytes[8 + 8 + 10] ^= 1;
  writeFileSync(path, bytes);
  assert.throws(() => new FileStore(path), /damaged at byte 8/);
  writeFileSync(path, "something else");
  assert.throws(() => new FileStore(path), /not the file/);
});

test("compaction keeps the state and bounds the file", async (t) => {
  const path = place(t);
  const store = new FileStore(path, { compactAbove: 1000 });
  const memory = new MemoryStore();
  let greatest = 0;
  for (const step of steps(600)) {
    await store.apply(step);
    memory.apply(step);
    greatest = Math.max(greatest, statSync(path).size);
  }
  assert.deepEqual(plain(store.load()), plain(memory.load()));
  await store.close();
  const again = new FileStore(path);
  assert.deepEqual(plain(again.load()), plain(memory.load()));
  await again.close();
  assert.ok(greatest < 3000, `${greatest} bytes`);
});

/** How many records a file has. */
function records(path: string): number {
  const bytes = readFileSync(path);
  let count = 0;
  for (let at = 8; at < bytes.length; at += 8 + bytes.readUInt32BE(at)) count++;
  return count;
}

test("nothing waits for the disk, and what is committed meanwhile is one record", async (t) => {
  const path = place(t);
  const options = { name: "n", endpoints: ["ws://127.0.0.1:1/edge"], k: 1, WebSocket, tabs: false } as const;
  const db = await open({ ...options, store: new FileStore(path) });
  t.after(() => db.close());
  const before = records(path);
  const blocking = t.mock.method(fs, "fsyncSync");
  syncBuiltinESMExports();
  const commits = Array.from({ length: 100 }, () => db.tx((t) => t.add(db.counter("visits"), 1)));
  let durable = 0;
  for (const commit of commits) void commit.durable.then(() => durable++);
  assert.equal(durable, 0, "it is written later");
  assert.deepEqual(await Promise.all(commits.map((commit) => commit.durable)), commits.map((_, i) => i + 1));
  assert.equal(blocking.mock.callCount(), 0);
  blocking.mock.restore();
  syncBuiltinESMExports();
  assert.ok(records(path) <= before + 2, `${records(path)} records, ${before} before`);
  // It is closed while it writes.
  const last = db.tx((t) => t.add(db.counter("visits"), 1));
  await db.close();
  assert.equal(await last.durable, 101);
  const again = new FileStore(path);
  assert.equal((again.load() as Durable).rows.length, 101);
  const writing = again.apply({ type: "rows", rows: [{ k: 102, body: body(102) }] });
  await again.close();
  await writing;
  await assert.rejects(async () => {
    await again.apply({ type: "rows", rows: [] });
  }, /is closed/);
});

test("one process at a time", async (t) => {
  const path = place(t);
  const store = new FileStore(path);
  assert.throws(() => new FileStore(path), /in use/);
  await store.close();
  await store.close();
  // A process that is gone has left its lock.
  writeFileSync(`${path}.lock`, "999999999");
  await new FileStore(path).close();
});
