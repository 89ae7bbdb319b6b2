// The log of own transactions that are not in the base yet, and the digest of their chain.

import { type Bytes, fromArray, toArray } from "./bytes.js";
import type { Vec } from "./codec.js";
import { decodeBody, encodeBody } from "./frames.js";
import { sha256 } from "./sha256.js";
import type { Op } from "./value.js";

/** The tab that committed, and its number of the transaction: so a tab that asks twice commits once. */
export interface Origin {
  readonly tab: string;
  readonly n: number;
}

export interface Entry {
  /** Number of the commit in this run, for the application: `k` may change with the identity. 0: of an earlier run. */
  readonly id: number;
  /** It changes with the identity only. */
  k: number;
  readonly origin: Origin | undefined;
  /** Fixed once the entry was sent, as is `h`, but for a Retime. */
  dep: Vec;
  /** A later time may leave some out, or all. */
  ops: readonly Op[];
  /** Arbitration time in microseconds. */
  h: number;
  /** A gateway may have seen it. What is of an earlier run may have been sent in that, or from another copy of the disk. */
  sent: boolean;
  /** Its row is as it is. */
  durable: boolean;
  /** It is visible to reads. */
  shown: boolean;
  /** That of the base `dep`. */
  epoch: number;
  /** The connection in which it was first sent with its time; 0: in an earlier run, or not yet. */
  connection: number;
}

/** An entry as it is kept. */
export interface Row {
  readonly k: number;
  readonly body: Uint8Array;
  readonly origin?: Origin | undefined;
}

export const DIGEST_0: Bytes = "\0".repeat(32);

export function chain(before: Bytes, body: Uint8Array): Bytes {
  return fromArray(sha256(toArray(before), body));
}

/** The digest that goes on from one of which a region has no more than the check. */
export function resumed(digest: Bytes): Bytes {
  return digest.slice(0, 8) + DIGEST_0.slice(8);
}

export function rowOf(entry: Entry): Row {
  return { k: entry.k, body: encodeBody(entry), origin: entry.origin };
}

/** Invariant L1: numbers have no gaps; L2: h grows among what was sent; L3: what was sent comes before what was not. */
export class Log {
  #entries: Entry[] = [];
  /** Number and digest of the transaction before the first entry. */
  #before: number;
  #digest: Bytes;

  constructor(before: number, digest: Bytes, rows: readonly Row[]) {
    this.#before = before;
    this.#digest = digest;
    for (const row of rows) {
      const { k, h, dep, ops } = decodeBody(row.body);
      if (k !== row.k || k !== this.last + 1) throw new Error(`L1: entry ${row.k} after ${this.last}`);
      this.#entries.push({ id: 0, k, h, dep, ops, origin: row.origin, sent: true, durable: true, shown: true, epoch: 0, connection: 0 });
    }
  }

  get first(): number {
    return this.#before + 1;
  }

  get last(): number {
    return this.#before + this.#entries.length;
  }

  get length(): number {
    return this.#entries.length;
  }

  get entries(): readonly Entry[] {
    return this.#entries;
  }

  /** The digest of the transaction before the first entry. */
  get digest(): Bytes {
    return this.#digest;
  }

  entry(k: number): Entry | undefined {
    return this.#entries[k - this.first];
  }

  push(entry: Entry): void {
    this.#entries.push(entry);
  }

  /** Takes the entries from k on out again. */
  truncate(k: number): Entry[] {
    return this.#entries.splice(Math.max(0, k - this.first));
  }

  /** d_k; undefined: k is before the log or after it. */
  digestAt(k: number): Bytes | undefined {
    if (k < this.#before || k > this.last) return undefined;
    let digest = this.#digest;
    for (const entry of this.#entries) {
      if (entry.k > k) break;
      digest = chain(digest, encodeBody(entry));
    }
    return digest;
  }

  /** Drops the entries up to k, which are in the base. `digest`: that of k. */
  prune(k: number, digest: Bytes): Entry[] {
    const dropped = this.#entries.splice(0, k - this.#before);
    this.#before = k;
    this.#digest = digest;
    return dropped;
  }
}
