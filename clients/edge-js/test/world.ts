// Regions and gateways in memory: the other side of the link, for tests. Replication is whole and in order, for each origin; all else is as in the design.

import { type Bytes, fromArray, toArray } from "../src/core/bytes.js";
import { type Vec, dominates, greatest } from "../src/core/codec.js";
import { type ClientFrame, type GatewayFrame, type Transfer, decodeClient, encodeBody, encodeGateway } from "../src/core/frames.js";
import { DIGEST_0, chain } from "../src/core/log.js";
import { birthOf } from "../src/core/position.js";
import { sha256 } from "../src/core/sha256.js";
import { ABSENT, type Change, type Field, type Op, type Value, elementOf, hashOf } from "../src/core/value.js";

export interface Tx {
  readonly cid: Bytes;
  readonly k: number;
  readonly digest: Bytes;
  readonly h: number;
  readonly dep: Vec;
  readonly ops: readonly Op[];
  /** Operations without effect. */
  readonly refused: Set<number>;
  /** Commit vectors by region. */
  readonly stamps: Map<number, Vec>;
  readonly before: Tx | undefined;
}

const MAX = (a: bigint, b: bigint) => (a > b ? a : b);

function join(a: Vec, b: Vec): bigint[] {
  return Array.from({ length: Math.max(a.length, b.length) }, (_, i) => MAX(a[i] ?? 0n, b[i] ?? 0n));
}

function meet(a: Vec, b: Vec): bigint[] {
  return a.map((entry, i) => (entry < b[i] ? entry : b[i]));
}

export function visible(tx: Tx, base: Vec): boolean {
  return [...tx.stamps.values()].some((stamp) => dominates(base, stamp));
}

export class World {
  readonly regions: Region[];
  /** Microseconds. */
  time = 1_790_000_000_000_000;
  readonly txs: Tx[] = [];
  retainMs = 24 * 3600 * 1000;
  periodMs = 1000;
  /** Mutants. */
  guardless = false;
  torn = false;

  constructor(regions: number) {
    this.regions = Array.from({ length: regions }, (_, m) => new Region(this, m, regions));
  }

  /** The value of a key at a base: a function of the base alone. */
  value(key: Bytes, base: Vec): Value {
    const txs = this.txs.filter((tx) => visible(tx, base)).sort(order);
    const ops = txs.flatMap((tx) => tx.ops.map((op, i) => ({ tx, op, i })).filter(({ op, tx, i }) => op.key === key && !tx.refused.has(i)));
    if (key.startsWith("c")) {
      const sum = ops.reduce((sum, { op }) => (op.op === "add" ? sum + op.by : sum), 0n);
      return ops.length === 0 ? ABSENT : { kind: "string", ts: ops.at(-1)!.tx.h, bytes: String(sum) };
    }
    if (key.startsWith("r")) {
      const last = ops.at(-1);
      return last?.op.op === "set" ? { kind: "string", ts: last.tx.h, bytes: last.op.value } : ABSENT;
    }
    if (key.startsWith("o")) return { kind: "other", type: "zset" };
    const writes = ops.filter(({ op }) => op.op === "mapSet" || op.op === "setAdd" || op.op === "listSet");
    const left = writes.filter((write) => !ops.some((other) => removes(other, write)));
    if (left.length === 0) return ABSENT;
    if (key.startsWith("s")) return { kind: "set", members: new Set(left.map(({ op }) => elementOf(op)!)) };
    const fields = new Map<Bytes, Field>();
    for (const { op, tx } of left) if (op.op === "mapSet" || op.op === "listSet") fields.set(elementOf(op)!, { ts: tx.h, value: op.value });
    return { kind: key.startsWith("l") ? "list" : "map", fields };
  }

  /** The last transaction of a client that is in a base. */
  guard(cid: Bytes, base: Vec): Tx | undefined {
    return this.txs.filter((tx) => tx.cid === cid && visible(tx, base)).reduce<Tx | undefined>((last, tx) => (last && last.k > tx.k ? last : tx), undefined);
  }
}

function order(a: Tx, b: Tx): number {
  return a.h - b.h || (a.cid < b.cid ? -1 : a.cid > b.cid ? 1 : a.k - b.k);
}

interface Placed {
  readonly tx: Tx;
  readonly op: Op;
  readonly i: number;
}

/** A removal takes the writes that its client had seen. */
function removes(removal: Placed, write: Placed): boolean {
  const { op, tx } = removal;
  const sees = tx === write.tx ? write.i < removal.i : (tx.cid === write.tx.cid && write.tx.k < tx.k) || visible(write.tx, tx.dep);
  if (!sees) return false;
  if (op.op === "delete") return true;
  const element = op.op === "setRemove" ? op.member : op.op === "mapDelete" ? op.field : op.op === "listRemove" ? op.position : undefined;
  return element !== undefined && elementOf(write.op) === element;
}

/** An operation that has no effect: the key is of another type, or an element of a list is younger than its transaction. */
function isRefused(op: Op, h: number): boolean {
  const isOfList = op.op === "listSet" || op.op === "listRemove";
  if (op.key.startsWith("o") || (op.key.startsWith("c") && op.op !== "add")) return true;
  if (op.key.startsWith("l") ? !isOfList && op.op !== "delete" : isOfList) return true;
  return op.op === "listSet" && birthOf(op.position) > h;
}

export class Region {
  readonly world: World;
  readonly m: number;
  readonly vv: bigint[];
  readonly #told: bigint[][];
  readonly #bases = new Map<number, Vec>();
  readonly sessions = new Set<Session>();
  #last = 0n;
  up = true;

  constructor(world: World, m: number, regions: number) {
    this.world = world;
    this.m = m;
    this.vv = new Array(regions).fill(0n);
    this.#told = Array.from({ length: regions }, () => new Array(regions).fill(0n));
  }

  /** Fetches what another region has accepted so far, and its vector. */
  sync(from: Region): void {
    from.beat();
    this.vv[from.m] = from.vv[from.m];
    this.#told[from.m] = from.vv.slice();
  }

  beat(): void {
    this.vv[this.m] = MAX(this.vv[this.m], MAX(BigInt(this.world.time) << 12n, this.#last));
    this.#told[this.m] = this.vv;
  }

  /** The K-stable base: of all vectors that K regions with this one have whole, and that dominate the last one, the greatest. */
  base(K: number): Vec {
    this.beat();
    let best = this.#bases.get(K) ?? [];
    const sum = (vec: Vec) => vec.reduce((a, b) => a + b, 0n);
    for (let set = 0; set < 1 << this.vv.length; set++) {
      const members = this.vv.map((_, i) => i).filter((i) => set & (1 << i));
      if (!members.includes(this.m) || members.length < K) continue;
      const all = members.map((i) => this.#told[i].slice() as Vec).reduce(meet);
      if (dominates(all, best) && sum(all) > sum(best)) best = all;
    }
    this.#bases.set(K, best);
    return best;
  }

  present(tx: Tx): boolean {
    return tx.stamps.has(this.m) || visible(tx, this.vv);
  }

  of(cid: Bytes): Tx[] {
    this.beat();
    return this.world.txs.filter((tx) => tx.cid === cid && this.present(tx));
  }

  head(cid: Bytes): Tx | undefined {
    return this.of(cid).reduce<Tx | undefined>((head, tx) => (!head || tx.k > head.k ? tx : head), undefined);
  }

  accept(cid: Bytes, { k, h, dep, ops }: Transfer): GatewayFrame[] {
    const { world } = this;
    if (h <= greatest(dep)) throw new Error("a time that is not above its base");
    const head = this.head(cid);
    const body = encodeBody({ k, h, dep, ops: ops.map(({ op }) => op) });
    const before = this.of(cid).find((tx) => tx.k === k - 1);
    const same = world.guardless ? undefined : this.of(cid).find((tx) => tx.k === k);
    const digest = chain(before?.digest ?? DIGEST_0, body);
    if (same) return same.digest === digest ? this.#taken(same) : [{ type: "forked", k }];
    if (k > 1 && !before) return [{ type: "missing", k: head?.k ?? 0 }];
    if (h > world.time + 1_000_000) return [{ type: "later", ms: Math.ceil((h - world.time) / 1000) }];
    if (!dominates(this.vv, dep)) return [{ type: "behind", ms: 100 }];
    const elsewhere = world.guardless ? undefined : world.txs.find((tx) => tx.cid === cid && tx.k === k && tx.digest === digest);
    if (h < world.time - world.retainMs * 1000 && !elsewhere) return [{ type: "retime", k }];
    const cover = before ? [...before.stamps].find(([m, stamp]) => m === this.m || dominates(this.vv, stamp))![1] : [];
    const ct = [BigInt(world.time) << 12n, this.#last + 1n, this.vv[this.m] + 1n, (BigInt(h) + 1n) << 12n, ...dep.map((d) => d + 1n), ...cover.map((d) => d + 1n)].reduce(MAX);
    this.#last = ct;
    const stamp = join(join(dep, cover), new Array(this.vv.length).fill(0n));
    stamp[this.m] = ct;
    const tx: Tx = elsewhere ?? { cid, k, digest, h, dep, ops: ops.map(({ op }) => op), refused: new Set(), stamps: new Map(), before };
    tx.ops.forEach((op, i) => {
      if (isRefused(op, h)) tx.refused.add(i);
    });
    tx.stamps.set(this.m, stamp);
    if (!elsewhere) world.txs.push(tx);
    this.beat();
    return this.#taken(tx);
  }

  #taken(tx: Tx): GatewayFrame[] {
    const refused = [...tx.refused].map((op) => ({ type: "refused", k: tx.k, op, code: "WRONGTYPE", text: "no" }) as const);
    return [...refused, { type: "ack", k: tx.k }];
  }
}

/** The gateway's end of one connection. Throws if the client breaks the rules. */
export class Session {
  readonly region: Region;
  readonly #send: (frame: Uint8Array) => void;
  readonly #refs = new Map<number, Bytes>();
  readonly #opening = new Map<number, Bytes>();
  readonly #bases: Vec[] = [];
  #nextRef = 0;
  #cid: Bytes | undefined;
  #K = 1;
  #synced = false;
  /** Changes of maps, lists and sets are sent as differences. */
  differences = true;
  readonly transfers: Transfer[] = [];
  retimes = 0;
  /** The transaction that got Retime, and its old time. */
  #retimed: { readonly k: number; readonly h: number } | undefined;

  constructor(region: Region, send: (frame: Uint8Array) => void) {
    this.region = region;
    this.#send = send;
    region.sessions.add(this);
  }

  close(): void {
    this.region.sessions.delete(this);
  }

  get #last(): Vec {
    return this.#bases.at(-1)!;
  }

  get ticks(): number {
    return this.#bases.length - 1;
  }

  send(frame: GatewayFrame): void {
    this.#send(encodeGateway(frame, this.#bases.at(-1) ?? []));
  }

  receive(bytes: Uint8Array): void {
    const frame = decodeClient(bytes, { baseOf: (tick) => this.#bases[tick], keyOf: (ref) => this.#refs.get(ref) });
    if ((frame.type === "hello") !== (this.#cid === undefined)) throw new Error("Hello comes first, and once");
    this.#on(frame);
  }

  #on(frame: ClientFrame): void {
    const { region } = this;
    switch (frame.type) {
      case "hello": {
        this.#cid = fromArray(sha256(toArray(frame.secret)).subarray(0, 16));
        this.#K = frame.K;
        this.#bases.push(frame.base);
        const head = region.head(this.#cid);
        const covered = dominates(region.vv, frame.base);
        const { time, periodMs, retainMs } = region.world;
        this.send({ type: "welcome", region: region.m, regions: region.vv.length, time, head: head?.k ?? 0, check: head?.digest.slice(0, 8) ?? "\0".repeat(8), period: periodMs, retain: retainMs, covered, name: `region${region.m}` });
        return;
      }
      case "watch":
        if (frame.ref !== this.#nextRef++) throw new Error("ref out of order");
        if ([...this.#refs.values()].includes(frame.key)) throw new Error("watched twice");
        this.#refs.set(frame.ref, frame.key);
        if (this.ticks === 0) this.#opening.set(frame.ref, frame.have);
        else this.#value(frame.ref);
        return;
      case "unwatch":
        if (!this.#refs.delete(frame.ref)) throw new Error("not watched");
        return;
      case "setK":
        this.#K = frame.K;
        return;
      case "sync":
        this.#synced = true;
        this.tick();
        return;
      case "transfer":
        this.transfers.push(frame);
        for (const reply of this.#accept(frame)) this.send(reply);
    }
  }

  /** After Retime nothing is taken with its old time. */
  #accept(frame: Transfer): GatewayFrame[] {
    const { k, h } = frame;
    if (this.#retimed && k !== this.#retimed.k) return [{ type: "missing", k: this.#retimed.k - 1 }];
    if (this.#retimed && h <= this.#retimed.h) return [{ type: "retime", k }];
    this.#retimed = undefined;
    const replies = this.region.accept(this.#cid!, frame);
    if (replies.some(({ type }) => type === "retime")) {
      this.#retimed = { k, h };
      this.retimes++;
    }
    return replies;
  }

  #value(ref: number): void {
    this.send({ type: "value", ref, tick: this.ticks, value: this.region.world.value(this.#refs.get(ref)!, this.#last) });
  }

  tick(): void {
    if (!this.#synced) return;
    const to = this.region.base(this.#K);
    if (!dominates(to, this.#last) || to.length === 0) return;
    const { world } = this.region;
    const updates: { ref: number; change: Change }[] = [];
    for (const [ref, key] of [...this.#refs].sort(([a], [b]) => a - b)) {
      const value = world.value(key, to);
      if (this.ticks === 0) {
        if (hashOf(value) !== this.#opening.get(ref)) updates.push({ ref, change: { kind: "value", value } });
        continue;
      }
      const change = difference(world.value(key, this.#last), value, this.differences);
      if (change && !(world.torn && updates.length > 0)) updates.push({ ref, change });
    }
    const guard = world.guard(this.#cid!, to);
    const have = BigInt(world.regions.filter(({ vv }) => dominates(vv, to)).reduce((mask, { m }) => mask | (1 << m), 0));
    this.send({ type: "tick", tick: this.ticks + 1, to, K: this.#K, g: guard?.k ?? 0, check: guard?.digest.slice(0, 8) ?? "\0".repeat(8), have, updates });
    this.#bases.push(to);
  }
}

function difference(old: Value, value: Value, differences: boolean): Change | undefined {
  if (differences && "fields" in old && "fields" in value && old.kind === value.kind) {
    const set = new Map([...value.fields].filter(([name, field]) => old.fields.get(name)?.value !== field.value || old.fields.get(name)?.ts !== field.ts));
    const removed = [...old.fields.keys()].filter((name) => !value.fields.has(name));
    return set.size + removed.length > 0 ? { kind: "mapChange", set, removed } : undefined;
  }
  if (differences && old.kind === "set" && value.kind === "set") {
    const added = [...value.members].filter((member) => !old.members.has(member));
    const removed = [...old.members].filter((member) => !value.members.has(member));
    return added.length + removed.length > 0 ? { kind: "setChange", added, removed } : undefined;
  }
  if (old.kind === "string" && value.kind === "string") return old.bytes === value.bytes && old.ts === value.ts ? undefined : { kind: "value", value };
  return hashOf(old) === hashOf(value) ? undefined : { kind: "value", value };
}

