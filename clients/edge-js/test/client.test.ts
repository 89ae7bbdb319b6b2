// Single rules of the core, against a gateway in memory.

import assert from "node:assert/strict";
import test from "node:test";
import { Client, type Durable, type Refusal, WINDOW, freshMeta } from "../src/core/client.js";
import { greatest, sameVec } from "../src/core/codec.js";
import { type GatewayFrame, encodeGateway } from "../src/core/frames.js";
import { between } from "../src/core/position.js";
import type { Op } from "../src/core/value.js";
import { MemoryStore } from "../src/store/memory.js";
import { Session, World } from "./world.js";

class Device {
  readonly world: World;
  readonly store: MemoryStore;
  readonly client: Client;
  readonly refusals: Refusal[] = [];
  session: Session | undefined;
  /** Frames to the gateway that do not arrive. */
  deaf = false;
  closed = 0;
  #wants = false;
  #down: Uint8Array[] = [];

  constructor(world: World, store?: MemoryStore) {
    this.world = world;
    this.store = store ?? new MemoryStore();
    if (!store) this.store.apply({ type: "replace", meta: freshMeta("s".repeat(32), 1), rows: [] });
    this.client = new Client({ K: 1, endpoints: 1, token: "", seed: 1, lowers: false, eager: true }, this.store.load() as Durable);
  }

  get now(): number {
    return this.world.time;
  }

  run(): void {
    for (;;) {
      const effects = this.client.take();
      const frame = effects.length === 0 ? this.#down.shift() : undefined;
      if (frame) this.client.received(this.now, frame);
      else if (effects.length === 0) return;
      for (const effect of effects) {
        if (effect.type === "persist") {
          this.store.apply(effect.step);
          this.client.persisted(this.now);
        } else if (effect.type === "connect") this.#wants = true;
        else if (effect.type === "send") {
          if (!this.deaf) this.session?.receive(effect.frame);
        } else if (effect.type === "close") this.closed++;
        else if (effect.type === "forked") this.client.renew(this.now, "t".repeat(32));
        else if (effect.type === "refused") this.refusals.push(effect.refusal);
      }
    }
  }

  connect(): void {
    this.client.start(this.now);
    this.run();
    if (!this.#wants) this.world.time += 20_000_000;
    this.client.wake(this.now);
    this.run();
    assert.ok(this.#wants);
    this.#wants = false;
    this.session = new Session(this.world.regions[0], (frame) => this.#down.push(frame));
    this.client.connected(this.now);
    this.run();
  }

  cut(): void {
    this.session = undefined;
    this.#down = [];
    this.client.disconnected(this.now);
    this.run();
  }

  commit(...ops: Op[]): void {
    this.client.commit(this.now, ops);
    this.run();
  }

  watch(key: string): void {
    this.client.watch(this.now, key);
    this.run();
  }

  tick(): void {
    this.world.time += 1_000_000;
    this.session!.tick();
    this.run();
  }
}

test("Retime: what was not taken for too long gets a new time, and is taken once", () => {
  const world = new World(1);
  world.retainMs = 60_000;
  const device = new Device(world);
  device.watch("c1");
  device.connect();
  device.deaf = true;
  device.commit({ op: "add", key: "c1", by: 1n });
  device.commit({ op: "add", key: "c1", by: 2n });
  const old = device.client.log.map(({ h }) => h);
  assert.ok(device.client.log.every(({ sent }) => sent));
  device.cut();
  device.deaf = false;
  world.time += 120_000_000;
  device.connect();
  device.tick();
  assert.equal(device.client.log.length, 0);
  assert.deepEqual(world.txs.map(({ k }) => k), [1, 2]);
  for (const [i, { h }] of world.txs.entries()) assert.ok(h > old[i] && h >= world.time - 60_000_000);
  assert.deepEqual(device.refusals, []);
  const value = device.client.read("c1").value;
  assert.ok(value?.kind === "string" && value.bytes === "3");
});

test("rule 3: what was never sent rises, so that regions remember its time", () => {
  const world = new World(1);
  world.retainMs = 60_000;
  const device = new Device(world);
  device.commit({ op: "set", key: "r1", value: "a" });
  device.commit({ op: "set", key: "r1", value: "b" });
  assert.ok(device.client.log.every(({ h }) => h < 1000), "it knows no time yet");
  device.connect();
  assert.equal(world.txs.length, 2);
  assert.ok(world.txs[0].h >= world.time - 30_000_000 && world.txs[1].h > world.txs[0].h);
});

test("rule 1: an own addition that a tick brings does not undo an own removal after it", () => {
  const world = new World(1);
  const device = new Device(world);
  const keys = ["s1", "m1", "l1"];
  for (const key of keys) device.watch(key);
  device.connect();
  device.tick();
  const position = between(undefined, undefined, 300, 1);
  device.commit({ op: "setAdd", key: "s1", member: "x" }, { op: "mapSet", key: "m1", field: "f", value: "1" }, { op: "listSet", key: "l1", position, value: "1" });
  device.deaf = true;
  device.commit({ op: "setRemove", key: "s1", member: "x" }, { op: "mapDelete", key: "m1", field: "f" }, { op: "listRemove", key: "l1", position });
  device.tick();
  assert.equal(device.client.log.length, 1, "the tick has the addition alone");
  for (const key of keys) assert.equal(device.client.read(key).value?.kind, "absent", key);
});

test("rule 1: a removal spares what a later tick brought", () => {
  const world = new World(1);
  const [one, two] = [new Device(world), new Device(world, (() => {
    const store = new MemoryStore();
    store.apply({ type: "replace", meta: freshMeta("u".repeat(32), 1), rows: [] });
    return store;
  })())];
  one.watch("s1");
  one.connect();
  two.connect();
  two.commit({ op: "setAdd", key: "s1", member: "old" });
  one.tick();
  one.deaf = true;
  one.commit({ op: "delete", key: "s1" });
  assert.equal(one.client.read("s1").value?.kind, "absent");
  two.commit({ op: "setAdd", key: "s1", member: "new" });
  one.tick();
  const value = one.client.read("s1").value;
  assert.deepEqual(value?.kind === "set" && [...value.members], ["new"]);
});

test("rule 1: a removal of an element of a list spares the value that a later tick brought", () => {
  const world = new World(1);
  const store = new MemoryStore();
  store.apply({ type: "replace", meta: freshMeta("u".repeat(32), 1), rows: [] });
  const [one, two] = [new Device(world), new Device(world, store)];
  for (const device of [one, two]) {
    device.watch("l1");
    device.connect();
  }
  const first = between(undefined, undefined, 300, 1);
  const second = between(first, undefined, 300, 2);
  for (const position of [second, first]) two.commit({ op: "listSet", key: "l1", position, value: "old" });
  for (const device of [one, two]) device.tick();
  one.deaf = true;
  one.commit({ op: "listRemove", key: "l1", position: first }, { op: "listRemove", key: "l1", position: second });
  assert.equal(one.client.read("l1").value?.kind, "absent");
  two.commit({ op: "listSet", key: "l1", position: second, value: "new" });
  one.tick();
  const value = one.client.read("l1").value;
  assert.deepEqual(value?.kind === "list" && [...value.fields].map(([position, { value }]) => [position, value]), [[second, "new"]]);
  assert.deepEqual([...one.client.read("l1").elements], [], "what is removed is not counted, also where it stays");
});

test("a transaction is not younger than the elements that it puts into lists", () => {
  const device = new Device(new World(1));
  device.connect();
  const { time } = device.world;
  // Of a client that has put its elements beside those of others, whose clocks are ahead.
  const births = [time + 500_000, time + 700_000, time + 600_000];
  device.commit(...births.map((birth): Op => ({ op: "listSet", key: "l1", position: between(undefined, undefined, 300, birth), value: "x" })));
  device.commit({ op: "add", key: "c1", by: 1n });
  assert.deepEqual(device.client.log.map(({ h }) => h), [births[1], births[1] + 1]);
  assert.deepEqual(device.refusals, []);
});

test("a map or a list of many elements is not kept in the store, and is still shown", () => {
  for (const [kind, key] of [["map", "m1"], ["list", "l1"]] as const) {
    for (const size of [10_000, 10_001]) {
      const device = new Device(new World(1));
      device.watch(key);
      device.connect();
      device.tick();
      const fields = new Map(Array.from({ length: size }, (_, i) => [String(i), { ts: 1, value: "x" }]));
      device.session!.send({ type: "value", ref: 0, tick: device.session!.ticks, value: { kind, fields } });
      device.tick();
      const shown = device.client.read(key).value;
      assert.ok(shown?.kind === kind && shown.fields.size === size);
      assert.equal(device.store.load()!.values!.has(key), size <= 10_000, `${kind} of ${size}`);
    }
  }
});

test("at most 64 transactions are sent ahead of what is acknowledged", () => {
  const world = new World(1);
  const device = new Device(world);
  for (let i = 0; i < 200; i++) device.commit({ op: "add", key: "c1", by: 1n });
  const sent: number[] = [];
  device.client.start(device.now);
  device.run();
  device.session = { receive: (frame: Uint8Array) => frame[0] === 2 && sent.push(1) } as unknown as Session;
  device.client.connected(device.now);
  device.run();
  const welcome = { type: "welcome", region: 0, regions: 1, time: world.time, head: 0, check: "\0".repeat(8), period: 1000, retain: 1000, covered: true, name: "x" } as const;
  device.client.received(device.now, encodeGateway(welcome, []));
  device.run();
  assert.equal(sent.length, 64);
  device.client.received(device.now, encodeGateway({ type: "ack", k: 10 }, []));
  device.run();
  assert.equal(sent.length, 74);
  assert.equal(device.client.log.length, 200, "an Ack prunes nothing");
  assert.equal(device.client.status.unsent, 190);
});

test("frames out of order close the connection", () => {
  const tick = { type: "tick", tick: 2, to: [1n], K: 1, g: 0, check: "\0".repeat(8), have: 1n, updates: [] } as const;
  const welcome = { type: "welcome", region: 0, regions: 1, time: 1, head: 0, check: "\0".repeat(8), period: 1000, retain: 1000, covered: true, name: "x" } as const;
  const cases = {
    "a frame before Welcome": [encodeGateway({ type: "ack", k: 0 }, [])],
    "a second Welcome": [encodeGateway(welcome, []), encodeGateway(welcome, [])],
    "a tick that is not the next": [encodeGateway(welcome, []), encodeGateway(tick, [])],
    "a value before a tick": [encodeGateway(welcome, []), encodeGateway({ type: "value", ref: 0, tick: 0, value: { kind: "absent" } }, [])],
    "Retime of what is not in the log": [encodeGateway(welcome, []), encodeGateway({ type: "retime", k: 1 }, [])],
    "no frame": [encodeGateway(welcome, []), Uint8Array.of(77)],
    "Error": [encodeGateway({ type: "error", code: "X", text: "y" }, [])],
  };
  for (const [name, frames] of Object.entries(cases)) {
    const device = new Device(new World(1));
    device.watch("r1");
    device.client.start(device.now);
    device.run();
    device.client.connected(device.now);
    device.run();
    for (const frame of frames) {
      assert.equal(device.closed, 0, name);
      device.client.received(device.now, frame);
      device.run();
    }
    assert.equal(device.closed, 1, name);
    assert.equal(device.client.status.phase, "offline", name);
  }
});

test("a restored disk does not prune what the other branch has under the same number", () => {
  const world = new World(1);
  const device = new Device(world);
  device.watch("c1");
  device.connect();
  device.commit({ op: "add", key: "c1", by: 1n });
  device.tick();
  const image = device.store.copy();
  device.commit({ op: "add", key: "c1", by: 10n });
  device.tick();
  device.cut();

  const restored = new Device(world, image);
  restored.watch("c1");
  restored.commit({ op: "add", key: "c1", by: 100n });
  restored.deaf = true;
  restored.connect();
  // All that the gateway says arrives, but not what the client sends after Hello.
  restored.deaf = false;
  restored.cut();
  restored.connect();
  restored.tick();
  for (let i = 0; i < 3; i++) {
    if (restored.client.status.phase !== "live") restored.connect();
    restored.tick();
  }
  const value = restored.client.read("c1").value;
  const told = restored.refusals.filter(({ code }) => code === "forked").length;
  assert.ok(value?.kind === "string");
  assert.equal(Number(value.bytes) + 100 * told, 111);
});

test("rule 3: what was never sent is sent with its old base: a copy of the disk may send it, too", () => {
  const world = new World(1);
  world.retainMs = 100_000;
  const device = new Device(world);
  device.watch("s1");
  device.connect();
  device.commit({ op: "setAdd", key: "s1", member: "a" });
  device.tick();
  device.deaf = true;
  // A window full of others keeps the last ones back.
  for (let n = 0; n < WINDOW; n++) device.commit({ op: "add", key: "c1", by: 1n });
  device.commit({ op: "setRemove", key: "s1", member: "a" });
  device.commit({ op: "setAdd", key: "s1", member: "b" });
  const old = device.client.base;
  world.time += 60_000_000;
  device.tick();
  const { base } = device.client;
  assert.notDeepEqual(base, old);
  device.cut();
  device.deaf = false;
  device.connect();
  assert.equal(world.txs.length, 1 + WINDOW + 2);
  for (const { k, dep, h } of world.txs.slice(1)) {
    assert.ok(sameVec(dep, old), `${k}`);
    assert.ok(h > greatest(dep));
  }
  device.tick();
  const value = device.client.read("s1").value;
  assert.ok(value?.kind === "set" && [...value.members].join() === "b");
});

/** The first tick of a connection to a gateway that does not hear the client. */
function based(device: Device): void {
  const tick = { type: "tick", tick: 1, to: device.client.base, K: 1, g: 0, check: "\0".repeat(8), have: 1n, updates: [] } as const;
  device.client.received(device.now, encodeGateway(tick, device.client.base));
  device.run();
}

test("a Retime is obeyed, however recent the time is, but not twice in a connection", () => {
  const world = new World(1);
  world.retainMs = 60_000;
  const device = new Device(world);
  device.connect();
  device.deaf = true;
  device.commit({ op: "add", key: "c1", by: 1n });
  device.commit({ op: "add", key: "c1", by: 2n });
  const retime = (k: number) => {
    device.client.received(device.now, encodeGateway({ type: "retime", k }, []));
    device.run();
    return device.client.log.map(({ h }) => h);
  };
  const old = device.client.log.map(({ h }) => h);
  const first = retime(1);
  assert.ok(first[0] > old[0] && first[1] > first[0]);
  assert.ok(device.client.log.every(({ connection }) => connection > 0));
  assert.deepEqual(retime(1), first);
  assert.deepEqual(retime(2), first, "the second follows the first");
  // Seed 160 of the schedules: the frame with the new time was under way, and taken; so a third time made the client take itself for a fork.
  world.time += 1_000_000;
  assert.deepEqual(retime(1), first);
  assert.equal(device.closed, 1);
  device.connect();
  device.client.received(device.now, encodeGateway({ type: "welcome", region: 0, regions: 1, time: world.time, head: 0, check: "\0".repeat(8), period: 1000, retain: 60_000, covered: true, name: "x" }, []));
  device.run();
  assert.deepEqual(retime(1), first, "its base may be one that no region reads any more");
  based(device);
  const again = device.client.log.map(({ h }) => h);
  assert.ok(again[0] > first[0], "in another connection it is about the time of now");
});

test("with a later time, what was seen overwritten stays overwritten", () => {
  const world = new World(1);
  world.retainMs = 60_000;
  const other = new MemoryStore();
  other.apply({ type: "replace", meta: freshMeta("o".repeat(32), 1), rows: [] });
  const [device, theirs] = [new Device(world), new Device(world, other)];
  for (const one of [device, theirs]) {
    one.watch("r1");
    one.watch("l1");
    one.connect();
  }
  device.deaf = true;
  const position = between(undefined, undefined, 300, 1);
  const write = (value: string): Op[] => [{ op: "set", key: "r1", value }, { op: "listSet", key: "l1", position, value }];
  device.commit(...write("mine"), { op: "add", key: "c1", by: 1n });
  world.time += 1_000_000;
  theirs.commit(...write("theirs"));
  device.tick();
  const shown = () => {
    const [word, list] = ["r1", "l1"].map((key) => device.client.read(key).value);
    return [word?.kind === "string" && word.bytes, list?.kind === "list" && list.fields.get(position)?.value];
  };
  assert.deepEqual(shown(), ["theirs", "theirs"], "they are later");
  device.cut();
  device.deaf = false;
  world.time += 120_000_000;
  device.connect();
  device.tick();
  assert.equal(device.client.log.length, 0);
  assert.deepEqual(shown(), ["theirs", "theirs"]);
  assert.deepEqual(world.txs.map(({ ops }) => ops.map(({ op }) => op)), [["set", "listSet"], ["add"]]);
});

test("a Missing ends a new time as an Ack does: the next transaction may get one, too", () => {
  const world = new World(1);
  world.retainMs = 60_000;
  const device = new Device(world);
  device.connect();
  device.deaf = true;
  device.commit({ op: "add", key: "c1", by: 1n });
  device.commit({ op: "add", key: "c1", by: 2n });
  const received = (frame: GatewayFrame) => {
    device.client.received(device.now, encodeGateway(frame, []));
    device.run();
    return device.client.log.map(({ h }) => h);
  };
  const first = received({ type: "retime", k: 1 });
  assert.deepEqual(received({ type: "missing", k: 0 }), first);
  assert.deepEqual(received({ type: "retime", k: 2 }), first, "it is about a frame that was under way");
  received({ type: "missing", k: 1 });
  const second = received({ type: "retime", k: 2 });
  assert.ok(second[0] === first[0] && second[1] > first[1]);
});
