// The edge client, without IO: events in, effects out. It has no clock, no randomness and no promises.
//
// A client reads in the past, at a base, and commits to its own log; a gateway takes the log and sends newer bases.
// `Rule n` is that of the link's specification. Times come in as whole microseconds of a monotonic clock.
//
// Deviations:
// D1 (rules 2 and 8). The store may be asynchronous. A transaction is then visible in this process before it is durable; it is sent only after.
//    A base is visible only once it is durable: frames behind it wait.
// Invariants:
// I1 The base never falls, also over crashes. I2 An entry leaves the log only in the durable step that has it in the base.
// I3 What was sent is durable with `sent`, and keeps its number, time and operations, but for a Retime.

import { type Bytes, toText } from "./bytes.js";
import { Malformed, type Vec, WATCHED_MAX, dominates, greatest, sameVec } from "./codec.js";
import { type ClientFrame, type GatewayFrame, type Tick, decodeGateway, encodeClient } from "./frames.js";
import { DIGEST_0, type Entry, Log, type Origin, type Row, rowOf } from "./log.js";
import { Rng } from "./rng.js";
import { Cached, type Change, NOW, type Op, type Value, applied, elementOf, hashOf } from "./value.js";

export const WINDOW = 64;
/** A gateway keeps the bases of more ticks than these. */
const TICKS_REFERRED_TO = 64;
const BEHIND_MAX = 3;
const PERIODS_MAX = 5;
const BACKOFF_MIN_US = 250_000;
const BACKOFF_MAX_US = 10_000_000;
const NONE: Bytes = "\0".repeat(8);

export interface Config {
  /** K: how many regions must have a base whole. */
  readonly K: number;
  /** Number of endpoints, in order of preference. */
  readonly endpoints: number;
  readonly token: Bytes;
  /** For the jitter of reconnections. */
  readonly seed: number;
}

/** Everything durable but the log's entries. */
export interface Meta {
  readonly secret: Bytes;
  readonly base: Vec;
  readonly g: number;
  readonly K: number;
  /** Number and digest of the transaction before the first entry of the log. */
  readonly before: number;
  readonly digest: Bytes;
  /** The last transaction of each tab that has left the log. */
  readonly tabs: readonly Origin[];
}

export interface Durable {
  readonly meta: Meta;
  readonly rows: readonly Row[];
}

/** One atomic durable step. */
export type Step =
  | { readonly type: "row"; readonly row: Row }
  /** The rows up to `meta.before` go with it. */
  | { readonly type: "base"; readonly meta: Meta }
  /** A new identity: these are all rows from now on. */
  | { readonly type: "replace"; readonly meta: Meta; readonly rows: readonly Row[] };

export type Phase = "offline" | "connecting" | "behind" | "live";

export interface Status {
  readonly phase: Phase;
  readonly region: string | undefined;
  readonly unsent: number;
  readonly pending: number;
  /** The region lacks own transactions that are not in the log any more: K or more regions were lost. */
  readonly lost: boolean;
}

export interface Refusal {
  readonly k: number;
  /** The operation; undefined: the whole transaction. */
  readonly op: number | undefined;
  readonly code: string;
  readonly text: string;
  readonly ops: readonly Op[];
}

export type Effect =
  | { readonly type: "connect"; readonly endpoint: number }
  | { readonly type: "close" }
  | { readonly type: "send"; readonly frame: Uint8Array }
  /** To be confirmed by `persisted` or `persistFailed`, in this order. */
  | { readonly type: "persist"; readonly step: Step }
  /** Call `wake` at this time; it replaces an earlier one. */
  | { readonly type: "wake"; readonly atUs: number }
  /** To be answered by `renew`, with a fresh secret. */
  | { readonly type: "forked" }
  | { readonly type: "durable"; readonly id: number; readonly k: number }
  | { readonly type: "failed"; readonly ids: readonly number[]; readonly error: unknown }
  | { readonly type: "refused"; readonly refusal: Refusal }
  /** What reads return has changed. `tick`: by a new base. */
  | { readonly type: "changed"; readonly tick: boolean; readonly keys: ReadonlySet<Bytes> }
  | { readonly type: "status" };

export interface Read {
  /** undefined: the value is not cached. */
  readonly value: Value | undefined;
  /** Own transactions on this key that are not in the base. */
  readonly pending: number;
  readonly base: Vec;
}

export function freshMeta(secret: Bytes, K: number): Meta {
  return { secret, base: [], g: 0, K, before: 0, digest: DIGEST_0, tabs: [] };
}

interface Pending {
  readonly kind: "commit" | "send" | "retime" | "base" | "renew";
  readonly step: Step;
  readonly entry?: Entry;
  readonly tick?: Tick;
}

/** What lasts as long as one connection. */
class Link {
  readonly refs = new Map<number, Bytes>();
  readonly refOf = new Map<Bytes, number>();
  /** The bases of Hello and of the last ticks, the newest last: so a transfer names its dep. */
  readonly bases: { tick: number; base: Vec }[];
  readonly number: number;
  nextRef = 0;
  last: Vec;
  lastTick = 0;
  /** Keys watched in the opening: tick 1 brings them. */
  opening: Set<Bytes>;
  welcome: Extract<GatewayFrame, { type: "welcome" }> | undefined;
  /** Next entry to send, and the last that was acknowledged. */
  next: number;
  acked: number;
  /** Until then nothing is sent. */
  pausedUntil: number | undefined;
  behinds = 0;
  heardAt: number;

  constructor(number: number, base: Vec, first: number, now: number, opening: Iterable<Bytes>) {
    this.number = number;
    this.bases = [{ tick: 0, base }];
    this.last = base;
    this.next = first;
    this.acked = first - 1;
    this.heardAt = now;
    this.opening = new Set(opening);
  }
}

export class Client {
  readonly #config: Config;
  readonly #rng: Rng;
  #meta: Meta;
  #log: Log;
  #K: number;
  #interest = new Set<Bytes>();
  #cache = new Map<Bytes, Cached>();
  #visible = new Map<Bytes, Value>();
  /** Bases so far in this run. */
  #epoch = 0;
  #ids = 0;
  #effects: Effect[] = [];
  #persisting: Pending[] = [];
  /** Frames behind a base that is not durable yet. */
  #inbox: Uint8Array[] = [];
  #link: Link | undefined;
  #connections = 0;
  #endpoint = 0;
  #attempt = 0;
  #phase: "idle" | "waiting" | "connecting" | "connected" | "closed" = "idle";
  #reconnectAt = 0;
  #wakeAt: number | undefined;
  #clock: { serverUs: number; atUs: number } | undefined;
  #retainUs = 0;
  #refused = new Set<string>();
  #renewing = false;
  #lost = false;
  #status: Status = { phase: "offline", region: undefined, unsent: 0, pending: 0, lost: false };

  constructor(config: Config, durable: Durable) {
    this.#config = config;
    this.#rng = new Rng(config.seed);
    this.#meta = durable.meta;
    this.#K = config.K;
    this.#log = new Log(durable.meta.before, durable.meta.digest, durable.rows);
    this.#status = this.#statusNow();
  }

  /** The effects since the last call, in order. */
  take(): Effect[] {
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }

  // ---- what an application asks

  get base(): Vec {
    return this.#meta.base;
  }

  get g(): number {
    return this.#meta.g;
  }

  get secret(): Bytes {
    return this.#meta.secret;
  }

  get status(): Status {
    return this.#status;
  }

  /** Between two ticks of the gateway. */
  get periodMs(): number | undefined {
    return this.#link?.welcome?.period;
  }

  get log(): readonly Entry[] {
    return this.#log.entries;
  }

  /** The last transaction of each tab, in the log or before it. */
  get tabs(): readonly Origin[] {
    return lastOfTabs(this.#meta.tabs, this.#log.entries);
  }

  get watched(): ReadonlySet<Bytes> {
    return this.#interest;
  }

  read(key: Bytes, buffer: readonly Op[] = []): Read {
    return { value: this.#valueOf(key, buffer), pending: this.#pendingOf(key), base: this.#meta.base };
  }

  #pendingOf(key: Bytes): number {
    let n = 0;
    for (const entry of this.#log.entries) if (entry.ops.some((op) => op.key === key)) n++;
    return n;
  }

  /** Rule 1. */
  #valueOf(key: Bytes, buffer: readonly Op[]): Value | undefined {
    const cached = this.#cache.get(key);
    if (!cached) return undefined;
    const own = buffer.filter((op) => op.key === key);
    const known = own.length === 0 ? this.#visible.get(key) : undefined;
    if (known) return known;
    let view = cached.value;
    for (const entry of this.#log.entries) {
      for (const op of entry.ops) if (op.key === key) view = applied(cached, view, op, entry);
    }
    if (own.length === 0) this.#visible.set(key, view);
    for (const op of own) view = applied(cached, view, op, NOW);
    return view;
  }

  /** Rule 2. REQUIRES: at least one operation. */
  commit(nowUs: number, ops: readonly Op[], origin?: Origin): { readonly id: number; readonly k: number } {
    const log = this.#log;
    const base = this.#meta.base;
    const h = Math.max((log.entry(log.last)?.h ?? 0) + 1, greatest(base) + 1, this.#serverTime(nowUs));
    const id = ++this.#ids;
    const entry: Entry = { id, k: log.last + 1, dep: base, ops, h, origin, sent: false, durable: false, dirty: false, epoch: this.#epoch, connection: 0 };
    log.push(entry);
    const keys = keysOf([entry]);
    this.#forget(keys);
    this.#persist({ kind: "commit", step: { type: "row", row: rowOf(entry) }, entry });
    this.#changed(keys, false);
    this.#settle(nowUs);
    return { id, k: entry.k };
  }

  watch(nowUs: number, key: Bytes): void {
    if (this.#interest.has(key)) return;
    if (this.#interest.size >= WATCHED_MAX) throw new RangeError("more than 65,536 watched keys");
    this.#interest.add(key);
    if (this.#link) this.#sendWatch(this.#link, key);
    this.#settle(nowUs);
  }

  unwatch(nowUs: number, key: Bytes): void {
    if (!this.#interest.delete(key)) return;
    this.#cache.delete(key);
    this.#visible.delete(key);
    const link = this.#link;
    const ref = link?.refOf.get(key);
    if (link && ref !== undefined) {
      link.refOf.delete(key);
      link.refs.delete(ref);
      link.opening.delete(key);
      this.#send({ type: "unwatch", ref });
    }
    this.#settle(nowUs);
  }

  setK(nowUs: number, K: number): void {
    if (this.#K === K) return;
    this.#K = K;
    if (this.#link) this.#send({ type: "setK", K });
    this.#settle(nowUs);
  }

  // ---- connection

  start(nowUs: number): void {
    if (this.#phase !== "idle") return;
    this.#connect();
    this.#settle(nowUs);
  }

  /** For good. */
  stop(nowUs: number): void {
    if (this.#phase === "connecting" || this.#phase === "connected") this.#effects.push({ type: "close" });
    this.#phase = "closed";
    this.#link = undefined;
    this.#settle(nowUs);
  }

  #connect(): void {
    if (this.#renewing || this.#config.endpoints === 0) return;
    this.#phase = "connecting";
    this.#effects.push({ type: "connect", endpoint: this.#endpoint });
  }

  /** The application knows that the network is back: no need to wait. */
  hurry(nowUs: number): void {
    if (this.#phase === "waiting") this.#connect();
    this.#settle(nowUs);
  }

  /** Rule 10: Hello, all Watches, Sync. */
  connected(nowUs: number): void {
    if (this.#phase !== "connecting") return;
    this.#phase = "connected";
    this.#inbox = [];
    const { secret, base, g } = this.#meta;
    const link = new Link(++this.#connections, base, this.#log.first, nowUs, this.#interest);
    this.#link = link;
    const check = this.#log.digest.slice(0, 8);
    this.#send({ type: "hello", secret, K: this.#K, base, g, first: this.#log.first, check, token: this.#config.token });
    for (const key of this.#interest) this.#sendWatch(link, key);
    this.#send({ type: "sync" });
    this.#settle(nowUs);
  }

  disconnected(nowUs: number): void {
    if (this.#phase !== "connecting" && this.#phase !== "connected") return;
    this.#drop(nowUs, true);
    this.#settle(nowUs);
  }

  /** Rule 14. */
  #drop(nowUs: number, nextEndpoint: boolean): void {
    this.#link = undefined;
    this.#inbox = [];
    if (nextEndpoint && this.#config.endpoints > 0) this.#endpoint = (this.#endpoint + 1) % this.#config.endpoints;
    const backoff = Math.min(BACKOFF_MAX_US, BACKOFF_MIN_US * 2 ** Math.min(this.#attempt++, 16));
    this.#phase = "waiting";
    this.#reconnectAt = nowUs + Math.floor(backoff * (0.5 + this.#rng.next() / 2));
  }

  #fail(nowUs: number): void {
    this.#effects.push({ type: "close" });
    this.#drop(nowUs, true);
  }

  #sendWatch(link: Link, key: Bytes): void {
    const ref = link.nextRef++;
    link.refs.set(ref, key);
    link.refOf.set(key, ref);
    const cached = this.#cache.get(key);
    this.#send({ type: "watch", ref, key, have: cached ? hashOf(cached.value) : NONE });
  }

  #send(frame: ClientFrame): void {
    this.#effects.push({ type: "send", frame: encodeClient(frame) });
  }

  // ---- frames

  received(nowUs: number, frame: Uint8Array): void {
    if (!this.#link) return;
    this.#inbox.push(frame);
    this.#settle(nowUs);
  }

  #readInbox(nowUs: number): void {
    while (this.#inbox.length > 0 && this.#link && !this.#renewing && !this.#persisting.some((p) => p.kind === "base")) {
      const array = this.#inbox.shift()!;
      try {
        this.#handle(nowUs, this.#link, decodeGateway(array, this.#link.last));
      } catch (error) {
        if (!(error instanceof Malformed)) throw error;
        this.#fail(nowUs);
      }
    }
  }

  #handle(nowUs: number, link: Link, frame: GatewayFrame): void {
    if (frame.type === "error") {
      this.#fail(nowUs);
      return;
    }
    if ((frame.type === "welcome") === (link.welcome !== undefined)) throw new Malformed("Welcome comes first, and once");
    switch (frame.type) {
      case "welcome":
        return this.#onWelcome(nowUs, link, frame);
      case "ack":
        if (frame.k >= link.next) throw new Malformed("Ack of what was not sent");
        link.acked = Math.max(link.acked, frame.k);
        return;
      case "missing":
        if (frame.k >= link.next) throw new Malformed("Missing after what was not sent");
        if (frame.k + 1 < this.#log.first) {
          this.#lost = true;
          return;
        }
        link.acked = Math.min(link.acked, frame.k);
        link.next = frame.k + 1;
        return;
      case "later":
      case "behind":
        return this.#onWait(nowUs, link, frame);
      case "forked":
        return this.#fork();
      case "retime":
        return this.#onRetime(nowUs, link, frame.k);
      case "refused":
        return this.#onRefused(frame);
      case "value": {
        if (link.lastTick === 0 || frame.tick !== link.lastTick) throw new Malformed("Value of another tick");
        const key = link.refs.get(frame.ref);
        if (key === undefined) return;
        this.#cache.set(key, this.#cachedFrom(key, { kind: "value", value: frame.value }, new Set()));
        this.#forget([key]);
        this.#changed(new Set([key]), false);
        return;
      }
      case "tick":
        this.#onTick(link, frame);
    }
  }

  #onWelcome(nowUs: number, link: Link, frame: Extract<GatewayFrame, { type: "welcome" }>): void {
    link.welcome = frame;
    link.heardAt = nowUs;
    this.#attempt = 0;
    this.#clock = { serverUs: frame.time, atUs: nowUs };
    this.#retainUs = frame.retain * 1000;
    this.#lost = false;
  }

  /** Rule 7. */
  #onWait(nowUs: number, link: Link, frame: Extract<GatewayFrame, { type: "later" | "behind" }>): void {
    link.next = link.acked + 1;
    // Every transaction in flight gets this reply: they count as one.
    if (link.pausedUntil !== undefined) return;
    link.pausedUntil = nowUs + frame.ms * 1000;
    if (frame.type === "behind" && ++link.behinds >= BEHIND_MAX && this.#config.endpoints > 1) this.#fail(nowUs);
  }

  #onRetime(nowUs: number, link: Link, k: number): void {
    if (!this.#log.entry(k) || k <= link.acked || k >= link.next) throw new Malformed("Retime of what is not under way");
    const changed = this.#log.raise(k, Math.max(this.#log.entry(k)!.h + 1, this.#floor(nowUs)));
    for (const entry of changed) this.#persist({ kind: "retime", step: { type: "row", row: rowOf(entry) }, entry });
    link.next = k;
    const keys = keysOf(changed);
    this.#forget(keys);
    this.#changed(keys, false);
  }

  #onRefused(frame: Extract<GatewayFrame, { type: "refused" }>): void {
    const name = `${frame.k}/${frame.op}`;
    const entry = this.#log.entry(frame.k);
    if (this.#refused.has(name) || !entry) return;
    this.#refused.add(name);
    const op = frame.op < entry.ops.length ? frame.op : undefined;
    this.#refuse(entry, op, toText(frame.code), toText(frame.text));
  }

  #refuse(entry: Entry, op: number | undefined, code: string, text: string): void {
    this.#effects.push({ type: "refused", refusal: { k: entry.k, op, code, text, ops: entry.ops } });
  }

  // ---- a new base (rule 8)

  #onTick(link: Link, tick: Tick): void {
    if (tick.tick !== link.lastTick + 1) throw new Malformed("number of a tick");
    if (!dominates(tick.to, this.#meta.base)) throw new Malformed("base falls");
    if (tick.g < this.#meta.g) throw new Malformed("guard falls");
    for (const { ref, change } of tick.updates) {
      const key = link.refs.get(ref);
      if (key !== undefined && change.kind !== "value" && !this.#cache.get(key)?.changed(change, this.#epoch)) throw new Malformed("change of another value");
    }
    if (tick.g > this.#log.last) {
      // The base has own transactions that this disk does not know: it was restored.
      this.#fork();
      return;
    }
    const before = Math.max(this.#log.first - 1, tick.g);
    const digest = this.#log.digestAt(before)!;
    const tabs = lastOfTabs(this.#meta.tabs, this.#log.entries.slice(0, before - this.#log.first + 1));
    const meta: Meta = { ...this.#meta, base: tick.to, g: tick.g, K: tick.K, before, digest, tabs };
    this.#persist({ kind: "base", step: { type: "base", meta }, tick });
  }

  #applyTick(nowUs: number, tick: Tick, meta: Meta): void {
    const dropped = this.#log.prune(meta.before);
    this.#meta = meta;
    this.#epoch++;
    const keys = keysOf(dropped);
    for (const entry of dropped) for (let op = 0; op <= entry.ops.length; op++) this.#refused.delete(`${entry.k}/${op}`);
    const link = this.#link;
    if (link) {
      const own = elementsOf(dropped);
      for (const { ref, change } of tick.updates) {
        const key = link.refs.get(ref);
        if (key === undefined) continue;
        this.#cache.set(key, this.#cachedFrom(key, change, own.get(key) ?? new Set()));
        keys.add(key);
      }
      link.last = tick.to;
      link.lastTick = tick.tick;
      link.opening.clear();
      link.behinds = 0;
      link.heardAt = nowUs;
      link.bases.push({ tick: tick.tick, base: tick.to });
      if (link.bases.length > 1 + TICKS_REFERRED_TO) link.bases.splice(1, 1);
      link.acked = Math.max(link.acked, this.#log.first - 1);
      link.next = Math.max(link.next, this.#log.first);
    }
    this.#forget(keys);
    this.#changed(keys, true);
  }

  #cachedFrom(key: Bytes, change: Change, own: ReadonlySet<Bytes>): Cached {
    const old = this.#cache.get(key);
    // What comes first was there all along: no transaction is younger than the cache.
    if (!old && change.kind === "value") return new Cached(change.value);
    return old!.changed(change, this.#epoch, own)!;
  }

  // ---- sending (rules 3 and 4)

  #pump(nowUs: number): void {
    const link = this.#link;
    if (!link?.welcome || this.#renewing) return;
    if (link.pausedUntil !== undefined) {
      if (nowUs < link.pausedUntil) return;
      link.pausedUntil = undefined;
    }
    while (link.next <= this.#log.last && link.next - 1 - link.acked < WINDOW) {
      const entry = this.#log.entry(link.next)!;
      if (!entry.durable) return;
      if (!entry.sent) {
        this.#firstSend(nowUs, link, entry);
        if (!entry.durable) return;
        continue;
      }
      if (entry.dirty) {
        entry.dirty = false;
        this.#persist({ kind: "retime", step: { type: "row", row: rowOf(entry) }, entry });
        if (!entry.durable) return;
      }
      const tick = link.bases.findLast(({ base }) => sameVec(base, entry.dep))?.tick;
      const ops = entry.ops.map((op) => ({ op, ref: link.refOf.get(op.key) }));
      const again = entry.connection !== link.number;
      this.#send({ type: "transfer", k: entry.k, again, tick, dep: entry.dep, h: entry.h, ops });
      link.next++;
    }
  }

  #firstSend(nowUs: number, link: Link, entry: Entry): void {
    const keys = keysOf(this.#log.raise(entry.k, this.#floor(nowUs)));
    if (keys.size > 0) {
      this.#forget(keys);
      this.#changed(keys, false);
    }
    entry.sent = true;
    entry.connection = link.number;
    this.#persist({ kind: "send", step: { type: "row", row: rowOf(entry) }, entry });
  }

  #floor(nowUs: number): number {
    return this.#serverTime(nowUs) - Math.floor(this.#retainUs / 2);
  }

  #serverTime(nowUs: number): number {
    return this.#clock ? this.#clock.serverUs + Math.max(0, nowUs - this.#clock.atUs) : 0;
  }

  // ---- durability

  #persist(pending: Pending): void {
    if (pending.entry) pending.entry.durable = false;
    this.#persisting.push(pending);
    this.#effects.push({ type: "persist", step: pending.step });
  }

  /** The oldest unconfirmed step is durable. */
  persisted(nowUs: number): void {
    const done = this.#persisting.shift();
    if (!done) throw new Error("persisted without a step");
    if (done.entry) {
      // A later step of the same entry may be under way.
      if (!this.#persisting.some(({ entry }) => entry === done.entry)) done.entry.durable = true;
      if (done.kind === "commit") this.#effects.push({ type: "durable", id: done.entry.id, k: this.#current(done.entry)?.k ?? done.entry.k });
    }
    if (done.kind === "base" && done.step.type === "base" && done.step.meta.secret === this.#meta.secret) this.#applyTick(nowUs, done.tick!, done.step.meta);
    if (done.kind === "renew") {
      this.#renewing = false;
      for (const entry of this.#log.entries) entry.durable = true;
      this.#connect();
    }
    this.#settle(nowUs);
  }

  /** The oldest unconfirmed step failed, and nothing was changed; neither does any later one take place: all are confirmed so at once. */
  persistFailed(nowUs: number, error: unknown): void {
    const failed = this.#persisting.splice(0);
    const commits = failed.filter((pending) => pending.kind === "commit");
    if (commits.length > 0) {
      const first = this.#current(commits[0].entry!);
      const taken = first ? this.#log.truncate(first.k) : [];
      const keys = keysOf(taken);
      this.#forget(keys);
      this.#effects.push({ type: "failed", ids: taken.map((entry) => entry.id), error });
      this.#changed(keys, false);
    }
    for (const { kind, entry } of failed) {
      if (!entry || entry.k > this.#log.last) continue;
      entry.durable = true;
      if (kind === "retime") entry.dirty = true;
      if (kind === "send") {
        entry.sent = false;
        entry.connection = 0;
      }
    }
    // The rest is tried again in the next connection.
    if (failed.some(({ kind }) => kind !== "commit") && this.#phase === "connected") this.#fail(nowUs);
    if (failed.some(({ kind }) => kind === "renew")) this.#reconnectAt = nowUs + BACKOFF_MAX_US;
    this.#settle(nowUs);
  }

  /** An entry may have got a new number, with a new identity. */
  #current(entry: Entry): Entry | undefined {
    return this.#log.entries.find(({ id }) => id === entry.id);
  }

  // ---- a new identity (rule 11)

  #fork(): void {
    if (this.#renewing) return;
    this.#renewing = true;
    this.#effects.push({ type: "forked" });
  }

  /** The store was cleared, or has lost rows: what was not sent goes on under a new identity. Answered by the effect `forked`. */
  cleared(nowUs: number): void {
    this.#fork();
    this.#settle(nowUs);
  }

  renew(nowUs: number, secret: Bytes): void {
    if (!this.#renewing) return;
    if (this.#phase === "connecting" || this.#phase === "connected") this.#effects.push({ type: "close" });
    this.#phase = "waiting";
    this.#reconnectAt = Infinity;
    this.#link = undefined;
    this.#inbox = [];
    const old = this.#log.entries;
    const keys = keysOf(old);
    for (const entry of old) if (entry.sent) this.#refuse(entry, undefined, "forked", "sent under an identity that another copy of this disk has used");
    const tabs = lastOfTabs(this.#meta.tabs, old);
    this.#meta = { ...freshMeta(secret, this.#meta.K), base: this.#meta.base, tabs };
    this.#log = new Log(0, DIGEST_0, []);
    for (const entry of old) if (!entry.sent) this.#log.push({ ...entry, k: this.#log.last + 1, durable: false });
    this.#refused.clear();
    this.#persist({ kind: "renew", step: { type: "replace", meta: this.#meta, rows: this.#log.entries.map(rowOf) } });
    this.#forget(keys);
    this.#changed(keys, false);
    this.#settle(nowUs);
  }

  // ---- time, status

  wake(nowUs: number): void {
    this.#wakeAt = undefined;
    if (this.#phase === "waiting" && nowUs >= this.#reconnectAt) {
      if (this.#renewing) this.#effects.push({ type: "forked" });
      else this.#connect();
    }
    this.#settle(nowUs);
  }

  #settle(nowUs: number): void {
    this.#readInbox(nowUs);
    this.#pump(nowUs);
    const times: number[] = [];
    if (this.#phase === "waiting" && this.#reconnectAt < Infinity) times.push(this.#reconnectAt);
    const link = this.#link;
    if (link?.pausedUntil !== undefined) times.push(link.pausedUntil);
    if (link?.welcome) {
      const quietAt = this.#quietAt(link);
      if (nowUs < quietAt) times.push(quietAt);
    }
    const atUs = Math.min(...times);
    if (times.length > 0 && atUs !== this.#wakeAt) {
      this.#wakeAt = atUs;
      this.#effects.push({ type: "wake", atUs });
    }
    const status = this.#statusNow(nowUs);
    const old = this.#status;
    if ((Object.keys(status) as (keyof Status)[]).some((name) => status[name] !== old[name])) {
      this.#status = status;
      this.#effects.push({ type: "status" });
    }
  }

  #quietAt(link: Link): number {
    return link.heardAt + PERIODS_MAX * Math.max(1, link.welcome!.period) * 1000;
  }

  /** Rule 13. */
  #statusNow(nowUs = 0): Status {
    const link = this.#link;
    let phase: Phase = this.#phase === "connecting" ? "connecting" : "offline";
    if (link) {
      const covered = link.lastTick > 0 || link.welcome?.covered;
      phase = !link.welcome ? "connecting" : covered && nowUs < this.#quietAt(link) ? "live" : "behind";
    }
    const acked = link ? Math.max(link.acked, this.#log.first - 1) : this.#log.first - 1;
    return { phase, region: link?.welcome && toText(link.welcome.name), unsent: this.#log.last - acked, pending: this.#log.length, lost: this.#lost };
  }

  #forget(keys: Iterable<Bytes>): void {
    for (const key of keys) this.#visible.delete(key);
  }

  #changed(keys: ReadonlySet<Bytes>, tick: boolean): void {
    if (keys.size > 0 || tick) this.#effects.push({ type: "changed", keys, tick });
  }
}

const TABS_MAX = 256;

function lastOfTabs(tabs: readonly Origin[], entries: readonly Entry[]): readonly Origin[] {
  const last = new Map(tabs.map(({ tab, n }) => [tab, n]));
  for (const { origin } of entries) {
    if (!origin) continue;
    last.delete(origin.tab);
    last.set(origin.tab, origin.n);
  }
  return [...last].slice(-TABS_MAX).map(([tab, n]) => ({ tab, n }));
}

function keysOf(entries: Iterable<Entry>): Set<Bytes> {
  const keys = new Set<Bytes>();
  for (const entry of entries) for (const op of entry.ops) keys.add(op.key);
  return keys;
}

function elementsOf(entries: Iterable<Entry>): Map<Bytes, Set<Bytes>> {
  const elements = new Map<Bytes, Set<Bytes>>();
  for (const entry of entries) {
    for (const op of entry.ops) {
      const element = elementOf(op);
      if (element === undefined) continue;
      const of = elements.get(op.key);
      if (of) of.add(element);
      else elements.set(op.key, new Set([element]));
    }
  }
  return elements;
}

