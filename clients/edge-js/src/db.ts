// The database as applications see it.

import type { Bytes } from "./core/bytes.js";
import type { Inspection, Refusal, Status } from "./core/client.js";
import type { Vec } from "./core/codec.js";
import { AUTHOR_MIN, Author } from "./core/position.js";
import type { Op } from "./core/value.js";
import { type Commit, Deferred, type Engine, type GatewayError, type IdentityReason, type Listener } from "./engine.js";
import { type Codec, type Counter, type Handle, type ListHandle, type MapHandle, type Register, type SetHandle, counter, exact, list, map, register, set, text } from "./handles.js";
import { Leader, type SocketConstructor } from "./leader.js";
import { Live } from "./live.js";
import { IndexedDbStore } from "./store/indexeddb.js";
import { MemoryStore } from "./store/memory.js";
import type { Store } from "./store/store.js";
import { type Channel, Follower, Host } from "./tabs.js";
import { Tx, Unavailable } from "./tx.js";
import { Moment, type Shown, type View } from "./view.js";

export interface Options {
  /** Name of the store and of the tabs' common identity. */
  readonly name: string;
  /** Gateways, `ws://…/edge` or `wss://…/edge`, in order of preference. */
  readonly endpoints: readonly string[];
  /** How many regions must have all that is shown; default 2. */
  readonly k?: number;
  /** Lower `k` while no region can be reached that shares what is new with as many? Then what is shown may be lost with that region. Default: no. */
  readonly lower?: boolean;
  readonly token?: string | Uint8Array;
  /** Default: IndexedDB where there is one, else memory. A store that is given here is not shared with other tabs. */
  readonly store?: Store;
  /** Default: the global one. */
  readonly WebSocket?: unknown;
  /** How tabs find each other; default: Web Locks and BroadcastChannel beside IndexedDB. false: no other tab. */
  readonly tabs?: Tabs | false;
}

export interface Tabs {
  readonly locks: Pick<LockManager, "request">;
  channel(name: string): Channel;
  /** Calls back when the browser had frozen this tab and it goes on. */
  onResume?(then: () => void, signal: AbortSignal): void;
}

export interface Events {
  status: Status;
  refused: Refusal;
  failed: unknown;
  identity: IdentityReason;
  error: GatewayError;
}

interface Subscription {
  readonly handles: readonly Handle[];
  readonly callback: (view: View) => void;
}

export async function open(options: Options): Promise<Db> {
  const db = new Db(options);
  await db.start();
  return db;
}

export class Db implements View {
  readonly #options: Options;
  /** Of this tab alone. */
  readonly #author = new Author(Math.max(AUTHOR_MIN, crypto.getRandomValues(new Uint32Array(1))[0]));
  readonly #listeners = new Map<keyof Events, Set<(event: never) => void>>();
  readonly #subscriptions = new Set<Subscription>();
  readonly #lives = new Set<{ reads(keys: ReadonlySet<Bytes>): boolean; run(): void }>();
  /** How often each key is watched. */
  readonly #watched = new Map<Bytes, number>();
  #loads: { keys: readonly Bytes[]; done: Deferred<void> }[] = [];
  #engine: Engine | undefined;
  #host: Host | undefined;
  #leading = false;
  #identity: IdentityReason | undefined;
  #closed = false;
  readonly #closing = new AbortController();
  readonly #listener: Listener = {
    changed: (keys) => this.#onChanged(keys),
    status: (status) => this.#emit("status", status),
    refused: (refusal) => this.#emit("refused", refusal),
    identity: (reason) => {
      this.#identity = reason;
      this.#emit("identity", reason);
    },
    failed: (error) => this.#emit("failed", error),
    error: (error) => this.#emit("error", error),
  };

  /** Use `open`. */
  constructor(options: Options) {
    this.#options = options;
  }

  // ---- handles

  register(name: string): Register<string>;
  register<T>(name: string, codec: Codec<T>): Register<T>;
  register<T extends string>(name: string): Register<T>;
  register(name: string, codec: Codec<unknown> = text as Codec<unknown>): Register<unknown> {
    return register(name, codec);
  }

  counter(name: string): Counter {
    return counter(name);
  }

  map(name: string): MapHandle<string>;
  map<T>(name: string, codec: Codec<T>): MapHandle<T>;
  map(name: string, codec: Codec<unknown> = text as Codec<unknown>): MapHandle<unknown> {
    return map(name, codec);
  }

  set(name: string): SetHandle<string>;
  set<T>(name: string, codec: Codec<T>): SetHandle<T>;
  set(name: string, codec: Codec<unknown> = text as Codec<unknown>): SetHandle<unknown> {
    return set(name, codec);
  }

  list(name: string): ListHandle<string>;
  list<T>(name: string, codec: Codec<T>): ListHandle<T>;
  list(name: string, codec: Codec<unknown> = text as Codec<unknown>): ListHandle<unknown> {
    return list(name, codec);
  }

  // ---- reads

  get base(): Vec {
    return this.#on().base;
  }

  get status(): Status {
    return this.#on().status;
  }

  /** Why this client has a new identity since it was opened; undefined: it has the one that it had. */
  get identity(): IdentityReason | undefined {
    return this.#identity;
  }

  /** Does this tab have the connection? */
  get leading(): boolean {
    return this.#leading;
  }

  /** Throws `Unavailable` if the value is not cached. */
  get<R>(handle: Handle<R>): R {
    return this.#now().get(handle);
  }

  all<R>(handles: Iterable<Handle<R>>): R[] {
    return this.#now().all(handles);
  }

  read<R>(handle: Handle<R>): Shown<R> {
    return this.#now().read(handle);
  }

  #now(onRead?: (handle: Handle) => void): View {
    const engine = this.#on();
    return new Moment(engine.base, (handle) => {
      onRead?.(handle);
      return engine.read(handle.key);
    });
  }

  /** The exact value of a counter. */
  bigint(handle: Counter): bigint {
    const { value } = this.#on().read(handle.key);
    if (!value) throw new Unavailable(handle.name);
    return exact(value);
  }

  // ---- transactions

  /** Runs the function, which must not be asynchronous, and commits what it did. If it throws, nothing was done. */
  tx(run: (t: Tx) => void): Commit {
    const engine = this.#on();
    const t = new Tx((key, buffer) => engine.read(key, buffer), this.#author);
    let ops: readonly Op[];
    try {
      run(t);
    } finally {
      ops = t.finish();
    }
    return ops.length === 0 ? { k: undefined, durable: Promise.resolve(undefined) } : engine.commit(ops);
  }

  // ---- interest

  /** Keeps these keys in the cache until the function that it returns is called. */
  watch(handles: Iterable<Handle>): () => void {
    const keys = [...new Set([...handles].map(({ key }) => key))];
    const engine = this.#on();
    for (const key of keys) {
      this.#watched.set(key, (this.#watched.get(key) ?? 0) + 1);
      engine.watch(key);
    }
    let done = false;
    return () => {
      if (done || this.#closed) return;
      done = true;
      for (const key of keys) this.#release(key);
    };
  }

  #release(key: Bytes): void {
    const times = this.#watched.get(key)! - 1;
    if (times > 0) {
      this.#watched.set(key, times);
      return;
    }
    this.#watched.delete(key);
    if (!this.#host?.watchedElsewhere(key)) this.#engine?.unwatch(key);
  }

  /** Watches these keys, and waits until all are cached: for ever, while there is no connection. */
  async load(handles: Iterable<Handle>): Promise<() => void> {
    const all = [...handles];
    const unwatch = this.watch(all);
    const load = { keys: all.map(({ key }) => key), done: new Deferred<void>() };
    this.#loads.push(load);
    this.#finishLoads();
    await load.done.promise;
    return unwatch;
  }

  #finishLoads(): void {
    this.#loads = this.#loads.filter(({ keys, done }) => {
      if (keys.some((key) => this.#on().read(key).value === undefined)) return true;
      done.resolve();
      return false;
    });
  }

  /**
   * Watches these keys and calls back when they read differently: after an own transaction, and at most once for a new base.
   * Once all are cached it calls back for the first time, if they are now then at once. Returns how to end it.
   */
  subscribe(handles: Iterable<Handle>, callback: (view: View) => void): () => void {
    const subscription = { handles: [...handles], callback };
    const unwatch = this.watch(subscription.handles);
    this.#subscriptions.add(subscription);
    this.#tell(subscription);
    return () => {
      this.#subscriptions.delete(subscription);
      unwatch();
    };
  }

  #tell({ handles, callback }: Subscription): void {
    const engine = this.#on();
    const reads = new Map(handles.map(({ key }) => [key, engine.read(key)]));
    if ([...reads.values()].some(({ value }) => value === undefined)) return;
    const view = new Moment(engine.base, (handle) => {
      const read = reads.get(handle.key);
      if (!read) throw new Unavailable(handle.name);
      return read;
    });
    guarded(() => callback(view));
  }

  /**
   * Runs a query, and again whenever something that it has read reads differently; each time calls back with what it returns. Which keys it reads may
   * depend on what it has read. While one of them is not cached the query has no result: its `get` and `all` throw `Unavailable`, which it must not catch,
   * and it runs again when the value is here. It must not be asynchronous, and change nothing. Returns how to end it.
   */
  live<R>(query: (view: View) => R, callback: (value: R) => void): () => void {
    const live = new Live({ view: (onRead) => this.#now(onRead), watch: (handles) => this.watch(handles) }, query, callback);
    this.#lives.add(live);
    guarded(() => live.run());
    return () => {
      if (this.#lives.delete(live) && !this.#closed) live.end();
    };
  }

  #onChanged(keys: ReadonlySet<Bytes>): void {
    if (!this.#engine || this.#closed) return;
    this.#finishLoads();
    for (const subscription of [...this.#subscriptions]) {
      if (this.#subscriptions.has(subscription) && subscription.handles.some(({ key }) => keys.has(key))) this.#tell(subscription);
    }
    for (const live of [...this.#lives]) if (this.#lives.has(live) && live.reads(keys)) guarded(() => live.run());
  }

  // ---- the rest

  on<E extends keyof Events>(event: E, callback: (event: Events[E]) => void): () => void {
    const callbacks = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, callbacks);
    callbacks.add(callback);
    return () => callbacks.delete(callback);
  }

  /** An operation of an own transaction had no effect: wrong type, no rights, or `forked`. */
  onRefused(callback: (refusal: Refusal) => void): () => void {
    return this.on("refused", callback);
  }

  #emit<E extends keyof Events>(event: E, value: Events[E]): void {
    for (const callback of this.#listeners.get(event) ?? []) guarded(() => (callback as (event: Events[E]) => void)(value));
  }

  /** How many regions must have all that is shown, from a later base on. */
  setK(K: number): void {
    this.#on().setK(K);
  }

  /** Ends the connection, and asks for none until `connect`: for a switch in an application. All tabs with this name are meant. */
  disconnect(): void {
    this.#on().link(false);
  }

  connect(): void {
    this.#on().link(true);
  }

  /** Goes to this one of the endpoints, and prefers it from now on: if it fails the next one is tried, and later this one again. */
  prefer(endpoint: number): void {
    if (!this.#options.endpoints[endpoint]) throw new RangeError(`there is no endpoint ${endpoint}`);
    this.#on().prefer(endpoint);
  }

  /** The state of the client behind all tabs, for devtools; it waits while no tab leads. */
  inspect(): Promise<Inspection> {
    return this.#on().inspect();
  }

  /** Own transactions that were not sent stay in the store. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#subscriptions.clear();
    this.#lives.clear();
    for (const { done } of this.#loads.splice(0)) done.reject(new Error("the database was closed before"));
    this.#host?.stop();
    await this.#engine?.close();
    this.#host?.close();
    this.#closing.abort();
  }

  #on(): Engine {
    if (this.#closed || !this.#engine) throw new Error("the database is closed");
    return this.#engine;
  }

  // ---- which side this tab is on

  async start(): Promise<void> {
    const { name } = this.#options;
    const tabs = this.#tabs();
    if (!tabs) {
      this.#take(await this.#lead(this.#listener));
      return;
    }
    const tab = crypto.randomUUID();
    const lock = `tidemark-edge/${name}`;
    const { signal } = this.#closing;
    // Whoever wants to know whether this tab is still there asks for this lock.
    void tabs.locks.request(`${lock}/tab/${tab}`, () => this.#untilClosed()).catch(() => undefined);
    const started = new Deferred<void>();
    const channel = tabs.channel(lock);
    let follower: Follower | undefined;
    tabs.onResume?.(() => (this.#host ?? follower)?.resumed(), signal);
    const lead = async () => {
      if (this.#closed) return;
      const gone = (other: string, then: () => void) => void tabs.locks.request(`${lock}/tab/${other}`, { signal }, then).catch(() => undefined);
      const host = new Host(channel, this.#listener, this.#watched, gone);
      try {
        const leader = await this.#lead(host);
        if (this.#closed) {
          await leader.close();
          return;
        }
        // Until the leader has all that was not confirmed, reads see it through the follower.
        follower?.handOver(leader);
        this.#take(leader);
        this.#host = host;
        host.lead(leader);
        this.#onChanged(new Set(this.#watched.keys()));
        this.#emit("status", leader.status);
      } catch (error) {
        started.reject(error);
        throw error;
      }
      started.resolve();
      await this.#untilClosed();
    };
    const first = new Deferred<boolean>();
    void tabs.locks
      .request(lock, { ifAvailable: true }, async (granted) => {
        first.resolve(granted !== null);
        if (granted) await lead();
      })
      .catch(() => undefined);
    if (await first.promise) return started.promise;
    follower = new Follower(tab, channel, this.#listener);
    this.#engine = follower;
    void tabs.locks.request(lock, { signal }, lead).catch(() => undefined);
    await Promise.race([follower.ready.promise, started.promise]);
  }

  #lead(listener: Listener): Promise<Leader> {
    const { name, endpoints, k = 2, lower, token = "" } = this.#options;
    const store = this.#options.store ?? (globalThis.indexedDB ? new IndexedDbStore(name) : new MemoryStore());
    const socket = (this.#options.WebSocket ?? globalThis.WebSocket) as SocketConstructor | undefined;
    if (!socket) throw new Error("there is no global WebSocket: give one as an option");
    if (store instanceof IndexedDbStore) void askToPersist();
    return Leader.open({ endpoints, K: k, lower, token, socket, store }, listener);
  }

  #take(leader: Leader): void {
    this.#engine = leader;
    this.#leading = true;
  }

  #tabs(): Tabs | undefined {
    const { tabs, store } = this.#options;
    if (tabs !== undefined) return tabs || undefined;
    if (store || !globalThis.indexedDB || !globalThis.navigator?.locks || !globalThis.BroadcastChannel) return undefined;
    const onResume = (then: () => void, signal: AbortSignal) => globalThis.document?.addEventListener("resume", then, { signal });
    return { locks: navigator.locks, channel: (name) => new BroadcastChannel(name) as Channel, onResume };
  }

  #untilClosed(): Promise<void> {
    const { signal } = this.#closing;
    return new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener("abort", () => resolve())));
  }
}

/** An error of the application is reported as an uncaught one; what is under way here goes on. */
function guarded(call: () => void): void {
  try {
    call();
  } catch (error) {
    if (typeof reportError === "function") return reportError(error);
    setTimeout(() => {
      throw error;
    });
  }
}

let asked = false;

/** So that the browser does not take the log away when it needs room. */
async function askToPersist(): Promise<void> {
  const storage = globalThis.navigator?.storage;
  if (asked || !storage?.persist) return;
  asked = true;
  try {
    if (!(await storage.persisted())) await storage.persist();
  } catch {
    // It is a request, and may be turned down.
  }
}
