// Carries out the effects of the core: socket, store, timers. There is one for an identity: in a browser, in the leading tab.

import { type Bytes, fromArray, fromText } from "./core/bytes.js";
import { Client, type Effect, type Inspection, type Read, type Status, type Step, freshMeta } from "./core/client.js";
import type { Vec } from "./core/codec.js";
import type { Origin } from "./core/log.js";
import type { Op } from "./core/value.js";
import { type Commit, Deferred, type Engine, type IdentityReason, type Listener } from "./engine.js";
import type { Store } from "./store/store.js";

/** What this needs of a WebSocket: browsers', Node's from version 22 on, and that of the package `ws`. */
export interface Socket {
  binaryType: string;
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  send(data: Uint8Array): void;
  close(): void;
}

export type SocketConstructor = new (url: string) => Socket;

export interface LeaderOptions {
  readonly endpoints: readonly string[];
  readonly lower?: boolean | undefined;
  readonly K: number;
  readonly token: string | Uint8Array;
  readonly socket: SocketConstructor;
  readonly store: Store;
}

/** A gateway that says nothing for so many of its periods, and for so long, is given up. */
const SILENT_PERIODS = 10;
const SILENT_MS = 15_000;
/** What is kept, and nobody asks for in this time, is not kept any more. */
const FORGET_MS = 30_000;

export class Leader implements Engine {
  readonly #options: LeaderOptions;
  readonly #listener: Listener;
  readonly #client: Client;
  readonly #durable = new Map<number, Deferred<number | undefined>>();
  readonly #steps: Step[] = [];
  #stepping = false;
  #socket: Socket | undefined;
  #wake: ReturnType<typeof setTimeout> | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;
  #forget: ReturnType<typeof setInterval> | undefined;
  /** Not watched any more, and kept for now. */
  readonly #leaving = new Set<Bytes>();
  #running = false;
  #closed = false;
  #lastIdentity: IdentityReason = "forked";
  readonly #idle: Deferred<void>[] = [];

  static async open(options: LeaderOptions, listener: Listener): Promise<Leader> {
    let durable = await options.store.load();
    let reason: IdentityReason | undefined;
    if (durable === undefined || durable === "lost") {
      reason = durable === undefined ? "created" : "cleared";
      durable = { meta: freshMeta(randomSecret(), options.K), rows: [] };
      await options.store.apply({ type: "replace", meta: durable.meta, rows: durable.rows });
    }
    const token = typeof options.token === "string" ? fromText(options.token) : fromArray(options.token);
    const seed = crypto.getRandomValues(new Int32Array(1))[0];
    const client = new Client({ K: options.K, endpoints: options.endpoints.length, token, seed, lowers: options.lower ?? false, eager: true }, durable);
    const leader = new Leader(options, listener, client);
    if (reason) listener.identity(reason);
    leader.#do((now) => client.start(now));
    leader.#forget = setInterval(() => leader.#letGo(), FORGET_MS);
    return leader;
  }

  private constructor(options: LeaderOptions, listener: Listener, client: Client) {
    this.#options = options;
    this.#listener = listener;
    this.#client = client;
    options.store.onLost = () => {
      if (this.#closed) return;
      this.#lastIdentity = "cleared";
      this.#do((now) => client.cleared(now));
    };
    if (typeof addEventListener === "function") addEventListener("online", this.#online);
  }

  readonly #online = () => this.#do((now) => this.#client.hurry(now));

  get base(): Vec {
    return this.#client.base;
  }

  get status(): Status {
    return this.#client.status;
  }

  /** The last transaction of each other tab that was committed. */
  get tabs(): readonly Origin[] {
    return this.#client.tabs;
  }

  read(key: Bytes, buffer?: readonly Op[]): Read {
    return this.#client.read(key, buffer);
  }

  /** What other tabs may see of a key. */
  readDurable(key: Bytes): Read {
    return this.#client.readDurable(key);
  }

  get tabsDurable(): readonly Origin[] {
    return this.#client.tabsDurable;
  }

  /** What transactions write that other tabs may not see yet. */
  get committing(): ReadonlySet<Bytes> {
    return this.#client.committing;
  }

  commit(ops: readonly Op[], origin?: Origin): Commit {
    if (this.#closed) throw new Error("the database is closed");
    const deferred = new Deferred<number | undefined>();
    const { id, k } = this.#client.commit(nowUs(), ops, origin);
    this.#durable.set(id, deferred);
    this.#run();
    return { k, durable: deferred.promise };
  }

  watch(key: Bytes): void {
    this.#leaving.delete(key);
    this.#do((now) => this.#client.watch(now, key));
  }

  /** Without a connection it is kept: nobody could get it again. */
  unwatch(key: Bytes): void {
    if (this.status.phase !== "live") this.#leaving.add(key);
    else this.#do((now) => this.#client.unwatch(now, key));
  }

  #letGo(): void {
    if (this.status.phase !== "live") return;
    this.#do((now) => this.#client.forget(now));
    for (const key of this.#leaving) this.#do((now) => this.#client.unwatch(now, key));
    this.#leaving.clear();
  }

  setK(K: number): void {
    this.#do((now) => this.#client.setK(now, K));
  }

  link(wanted: boolean): void {
    this.#do((now) => (wanted ? this.#client.start(now) : this.#client.stop(now)));
  }

  prefer(endpoint: number): void {
    this.#do((now) => this.#client.prefer(now, endpoint));
  }

  async inspect(): Promise<Inspection> {
    return this.#client.inspect(nowUs());
  }

  /** Waits for what is being written. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#do((now) => this.#client.stop(now));
    this.#closed = true;
    clearTimeout(this.#wake);
    clearInterval(this.#forget);
    if (typeof removeEventListener === "function") removeEventListener("online", this.#online);
    if (this.#stepping) {
      const idle = new Deferred<void>();
      this.#idle.push(idle);
      await idle.promise;
    }
    for (const deferred of this.#durable.values()) deferred.reject(new Error("the database was closed before"));
    await this.#options.store.close();
  }

  #do(event: (nowUs: number) => void): void {
    if (this.#closed) return;
    event(nowUs());
    this.#run();
  }

  /** Effects of effects, and of what the application does when it is told, are carried out by the outermost call. */
  #run(): void {
    if (this.#running) return;
    this.#running = true;
    try {
      for (;;) {
        const effects = this.#client.take();
        if (effects.length === 0) return;
        for (const effect of effects) this.#effect(effect);
      }
    } finally {
      this.#running = false;
    }
  }

  #effect(effect: Effect): void {
    switch (effect.type) {
      case "connect":
        return this.#connect(this.#options.endpoints[effect.endpoint]);
      case "close":
        return this.#disconnect();
      case "send":
        this.#socket?.send(effect.frame);
        return;
      case "persist":
        this.#steps.push(effect.step);
        return this.#step();
      case "wake":
        clearTimeout(this.#wake);
        this.#wake = setTimeout(() => this.#do((now) => this.#client.wake(now)), Math.max(0, (effect.atUs - nowUs()) / 1000) + 1);
        return;
      case "forked":
        this.#listener.identity(this.#lastIdentity);
        this.#lastIdentity = "forked";
        return this.#client.renew(nowUs(), randomSecret());
      case "durable":
        this.#listener.stored?.(new Set(this.#client.log.findLast(({ id }) => id === effect.id)?.ops.map((op) => op.key)));
        this.#durable.get(effect.id)?.resolve(effect.k);
        this.#durable.delete(effect.id);
        return;
      case "failed":
        for (const id of effect.ids) {
          this.#durable.get(id)?.reject(effect.error);
          this.#durable.delete(id);
          this.#listener.failed(effect.error);
        }
        return;
      case "refused":
        return this.#listener.refused(effect.refusal);
      case "error":
        return this.#listener.error({ code: effect.code, text: effect.text });
      case "changed":
        return this.#listener.changed(effect.keys);
      case "status":
        return this.#listener.status(this.#client.status);
    }
  }

  // ---- store: one step at a time, so that none takes place after one that failed

  #step(): void {
    while (!this.#stepping && this.#steps.length > 0) {
      const step = this.#steps.shift()!;
      let waiting: undefined | Promise<void>;
      try {
        waiting = this.#options.store.apply(step);
      } catch (error) {
        this.#stepFailed(error);
        continue;
      }
      if (!waiting) {
        this.#client.persisted(nowUs());
        continue;
      }
      this.#stepping = true;
      waiting.then(
        () => this.#stepped(() => this.#client.persisted(nowUs())),
        (error) => this.#stepped(() => this.#stepFailed(error)),
      );
    }
  }

  #stepped(then: () => void): void {
    this.#stepping = false;
    then();
    this.#run();
    this.#step();
    if (!this.#stepping) for (const idle of this.#idle.splice(0)) idle.resolve();
  }

  #stepFailed(error: unknown): void {
    this.#steps.length = 0;
    this.#client.persistFailed(nowUs(), error);
  }

  // ---- socket

  #connect(url: string): void {
    const socket = new this.#options.socket(url);
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.#expect();
      this.#do((now) => this.#client.connected(now));
    };
    socket.onmessage = (event: { data: unknown }) => {
      this.#expect();
      if (event.data instanceof ArrayBuffer) {
        const frame = new Uint8Array(event.data);
        this.#do((now) => this.#client.received(now, frame));
      } else this.#lose();
    };
    socket.onclose = socket.onerror = () => this.#lose();
  }

  /** Gives the connection up unless something is heard of it. */
  #expect(): void {
    clearTimeout(this.#silence);
    const period = this.#client.periodMs ?? 0;
    this.#silence = setTimeout(() => this.#lose(), Math.max(SILENT_MS, SILENT_PERIODS * period));
  }

  #lose(): void {
    this.#disconnect();
    this.#do((now) => this.#client.disconnected(now));
  }

  #disconnect(): void {
    clearTimeout(this.#silence);
    const socket = this.#socket;
    if (!socket) return;
    this.#socket = undefined;
    socket.onopen = socket.onmessage = socket.onclose = null;
    // `ws` throws an error that nobody listens to.
    socket.onerror = () => undefined;
    socket.close();
  }
}

function nowUs(): number {
  return Math.floor(performance.now() * 1000);
}

function randomSecret(): Bytes {
  return fromArray(crypto.getRandomValues(new Uint8Array(32)));
}
