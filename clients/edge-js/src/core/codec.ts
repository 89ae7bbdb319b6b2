// Primitive encodings of the edge link. Whatever is not exactly as the link's specification says is `Malformed`; no length is trusted before it was compared with what is there.

import { type Bytes, fromArray } from "./bytes.js";

export class Malformed extends Error {
  constructor(what: string) {
    super(`malformed: ${what}`);
    this.name = "Malformed";
  }
}

/** One hybrid logical clock a region; empty: nothing. */
export type Vec = readonly bigint[];

export const FRAME_MAX = 16 * 1024 * 1024;
export const KEY_MAX = 4096;
export const REGIONS_MAX = 64;
export const WATCHED_MAX = 65_536;
export const U64_MAX = (1n << 64n) - 1n;
/** Times in microseconds are the upper 52 bits of an Hlc. */
export const MICROS_MAX = 2 ** 52 - 1;

/** Whole microseconds of an Hlc. */
export function micros(hlc: bigint): number {
  return Number(hlc >> 12n);
}

/** The greatest entry of a vector, in microseconds; 0 if it is empty. */
export function greatest(vec: Vec): number {
  let max = 0n;
  for (const entry of vec) if (entry > max) max = entry;
  return micros(max);
}

export function sameVec(a: Vec, b: Vec): boolean {
  return a.length === b.length && a.every((entry, i) => entry === b[i]);
}

/** a >= b in every entry; an empty vector lies below every other. */
export function dominates(a: Vec, b: Vec): boolean {
  return b.every((entry, i) => entry === 0n || (i < a.length && a[i] >= entry));
}

export function zigzag(n: bigint): bigint {
  return n >= 0n ? n << 1n : ((-n) << 1n) - 1n;
}

export function unzigzag(n: bigint): bigint {
  return n & 1n ? -((n + 1n) >> 1n) : n >> 1n;
}

export class Writer {
  #array = new Uint8Array(64);
  #length = 0;

  finish(): Uint8Array {
    return this.#array.slice(0, this.#length);
  }

  #room(more: number): void {
    const need = this.#length + more;
    if (need <= this.#array.length) return;
    const grown = new Uint8Array(Math.max(need, 2 * this.#array.length));
    grown.set(this.#array.subarray(0, this.#length));
    this.#array = grown;
  }

  u8(n: number): void {
    this.#room(1);
    this.#array[this.#length++] = n;
  }

  u(n: number | bigint): void {
    if (typeof n === "bigint") {
      for (; n > 0x7fn; n >>= 7n) this.u8(Number(n & 0x7fn) | 0x80);
      this.u8(Number(n));
    } else {
      for (; n > 0x7f; n = Math.floor(n / 128)) this.u8((n % 128) | 0x80);
      this.u8(n);
    }
  }

  u64be(n: bigint): void {
    for (let shift = 56n; shift >= 0n; shift -= 8n) this.u8(Number((n >> shift) & 0xffn));
  }

  /** Bytes without a length. */
  fixed(bytes: Bytes): void {
    this.#room(bytes.length);
    for (let i = 0; i < bytes.length; i++) this.#array[this.#length++] = bytes.charCodeAt(i);
  }

  bytes(bytes: Bytes): void {
    this.u(bytes.length);
    this.fixed(bytes);
  }

  vec(vec: Vec): void {
    this.u(vec.length);
    for (const entry of vec) this.u64be(entry);
  }

  i64(n: bigint): void {
    this.u(zigzag(n));
  }

  /** A time in microseconds as its difference to r. */
  time(t: number, r: number): void {
    this.i64(BigInt(t) - BigInt(r));
  }
}

export class Reader {
  readonly #array: Uint8Array;
  #at = 0;

  constructor(array: Uint8Array) {
    this.#array = array;
  }

  get left(): number {
    return this.#array.length - this.#at;
  }

  end(): void {
    if (this.left > 0) throw new Malformed("trailing bytes");
  }

  u8(): number {
    if (this.left < 1) throw new Malformed("too short");
    return this.#array[this.#at++];
  }

  u64(): bigint {
    let low = 0;
    let scale = 1;
    for (let i = 0; i < 7; i++, scale *= 128) {
      const byte = this.u8();
      low += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (byte === 0 && i > 0) throw new Malformed("longer varint than needed");
        return BigInt(low);
      }
    }
    let high = 0;
    scale = 1;
    for (let i = 7; i < 10; i++, scale *= 128) {
      const byte = this.u8();
      if (i === 9 && byte > 1) throw new Malformed("varint above 64 bits");
      high += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (byte === 0) throw new Malformed("longer varint than needed");
        return BigInt(low) + (BigInt(high) << 49n);
      }
    }
    throw new Malformed("varint above 64 bits");
  }

  /** A number that counts something. Above 2^53 - 1 it is refused: no client counts so far. */
  u(): number {
    const n = this.u64();
    if (n > BigInt(Number.MAX_SAFE_INTEGER)) throw new Malformed("number above 2^53 - 1");
    return Number(n);
  }

  u64be(): bigint {
    let n = 0n;
    for (const byte of this.#take(8)) n = (n << 8n) | BigInt(byte);
    return n;
  }

  fixed(length: number): Bytes {
    return fromArray(this.#take(length));
  }

  bytes(): Bytes {
    return this.fixed(this.count(1));
  }

  key(): Bytes {
    const key = this.bytes();
    if (key.length < 1 || key.length > KEY_MAX) throw new Malformed("length of a key");
    return key;
  }

  /** A number of items that have at least `least` bytes each. */
  count(least: number): number {
    const n = this.u64();
    if (n * BigInt(least) > BigInt(this.left)) throw new Malformed("length above the rest of the frame");
    return Number(n);
  }

  /** The number of entries of a vector. */
  entries(): number {
    const n = this.count(1);
    if (n > REGIONS_MAX) throw new Malformed("more than 64 regions");
    return n;
  }

  vec(): Vec {
    return Array.from({ length: this.entries() }, () => this.u64be());
  }

  /** A time in whole microseconds: 8 bytes. */
  micros(): number {
    return inRange(this.u64be());
  }

  /** Byte strings in ascending order, each once. */
  ascending(): Bytes[] {
    const all: Bytes[] = [];
    for (let n = this.count(1); n > 0; n--) {
      const one = this.bytes();
      ascends(all.at(-1), one);
      all.push(one);
    }
    return all;
  }

  i64(): bigint {
    return unzigzag(this.u64());
  }

  time(r: number): number {
    return inRange(this.i64() + BigInt(r));
  }

  #take(length: number): Uint8Array {
    if (length > this.left) throw new Malformed("too short");
    const taken = this.#array.subarray(this.#at, this.#at + length);
    this.#at += length;
    return taken;
  }
}

export function ascends<T extends Bytes | number>(last: T | undefined, next: T): void {
  if (last !== undefined && last >= next) throw new Malformed("a list that does not ascend");
}

function inRange(t: bigint): number {
  if (t < 0n || t > BigInt(MICROS_MAX)) throw new Malformed("time out of range");
  return Number(t);
}
