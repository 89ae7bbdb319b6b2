// The edge client, without IO: events in, effects out. It has no clock, no randomness and no promises.
//
// A client reads in the past, at a base, and commits to its own log; a gateway takes the log and sends newer bases.
// `Rule n` is that of the link's specification. Times come in as whole microseconds of a monotonic clock.
//
// Deviations:
// D1 (rule 2) With `eager`, a transaction is visible in this process before it is durable. It is sent only after, and taken back if it cannot be made durable.
// D2 (rule 10) A store may keep the values at its base. A client that starts with them watches their keys, too, until `forget`.
// D3 Steps that wait for a durable one fail with it, all at once.
// Invariants:
// I1 The base never falls, also over crashes. I2 An entry leaves the log only in the durable step that has it in the base.
// I3 What was sent is durable, and keeps its number, base, time and operations, but for a Retime.

import { type Bytes, compareBytes, toText } from "./bytes.js";
import { Malformed, type Vec, WATCHED_MAX, dominates, greatest, micros } from "./codec.js";
import { type ClientFrame, type GatewayFrame, type Tick, decodeGateway, encodeClient } from "./frames.js";
import { Link, type Welcome } from "./link.js";
import { DIGEST_0, type Entry, Log, type Origin, type Row, resumed, rowOf } from "./log.js";
import { birthOf } from "./position.js";
import { Rng } from "./rng.js";
import { Cached, type Change, NOW, type Op, type Value, applied, elementOf, hashOf, hides } from "./value.js";

export const WINDOW = 64;
export const BEHIND_MAX = 3;

/** How long it waits for what, in milliseconds. */
export interface Timing {
  /** The first delay before another connection is about this long. It doubles with each failure. */
  readonly backoffMinMs: number;
  readonly backoffMaxMs: number;
  /** A connection without Welcome after so long has failed. */
  readonly welcomeWithinMs: number;
  /** The same Missing or Retime within this time is about frames that were under way. */
  readonly retryMs: number;
  /** After so long at another endpoint than the preferred one, or in an isolated region, the client looks for a better one; after twice as long if that was in vain, and so on. */
  readonly lookMs: number;
}

const TIMING: Timing = { backoffMinMs: 250, backoffMaxMs: 10_000, welcomeWithinMs: 10_000, retryMs: 1_000, lookMs: 60_000 };
const LOOKS_MAX = 6;
const PERIODS_MAX = 5;
const TABS_MAX = 256;
/** A map, list or set of more elements is not kept in the store: it would be written as a whole with each base that changes it. */
const KEPT_ELEMENTS_MAX = 10_000;
const NONE: Bytes = "\0".repeat(8);

export interface Config {
  /** K: how many regions must have a base whole. */
  readonly K: number;
  /** Number of endpoints, in order of preference. */
  readonly endpoints: number;
  readonly token: Bytes;
  /** For the jitter of reconnections. */
  readonly seed: bigint | number;
  /** Is K lowered while all regions that can be reached are isolated? Then what is shown may be lost if the region is. */
  readonly lowers: boolean;
  /** Are transactions visible before they are durable? */
  readonly eager: boolean;
  /** By default for networks that people have. */
  readonly timing?: Timing;
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
  /** Values at the base, for a store that keeps them. */
  readonly values?: ReadonlyMap<Bytes, Value>;
}

/** One atomic durable step. */
export type Step =
  | { readonly type: "rows"; readonly rows: readonly Row[] }
  /**
   * The rows up to `meta.before` go with it. `values`: those that differ from what the store has, undefined: it has it no more. A store may leave them
   * out, or keep them all.
   */
  | { readonly type: "base"; readonly meta: Meta; readonly values?: ReadonlyMap<Bytes, Value | undefined> }
  /** A new identity: these are all rows from now on, and there are no values. */
  | { readonly type: "replace"; readonly meta: Meta; readonly rows: readonly Row[] };

export type Phase = "offline" | "connecting" | "behind" | "live";

export interface Status {
  readonly phase: Phase;
  readonly region: string | undefined;
  /** Fewer than K regions share what is new in this one. */
  readonly isolated: boolean;
  readonly unsent: number;
  readonly pending: number;
  /** Own transactions that were in a base, and are not in the log any more, were lost: K or more regions were. The log goes on without them. */
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
  /** A gateway has closed the connection, and said why. */
  | { readonly type: "error"; readonly code: string; readonly text: string }
  /** What reads return has changed. `tick`: by a new base. */
  | { readonly type: "changed"; readonly tick: boolean; readonly keys: ReadonlySet<Bytes> }
  | { readonly type: "status" };

export interface Read {
  /** undefined: the value is not cached. */
  readonly value: Value | undefined;
  /** Own transactions on this key that are not in the base. */
  readonly pending: number;
  /** Fields and members that they write or remove, and positions that they write. */
  readonly elements: ReadonlySet<Bytes>;
  readonly base: Vec;
}

/** How far a transaction of the log is: not on the disk yet, on it, sent, or taken by the region of this connection. */
export type Stage = "storing" | "stored" | "sent" | "accepted";

/** The state of a client, for people who look into it. */
export interface Inspection {
  readonly status: Status;
  /** How many regions must have a base. */
  readonly K: number;
  readonly base: Vec;
  /** Regions known to have the base, as bits; undefined: none was told on this connection. */
  readonly have: bigint | undefined;
  /** Number of this connection's region. */
  readonly region: number | undefined;
  readonly regions: number | undefined;
  /** The servers' time in microseconds; 0: not known yet. */
  readonly serverUs: number;
  /** The transactions up to here are in the base. */
  readonly before: number;
  /** The log. `h`: the time by which it wins, in microseconds. */
  readonly transactions: readonly { readonly k: number; readonly h: number; readonly stage: Stage; readonly ops: readonly Op[]; readonly tab: string | undefined }[];
}

export function freshMeta(secret: Bytes, K: number): Meta {
  return { secret, base: [], g: 0, K, before: 0, digest: DIGEST_0, tabs: [] };
}

type Renewed = Pick<Entry, "h" | "dep" | "epoch" | "ops" | "connection">;

interface Pending {
  readonly kind: "commit" | "retime" | "base" | "renew";
  readonly step: Step;
  readonly entries: readonly Entry[];
  /** What becomes of these with new times. */
  readonly renewed?: readonly Renewed[];
  readonly tick?: Tick;
  readonly link?: Link | undefined;
}

/** What waits for the bases before it to become durable. */
type Staged = { readonly link: Link; readonly tick: Tick } | { readonly link: Link; readonly ref: number; readonly value: Value };

interface Fork {
  /** The first transaction that may differ. */
  readonly k: number;
  secret: Bytes | undefined;
}

type State = "stopped" | "waiting" | "asked" | "connected" | "renewing";

export class Client {
  readonly #config: Config;
  readonly #timing: Timing;
  readonly #rng: Rng;
  #now = 0;
  #meta: Meta;
  #log: Log;
  #K: number;
  #lastH: number;
  #ids = 0;
  readonly #interest = new Set<Bytes>();
  /** Keys whose values came from the store, and that nobody has asked for yet. */
  readonly #kept = new Set<Bytes>();
  /** Those of them that only the log needs: it has to know what the client has seen overwritten. */
  readonly #left = new Set<Bytes>();
  /** Keys whose values the store has, at its base; and those whose values it should get. */
  #saved = new Set<Bytes>();
  #unsaved = new Set<Bytes>();
  /** Not if it has no room. */
  #saves = true;
  readonly #cache = new Map<Bytes, Cached>();
  readonly #visible = new Map<Bytes, Value>();
  /** Bases so far in this run. */
  #epoch = 0;
  #effects: Effect[] = [];
  #persisting: Pending[] = [];
  /** Committed, and to be persisted together once the commits before them are. */
  #waiting: Entry[] = [];
  #staged: Staged[] = [];
  #fork: Fork | undefined;
  #phase: State = "stopped";
  /** When the phase began; for `waiting`, when it ends. */
  #phaseAt = 0;
  #link: Link | undefined;
  #connections = 0;
  /** Where the client is, or tries to be, and where it goes back to. */
  #endpoint = 0;
  #home = 0;
  #failures = 0;
  /** So many endpoints in a row could not be used, or are in isolated regions. */
  #inVain = 0;
  /** How often it has looked for a better endpoint in vain, and whether it does now. */
  #looks = 0;
  #looking = false;
  /** The application wants a connection. */
  #wanted = false;
  #wakeAt: number | undefined;
  #clock: { readonly serverUs: number; readonly atUs: number } | undefined;
  readonly #refused = new Set<string>();
  #lost = false;
  #status: Status;

  constructor(config: Config, durable: Durable) {
    this.#config = config;
    this.#timing = config.timing ?? TIMING;
    this.#rng = new Rng(config.seed);
    this.#meta = durable.meta;
    this.#K = config.K;
    this.#log = new Log(durable.meta.before, durable.meta.digest, durable.rows);
    for (const [key, value] of durable.values ?? []) {
      this.#cache.set(key, new Cached(value));
      this.#kept.add(key);
      this.#saved.add(key);
    }
    for (const key of [...keysOf(this.#log.entries)].sort(compareBytes).slice(0, WATCHED_MAX / 2)) {
      if (this.#kept.has(key)) continue;
      this.#kept.add(key);
      this.#left.add(key);
    }
    this.#lastH = this.#log.entries.reduce((h, entry) => Math.max(h, entry.h), 0);
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

  inspect(nowUs: number): Inspection {
    this.#at(nowUs);
    const { welcome, acked = 0 } = this.#link ?? {};
    const stage = (entry: Entry): Stage => (entry.k <= acked ? "accepted" : entry.sent ? "sent" : this.#isBeingCommitted(entry) ? "storing" : "stored");
    return {
      status: this.#status,
      K: this.#K,
      base: this.#meta.base,
      have: this.#link?.have,
      region: welcome?.region,
      regions: welcome?.regions,
      serverUs: this.#serverTime(),
      before: this.#meta.before,
      transactions: this.#log.entries.map((entry) => ({ k: entry.k, h: entry.h, stage: stage(entry), ops: entry.ops, tab: entry.origin?.tab })),
    };
  }

  read(key: Bytes, buffer: readonly Op[] = []): Read {
    const own = this.#log.entries.filter(({ ops }) => ops.some((op) => op.key === key));
    return { value: this.#valueOf(key, buffer), pending: own.length, elements: touched(own, key), base: this.#meta.base };
  }

  /** The same without what is not durable yet: what may be shown outside of this process, where it would outlive what a crash takes. */
  readDurable(key: Bytes): Read {
    const own = this.#committedLog().filter(({ ops }) => ops.some((op) => op.key === key));
    const cached = this.#cache.get(key);
    const value = cached && own.reduce((view, entry) => entry.ops.reduce((view, op) => (op.key === key ? applied(cached, view, op, entry) : view), view), cached.value);
    return { value, pending: own.length, elements: touched(own, key), base: this.#meta.base };
  }

  /** As `tabs`, without what is not durable yet. */
  get tabsDurable(): readonly Origin[] {
    return lastOfTabs(this.#meta.tabs, this.#committedLog());
  }

  /** What transactions write that are not durable yet. */
  get committing(): ReadonlySet<Bytes> {
    const entries = this.#log.entries.slice(this.#committedLog().length);
    return new Set(entries.flatMap(({ ops }) => ops.map((op) => op.key)));
  }

  #committedLog(): readonly Entry[] {
    return this.#log.entries.slice(0, this.#log.entries.findLastIndex((entry) => !this.#isBeingCommitted(entry)) + 1);
  }

  /** Rule 1. */
  #valueOf(key: Bytes, buffer: readonly Op[]): Value | undefined {
    const cached = this.#cache.get(key);
    if (!cached) return undefined;
    let view = this.#visible.get(key) ?? cached.value;
    if (!this.#visible.has(key)) {
      for (const entry of this.#log.entries) {
        if (entry.shown) for (const op of entry.ops) if (op.key === key) view = applied(cached, view, op, entry);
      }
      this.#visible.set(key, view);
    }
    for (const op of buffer) if (op.key === key) view = applied(cached, view, op, NOW);
    return view;
  }

  /** Rule 2. REQUIRES: at least one operation. */
  commit(nowUs: number, ops: readonly Op[], origin?: Origin): { readonly id: number; readonly k: number } {
    this.#at(nowUs);
    const base = this.#meta.base;
    // Regions refuse an element that is younger than its transaction.
    const births = ops.map((op) => (op.op === "listSet" ? birthOf(op.position) : 0));
    const h = births.reduce((h, birth) => Math.max(h, birth), Math.max(Math.max(this.#lastH, greatest(base)) + 1, this.#serverTime()));
    this.#lastH = h;
    const id = ++this.#ids;
    const shown = this.#config.eager;
    const entry: Entry = { id, k: this.#log.last + 1, dep: base, ops, h, origin, sent: false, durable: false, shown, epoch: this.#epoch, connection: 0 };
    this.#log.push(entry);
    this.#waiting.push(entry);
    if (shown) this.#changed(keysOf([entry]), false);
    this.#advance();
    return { id, k: entry.k };
  }

  watch(nowUs: number, key: Bytes): void {
    this.#at(nowUs);
    if (this.#interest.has(key)) return;
    if (this.#interest.size >= WATCHED_MAX) throw new RangeError("more than 65,536 watched keys");
    this.#interest.add(key);
    if (this.#kept.delete(key)) {
      this.#left.delete(key);
      if (this.#cache.has(key)) this.#changed(new Set([key]), false);
      return this.#advance();
    }
    if (this.#interest.size + this.#kept.size > WATCHED_MAX) {
      for (const key of this.#kept) this.#drop(key);
      this.#kept.clear();
      this.#left.clear();
    }
    if (this.#link) this.#send({ type: "watch", ref: this.#link.watch(key), key, have: NONE });
    this.#advance();
  }

  unwatch(nowUs: number, key: Bytes): void {
    this.#at(nowUs);
    if (!this.#interest.delete(key)) return;
    this.#kept.add(key);
    this.#left.add(key);
    this.#letGo();
    this.#advance();
  }

  /** Lets go of the keys that nobody has asked for, unless there is no connection to get them again. */
  forget(nowUs: number): void {
    this.#at(nowUs);
    if (!this.#link?.tickedAt) return;
    this.#forget();
    this.#advance();
  }

  #forget(): void {
    for (const key of this.#kept) this.#left.add(key);
    this.#letGo();
  }

  /** Watches keys no more that were given up, and that the log does not write. */
  #letGo(): void {
    if (this.#left.size === 0) return;
    const written = keysOf(this.#log.entries);
    for (const key of [...this.#left].sort(compareBytes)) {
      if (written.has(key)) continue;
      this.#left.delete(key);
      this.#kept.delete(key);
      this.#drop(key);
    }
  }

  #drop(key: Bytes): void {
    this.#cache.delete(key);
    this.#visible.delete(key);
    const ref = this.#link?.unwatch(key);
    if (ref !== undefined) this.#send({ type: "unwatch", ref });
  }

  #isWatched(key: Bytes): boolean {
    return this.#interest.has(key) || this.#kept.has(key);
  }

  setK(nowUs: number, K: number): void {
    this.#at(nowUs);
    this.#K = K;
    if (this.#link) this.#chooseK(this.#link);
    this.#advance();
  }

  // ---- connection (rules 10, 13 and 14)

  start(nowUs: number): void {
    this.#at(nowUs);
    this.#wanted = true;
    if (this.#phase === "stopped") this.#reconnect();
    this.#advance();
  }

  stop(nowUs: number): void {
    this.#at(nowUs);
    this.#wanted = false;
    this.#close();
    if (!this.#fork) this.#phase = "stopped";
    this.#advance();
  }

  /** The application knows that the network is back: no need to wait. */
  hurry(nowUs: number): void {
    this.#at(nowUs);
    if (this.#phase === "waiting") this.#reconnect();
    this.#advance();
  }

  /** Goes to this endpoint, if it is not there. */
  prefer(nowUs: number, endpoint: number): void {
    this.#at(nowUs);
    this.#home = endpoint;
    if (endpoint === this.#endpoint && this.#phase === "connected") return;
    this.#endpoint = endpoint;
    this.#failures = 0;
    this.#inVain = 0;
    this.#looks = 0;
    this.#close();
    if (this.#wanted && !this.#fork) this.#reconnect();
    this.#advance();
  }

  connected(nowUs: number): void {
    this.#at(nowUs);
    if (this.#phase !== "asked") return;
    this.#phase = "connected";
    this.#phaseAt = this.#now;
    this.#advance();
  }

  disconnected(nowUs: number): void {
    this.#at(nowUs);
    if (this.#phase === "asked" || this.#phase === "connected") this.#waitForNext();
    this.#advance();
  }

  wake(nowUs: number): void {
    this.#at(nowUs);
    // Timers may be early: then another is asked for.
    this.#wakeAt = undefined;
    this.#advance();
  }

  #at(nowUs: number): void {
    this.#now = Math.max(this.#now, nowUs);
  }

  /** Does what has become possible. */
  #advance(): void {
    this.#advanceStaged();
    this.#advanceFork();
    this.#giveNewTimes();
    this.#advanceCommits();
    this.#advanceConnection();
    this.#advanceTransfers();
    this.#renewIfRestored();
    this.#tellStatus();
    this.#setTimer();
  }

  #reconnect(): void {
    this.#phase = "waiting";
    this.#phaseAt = this.#now;
  }

  #close(): void {
    if (this.#phase !== "asked" && this.#phase !== "connected") return;
    this.#effects.push({ type: "close" });
    this.#link = undefined;
    this.#phase = "stopped";
  }

  #fail(): void {
    if (this.#phase !== "asked" && this.#phase !== "connected") return;
    this.#close();
    this.#waitForNext();
  }

  #waitForNext(): void {
    this.#link = undefined;
    this.#inVain++;
    this.#looking = false;
    this.#endpoint = (this.#endpoint + 1) % this.#config.endpoints;
    this.#tryAgain();
  }

  /** After a delay, so that a gateway which always says the same is not asked without end. */
  #tryAgain(): void {
    const half = Math.min(this.#timing.backoffMinMs * 2 ** Math.min(this.#failures++, 10), this.#timing.backoffMaxMs) * 500;
    this.#phase = this.#wanted ? "waiting" : "stopped";
    this.#phaseAt = this.#now + half + this.#rng.below(half + 1);
  }

  /** Rule 17: when it looks for a better endpoint. One that has lowered K has a base that others may not have. */
  #looksAt(link: Link): number | undefined {
    const better = this.#endpoint !== this.#home || this.#isIsolated(link);
    if (!better || this.#config.endpoints < 2 || link.K !== this.#K) return undefined;
    const after = this.#timing.lookMs * 1000 * 2 ** Math.min(this.#looks, LOOKS_MAX);
    // Not all clients at the same time.
    return this.#phaseAt + after + Math.floor((after * this.#meta.secret.charCodeAt(0)) / 256);
  }

  /** From the preferred endpoint, whose region is isolated, it goes to the next one. */
  #lookElsewhere(): void {
    const atHome = this.#endpoint === this.#home;
    this.#close();
    this.#inVain = atHome ? 1 : 0;
    this.#endpoint = atHome ? (this.#home + 1) % this.#config.endpoints : this.#home;
    this.#looks++;
    this.#looking = true;
    this.#failures = 0;
    this.#reconnect();
  }

  #isIsolated(link: Link): boolean {
    return link.shared !== undefined && link.shared < this.#K;
  }

  /** Rule 16: so many regions share what is new in the region. */
  #onShared(link: Link, regions: number): void {
    link.shared = regions;
    if (this.#isIsolated(link) && this.#inVain < this.#config.endpoints - 1) return this.#fail();
    this.#chooseK(link);
  }

  /** Asks for the K that is wanted, or that there is. */
  #chooseK(link: Link): void {
    const K = this.#config.lowers ? Math.min(this.#K, link.shared ?? this.#K) : this.#K;
    if (K === link.K) return;
    link.K = K;
    this.#send({ type: "setK", K });
  }

  #advanceConnection(): void {
    const looksAt = this.#link?.welcome && this.#looksAt(this.#link);
    if (looksAt !== undefined && looksAt <= this.#now) this.#lookElsewhere();
    const link = this.#link;
    if (this.#phase === "waiting" && this.#phaseAt <= this.#now && this.#config.endpoints > 0) {
      this.#phase = "asked";
      this.#phaseAt = this.#now;
      this.#connections++;
      this.#effects.push({ type: "connect", endpoint: this.#endpoint });
    } else if ((this.#phase === "asked" || this.#phase === "connected") && !link?.welcome && this.#phaseAt + this.#timing.welcomeWithinMs * 1000 <= this.#now) {
      this.#fail();
    } else if (this.#phase === "connected" && !link) {
      this.#sayHello();
    } else if (link?.retryAt !== undefined && link.retryAt <= this.#now) {
      link.retryAt = undefined;
      link.next = link.acked + 1;
    }
  }

  /** Rule 10: the opening. It begins at the base that is durable and visible. */
  #sayHello(): void {
    if (this.#staged.length > 0) return;
    const { secret, base, g } = this.#meta;
    const first = this.#log.first;
    const link = new Link(this.#connections, base, first, this.#K);
    this.#link = link;
    this.#send({ type: "hello", secret, K: this.#K, base, g, first, check: this.#log.digest.slice(0, 8), token: this.#config.token });
    const written = keysOf(this.#log.entries.filter(({ shown }) => shown));
    for (const key of [...this.#interest, ...this.#kept].sort(compareBytes)) {
      // Nothing is said of keys that the log writes: an equal value may have been written later, and which write wins depends on that.
      const cached = written.has(key) ? undefined : this.#cache.get(key);
      this.#send({ type: "watch", ref: link.watch(key), key, have: cached ? hashOf(cached.value) : NONE });
    }
    this.#send({ type: "sync" });
  }

  #send(frame: ClientFrame): void {
    this.#effects.push({ type: "send", frame: encodeClient(frame) });
  }

  // ---- frames

  received(nowUs: number, frame: Uint8Array): void {
    this.#at(nowUs);
    const link = this.#link;
    if (link) {
      try {
        this.#onFrame(link, decodeGateway(frame, link.last));
      } catch (error) {
        if (!(error instanceof Malformed)) throw error;
        this.#fail();
      }
    }
    this.#advance();
  }

  #onFrame(link: Link, frame: GatewayFrame): void {
    if (frame.type === "error") {
      this.#effects.push({ type: "error", code: toText(frame.code), text: toText(frame.text) });
      return this.#fail();
    }
    if ((frame.type === "welcome") === (link.welcome !== undefined)) throw new Malformed("Welcome comes first, and once");
    switch (frame.type) {
      case "welcome":
        return this.#onWelcome(link, frame);
      case "ack":
        link.reaches(Math.max(link.acked, Math.min(frame.k, link.next - 1)));
        link.behinds = 0;
        return;
      case "missing":
        return this.#onMissing(link, frame.k);
      case "later":
        return this.#onWait(link, frame.ms, false);
      case "behind":
        return this.#onWait(link, frame.ms, true);
      case "forked":
        return this.#onForked(frame.k);
      case "retime":
        return this.#onRetime(link, frame.k);
      case "shared":
        return this.#onShared(link, frame.K);
      case "refused":
        return this.#onRefused(frame);
      case "value":
        if (link.tick === 0 || frame.tick !== link.tick) throw new Malformed("Value of another tick");
        this.#staged.push({ link, ref: frame.ref, value: frame.value });
        return;
      case "tick":
        if (frame.tick !== link.tick + 1) throw new Malformed("number of a tick");
        link.ticked(frame.to);
        link.behinds = 0;
        link.tickedAt = this.#now;
        this.#failures = 0;
        if (!this.#isIsolated(link)) {
          this.#inVain = 0;
          this.#looking = false;
          if (this.#endpoint === this.#home) this.#looks = 0;
        }
        this.#staged.push({ link, tick: frame });
    }
  }

  #onWelcome(link: Link, frame: Welcome): void {
    link.welcome = frame;
    link.welcomedAt = this.#now;
    this.#clock = { serverUs: frame.time, atUs: this.#now };
    this.#lost = false;
    // Where it was it had a base.
    if (this.#looking && !link.covered) return this.#fail();
    const known = frame.head > 0 ? this.#log.digestAt(frame.head) : undefined;
    if (known !== undefined && known.slice(0, 8) !== frame.check) this.#onForked(this.#log.first);
  }

  // ---- a new base (rules 8 and 9)

  #advanceStaged(): void {
    while (!this.#persisting.some(({ kind }) => kind === "base")) {
      const next = this.#staged[0];
      if (!next) return;
      if ("value" in next) {
        this.#staged.shift();
        const key = next.link.refs.get(next.ref);
        if (key === undefined) continue;
        this.#cache.set(key, new Cached(next.value));
        this.#unsaved.add(key);
        this.#changed(new Set([key]), false);
        continue;
      }
      const { tick, link } = next;
      const g = Math.max(tick.g, this.#meta.g);
      const before = Math.min(Math.max(this.#meta.before, g), this.#log.last);
      const known = this.#log.digestAt(before)!;
      // What was in a base, and is not in this one, was lost: of its chain the region has no more than that.
      const digest = hasLost(tick, this.#meta) ? resumed(known) : known;
      if (tick.g > this.#meta.g && (tick.g > this.#log.last || digest.slice(0, 8) !== tick.check)) {
        // Another branch: this disk was restored, or copied.
        this.#staged = [];
        return this.#onForked(this.#log.first);
      }
      const pruned = this.#log.entries.slice(0, before - this.#meta.before);
      const tabs = lastOfTabs(this.#meta.tabs, pruned);
      const meta: Meta = { ...this.#meta, base: tick.to, g, K: tick.K, before, digest, tabs };
      this.#persist({ kind: "base", step: { type: "base", meta, values: this.#toSave(link, tick) }, entries: [], tick, link });
    }
  }

  /** What the store needs so that it has the values of this base, and no older ones. */
  #toSave(link: Link, tick: Tick): ReadonlyMap<Bytes, Value | undefined> {
    const values = new Map<Bytes, Value | undefined>();
    for (const key of this.#saved) if (!this.#isWatched(key) || !this.#saves) values.set(key, undefined);
    if (!this.#saves) return values;
    const save = (key: Bytes, value: Value | undefined) => {
      if (value && elementsIn(value) <= KEPT_ELEMENTS_MAX) values.set(key, value);
      else if (this.#saved.has(key)) values.set(key, undefined);
    };
    for (const key of this.#unsaved) if (this.#isWatched(key)) save(key, this.#cache.get(key)?.value);
    for (const { ref, change } of tick.updates) {
      const key = link.refs.get(ref);
      if (key !== undefined && this.#isWatched(key)) save(key, this.#next(this.#cache.get(key), change, undefined)?.value);
    }
    return values;
  }

  #onSaved(values: ReadonlyMap<Bytes, Value | undefined>): void {
    for (const [key, value] of values) {
      if (value) this.#saved.add(key);
      else this.#saved.delete(key);
    }
    this.#unsaved.clear();
  }

  #applyTick(link: Link, tick: Tick, meta: Meta): void {
    this.#staged.shift();
    if (hasLost(tick, this.#meta)) this.#lost = true;
    const dropped = this.#log.prune(meta.before, meta.digest);
    this.#meta = meta;
    this.#epoch++;
    const keys = keysOf(dropped);
    for (const { k, ops } of dropped) for (let op = 0; op <= ops.length; op++) this.#refused.delete(`${k}/${op}`);
    const own = elementsOf(dropped);
    for (const { ref, change } of tick.updates) {
      const key = link.refs.get(ref);
      if (key === undefined || !this.#isWatched(key)) continue;
      const next = this.#next(this.#cache.get(key), change, own.get(key));
      if (next) {
        this.#cache.set(key, next);
        keys.add(key);
      } else {
        this.#cache.delete(key);
        this.#fail();
      }
    }
    link.have = tick.have;
    link.reaches(Math.max(link.acked, meta.before));
    link.next = Math.max(link.next, meta.before + 1);
    link.based = true;
    this.#changed(keys, true);
    this.#letGo();
  }

  #next(old: Cached | undefined, change: Change, own: ReadonlySet<Bytes> | undefined): Cached | undefined {
    if (old) return old.changed(change, this.#epoch, own);
    return change.kind === "value" ? new Cached(change.value) : undefined;
  }

  // ---- sending (rules 3 to 7)

  #advanceTransfers(): void {
    const link = this.#link;
    if (!link?.welcome || this.#fork || link.retimeFrom !== undefined || this.#persisting.some(({ kind }) => kind === "retime")) return;
    if (link.pausedUntil !== undefined && this.#now < link.pausedUntil) return;
    link.pausedUntil = undefined;
    while (link.next <= this.#log.last && link.next <= link.acked + WINDOW) {
      const entry = this.#log.entry(link.next)!;
      if (!entry.durable) return;
      if (!entry.sent) [entry.sent, entry.connection] = [true, link.number]; // Rule 3
      const ops = entry.ops.map((op) => ({ op, ref: link.refOf.get(op.key) }));
      const again = entry.connection !== link.number;
      this.#send({ type: "transfer", k: entry.k, again, tick: link.tickOf(entry.dep), dep: entry.dep, h: entry.h, ops });
      link.next++;
    }
  }

  /** Where regions remember for certain what they have taken. */
  #oldest(): number {
    return Math.max(0, this.#serverTime() - (this.#link?.welcome?.retain ?? 0) * 500);
  }

  /** Whether the client has seen an operation overwritten that counts at h. */
  #hides(op: Op, h: number): boolean {
    const cached = this.#cache.get(op.key);
    return cached !== undefined && hides(cached, op, h);
  }

  /**
   * Rule 12, for an entry and all that follow: times that regions still remember, and that grow; bases that regions still read. With a later time an
   * entry loses what the client has seen overwritten: it would win again.
   */
  #withNewTimes(entries: readonly Entry[], connection: number): Renewed[] {
    const oldest = this.#oldest();
    const { base } = this.#meta;
    let last = 0;
    return entries.map((entry, i) => {
      let { h, dep, epoch, ops } = entry;
      const isOld = base.some((newer, m) => (dep[m] ?? 0n) < newer && micros(dep[m] ?? 0n) < oldest);
      if (isOld && dominates(base, dep)) [dep, epoch] = [base, this.#epoch];
      // By that the gateway tells the first from the one with the old time.
      h = last = Math.max(i === 0 ? h + 1 : h, greatest(dep) + 1, oldest, last + 1);
      if (h !== entry.h) ops = ops.filter((op) => !this.#hides(op, entry.h));
      return { h, dep, epoch, ops, connection: entry.sent ? connection : 0 };
    });
  }

  /** They are durable. */
  #onNewTimes(entries: readonly Entry[], renewed: readonly Renewed[]): void {
    const keys = [...keysOf(entries)];
    const values = keys.map((key) => this.#valueOf(key, []));
    for (const [i, entry] of entries.entries()) Object.assign(entry, renewed[i]);
    for (const key of keys) this.#visible.delete(key);
    // A write with a later time may win now, and a removal may cover more.
    const others = keys.filter((key, i) => values[i] && hashOf(values[i]) !== hashOf(this.#valueOf(key, [])!));
    this.#changed(new Set(others), false);
  }

  /** Rule 12: no region has taken k with its time, and none will. */
  #onRetime(link: Link, k: number): void {
    const { retimed, retimeFrom } = link;
    if (retimeFrom !== undefined && retimeFrom <= k) return; // about a frame that was under way
    if (retimed && (k > retimed.k || (k === retimed.k && this.#now < retimed.at + this.#timing.retryMs * 1000))) {
      // About a frame that was under way with the old time.
      link.retryAt = retimed.at + this.#timing.retryMs * 1000;
      return;
    }
    // On a slow link it can still be about the old time, while the frame with the new one is under way: another connection tells.
    if (retimed?.k === k) return this.#fail();
    const entry = this.#log.entry(k);
    if (!entry || k <= link.acked) throw new Malformed("Retime of what is not under way");
    link.retimed = { k, at: this.#now };
    link.retimeFrom = k;
  }

  /** Not before the first tick of the connection: the base may be so old that no region reads it any more. And not while others are being written. */
  #giveNewTimes(): void {
    const link = this.#link;
    const k = link?.retimeFrom;
    if (!link || k === undefined || !link.based || this.#fork || this.#persisting.some(({ kind }) => kind === "commit" || kind === "retime")) return;
    link.retimeFrom = undefined;
    if (k <= link.acked) return;
    link.retimed = { k, at: this.#now };
    link.next = Math.min(link.next, k);
    link.behinds = 0;
    const entries = this.#log.entries.slice(k - this.#log.first).filter((entry) => !this.#waiting.includes(entry));
    const renewed = this.#withNewTimes(entries, link.number);
    let last = renewed.at(-1)!.h;
    for (const entry of this.#waiting) last = entry.h = Math.max(entry.h, last + 1);
    this.#lastH = Math.max(this.#lastH, last);
    this.#persist({ kind: "retime", step: { type: "rows", rows: entries.map((entry, i) => rowOf({ ...entry, ...renewed[i] })) }, entries, renewed });
  }

  #isBeingCommitted(entry: Entry): boolean {
    return this.#waiting.includes(entry) || this.#persisting.some(({ kind, entries }) => kind === "commit" && entries.includes(entry));
  }

  #onMissing(link: Link, k: number): void {
    if (k + 1 < this.#log.first) {
      // A region that lacks the base lacks what the log has lost, too: that will come.
      if (!link.covered) return this.#onWait(link, link.welcome!.period, true);
      this.#lost = true;
      return this.#fail();
    }
    if (link.missing?.k === k && this.#now < link.missing.at + this.#timing.retryMs * 1000) {
      link.retryAt = link.missing.at + this.#timing.retryMs * 1000;
      return;
    }
    link.missing = { k, at: this.#now };
    link.reaches(Math.min(k, link.next - 1));
    link.next = Math.min(link.next, k + 1);
  }

  #onWait(link: Link, ms: number, behind: boolean): void {
    // While the client waits it is about a frame that was sent before.
    if (link.pausedUntil !== undefined && this.#now < link.pausedUntil) return;
    link.behinds = behind ? link.behinds + 1 : 0;
    if (link.behinds >= BEHIND_MAX) return this.#fail();
    this.#pause(link, ms * 1000);
  }

  #pause(link: Link, us: number): void {
    link.pausedUntil = this.#now + us;
    link.next = link.acked + 1;
  }

  /** Rule 12. */
  #onRefused(frame: Extract<GatewayFrame, { type: "refused" }>): void {
    const name = `${frame.k}/${frame.op}`;
    const entry = this.#log.entry(frame.k);
    if (this.#refused.has(name) || !entry) return;
    this.#refused.add(name);
    this.#refuse(entry, frame.op < entry.ops.length ? frame.op : undefined, toText(frame.code), toText(frame.text));
  }

  #refuse(entry: Entry, op: number | undefined, code: string, text: string): void {
    this.#effects.push({ type: "refused", refusal: { k: entry.k, op, code, text, ops: entry.ops } });
  }

  #serverTime(): number {
    return this.#clock ? this.#clock.serverUs + this.#now - this.#clock.atUs : 0;
  }

  // ---- durability

  #advanceCommits(): void {
    if (this.#waiting.length === 0 || this.#persisting.some(({ kind }) => kind === "commit" || kind === "renew")) return;
    const entries = this.#waiting.splice(0);
    this.#persist({ kind: "commit", step: { type: "rows", rows: entries.map(rowOf) }, entries });
  }

  #persist(pending: Pending): void {
    for (const entry of pending.entries) entry.durable = false;
    this.#persisting.push(pending);
    this.#effects.push({ type: "persist", step: pending.step });
  }

  /** The oldest unconfirmed step is durable. */
  persisted(nowUs: number): void {
    this.#at(nowUs);
    const done = this.#persisting.shift();
    if (!done) throw new Error("persisted without a step");
    for (const entry of done.entries) entry.durable = !this.#persisting.some(({ entries }) => entries.includes(entry));
    if (done.kind === "commit") this.#committed(done.entries);
    if (done.renewed) this.#onNewTimes(done.entries, done.renewed);
    if (done.step.type === "base") {
      this.#onSaved(done.step.values!);
      this.#applyTick(done.link!, done.tick!, done.step.meta);
    }
    if (done.step.type === "replace") this.#onRenewed(done.step.meta, done.entries);
    this.#advance();
  }

  #committed(entries: readonly Entry[]): void {
    const hidden = entries.filter(({ shown }) => !shown);
    for (const entry of entries) {
      entry.shown = true;
      this.#effects.push({ type: "durable", id: entry.id, k: entry.k });
    }
    this.#changed(keysOf(hidden), false);
  }

  /** The oldest unconfirmed step failed, and nothing was changed; neither does any later one take place: all are confirmed so at once. */
  persistFailed(nowUs: number, error: unknown): void {
    this.#at(nowUs);
    const failed = this.#persisting.splice(0);
    const commit = failed.find(({ kind }) => kind === "commit")?.entries[0];
    if (commit) {
      const taken = this.#log.truncate(commit.k);
      this.#waiting = [];
      this.#lastH = Math.max(this.#log.entry(this.#log.last)?.h ?? 0, greatest(this.#meta.base));
      this.#effects.push({ type: "failed", ids: taken.map(({ id }) => id), error });
      this.#changed(keysOf(taken.filter(({ shown }) => shown)), false);
    }
    for (const { kind, entries } of failed) {
      if (kind !== "retime") continue;
      for (const entry of entries) entry.durable = true;
      if (this.#link) this.#pause(this.#link, this.#timing.retryMs * 1000);
    }
    if (failed.some(({ kind }) => kind === "base")) {
      this.#staged = [];
      // The log needs the room.
      this.#saves = false;
      this.#fail();
    }
    const renewal = failed.find(({ kind }) => kind === "renew");
    if (renewal) {
      for (const entry of renewal.entries) entry.durable = !this.#waiting.includes(entry);
      // A gateway will say it again.
      this.#fork = undefined;
      this.#tryAgain();
    }
    this.#advance();
  }

  // ---- a new identity (rule 11)

  #onForked(k: number): void {
    if (this.#fork) return;
    this.#fork = { k, secret: undefined };
    this.#close();
    this.#phase = "renewing";
    this.#effects.push({ type: "forked" });
  }

  /** The store was cleared: what was not sent goes on under a new identity. Answered by the effect `forked`. */
  cleared(nowUs: number): void {
    this.#at(nowUs);
    this.#onForked(1);
    this.#advance();
  }

  /** A fresh random secret, for the effect `forked`. */
  renew(nowUs: number, secret: Bytes): void {
    this.#at(nowUs);
    if (this.#fork) this.#fork.secret ??= secret;
    this.#advance();
  }

  #advanceFork(): void {
    const secret = this.#fork?.secret;
    if (secret === undefined || this.#persisting.length > 0) return;
    this.#staged = [];
    const entries = this.#log.entries.filter(({ sent }) => !sent);
    const tabs = lastOfTabs(this.#meta.tabs, this.#log.entries);
    const meta: Meta = { ...freshMeta(secret, this.#meta.K), base: this.#meta.base, tabs };
    const rows = entries.map((entry, i) => rowOf({ ...entry, k: i + 1 }));
    this.#persist({ kind: "renew", step: { type: "replace", meta, rows }, entries });
  }

  #onRenewed(meta: Meta, kept: readonly Entry[]): void {
    const k = this.#fork!.k;
    const old = this.#log.entries;
    const gone = old.filter((entry) => !kept.includes(entry) && !this.#waiting.includes(entry));
    for (const entry of gone) if (entry.k >= k) this.#refuse(entry, undefined, "forked", "sent under an identity that another copy of this disk has used");
    this.#meta = meta;
    this.#saved.clear();
    this.#unsaved = new Set(this.#cache.keys());
    this.#log = new Log(0, DIGEST_0, []);
    for (const entry of old) {
      if (gone.includes(entry)) continue;
      entry.k = this.#log.last + 1;
      this.#log.push(entry);
    }
    // Commits that waited became durable with the rest.
    const committed = this.#waiting.filter((entry) => kept.includes(entry));
    this.#waiting = this.#waiting.filter((entry) => !kept.includes(entry));
    this.#committed(committed);
    this.#refused.clear();
    this.#fork = undefined;
    this.#changed(keysOf(gone), false);
    this.#letGo();
    this.#tryAgain();
  }

  /** A gateway that has more transactions than this client ever made says that the disk was restored. With an empty log nothing is lost by a new identity. */
  #renewIfRestored(): void {
    const welcome = this.#link?.welcome;
    if (!welcome) return;
    const known = Math.max(this.#meta.g, welcome.head);
    if (known > this.#log.last && this.#log.length === 0 && this.#persisting.length === 0) this.#onForked(known + 1);
  }

  // ---- time, status

  #behindAt(link: Link): number {
    return (link.tickedAt ?? link.welcomedAt) + PERIODS_MAX * link.welcome!.period * 1000;
  }

  #setTimer(): void {
    const link = this.#link;
    let times: (number | undefined)[] = [];
    if (this.#phase === "waiting") times = [this.#phaseAt];
    else if (this.#phase === "asked" || (this.#phase === "connected" && !link?.welcome)) times = [this.#phaseAt + this.#timing.welcomeWithinMs * 1000];
    else if (link) times = [link.pausedUntil, link.retryAt, this.#behindAt(link), this.#looksAt(link)].filter((at) => at !== undefined && at > this.#now);
    const atUs = times.reduce((least, at) => (least === undefined || at! < least ? at : least), undefined);
    if (atUs !== undefined && atUs !== this.#wakeAt) this.#effects.push({ type: "wake", atUs });
    this.#wakeAt = atUs;
  }

  #tellStatus(): void {
    const status = this.#statusNow();
    const old = this.#status;
    if ((Object.keys(status) as (keyof Status)[]).every((name) => status[name] === old[name])) return;
    this.#status = status;
    this.#effects.push({ type: "status" });
  }

  #statusNow(): Status {
    const link = this.#link;
    let phase: Phase = "connecting";
    if (this.#phase === "stopped" || this.#phase === "waiting") phase = "offline";
    else if (link?.welcome) phase = link.covered && this.#now < this.#behindAt(link) ? "live" : "behind";
    const acked = Math.max(link?.acked ?? 0, this.#log.first - 1);
    return { phase, region: link?.welcome && toText(link.welcome.name), isolated: link !== undefined && this.#isIsolated(link), unsent: this.#log.last - acked, pending: this.#log.length, lost: this.#lost };
  }

  #changed(keys: ReadonlySet<Bytes>, tick: boolean): void {
    for (const key of keys) this.#visible.delete(key);
    if (keys.size > 0 || tick) this.#effects.push({ type: "changed", keys, tick });
  }
}

function lastOfTabs(tabs: readonly Origin[], entries: readonly Entry[]): readonly Origin[] {
  const last = new Map(tabs.map(({ tab, n }) => [tab, n]));
  for (const { origin } of entries) {
    if (!origin) continue;
    last.delete(origin.tab);
    last.set(origin.tab, origin.n);
  }
  return [...last].slice(-TABS_MAX).map(([tab, n]) => ({ tab, n }));
}

/** Fields and members of a key that these transactions write or remove, and positions that they write. */
export function touched(entries: Iterable<{ readonly ops: readonly Op[] }>, key: Bytes): Set<Bytes> {
  const elements = new Set<Bytes>();
  for (const { ops } of entries) {
    for (const op of ops) {
      if (op.key !== key) continue;
      if ("field" in op) elements.add(op.field);
      if (op.op === "listSet") elements.add(op.position);
      if ("member" in op) elements.add(op.member);
    }
  }
  return elements;
}

function elementsIn(value: Value): number {
  return "fields" in value ? value.fields.size : value.kind === "set" ? value.members.size : 1;
}

/** Rule 6: whether transactions that were in the base are not in that of a tick, which has all of it that is left. */
function hasLost(tick: Tick, meta: Meta): boolean {
  return tick.g < meta.before;
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

