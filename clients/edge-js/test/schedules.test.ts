// Random schedules of clients, regions, cuts and crashes over the core alone, without time or sockets. A seed replays a schedule.
//
// Checked at every step: what a client reads is the value at its base with its own log on top; the base never falls, also over crashes.
// Checked in the end, when all is mended: every log is empty, all clients read the same, each transaction counts once and none is lost.

import assert from "node:assert/strict";
import test from "node:test";
import { type Bytes, fromArray } from "../src/core/bytes.js";
import { Client, type Durable, type Step, freshMeta } from "../src/core/client.js";
import { type Vec, dominates } from "../src/core/codec.js";
import { AUTHOR_MIN, Author } from "../src/core/position.js";
import { Rng } from "../src/core/rng.js";
import { type Op, type Value, positionsOf } from "../src/core/value.js";
import { list, text } from "../src/handles.js";
import { MemoryStore } from "../src/store/memory.js";
import { Tx } from "../src/tx.js";
import { Session, World } from "./world.js";

const SCHEDULES = Number(process.env.SCHEDULES ?? 400);
const STEPS = 250;
const KEYS = ["c1", "c2", "r1", "r2", "m1", "s1", "l1", "slog"];
const LIST = list("l1", text);

const seen = { kept: 0, listed: 0, moved: 0, commits: 0, crashes: 0, cuts: 0, ticks: 0, failures: 0, again: 0, retimes: 0, unstored: 0 };

class Device {
  readonly name: string;
  readonly #world: World;
  readonly #rng: Rng;
  readonly #eager: boolean;
  store = new MemoryStore();
  client!: Client;
  #author!: Author;
  #steps: Step[] = [];
  #started = 0;
  session: Session | undefined;
  #up: Uint8Array[] = [];
  #down: Uint8Array[] = [];
  #endpoint: number | undefined;
  #wakeAt: number | undefined;
  lastBase: Vec = [];
  /** Tokens of transactions by their number in this run. */
  readonly committed = new Map<number, string>();
  readonly tokens = new Set<string>();
  readonly durable = new Set<string>();
  offline = false;
  forgetful = false;
  stale = false;

  constructor(name: string, world: World, rng: Rng) {
    this.name = name;
    this.#world = world;
    this.#rng = rng;
    this.#eager = rng.below(2) === 0;
    const secret = fromArray(Uint8Array.from({ length: 32 }, () => rng.below(256)));
    this.store.apply({ type: "replace", meta: freshMeta(secret, 2), rows: [] });
    this.start();
  }

  get #now(): number {
    return this.#world.time - this.#started;
  }

  start(): void {
    this.#started = this.#world.time - this.#rng.below(1000);
    const durable = this.store.load() as Durable;
    this.client = new Client({ K: 1 + this.#rng.below(3), endpoints: 3, token: "", seed: this.#rng.bits(), lowers: false, eager: this.#eager }, durable);
    this.#author = new Author(AUTHOR_MIN + this.#rng.below(2 ** 32 - AUTHOR_MIN));
    assert.ok(dominates(this.client.base, durable.meta.base));
    seen.kept += durable.values!.size;
    for (const key of KEYS) if (this.#rng.below(4) > 0) this.client.watch(this.#now, key);
    this.client.start(this.#now);
    this.run();
  }

  /** A power failure: what was not confirmed may be on the disk, as a prefix of the steps. */
  crash(): void {
    seen.crashes++;
    for (let n = this.#rng.below(this.#steps.length + 1); n > 0; n--) this.store.apply(this.#steps.shift()!);
    this.#steps = [];
    this.cut(false);
    this.committed.clear();
    this.store = this.store.copy();
    this.start();
  }

  commit(): void {
    const token = `${this.name}-${this.tokens.size}`;
    const ops: Op[] = [{ op: "setAdd", key: "slog", member: token }, { op: "add", key: "c1", by: 1n }, ...Array.from({ length: this.#rng.below(3) }, () => this.#op()), ...this.#listOps(token)];
    const { id } = this.client.commit(this.#now, ops);
    this.tokens.add(token);
    this.committed.set(id, token);
    seen.commits++;
    this.run();
    if (this.#eager) this.checkOwn(ops);
  }

  /** What an application does to a list, in one transaction: elements come, change, go, and are moved. */
  #listOps(value: string): readonly Op[] {
    const rng = this.#rng;
    const t = new Tx((key, buffer) => this.client.read(key, buffer), this.#author);
    for (let n = rng.below(4) - 1; n > 0; n--) {
      const { value: there } = this.client.read(LIST.key, t.ops);
      const { length } = positionsOf(there);
      const index = rng.below(length + 1);
      const what = rng.below(10);
      if (!there || what < 2) t.push(LIST, value);
      else if (index === length || what < 5) t.insertAt(LIST, index, value);
      else if (what < 7) t.setAt(LIST, index, value);
      else {
        const moved = t.get(LIST)[index];
        t.removeAt(LIST, index);
        if (what < 8) continue;
        t.insertAt(LIST, rng.below(length), moved);
        seen.moved++;
      }
      seen.listed++;
    }
    return t.finish();
  }

  #op(): Op {
    const rng = this.#rng;
    const bytes = String(rng.below(100));
    const element = "abc"[rng.below(3)];
    switch (rng.below(9)) {
      case 0:
      case 1:
        return { op: "set", key: `r${1 + rng.below(2)}`, value: bytes };
      case 2:
        return { op: "delete", key: ["r1", "m1", "s1", "l1"][rng.below(4)] };
      case 3:
      case 4:
        return { op: "mapSet", key: "m1", field: element, value: bytes };
      case 5:
        return { op: "mapDelete", key: "m1", field: element };
      case 6:
        return { op: "setAdd", key: "s1", member: element };
      case 7:
        return { op: "setRemove", key: "s1", member: element };
      default:
        return { op: "add", key: "c2", by: BigInt(rng.below(7) - 3) };
    }
  }

  /** Own writes are visible at once: the last one of each element. */
  checkOwn(ops: readonly Op[]): void {
    for (const [i, op] of ops.entries()) {
      const value = this.client.read(op.key).value;
      if (!value || ops.slice(i + 1).some((later) => later.key === op.key)) continue;
      if (op.op === "set") assert.ok(value.kind === "string" && value.bytes === op.value);
      if (op.op === "delete") assert.equal(value.kind, "absent");
      if (op.op === "mapSet") assert.ok(value.kind === "map" && value.fields.get(op.field)?.value === op.value);
      if (op.op === "mapDelete") assert.ok(value.kind !== "map" || !value.fields.has(op.field));
      if (op.op === "listSet") assert.ok(value.kind === "list" && value.fields.get(op.position)?.value === op.value);
      if (op.op === "listRemove") assert.ok(value.kind !== "list" || !value.fields.has(op.position));
      if (op.op === "setAdd") assert.ok(value.kind === "set" && value.members.has(op.member));
      if (op.op === "setRemove") assert.ok(value.kind !== "set" || !value.members.has(op.member));
    }
  }

  run(): void {
    for (let effects = this.client.take(); effects.length > 0; effects = this.client.take()) {
      for (const effect of effects) {
        switch (effect.type) {
          case "connect":
            this.#endpoint = effect.endpoint;
            break;
          case "close":
            this.#hangUp();
            break;
          case "send":
            this.#up.push(effect.frame);
            break;
          case "persist":
            this.#steps.push(effect.step);
            break;
          case "wake":
            this.#wakeAt = effect.atUs;
            break;
          case "durable":
            this.durable.add(this.committed.get(effect.id)!);
            break;
          case "failed":
            seen.unstored += effect.ids.length;
            break;
          case "forked":
          case "refused":
            assert.fail(`${this.name}: ${effect.type}`);
        }
      }
      this.check();
    }
  }

  check(): void {
    const { client } = this;
    assert.ok(dominates(client.base, this.lastBase), "base never falls");
    if (!dominates(this.lastBase, client.base)) seen.ticks++;
    this.lastBase = client.base;
    for (const key of ["c1", "c2"]) {
      const value = client.read(key).value;
      if (!value) continue;
      const shown = client.log.filter((entry) => entry.shown);
      const own = shown.flatMap(({ ops }) => ops).reduce((sum, op) => (op.key === key && op.op === "add" ? sum + op.by : sum), 0n);
      assert.equal(numberOf(value), numberOf(this.#world.value(key, client.base)) + own, "counters are exact at every base");
    }
    for (const key of KEYS) {
      const { value, pending } = client.read(key);
      if (value && pending === 0) assert.deepEqual(plain(value), plain(this.#world.value(key, client.base)), `one base: ${key}`);
    }
  }

  // ---- what the schedule does

  persistOne(): void {
    const step = this.#steps.shift();
    if (!step) return;
    if (this.stale && step.type === "base" && this.#rng.below(2) === 0) this.store.apply({ type: "base", meta: step.meta });
    else if (!this.forgetful || step.type !== "rows") this.store.apply(step);
    this.client.persisted(this.#now);
    this.run();
  }

  failOne(): void {
    if (this.#steps.length === 0) return;
    seen.failures++;
    this.#steps = [];
    this.client.persistFailed(this.#now, new Error("quota"));
    this.run();
  }

  connect(): void {
    if (this.#endpoint === undefined) return;
    const region = this.#world.regions[this.#endpoint];
    this.#endpoint = undefined;
    if (this.offline || !region.up) {
      this.client.disconnected(this.#now);
    } else {
      this.session = new Session(region, (frame) => this.#down.push(frame));
      this.session.differences = this.#rng.below(2) === 0;
      this.client.connected(this.#now);
    }
    this.run();
  }

  #hangUp(): void {
    seen.again += this.session?.transfers.filter(({ again }) => again).length ?? 0;
    seen.retimes += this.session?.retimes ?? 0;
    this.session?.close();
    this.session = undefined;
    this.#endpoint = undefined;
    this.#up = [];
    this.#down = [];
  }

  cut(tell = true): void {
    const connected = this.session !== undefined;
    this.#hangUp();
    if (!tell || !connected) return;
    seen.cuts++;
    this.client.disconnected(this.#now);
    this.run();
  }

  upward(): void {
    const frame = this.#up.shift();
    if (frame) this.session?.receive(frame);
  }

  downward(): void {
    const frame = this.#down.shift();
    if (!frame) return;
    this.client.received(this.#now, frame);
    this.run();
  }

  wake(): void {
    if (this.#wakeAt === undefined || this.#wakeAt > this.#now) return;
    this.#wakeAt = undefined;
    this.client.wake(this.#now);
    this.run();
  }

  toggle(): void {
    const key = KEYS[this.#rng.below(KEYS.length)];
    const what = this.#rng.below(5);
    if (what < 2) this.client.unwatch(this.#now, key);
    else if (what < 4) this.client.watch(this.#now, key);
    else this.client.forget(this.#now);
    this.run();
  }

  setK(): void {
    this.client.setK(this.#now, 1 + this.#rng.below(3));
    this.run();
  }

  finish(): void {
    for (const key of KEYS) this.client.watch(this.#now, key);
    this.client.setK(this.#now, 3);
    this.run();
  }
}

function numberOf(value: Value): bigint {
  return value.kind === "string" ? BigInt(value.bytes) : 0n;
}

function plain(value: Value): unknown {
  if (value.kind === "string") return value.bytes;
  if (value.kind === "map") return [...value.fields].map(([name, field]) => [name, field.value]).sort();
  if (value.kind === "list") return positionsOf(value).map((position) => [position, value.fields.get(position)!.value]);
  if (value.kind === "set") return [...value.members].sort();
  return value.kind;
}

function play(seed: number, mutant: (typeof MUTANTS)[string] = {}): string {
  const rng = new Rng(seed);
  const world = new World(3);
  mutant.world?.(world);
  if (rng.below(3) === 0) world.retainMs = [20_000, 4_000][rng.below(2)];
  const devices = ["a", "b", "c"].map((name) => new Device(name, world, rng));
  for (const device of devices) mutant.device?.(device);
  const any = () => devices[rng.below(devices.length)];
  for (let step = 0; step < STEPS; step++) {
    world.time += rng.below(200_000);
    const device = any();
    switch (rng.below(24)) {
      case 0:
      case 1:
      case 2:
        device.commit();
        break;
      case 3:
        if (rng.below(3) === 0) device.crash();
        break;
      case 4:
        if (rng.below(2) === 0) device.cut();
        break;
      case 5:
        device.toggle();
        break;
      case 6:
        if (rng.below(4) === 0) device.failOne();
        break;
      case 7:
        if (rng.below(3) === 0) device.setK();
        break;
      case 8:
        device.offline = rng.below(3) === 0;
        break;
      case 9: {
        const region = world.regions[rng.below(3)];
        region.up = rng.below(3) !== 0;
        if (!region.up) for (const d of devices) if (d.session?.region === region) d.cut();
        break;
      }
      case 10:
      case 11:
      case 12:
        world.regions[rng.below(3)].sync(world.regions[rng.below(3)]);
        break;
      case 13:
        device.session?.tick();
        break;
      default:
        for (let n = 1 + rng.below(8); n > 0; n--) move(any(), rng);
    }
  }
  mend(world, devices);
  return outcome(world, devices);
}

function move(device: Device, rng: Rng): void {
  switch (rng.below(6)) {
    case 0:
      return device.persistOne();
    case 1:
      return device.connect();
    case 2:
      return device.upward();
    case 3:
      return device.downward();
    case 4:
      return device.wake();
    default:
      device.persistOne();
      device.upward();
      device.downward();
  }
}

function mend(world: World, devices: readonly Device[]): void {
  for (const region of world.regions) region.up = true;
  for (const device of devices) {
    device.offline = false;
    device.finish();
  }
  let settled = 0;
  for (let round = 0; round < 2000; round++) {
    world.time += 50_000;
    for (const a of world.regions) for (const b of world.regions) if (a !== b) a.sync(b);
    for (const device of devices) {
      device.wake();
      device.connect();
      for (let n = 0; n < 20; n++) {
        device.persistOne();
        device.upward();
        device.downward();
      }
      if (round % 20 === 0) device.session?.tick();
    }
    if (round > 200 && round % 20 === 10 && devices.every(({ client }) => client.status.pending === 0 && client.status.phase === "live") && ++settled > 3) return; // and all have had the ticks after that
  }
  assert.fail(`not mended: ${JSON.stringify(devices.map(({ client }) => client.status))}`);
}

function outcome(world: World, devices: readonly Device[]): string {
  const reads = devices.map(({ client }) => JSON.stringify(KEYS.map((key) => plain(client.read(key).value!))));
  for (const read of reads) assert.equal(read, reads[0], "convergence");
  const log = devices[0].client.read("slog").value as Extract<Value, { kind: "set" }>;
  const members = log.kind === "set" ? log.members : new Set<Bytes>();
  for (const { durable, name } of devices) for (const token of durable) assert.ok(members.has(token), `${name}: ${token} was durable`);
  for (const member of members) assert.ok(devices.some(({ tokens }) => tokens.has(member)));
  assert.equal(numberOf(devices[0].client.read("c1").value!), BigInt(members.size), "each transaction counts once");
  return `${reads[0]} ${world.txs.length}`;
}

test(`${SCHEDULES} random schedules`, () => {
  const first = Number(process.env.SEED ?? 1);
  for (let seed = first; seed < first + SCHEDULES; seed++) {
    try {
      play(seed);
    } catch (error) {
      (error as Error).message = `seed ${seed}: ${(error as Error).message}`;
      throw error;
    }
  }
  console.log(`${SCHEDULES} schedules: ${JSON.stringify(seen)}`);
  for (const [what, times] of Object.entries(seen)) assert.ok(SCHEDULES < 100 || times > SCHEDULES / 4, `${what}: only ${times}`);
});

test("a seed replays its schedule", () => {
  assert.equal(play(4711), play(4711));
});

/** Rules that are switched off to see whether the checks notice. */
const MUTANTS: Record<string, { device?: (device: Device) => void; world?: (world: World) => void }> = {
  "a disk that confirms what it does not keep": { device: (device) => (device.forgetful = true) },
  "a store whose values are older than its base": { device: (device) => (device.stale = true) },
  "a gateway that takes a transaction twice": { world: (world) => (world.guardless = true) },
  "a tick that lacks an update": { world: (world) => (world.torn = true) },
};

for (const [name, mutant] of Object.entries(MUTANTS)) {
  test(`a mutant is noticed: ${name}`, () => {
    for (let seed = 1; seed <= 200; seed++) {
      try {
        play(seed, mutant);
      } catch (error) {
        assert.ok(error instanceof assert.AssertionError || String(error).includes("L1: "), String(error));
        console.log(`${name}: after ${seed} schedules: ${(error as Error).message.split("\n")[0]}`);
        return;
      }
    }
    assert.fail("not noticed");
  });
}
