// Clients at all regions commit while regions are cut, killed and started again, wires break, and processes end. SEED and SECONDS name a run, as far as real time allows.

import assert from "node:assert/strict";
import test from "node:test";
import { WebSocket } from "ws";
import { Rng } from "../../src/core/rng.js";
import { dominates } from "../../src/core/codec.js";
import { type Counter, type Db, type MapHandle, MemoryStore, type SetHandle, type View, open } from "../../src/index.js";
import { until } from "../until.js";
import { Cluster, Wires } from "./cluster.js";

const SECONDS = Number(process.env.SECONDS ?? 20);
const SEED = Number(process.env.SEED ?? 1);

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The last frames of a device, for failures. */
function traced(frames: string[]): typeof WebSocket {
  const began = Date.now();
  const note = (way: string, frame: Uint8Array) => {
    frames.push(`${Date.now() - began} ${way} ${frame[0]} ${Buffer.from(frame).toString("hex").slice(2, 160)}`);
    if (frames.length > 2000) frames.shift();
  };
  return class extends WebSocket {
    constructor(url: string) {
      super(url);
      frames.push(`${Date.now() - began} connect ${url}`);
      this.on("message", (data: ArrayBuffer) => note("<", new Uint8Array(data)));
      this.on("close", (code) => frames.push(`${Date.now() - began} closed ${code}`));
      this.on("error", (error) => frames.push(`${Date.now() - began} ${error.message}`));
    }

    override send(data: Uint8Array): void {
      note(">", data);
      super.send(data);
    }
  } as unknown as typeof WebSocket;
}

class Device {
  readonly frames: string[] = [];
  readonly #name: string;
  readonly #wires: Wires;
  readonly #rng: Rng;
  #store = new MemoryStore();
  #db!: Db;
  #likes!: Counter;
  #tokens!: SetHandle<string>;
  #causes!: MapHandle<string>;
  #base: View["base"] = [];
  readonly own = new Set<string>();
  views = 0;

  constructor(name: string, wires: Wires, rng: Rng) {
    this.#name = name;
    this.#wires = wires;
    this.#rng = rng;
  }

  get db(): Db {
    return this.#db;
  }

  get wires(): Wires {
    return this.#wires;
  }

  async start(): Promise<void> {
    const m = this.#rng.below(3);
    const endpoints = [...this.#wires.urls.slice(m), ...this.#wires.urls.slice(0, m)];
    this.#db = await open({ name: this.#name, endpoints, k: 1 + this.#rng.below(3), WebSocket: traced(this.frames), store: this.#store });
    this.#likes = this.#db.counter("likes");
    this.#tokens = this.#db.set("tokens");
    this.#causes = this.#db.map("causes");
    this.#db.subscribe([this.#likes, this.#tokens, this.#causes], (view) => this.#check(view));
    this.#db.onRefused((refusal) => assert.fail(JSON.stringify(refusal.code)));
  }

  /** One base, not before the last one, with what was committed here; and no effect without its cause. */
  #check(view: View): void {
    this.views++;
    const { base } = view;
    assert.ok(dominates(base, this.#base), `${this.#name}: the base falls`);
    this.#base = base;
    const [tokens, causes] = [view.get(this.#tokens), view.get(this.#causes)];
    assert.equal(tokens.size, causes.size, `${this.#name}: two keys of one transaction`);
    for (const [token, cause] of causes) {
      assert.ok(tokens.has(token));
      assert.ok(cause === "" || tokens.has(cause), `${this.#name}: ${token} without ${cause}`);
    }
    for (const token of this.own) assert.ok(tokens.has(token), `${this.#name}: ${token} is gone`);
  }

  /** The end of the process: what was stored stays. */
  async crash(): Promise<void> {
    const old = this.#db;
    this.#store = this.#store.copy();
    await old.close();
    await this.start();
  }

  commit(): void {
    const token = `${this.#name}${this.own.size}`;
    const { available, value } = this.#db.read(this.#tokens);
    const seen = available ? [...value!] : [];
    this.#db.tx((t) => {
      t.add(this.#likes, 1);
      t.insert(this.#tokens, token);
      t.put(this.#causes, token, seen.length > 0 ? seen[this.#rng.below(seen.length)] : "");
    });
    this.own.add(token);
  }

  get outcome(): string {
    return JSON.stringify([this.#db.get(this.#likes), [...this.#db.get(this.#tokens)].sort(), [...this.#db.get(this.#causes)].sort()]);
  }

  get likes(): number {
    return this.#db.get(this.#likes);
  }
}

test(`${SECONDS} s of faults, seed ${SEED}`, { timeout: (SECONDS + 600) * 1000 }, async (t) => {
  const rng = new Rng(SEED);
  const cluster = await Cluster.start({ params: ["edge_retain=10s"] });
  t.after(() => cluster.stop());
  const devices: Device[] = [];
  for (const name of ["p", "q", "r", "s"]) {
    const wires = await Wires.lay(cluster);
    t.after(() => wires.close());
    devices.push(new Device(name, wires, rng));
  }
  await Promise.all(devices.map((device) => device.start()));
  t.after(() => Promise.all(devices.map(({ db }) => db.close())));
  await until(() => devices.every(({ db }) => db.status.phase === "live"), "live");
  let failed: unknown;
  const onError = (error: unknown) => (failed ??= error);
  process.on("uncaughtException", onError);
  t.after(() => process.off("uncaughtException", onError));
  const commits = setInterval(() => {
    for (const device of devices) if (rng.below(4) === 0) device.commit();
  }, 40);
  t.after(() => clearInterval(commits));
  const down = new Set<number>();
  const seen = { cuts: 0, heals: 0, kills: 0, wires: 0, deaf: 0, crashes: 0, redis: 0 };
  // time: so long faults go on
  for (const end = Date.now() + SECONDS * 1000; Date.now() < end && !failed; await sleep(150 + rng.below(400))) {
    const device = devices[rng.below(devices.length)];
    const m = rng.below(3);
    switch (rng.below(10)) {
      case 0:
      case 1: {
        seen.cuts++;
        await cluster.order("cut", "abc"[m], "abc"[(m + 1) % 3]);
        break;
      }
      case 2:
        seen.heals++;
        await cluster.heal();
        break;
      case 3:
        if (down.size > 0) {
          for (const gone of down) await cluster.restart(gone);
          down.clear();
        } else {
          seen.kills++;
          await cluster.kill(m);
          down.add(m);
        }
        break;
      case 4:
        seen.wires++;
        device.wires.cut();
        break;
      case 5:
        seen.deaf++;
        device.wires.isDeaf = true;
        break;
      case 6:
        device.wires.mend();
        break;
      case 7:
        seen.crashes++;
        await device.crash();
        break;
      case 8:
        device.db.setK(1 + rng.below(3));
        break;
      default: {
        if (down.has(m)) break;
        const redis = cluster.redis(m);
        await redis.call("INCR", "likes");
        seen.redis++;
        redis.close();
      }
    }
  }
  clearInterval(commits);
  for (const gone of down) await cluster.restart(gone);
  await cluster.heal();
  for (const { wires, db } of devices) {
    wires.mend();
    db.setK(3);
  }
  const show = () => JSON.stringify(devices.map(({ db }) => db.status));
  const isSettled = ({ db }: Device) => db.status.phase === "live" && db.status.pending === 0;
  await until(() => failed !== undefined || devices.every(isSettled), "settled", show).catch((error) => {
    for (const device of devices) if (!isSettled(device)) console.log(device.frames.join("\n"));
    throw error;
  });
  if (failed) throw failed;
  const total = devices.reduce((sum, { own }) => sum + own.size, 0);
  await until(() => devices.every(({ likes }) => likes === total + seen.redis), "each once", () => `${devices.map(({ likes }) => likes)} of ${total} + ${seen.redis}`);
  await until(() => devices.every(({ outcome }) => outcome === devices[0].outcome), "the same");
  const r = cluster.redis(0);
  assert.equal(await r.call("SCARD", "tokens"), total);
  r.close();
  if (failed) throw failed;
  console.log(`${total} commits, ${devices.reduce((sum, { views }) => sum + views, 0)} views, ${JSON.stringify(seen)}`);
});
