// Tabs of one origin share one identity: the leader owns log, store and connection, the others go through it.
//
// Who leads holds a Web Lock. A follower commits by message, and sees its own operations on top of what the leader last showed it.
// If the leader goes, the tab whose turn it is takes over: it opens the store, and everybody sends again what was not confirmed. A tab numbers its
// transactions, and the log remembers the last number of each tab, so that what is sent twice is committed once.
//
// A tab that the browser freezes may never get what the others send meanwhile. When it goes on, it begins a new run if it leads, and else asks for a
// whole view. Transactions name the run that their tab knows: one of an older run is dropped, as others before it may be lost, and all are sent again in order.

import type { Bytes } from "./core/bytes.js";
import { type Inspection, type Read, type Refusal, type Status, touched } from "./core/client.js";
import type { Vec } from "./core/codec.js";
import { Cached, NOW, type Op, type Value, applied } from "./core/value.js";
import { type Commit, Deferred, type Engine, type GatewayError, type IdentityReason, type Listener } from "./engine.js";
import type { Leader } from "./leader.js";

export interface Channel {
  onmessage: ((event: { data: unknown }) => void) | null;
  postMessage(message: unknown): void;
  close(): void;
}

interface Shown {
  readonly value: Value | undefined;
  readonly pending: number;
  readonly elements: ReadonlySet<Bytes>;
}

/** One atomic step of what followers see. */
interface View {
  readonly type: "view";
  /** Of which run of a leader. */
  readonly leader: string;
  /** For one tab alone: all that it watches. */
  readonly tab?: string;
  readonly values: readonly (readonly [Bytes, Shown])[];
  readonly base: Vec;
  readonly status: Status;
  /** The last transaction of each tab that is in the values. */
  readonly tabs: readonly (readonly [string, number])[];
}

type ToFollower =
  | View
  | { readonly type: "leader" }
  | { readonly type: "status"; readonly status: Status }
  | { readonly type: "inspection"; readonly inspection: Inspection }
  | { readonly type: "durable"; readonly tab: string; readonly n: number; readonly k: number | undefined }
  | { readonly type: "failed"; readonly tab: string; readonly n: number; readonly name: string; readonly text: string }
  | { readonly type: "refused"; readonly refusal: Refusal }
  | { readonly type: "identity"; readonly reason: IdentityReason }
  | { readonly type: "error"; readonly error: GatewayError };

type ToLeader =
  | { readonly type: "watch"; readonly tab: string; readonly keys: readonly Bytes[] }
  | { readonly type: "commit"; readonly leader: string; readonly tab: string; readonly n: number; readonly ops: readonly Op[] }
  | { readonly type: "setK"; readonly K: number }
  | { readonly type: "link"; readonly wanted: boolean }
  | { readonly type: "prefer"; readonly endpoint: number }
  | { readonly type: "inspect" }
  | { readonly type: "bye"; readonly tab: string };

interface Unconfirmed {
  readonly n: number;
  readonly ops: readonly Op[];
  readonly durable: Deferred<number | undefined>;
  /** The leader's values contain it. */
  shown: boolean;
}

const OFFLINE: Status = { phase: "offline", region: undefined, isolated: false, unsent: 0, pending: 0, lost: false };

export class Follower implements Engine {
  readonly tab: string;
  readonly #channel: Channel;
  readonly #listener: Listener;
  readonly #interest = new Set<Bytes>();
  #values = new Map<Bytes, Shown>();
  #unconfirmed: Unconfirmed[] = [];
  #n = 0;
  #leader: string | undefined;
  #inspected: Deferred<Inspection> | undefined;
  base: Vec = [];
  status: Status = OFFLINE;
  readonly ready = new Deferred<void>();

  constructor(tab: string, channel: Channel, listener: Listener) {
    this.tab = tab;
    this.#channel = channel;
    this.#listener = listener;
    channel.onmessage = (event) => this.#on(event.data as ToFollower);
    this.#tellInterest();
  }

  get interest(): ReadonlySet<Bytes> {
    return this.#interest;
  }

  read(key: Bytes, buffer: readonly Op[] = []): Read {
    const shown = this.#values.get(key);
    const own = this.#unconfirmed.filter(({ shown, ops }) => !shown && ops.some((op) => op.key === key));
    const pending = (shown?.pending ?? 0) + own.length;
    const elements = new Set([...(shown?.elements ?? []), ...touched(own, key)]);
    if (!shown?.value) return { value: undefined, pending, elements, base: this.base };
    const cached = new Cached(shown.value);
    let view = shown.value;
    for (const op of [...own.flatMap(({ ops }) => ops), ...buffer]) if (op.key === key) view = applied(cached, view, op, NOW);
    return { value: view, pending, elements, base: this.base };
  }

  commit(ops: readonly Op[]): Commit {
    const one = { n: ++this.#n, ops, durable: new Deferred<number | undefined>(), shown: false };
    this.#unconfirmed.push(one);
    this.#submit(one);
    this.#listener.changed(new Set(ops.map((op) => op.key)));
    return { k: undefined, durable: one.durable.promise };
  }

  watch(key: Bytes): void {
    if (this.#interest.has(key)) return;
    this.#interest.add(key);
    this.#tellInterest();
  }

  unwatch(key: Bytes): void {
    if (!this.#interest.delete(key)) return;
    this.#values.delete(key);
    this.#tellInterest();
  }

  setK(K: number): void {
    this.#send({ type: "setK", K });
  }

  link(wanted: boolean): void {
    this.#send({ type: "link", wanted });
  }

  prefer(endpoint: number): void {
    this.#send({ type: "prefer", endpoint });
  }

  inspect(): Promise<Inspection> {
    this.#inspected ??= new Deferred();
    this.#send({ type: "inspect" });
    return this.#inspected.promise;
  }

  async close(): Promise<void> {
    this.#send({ type: "bye", tab: this.tab });
    this.#inspected?.reject(new Error("the database was closed before"));
    for (const { durable } of this.#unconfirmed) durable.reject(new Error("the database was closed before"));
    this.#channel.close();
  }

  /** This tab leads now: what was not confirmed goes into its log. */
  handOver(leader: Leader): void {
    for (const key of this.#interest) leader.watch(key);
    const done = leader.tabs.find(({ tab }) => tab === this.tab)?.n ?? 0;
    for (const { n, ops, durable } of this.#unconfirmed) {
      if (n <= done) {
        // It is durable, under a number that was not told.
        durable.resolve(undefined);
        continue;
      }
      leader.commit(ops, { tab: this.tab, n }).durable.then(durable.resolve, durable.reject);
    }
    this.#unconfirmed = [];
    this.#inspected?.resolve(leader.inspect());
    this.ready.resolve();
  }

  /** The browser had frozen this tab: what it was told meanwhile may be lost. */
  resumed(): void {
    this.#leader = undefined;
    this.#ask();
  }

  /** Once there is a whole view of a run, all that is not confirmed is sent to it. */
  #submit({ n, ops }: Unconfirmed): void {
    if (this.#leader !== undefined) this.#send({ type: "commit", leader: this.#leader, tab: this.tab, n, ops });
  }

  #ask(): void {
    this.#tellInterest();
    if (this.#inspected) this.#send({ type: "inspect" });
  }

  #tellInterest(): void {
    this.#send({ type: "watch", tab: this.tab, keys: [...this.#interest] });
  }

  #send(message: ToLeader): void {
    this.#channel.postMessage(message);
  }

  #on(message: ToFollower): void {
    switch (message.type) {
      case "leader":
        return this.#ask();
      case "view":
        return this.#onView(message);
      case "status":
        this.status = message.status;
        return this.#listener.status(message.status);
      case "inspection":
        this.#inspected?.resolve(message.inspection);
        this.#inspected = undefined;
        return;
      case "durable":
        if (message.tab === this.tab) this.#confirmed(message.n)?.durable.resolve(message.k);
        return;
      case "failed": {
        if (message.tab !== this.tab) return;
        const error = new DOMException(message.text, message.name);
        const one = this.#confirmed(message.n);
        if (!one) return;
        one.durable.reject(error);
        this.#listener.failed(error);
        return this.#listener.changed(new Set(one.ops.map((op) => op.key)));
      }
      case "refused":
        return this.#listener.refused(message.refusal);
      case "identity":
        return this.#listener.identity(message.reason);
      case "error":
        return this.#listener.error(message.error);
    }
  }

  #onView(view: View): void {
    if (view.tab !== undefined && view.tab !== this.tab) return;
    // The first of a new leader has to be whole.
    const first = view.leader !== this.#leader;
    if (first && view.tab === undefined) return;
    const changed = new Set<Bytes>();
    for (const [key, shown] of view.values) {
      if (!this.#interest.has(key)) continue;
      this.#values.set(key, shown);
      changed.add(key);
    }
    this.#leader = view.leader;
    this.base = view.base;
    this.status = view.status;
    const done = view.tabs.find(([tab]) => tab === this.tab)?.[1] ?? 0;
    for (const one of this.#unconfirmed) {
      one.shown = one.n <= done;
      if (one.shown) for (const op of one.ops) changed.add(op.key);
      if (first) this.#submit(one);
    }
    this.ready.resolve();
    this.#listener.changed(changed);
  }

  #confirmed(n: number): Unconfirmed | undefined {
    const at = this.#unconfirmed.findIndex((one) => one.n === n);
    return at < 0 ? undefined : this.#unconfirmed.splice(at, 1)[0];
  }
}

/** The leader's end of the channel. It is the leader's listener, before the application's. */
export class Host implements Listener {
  readonly #channel: Channel;
  readonly #listener: Listener;
  readonly #own: ReadonlySet<Bytes> | { has(key: Bytes): boolean };
  readonly #onTab: (tab: string, gone: () => void) => void;
  #run = crypto.randomUUID();
  readonly #tabs = new Map<string, ReadonlySet<Bytes>>();
  /** Transactions of tabs that are not durable yet. */
  readonly #underWay = new Set<string>();
  /** Keys that may be other ones than tabs were told. */
  readonly #untold = new Set<Bytes>();
  #leader: Leader | undefined;
  /** Told before the leader was there. */
  #early: (() => void)[] = [];

  /** `own`: does this tab watch a key? `onTab`: calls back once the tab is gone. */
  constructor(channel: Channel, listener: Listener, own: { has(key: Bytes): boolean }, onTab: (tab: string, gone: () => void) => void) {
    this.#channel = channel;
    this.#listener = listener;
    this.#own = own;
    this.#onTab = onTab;
  }

  lead(leader: Leader): void {
    this.#leader = leader;
    this.#channel.onmessage = (event) => this.#on(leader, event.data as ToLeader);
    for (const early of this.#early.splice(0)) early();
    this.#send({ type: "leader" });
  }

  changed(keys: ReadonlySet<Bytes>): void {
    this.stored(keys);
    this.#listener.changed(keys);
  }

  /** A view has all that has become durable since the last one: else a tab would see a part of a transaction, beside one that became durable with it. */
  stored(keys: ReadonlySet<Bytes>): void {
    for (const key of keys) this.#untold.add(key);
    const leader = this.#leader;
    if (!leader) return;
    const { committing } = leader;
    if (this.#tabs.size > 0) {
      const theirs = [...this.#untold].filter((key) => [...this.#tabs.values()].some((interest) => interest.has(key)));
      this.#send(this.#view(leader, theirs));
    }
    for (const key of this.#untold) if (!committing.has(key)) this.#untold.delete(key);
  }

  status(status: Status): void {
    this.#tell({ type: "status", status });
    this.#listener.status(status);
  }

  refused(refusal: Refusal): void {
    this.#tell({ type: "refused", refusal });
    this.#listener.refused(refusal);
  }

  identity(reason: IdentityReason): void {
    this.#tell({ type: "identity", reason });
    this.#listener.identity(reason);
  }

  error(error: GatewayError): void {
    this.#tell({ type: "error", error });
    this.#listener.error(error);
  }

  failed(error: unknown): void {
    this.#listener.failed(error);
  }

  /** The browser had frozen this tab: what others sent it meanwhile may be lost. */
  resumed(): void {
    this.#run = crypto.randomUUID();
    this.#send({ type: "leader" });
  }

  /** This tab does not watch a key any more: does another? */
  watchedElsewhere(key: Bytes): boolean {
    return [...this.#tabs.values()].some((interest) => interest.has(key));
  }

  /** What other tabs ask from now on is for the next leader. */
  stop(): void {
    this.#channel.onmessage = null;
  }

  close(): void {
    this.#channel.close();
  }

  #tell(message: ToFollower): void {
    if (this.#leader) this.#send(message);
    else this.#early.push(() => this.#send(message));
  }

  #send(message: ToFollower): void {
    this.#channel.postMessage(message);
  }

  #view(leader: Leader, keys: Iterable<Bytes>, tab?: string): View {
    const values = [...keys].map((key) => {
      // Else a tab might act on what is lost if this one dies.
      const { value, pending, elements } = leader.readDurable(key);
      return [key, { value, pending, elements }] as const;
    });
    const tabs = leader.tabsDurable.map(({ tab, n }) => [tab, n] as const);
    return { type: "view", leader: this.#run, tab, values, base: leader.base, status: leader.status, tabs };
  }

  #on(leader: Leader, message: ToLeader): void {
    switch (message.type) {
      case "watch": {
        if (!this.#tabs.has(message.tab)) this.#onTab(message.tab, () => this.#gone(leader, message.tab));
        const old = this.#tabs.get(message.tab) ?? new Set();
        const interest = new Set(message.keys);
        this.#tabs.set(message.tab, interest);
        for (const key of interest) leader.watch(key);
        this.#release(leader, old);
        this.#send(this.#view(leader, interest, message.tab));
        return;
      }
      case "commit":
        return this.#commit(leader, message);
      case "setK":
        return leader.setK(message.K);
      case "link":
        return leader.link(message.wanted);
      case "prefer":
        return leader.prefer(message.endpoint);
      case "inspect":
        return void leader.inspect().then((inspection) => this.#send({ type: "inspection", inspection }));
      case "bye":
        return this.#gone(leader, message.tab);
    }
  }

  #commit(leader: Leader, { leader: run, tab, n, ops }: Extract<ToLeader, { type: "commit" }>): void {
    if (run !== this.#run) return;
    const name = `${tab}/${n}`;
    if (this.#underWay.has(name)) return;
    if (n <= (leader.tabs.find((origin) => origin.tab === tab)?.n ?? 0)) {
      // It came from the log of an earlier leader: it is durable, under a number that was not told.
      this.#send({ type: "durable", tab, n, k: undefined });
      return;
    }
    this.#underWay.add(name);
    leader.commit(ops, { tab, n }).durable.then(
      (k) => {
        this.#underWay.delete(name);
        this.#send({ type: "durable", tab, n, k });
      },
      (error: unknown) => {
        this.#underWay.delete(name);
        const { name: kind, message } = error instanceof Error || error instanceof DOMException ? error : { name: "Error", message: String(error) };
        this.#send({ type: "failed", tab, n, name: kind, text: message });
      },
    );
  }

  #gone(leader: Leader, tab: string): void {
    const interest = this.#tabs.get(tab);
    this.#tabs.delete(tab);
    if (interest) this.#release(leader, interest);
  }

  #release(leader: Leader, keys: Iterable<Bytes>): void {
    for (const key of keys) if (!this.#own.has(key) && !this.watchedElsewhere(key)) leader.unwatch(key);
  }
}
