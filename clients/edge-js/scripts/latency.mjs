// How long a commit takes until it is visible, and until it is durable, without a network; beside it the disk's own sync of as many bytes.
import { fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocket } from "ws";
import { MemoryStore, open } from "../build/src/index.js";
import { FileStore } from "../build/src/store/file.js";

const COMMITS = 2000;
const directory = mkdtempSync(join(tmpdir(), "edge-latency-"));
const pause = () => new Promise((resolve) => setTimeout(resolve, 1));
const shown = (times) => {
  times.sort((a, b) => a - b);
  const at = (share) => times[Math.floor(share * times.length)].toFixed(3);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`;
};

async function commits(store) {
  const db = await open({ name: "latency", endpoints: ["ws://127.0.0.1:1/edge"], k: 1, store, WebSocket, tabs: false });
  const map = db.map("m");
  const [visible, durable] = [[], []];
  for (let i = 0; i < COMMITS; i++) {
    const began = performance.now();
    const commit = db.tx((t) => {
      t.put(map, `f${i % 50}`, `v${i}`);
      t.add(db.counter("n"), 1);
    });
    visible.push(performance.now() - began);
    await commit.durable;
    durable.push(performance.now() - began);
    await pause();
  }
  await db.close();
  return `visible: ${shown(visible)}; durable: ${shown(durable)}`;
}

const file = openSync(join(directory, "sync"), "w");
const syncs = [];
for (let i = 0; i < COMMITS; i++) {
  const began = performance.now();
  writeSync(file, "x".repeat(150));
  fdatasyncSync(file);
  syncs.push(performance.now() - began);
  await pause();
}
console.log(`the disk alone: ${shown(syncs)}`);
console.log(`a file: ${await commits(new FileStore(join(directory, "client")))}`);
console.log(`memory: ${await commits(new MemoryStore())}`);
rmSync(directory, { recursive: true });
