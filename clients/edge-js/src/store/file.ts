// A file of records, for Node. A step is durable when its record is appended and synced. Nothing waits for that: what is committed meanwhile is one step.
//
// Record: length of the payload (u32, big-endian), CRC-32 of the payload (u32), payload. The first one says everything (`replace`), and so does the
// only one after a compaction, which writes a new file beside the old one and renames it.
// Recovery: the last record may be torn, and is cut off. A bad record before others is an error: that is no torn write.

import { closeSync, existsSync, fdatasync, fstatSync, fsyncSync, ftruncateSync, openSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { fromArray, toArray } from "../core/bytes.js";
import type { Durable, Meta, Step } from "../core/client.js";
import { Reader, Writer } from "../core/codec.js";
import type { Row } from "../core/log.js";
import { MemoryStore } from "./memory.js";
import type { Store } from "./store.js";

const sync = promisify(fdatasync);

const MAGIC = "tmedge2\n";
const ROWS = 1;
const BASE = 2;
const REPLACE = 3;

export interface FileOptions {
  /** A file is not compacted below this size. */
  readonly compactAbove?: number;
}

export class FileStore implements Store {
  readonly #path: string;
  readonly #compactAbove: number;
  readonly #state = new MemoryStore();
  #file: number;
  #size: number;
  /** Size after the last compaction. */
  #compacted = 0;
  #broken: unknown;
  /** The step that is being written. */
  #writing: Promise<void> | undefined;
  #closed: Promise<void> | undefined;
  onLost: (() => void) | undefined;

  constructor(path: string, options: FileOptions = {}) {
    this.#path = path;
    this.#compactAbove = options.compactAbove ?? 256 * 1024;
    lock(path);
    try {
      const old = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
      const { steps, size } = recover(path, old);
      for (const step of steps) this.#state.apply(step);
      this.#file = openSync(path, size === 0 ? "w" : "r+");
      this.#size = size;
      if (size === 0) {
        this.#append(toArray(MAGIC));
        fsyncSync(this.#file);
        this.#size = MAGIC.length;
      } else if (size < old.length) {
        ftruncateSync(this.#file, size);
        fsyncSync(this.#file);
      }
      syncDirectory(path);
    } catch (error) {
      unlock(path);
      throw error;
    }
  }

  load(): Durable | undefined {
    return this.#state.load();
  }

  apply(step: Step): Promise<void> {
    this.#writing = this.#apply(step);
    return this.#writing;
  }

  async #apply(step: Step): Promise<void> {
    if (this.#broken) throw this.#broken;
    await this.#write(record(step));
    // Values are not kept here.
    this.#state.apply(step.type === "base" ? { type: "base", meta: step.meta } : step);
    if (step.type !== "rows" && this.#size > this.#compactAbove && this.#size > 4 * this.#compacted) this.#compact();
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#broken ??= new Error(`${this.#path} is closed`);
    await this.#writing?.catch(() => undefined);
    closeSync(this.#file);
    unlock(this.#path);
  }

  async #write(bytes: Uint8Array): Promise<void> {
    try {
      this.#append(bytes);
      await sync(this.#file);
    } catch (error) {
      // Nothing has changed, if that can be had: else this file is not written any more.
      try {
        ftruncateSync(this.#file, this.#size);
        fsyncSync(this.#file);
      } catch {
        this.#broken = error;
      }
      throw error;
    }
    this.#size += bytes.length;
  }

  #append(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at, bytes.length - at, this.#size + at);
  }

  #compact(): void {
    const durable = this.#state.load();
    if (!durable) return;
    const beside = `${this.#path}.new`;
    const bytes = Buffer.concat([toArray(MAGIC), record({ type: "replace", ...durable })]);
    try {
      const file = openSync(beside, "w");
      try {
        for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
      renameSync(beside, this.#path);
      syncDirectory(this.#path);
    } catch {
      // The old file is as good as it was, if it still has its name.
      if (!sameFile(this.#file, this.#path)) this.#reopen(bytes.length);
      return;
    }
    this.#reopen(bytes.length);
  }

  #reopen(size: number): void {
    closeSync(this.#file);
    this.#file = openSync(this.#path, "r+");
    this.#size = size;
    this.#compacted = size;
  }
}

function sameFile(file: number, path: string): boolean {
  const other = openSync(path, "r");
  try {
    return fstatSync(file).ino === fstatSync(other).ino;
  } finally {
    closeSync(other);
  }
}

function recover(path: string, bytes: Buffer): { steps: Step[]; size: number } {
  if (bytes.length < MAGIC.length && MAGIC.startsWith(fromArray(bytes))) return { steps: [], size: 0 };
  if (fromArray(bytes.subarray(0, MAGIC.length)) !== MAGIC) throw new Error(`${path} is not the file of an edge client, or of another version`);
  const steps: Step[] = [];
  let at = MAGIC.length;
  while (at + 8 <= bytes.length) {
    const end = at + 8 + bytes.readUInt32BE(at);
    if (end > bytes.length) break;
    const payload = bytes.subarray(at + 8, end);
    if (crc32(payload) !== bytes.readUInt32BE(at + 4)) {
      if (end < bytes.length) throw new Error(`${path} is damaged at byte ${at}`);
      break;
    }
    steps.push(readStep(payload));
    at = end;
  }
  return { steps, size: at };
}

function record(step: Step): Uint8Array {
  const w = new Writer();
  w.u8(step.type === "rows" ? ROWS : step.type === "base" ? BASE : REPLACE);
  if (step.type !== "rows") writeMeta(w, step.meta);
  if (step.type !== "base") {
    w.u(step.rows.length);
    for (const row of step.rows) writeRow(w, row);
  }
  const payload = w.finish();
  const head = Buffer.alloc(8);
  head.writeUInt32BE(payload.length);
  head.writeUInt32BE(crc32(payload), 4);
  return Buffer.concat([head, payload]);
}

function readStep(payload: Uint8Array): Step {
  const r = new Reader(payload);
  const type = r.u8();
  let step: Step;
  if (type === ROWS) step = { type: "rows", rows: readRows(r) };
  else if (type === BASE) step = { type: "base", meta: readMeta(r) };
  else step = { type: "replace", meta: readMeta(r), rows: readRows(r) };
  r.end();
  return step;
}

function writeRow(w: Writer, row: Row): void {
  w.u(row.k);
  w.u8(row.origin ? 1 : 0);
  w.bytes(fromArray(row.body));
  if (!row.origin) return;
  w.bytes(row.origin.tab);
  w.u(row.origin.n);
}

function readRows(r: Reader): Row[] {
  return Array.from({ length: r.count(3) }, () => readRow(r));
}

function readRow(r: Reader): Row {
  const k = r.u();
  const hasOrigin = r.u8() === 1;
  const body = toArray(r.bytes());
  const origin = hasOrigin ? { tab: r.bytes(), n: r.u() } : undefined;
  return { k, body, origin };
}

function writeMeta(w: Writer, meta: Meta): void {
  w.fixed(meta.secret);
  w.vec(meta.base);
  w.u(meta.g);
  w.u(meta.K);
  w.u(meta.before);
  w.fixed(meta.digest);
  w.u(meta.tabs.length);
  for (const { tab, n } of meta.tabs) {
    w.bytes(tab);
    w.u(n);
  }
}

function readMeta(r: Reader): Meta {
  const meta = { secret: r.fixed(32), base: r.vec(), g: r.u(), K: r.u(), before: r.u(), digest: r.fixed(32) };
  return { ...meta, tabs: Array.from({ length: r.count(2) }, () => ({ tab: r.bytes(), n: r.u() })) };
}

function syncDirectory(path: string): void {
  const directory = openSync(dirname(path), "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/** One process at a time. What a dead one left is taken over. */
function lock(path: string): void {
  const name = `${path}.lock`;
  for (let attempt = 0; ; attempt++) {
    try {
      writeFileSync(name, String(process.pid), { flag: "wx" });
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST" || attempt > 2) throw error;
      const pid = Number(readFileSync(name, "utf8"));
      if (pid > 0 && isAlive(pid)) throw new Error(`${path} is in use by process ${pid}`);
      unlinkSync(name);
    }
  }
}

function unlock(path: string): void {
  rmSync(`${path}.lock`, { force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n;
});

function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = TABLE[(crc ^ byte) & 0xff] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}
