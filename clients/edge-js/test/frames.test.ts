// Frames against the fixtures of the Rust client, and against bytes that are no frames.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import test from "node:test";
import { type Bytes, fromArray } from "../src/core/bytes.js";
import { Malformed, Reader, type Vec, Writer } from "../src/core/codec.js";
import { type ClientFrame, type Connection, type GatewayFrame, decodeBody, decodeClient, decodeGateway, encodeBody, encodeClient, encodeGateway } from "../src/core/frames.js";
import { chain } from "../src/core/log.js";
import { Rng } from "../src/core/rng.js";
import { sha256 } from "../src/core/sha256.js";
import { type Change, type Op, type Value, hashOf } from "../src/core/value.js";
import { lines } from "./fixtures.js";
import { hexOf, unhex } from "./hex.js";
import { type Json, fieldsOf, valueOf } from "./json.js";

function opOf(op: Op): Json {
  const { key, ...rest } = op;
  const fields: Json = { key: hexOf(key), op: op.op[0].toUpperCase() + op.op.slice(1) };
  for (const [name, value] of Object.entries(rest)) if (name !== "op") fields[name === "by" ? "amount" : name] = typeof value === "bigint" ? String(value) : hexOf(value);
  return fields;
}

function fromValue(json: Json): Value {
  switch (json.kind) {
    case "string":
      return { kind: "string", ts: Number(json.ts), bytes: fromArray(unhex(json.value)) };
    case "map":
    case "list":
      return { kind: json.kind, fields: new Map(json.fields.map((f: Json) => [fromArray(unhex(f.field)), { ts: Number(f.ts), value: fromArray(unhex(f.value)) }])) };
    case "set":
      return { kind: "set", members: new Set(json.members.map((m: string) => fromArray(unhex(m)))) };
    case "other":
      return { kind: "other", type: fromArray(unhex(json.type)) };
    default:
      return { kind: "absent" };
  }
}

function changeOf(change: Change): Json {
  if (change.kind === "value") return { kind: "whole", value: valueOf(change.value) };
  if (change.kind === "mapChange") return { kind: "mapChange", fields: fieldsOf(change.set), removed: change.removed.map(hexOf) };
  return { kind: "setChange", added: change.added.map(hexOf), removed: change.removed.map(hexOf) };
}

function vecOf(vec: Vec): string[] {
  return vec.map(String);
}

function frameOf(frame: ClientFrame | GatewayFrame): Json {
  const { type, ...rest } = frame as Json;
  const fields: Json = {};
  for (const [name, value] of Object.entries(rest)) {
    if (typeof value === "string") fields[name] = hexOf(value);
    else if (typeof value === "number" || typeof value === "bigint") fields[name] = name === "region" || name === "regions" ? value : String(value);
    else fields[name] = value;
  }
  if (type === "hello") fields.base = vecOf(rest.base);
  if (type === "transfer") {
    fields.dep = vecOf(rest.dep);
    fields.ops = rest.ops.map(({ op }: { op: Op }) => opOf(op));
    fields.sentBefore = rest.again;
    delete fields.again;
    delete fields.tick;
  }
  if (type === "value") {
    fields.value = valueOf(rest.value);
    delete fields.tick;
  }
  if (type === "tick") {
    fields.to = vecOf(rest.to);
    fields.updates = rest.updates.map(({ ref, change }: { ref: number; change: Change }) => ({ ref: String(ref), ...changeOf(change) }));
    delete fields.tick;
  }
  return fields;
}

/** The fixtures draw numbers of 64 bits; this client takes none above 2^53 - 1. */
function aboveDouble(fields: Json): boolean {
  const numbers = ["k", "K", "g", "first", "head", "period", "retain", "ms", "op", "ref"].map((name) => fields[name]);
  for (const update of fields.updates ?? []) numbers.push(update.ref);
  return numbers.some((n) => /^[0-9]+$/.test(n) && BigInt(n) > 2n ** 53n - 1n);
}

test("frames are those of the Rust client, byte for byte", () => {
  let same = 0;
  let above = 0;
  const ticks = new Map<number, Vec[]>();
  for (const line of lines("frames.txt")) {
    if (!["client", "gateway"].includes(line.side) || line.name === "Malformed") continue;
    const base: Vec = line.context.base.map(BigInt);
    const bases = ticks.get(line.connection) ?? [];
    ticks.set(line.connection, bases);
    bases[Number(line.context.tick)] = base;
    const refs = new Map<number, Bytes>(line.context.watched.map((w: Json) => [Number(w.ref), fromArray(unhex(w.key))]));
    const bytes = unhex(line.hex);
    const connection: Connection = { baseOf: (tick) => bases[tick], keyOf: (ref) => refs.get(ref) };
    const decode = () => (line.side === "client" ? decodeClient(bytes, connection) : decodeGateway(bytes, base));
    if (aboveDouble(line.fields)) {
      assert.throws(decode, Malformed, line.hex);
      above++;
      continue;
    }
    const frame = decode();
    assert.deepEqual(frameOf(frame), line.fields, line.hex);
    const again = line.side === "client" ? encodeClient(frame as ClientFrame) : encodeGateway(frame as GatewayFrame, base);
    assert.equal(hexOf(again), line.hex);
    if (frame.type === "hello") bases[0] = frame.base;
    if (frame.type === "tick") bases[frame.tick] = frame.to;
    same++;
  }
  assert.ok(same > 80, `${same}`);
  console.log(`${same} frames are the same; ${above} with numbers above 2^53 - 1 are refused`);
});

test("what is malformed for the Rust client is malformed here", () => {
  let n = 0;
  for (const line of lines("frames.txt")) {
    // What depends on the order of frames is a matter of the client: see client.test.ts.
    if (line.name !== "Malformed" || ORDER.has(line.fields.why)) continue;
    const base: Vec = line.context.base.map(BigInt);
    const refs = new Map<number, Bytes>(line.context.watched.map((w: Json) => [Number(w.ref), fromArray(unhex(w.key))]));
    const connection: Connection = { baseOf: (tick) => (tick === Number(line.context.tick) ? base : undefined), keyOf: (ref) => refs.get(ref) };
    const bytes = unhex(line.hex);
    assert.throws(() => (line.side === "client" ? decodeClient(bytes, connection) : decodeGateway(bytes, base)), Malformed, line.fields.why);
    n++;
  }
  assert.ok(n > 10, `${n}`);
});

const ORDER = new Set(["its watch has ended", "a reference that was used", "a value of an earlier tick", "a tick that came before"]);

test("bodies, digests and hashes are those of the Rust client", () => {
  let bodies = 0;
  let hashes = 0;
  for (const line of lines("frames.txt")) {
    if (line.name === "Body") {
      const body = decodeBody(unhex(line.hex));
      assert.deepEqual({ k: String(body.k), h: String(body.h), dep: vecOf(body.dep), ops: body.ops.map(opOf) }, line.fields);
      assert.equal(hexOf(encodeBody(body)), line.hex);
      assert.equal(hexOf(chain(fromArray(unhex(line.before)), unhex(line.hex))), line.after);
      bodies++;
    }
    if (line.name === "Hash") {
      assert.equal(hexOf(hashOf(fromValue(line.value))), line.hash);
      hashes++;
    }
    if (line.name === "Cid") assert.equal(hexOf(sha256(unhex(line.secret)).subarray(0, 16)), line.cid);
  }
  assert.ok(bodies > 0 && hashes > 0);
});

test("a list is kind 7, operations 9 and 10 change it, and an empty one is malformed", () => {
  const value = { type: "value", ref: 0, tick: 1, value: { kind: "list", fields: new Map([["p", { ts: 5, value: "v" }]]) } } as const;
  const hex = "890001" + "07" + "01" + "0170" + "0a" + "0176";
  assert.equal(hexOf(encodeGateway(value, [])), hex);
  assert.deepEqual(decodeGateway(unhex(hex), []), value);
  assert.throws(() => decodeGateway(unhex("890001" + "07" + "00"), []), Malformed);
  assert.throws(() => decodeGateway(unhex("890001" + "07" + "02" + "01700a0176" + "01700a0176"), []), Malformed, "the same position twice");
  assert.equal(hexOf(hashOf(value.value)), createHash("sha256").update(unhex("07" + "01" + "0170" + "0176")).digest("hex").slice(0, 16));
  const ops: Op[] = [{ op: "listSet", key: "k", position: "p", value: "v" }, { op: "listRemove", key: "k", position: "p" }];
  const body = encodeBody({ k: 1, h: 1, dep: [], ops });
  assert.ok(hexOf(body).endsWith("02" + "00016b09" + "01700176" + "00016b0a" + "0170"));
  assert.deepEqual(decodeBody(body).ops, ops);
});

test("SHA-256 is that of node:crypto", () => {
  const rng = new Rng(1);
  for (let length = 0; length < 300; length++) {
    const bytes = Uint8Array.from({ length }, () => rng.below(256));
    assert.equal(hexOf(sha256(bytes.subarray(0, length >> 1), bytes.subarray(length >> 1))), createHash("sha256").update(bytes).digest("hex"));
  }
});

test("varints have one form, and 64 bits", () => {
  for (const n of [0n, 1n, 127n, 128n, 2n ** 49n - 1n, 2n ** 49n, 2n ** 53n, 2n ** 56n, 2n ** 63n, 2n ** 64n - 1n]) {
    const w = new Writer();
    w.u(n);
    const r = new Reader(w.finish());
    assert.equal(r.u64(), n);
    r.end();
    if (n < 2n ** 53n) {
      const other = new Writer();
      other.u(Number(n));
      assert.deepEqual(other.finish(), w.finish());
    }
  }
  for (const bad of ["", "80", "8000", "80808080808080808002", "ffffffffffffffffffff01", "ffffffffffffffff8000", "80808080808080808000"]) {
    assert.throws(() => new Reader(unhex(bad)).u64(), Malformed, bad);
  }
});

test("every truncation and many changed bytes are errors or frames, at once", () => {
  const rng = new Rng(7);
  let errors = 0;
  let frames = 0;
  for (const line of lines("frames.txt")) {
    if (!["client", "gateway"].includes(line.side)) continue;
    const base: Vec = line.context.base.map(BigInt);
    const connection: Connection = { baseOf: () => base, keyOf: () => "key" };
    const bytes = unhex(line.hex);
    const attempt = (changed: Uint8Array) => {
      try {
        if (line.side === "client") decodeClient(changed, connection);
        else decodeGateway(changed, base);
        frames++;
      } catch (error) {
        assert.ok(error instanceof Malformed, String(error));
        errors++;
      }
    };
    for (let length = 0; length < bytes.length; length++) attempt(bytes.slice(0, length));
    for (let i = 0; i < 50 && bytes.length > 0; i++) {
      const changed = bytes.slice();
      for (let n = 1 + rng.below(3); n > 0; n--) changed[rng.below(changed.length)] = rng.below(256);
      attempt(changed);
    }
  }
  console.log(`${errors} errors, ${frames} frames`);
});

test("a length above the frame allocates nothing", () => {
  for (const hex of ["8b" + "ffffffff7f", "8a01" + "ffffffff0f", "890001" + "03" + "ffffffff0f", "0200" + "1f" + "00" + "ffffffff0f"]) {
    assert.throws(() => decodeGateway(unhex(hex), []), Malformed);
    assert.throws(() => decodeClient(unhex(hex), { baseOf: () => [], keyOf: () => undefined }), Malformed);
  }
});
