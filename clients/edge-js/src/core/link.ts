// What lasts as long as one connection.

import type { Bytes } from "./bytes.js";
import { type Vec, sameVec } from "./codec.js";
import type { GatewayFrame } from "./frames.js";

export type Welcome = Extract<GatewayFrame, { type: "welcome" }>;

/** A transfer names its dep by one of so many ticks that came last; a gateway keeps more. */
const TICKS_REFERRED_TO = 64;

export class Link {
  readonly number: number;
  readonly #hello: Vec;
  /** The bases of the last ticks, the newest last. */
  readonly #bases: Vec[] = [];
  readonly refs = new Map<number, Bytes>();
  readonly refOf = new Map<Bytes, number>();
  #nextRef = 0;
  /** The last tick that was received. */
  tick = 0;
  welcome: Welcome | undefined;
  welcomedAt = 0;
  tickedAt: number | undefined;
  /** The regions known to have the base, as bits. */
  have: bigint | undefined;
  /** The entry that is sent next, and the last that was acknowledged. */
  next: number;
  acked: number;
  /** Until then nothing is sent. */
  pausedUntil: number | undefined;
  /** How many Behind came in a row. */
  behinds = 0;
  missing: { readonly k: number; readonly at: number } | undefined;
  /** The last Retime, until its transaction is acknowledged. */
  retimed: { readonly k: number; readonly at: number } | undefined;
  /** From here on entries get new times, once a base of this connection is visible; until then nothing is sent. */
  retimeFrom: number | undefined;
  /** A base of this connection is visible. */
  based = false;
  /** K as it was asked for, and how many regions share what is new in this one, if that was said. */
  K: number;
  shared: number | undefined;
  /** When to send again, because another Missing or Retime was ignored. */
  retryAt: number | undefined;

  constructor(number: number, base: Vec, first: number, K: number) {
    this.number = number;
    this.#hello = base;
    this.K = K;
    this.next = first;
    this.acked = first - 1;
  }

  /** The base that the next tick is a difference to. */
  get last(): Vec {
    return this.#bases.at(-1) ?? this.#hello;
  }

  /** The region has everything up to `k`, and with that the new time of what it has. */
  reaches(k: number): void {
    this.acked = k;
    if (this.retimed && this.retimed.k <= k) this.retimed = undefined;
  }

  /** The gateway is known to have the base of Hello. */
  get covered(): boolean {
    return this.tickedAt !== undefined || this.welcome?.covered === true;
  }

  watch(key: Bytes): number {
    const ref = this.#nextRef++;
    this.refs.set(ref, key);
    this.refOf.set(key, ref);
    return ref;
  }

  unwatch(key: Bytes): number | undefined {
    const ref = this.refOf.get(key);
    if (ref === undefined) return undefined;
    this.refOf.delete(key);
    this.refs.delete(ref);
    return ref;
  }

  ticked(to: Vec): void {
    this.tick++;
    this.#bases.push(to);
    if (this.#bases.length > TICKS_REFERRED_TO) this.#bases.shift();
  }

  /** The newest tick with that base; undefined: it has to be spelled out. */
  tickOf(dep: Vec): number | undefined {
    const at = this.#bases.findLastIndex((base) => sameVec(base, dep));
    if (at >= 0) return this.tick + 1 - this.#bases.length + at;
    return sameVec(this.#hello, dep) ? 0 : undefined;
  }
}
