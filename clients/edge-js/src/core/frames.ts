// Frames of the edge link, version 1.
//
// A client needs `encodeClient` and `decodeGateway`. The other two are for gateways in tests; a bundler leaves them out.
// Times are differences to a base, and a tick's base is a difference to the one before: decoding needs the last base of the connection.

import { type Bytes, compareBytes } from "./bytes.js";
import { FRAME_MAX, Malformed, Reader, type Vec, Writer, ascends, dominates, greatest, unzigzag } from "./codec.js";
import type { Change, Field, Op, Value } from "./value.js";

export const VERSION = 1;

export interface Transfer {
  readonly type: "transfer";
  readonly k: number;
  readonly again: boolean;
  /** The tick of this connection whose base is `dep`; undefined: `dep` is spelled out. */
  readonly tick: number | undefined;
  readonly dep: Vec;
  readonly h: number;
  readonly ops: readonly WireOp[];
}

/** An operation, and the ref under which the connection knows its key. */
export interface WireOp {
  readonly ref: number | undefined;
  readonly op: Op;
}

export type ClientFrame =
  | {
      readonly type: "hello";
      readonly secret: Bytes;
      readonly K: number;
      readonly base: Vec;
      readonly g: number;
      readonly first: number;
      readonly check: Bytes;
      readonly token: Bytes;
    }
  | Transfer
  | { readonly type: "watch"; readonly ref: number; readonly key: Bytes; readonly have: Bytes }
  | { readonly type: "unwatch"; readonly ref: number }
  | { readonly type: "setK"; readonly K: number }
  | { readonly type: "sync" };

export interface Tick {
  readonly type: "tick";
  readonly tick: number;
  readonly to: Vec;
  readonly K: number;
  readonly g: number;
  /** Of the digest of g, as the gateway has it. */
  readonly check: Bytes;
  readonly have: bigint;
  readonly updates: readonly { readonly ref: number; readonly change: Change }[];
}

export type GatewayFrame =
  | {
      readonly type: "welcome";
      readonly region: number;
      readonly regions: number;
      readonly time: number;
      readonly head: number;
      readonly check: Bytes;
      readonly period: number;
      readonly retain: number;
      readonly covered: boolean;
      readonly name: Bytes;
    }
  | { readonly type: "ack"; readonly k: number }
  | { readonly type: "missing"; readonly k: number }
  | { readonly type: "later"; readonly ms: number }
  | { readonly type: "behind"; readonly ms: number }
  | { readonly type: "forked"; readonly k: number }
  | { readonly type: "retime"; readonly k: number }
  /** So many regions share what is new in this one. */
  | { readonly type: "shared"; readonly K: number }
  | { readonly type: "refused"; readonly k: number; readonly op: number; readonly code: Bytes; readonly text: Bytes }
  | { readonly type: "value"; readonly ref: number; readonly tick: number; readonly value: Value }
  | Tick
  | { readonly type: "error"; readonly code: Bytes; readonly text: Bytes };

const TICK = 138;
const NUMBERS = { ack: 130, missing: 131, later: 132, behind: 133, forked: 134, retime: 135, shared: 140 } as const;

// ---- operations and bodies

export function writeOp(w: Writer, op: Op, ref?: number): void {
  if (ref === undefined) {
    w.u(0);
    w.bytes(op.key);
  } else {
    w.u(ref + 1);
  }
  switch (op.op) {
    case "set":
      w.u8(1);
      w.bytes(op.value);
      break;
    case "delete":
      w.u8(2);
      break;
    case "add":
      w.u8(3);
      w.i64(op.by);
      break;
    case "mapSet":
      w.u8(4);
      w.bytes(op.field);
      w.bytes(op.value);
      break;
    case "mapDelete":
      w.u8(5);
      w.bytes(op.field);
      break;
    case "setAdd":
      w.u8(6);
      w.bytes(op.member);
      break;
    case "setRemove":
      w.u8(7);
      w.bytes(op.member);
      break;
    case "mapAdd":
      w.u8(8);
      w.bytes(op.field);
      w.i64(op.by);
      break;
    case "listSet":
      w.u8(9);
      w.bytes(op.position);
      w.bytes(op.value);
      break;
    case "listRemove":
      w.u8(10);
      w.bytes(op.position);
  }
}

function readOp(r: Reader, keyOf: (ref: number) => Bytes | undefined): WireOp {
  const named = r.u();
  const ref = named === 0 ? undefined : named - 1;
  const key = ref === undefined ? r.key() : keyOf(ref);
  if (key === undefined) throw new Malformed("ref of no watched key");
  return { ref, op: readOpOf(r, key) };
}

function readOpOf(r: Reader, key: Bytes): Op {
  switch (r.u8()) {
    case 1:
      return { op: "set", key, value: r.bytes() };
    case 2:
      return { op: "delete", key };
    case 3:
      return { op: "add", key, by: r.i64() };
    case 4:
      return { op: "mapSet", key, field: r.bytes(), value: r.bytes() };
    case 5:
      return { op: "mapDelete", key, field: r.bytes() };
    case 6:
      return { op: "setAdd", key, member: r.bytes() };
    case 7:
      return { op: "setRemove", key, member: r.bytes() };
    case 8:
      return { op: "mapAdd", key, field: r.bytes(), by: r.i64() };
    case 9:
      return { op: "listSet", key, position: r.bytes(), value: r.bytes() };
    case 10:
      return { op: "listRemove", key, position: r.bytes() };
    default:
      throw new Malformed("unknown operation");
  }
}

export interface Body {
  readonly k: number;
  readonly h: number;
  readonly dep: Vec;
  readonly ops: readonly Op[];
}

/** What the chain digest covers, and what is kept on disk. */
export function encodeBody(body: Body): Uint8Array {
  const w = new Writer();
  w.u(body.k);
  w.u64be(BigInt(body.h));
  w.vec(body.dep);
  w.u(body.ops.length);
  for (const op of body.ops) writeOp(w, op);
  return w.finish();
}

export function decodeBody(array: Uint8Array): Body {
  const r = new Reader(array);
  const k = r.u();
  const h = r.micros();
  const dep = r.vec();
  const ops = Array.from({ length: r.count(3) }, () => {
    if (r.u() !== 0) throw new Malformed("a body spells its keys out");
    return readOpOf(r, r.key());
  });
  r.end();
  checkBody(k);
  return { k, h, dep, ops };
}

/** It may have no operation left: those that its client has seen overwritten are left out. */
function checkBody(k: number): void {
  if (k === 0) throw new Malformed("a transaction has a number");
}

// ---- client to gateway

export function encodeClient(frame: ClientFrame): Uint8Array {
  const w = new Writer();
  switch (frame.type) {
    case "hello":
      w.u8(1);
      w.u8(VERSION);
      w.fixed(frame.secret);
      w.u(frame.K);
      w.vec(frame.base);
      w.u(frame.g);
      w.u(frame.first);
      w.fixed(frame.check);
      w.bytes(frame.token);
      break;
    case "transfer": {
      w.u8(2);
      w.u(frame.k);
      const n = frame.ops.length;
      w.u8(Math.min(n, 31) | (frame.tick === undefined ? 32 : 0) | (frame.again ? 64 : 0));
      w.u(frame.tick ?? 0);
      if (n >= 31) w.u(n);
      if (frame.tick === undefined) w.vec(frame.dep);
      w.time(frame.h, greatest(frame.dep));
      for (const { op, ref } of frame.ops) writeOp(w, op, ref);
      break;
    }
    case "watch":
      w.u8(3);
      w.u(frame.ref);
      w.bytes(frame.key);
      w.fixed(frame.have);
      break;
    case "unwatch":
      w.u8(4);
      w.u(frame.ref);
      break;
    case "setK":
      w.u8(5);
      w.u(frame.K);
      break;
    case "sync":
      w.u8(6);
  }
  return w.finish();
}

/** What a gateway knows of a connection when it reads a frame. */
export interface Connection {
  /** The base of a tick of this connection. */
  baseOf(tick: number): Vec | undefined;
  keyOf(ref: number): Bytes | undefined;
}

export function decodeClient(array: Uint8Array, connection: Connection): ClientFrame {
  const r = reader(array);
  const frame = readClient(r, connection);
  r.end();
  return frame;
}

function readClient(r: Reader, connection: Connection): ClientFrame {
  switch (r.u8()) {
    case 1: {
      if (r.u8() !== VERSION) throw new Malformed("unknown version");
      const hello = { type: "hello", secret: r.fixed(32), K: r.u(), base: r.vec(), g: r.u(), first: r.u(), check: r.fixed(8), token: r.bytes() } as const;
      if (hello.first === 0) throw new Malformed("a log that begins with 0");
      return hello;
    }
    case 2:
      return readTransfer(r, connection);
    case 3:
      return { type: "watch", ref: r.u(), key: r.key(), have: r.fixed(8) };
    case 4:
      return { type: "unwatch", ref: r.u() };
    case 5:
      return { type: "setK", K: r.u() };
    case 6:
      return { type: "sync" };
    default:
      throw new Malformed("unknown frame");
  }
}

function readTransfer(r: Reader, connection: Connection): Transfer {
  const k = r.u();
  const head = r.u8();
  if (head & 0x80) throw new Malformed("unknown bit");
  const explicit = (head & 32) !== 0;
  const tick = r.u();
  let n = head & 31;
  if (n === 31) {
    n = r.count(2);
    if (n < 31) throw new Malformed("longer number than needed");
  }
  const dep = explicit ? r.vec() : connection.baseOf(tick);
  if (dep === undefined) throw new Malformed("unknown tick");
  const h = r.time(greatest(dep));
  const ops = Array.from({ length: n }, () => readOp(r, connection.keyOf));
  checkBody(k);
  return { type: "transfer", k, again: (head & 64) !== 0, tick: explicit ? undefined : tick, dep, h, ops };
}

// ---- gateway to client

/** REQUIRES: `last` is the last base of the connection: the last Tick's, or Hello's. */
export function decodeGateway(array: Uint8Array, last: Vec): GatewayFrame {
  const r = reader(array);
  const frame = readGateway(r, last);
  r.end();
  return frame;
}

function readGateway(r: Reader, last: Vec): GatewayFrame {
  const type = r.u8();
  switch (type) {
    case 129:
      return {
        type: "welcome",
        region: r.u8(),
        regions: r.u8(),
        time: r.micros(),
        head: r.u(),
        check: r.fixed(8),
        period: r.u(),
        retain: r.u(),
        covered: flag(r.u8()),
        name: r.bytes(),
      };
    case NUMBERS.ack:
      return { type: "ack", k: r.u() };
    case NUMBERS.missing:
      return { type: "missing", k: r.u() };
    case NUMBERS.later:
      return { type: "later", ms: r.u() };
    case NUMBERS.behind:
      return { type: "behind", ms: r.u() };
    case NUMBERS.forked:
      return { type: "forked", k: r.u() };
    case NUMBERS.retime:
      return { type: "retime", k: r.u() };
    case NUMBERS.shared:
      return { type: "shared", K: r.u() };
    case 136:
      return { type: "refused", k: r.u(), op: r.u(), code: r.bytes(), text: r.bytes() };
    case 137: {
      const ref = r.u();
      const tick = r.u();
      return { type: "value", ref, tick, value: readValue(r, r.u8(), greatest(last)) };
    }
    case TICK:
      return readTick(r, last);
    case 139:
      return { type: "error", code: r.bytes(), text: r.bytes() };
    default:
      throw new Malformed("unknown frame");
  }
}

function readTick(r: Reader, last: Vec): Tick {
  const tick = r.u();
  const to = Array.from({ length: r.entries() }, (_, i) => BigInt.asUintN(64, (last[i] ?? 0n) + unzigzag(r.u64())));
  if (!dominates(to, last)) throw new Malformed("a base below the last one");
  const K = r.u();
  const g = r.u();
  const check = r.fixed(8);
  const have = r.u64();
  const from = greatest(to);
  const updates: { ref: number; change: Change }[] = [];
  for (let n = r.count(2); n > 0; n--) {
    const ref = r.u();
    ascends(updates.at(-1)?.ref, ref);
    updates.push({ ref, change: readChange(r, from) });
  }
  return { type: "tick", tick, to, K, g, check, have, updates };
}

function readChange(r: Reader, from: number): Change {
  const kind = r.u8();
  if (kind === 5) {
    const set = readFields(r, from);
    const removed = r.ascending();
    if (removed.some((field) => set.has(field))) throw new Malformed("a field that is both there and gone");
    return { kind: "mapChange", set, removed };
  }
  if (kind === 6) {
    const added = r.ascending();
    const removed = r.ascending();
    const there = new Set(added);
    if (removed.some((member) => there.has(member))) throw new Malformed("a member that is both there and gone");
    return { kind: "setChange", added, removed };
  }
  return { kind: "value", value: readValue(r, kind, from) };
}

function readValue(r: Reader, kind: number, from: number): Value {
  switch (kind) {
    case 0:
      return { kind: "absent" };
    case 1:
      return { kind: "string", ts: r.time(from), bytes: r.bytes() };
    case 2:
    case 7:
      return { kind: kind === 2 ? "map" : "list", fields: notEmpty(readFields(r, from)) };
    case 3:
      return { kind: "set", members: notEmpty(new Set(r.ascending())) };
    case 4:
      return { kind: "other", type: r.bytes() };
    default:
      throw new Malformed("unknown kind of value");
  }
}

function readFields(r: Reader, from: number): Map<Bytes, Field> {
  const fields = new Map<Bytes, Field>();
  let last: Bytes | undefined;
  for (let n = r.count(3); n > 0; n--) {
    const name = r.bytes();
    ascends(last, name);
    last = name;
    fields.set(name, { ts: r.time(from), value: r.bytes() });
  }
  return fields;
}

function notEmpty<T extends { readonly size: number }>(value: T): T {
  if (value.size === 0) throw new Malformed("an empty map, list or set is absent");
  return value;
}

export function encodeGateway(frame: GatewayFrame, last: Vec): Uint8Array {
  const w = new Writer();
  switch (frame.type) {
    case "welcome":
      w.u8(129);
      w.u8(frame.region);
      w.u8(frame.regions);
      w.u64be(BigInt(frame.time));
      w.u(frame.head);
      w.fixed(frame.check);
      w.u(frame.period);
      w.u(frame.retain);
      w.u8(frame.covered ? 1 : 0);
      w.bytes(frame.name);
      break;
    case "ack":
    case "missing":
    case "forked":
    case "retime":
      w.u8(NUMBERS[frame.type]);
      w.u(frame.k);
      break;
    case "shared":
      w.u8(NUMBERS.shared);
      w.u(frame.K);
      break;
    case "later":
    case "behind":
      w.u8(NUMBERS[frame.type]);
      w.u(frame.ms);
      break;
    case "refused":
      w.u8(136);
      w.u(frame.k);
      w.u(frame.op);
      w.bytes(frame.code);
      w.bytes(frame.text);
      break;
    case "value":
      w.u8(137);
      w.u(frame.ref);
      w.u(frame.tick);
      writeValue(w, frame.value, greatest(last));
      break;
    case "tick": {
      w.u8(TICK);
      w.u(frame.tick);
      w.u(frame.to.length);
      frame.to.forEach((entry, i) => w.i64(BigInt.asIntN(64, entry - (last[i] ?? 0n))));
      w.u(frame.K);
      w.u(frame.g);
      w.fixed(frame.check);
      w.u(frame.have);
      w.u(frame.updates.length);
      for (const { ref, change } of frame.updates) {
        w.u(ref);
        writeChange(w, change, greatest(frame.to));
      }
      break;
    }
    case "error":
      w.u8(139);
      w.bytes(frame.code);
      w.bytes(frame.text);
  }
  return w.finish();
}

function writeChange(w: Writer, change: Change, from: number): void {
  if (change.kind === "value") {
    writeValue(w, change.value, from);
  } else if (change.kind === "mapChange") {
    w.u8(5);
    writeFields(w, change.set, from);
    writeNames(w, change.removed);
  } else {
    w.u8(6);
    writeNames(w, change.added);
    writeNames(w, change.removed);
  }
}

function writeValue(w: Writer, value: Value, from: number): void {
  switch (value.kind) {
    case "absent":
      w.u8(0);
      break;
    case "string":
      w.u8(1);
      w.time(value.ts, from);
      w.bytes(value.bytes);
      break;
    case "map":
    case "list":
      w.u8(value.kind === "map" ? 2 : 7);
      writeFields(w, value.fields, from);
      break;
    case "set":
      w.u8(3);
      writeNames(w, [...value.members]);
      break;
    case "other":
      w.u8(4);
      w.bytes(value.type);
  }
}

function writeFields(w: Writer, fields: ReadonlyMap<Bytes, Field>, from: number): void {
  w.u(fields.size);
  for (const [name, field] of [...fields].sort(([a], [b]) => compareBytes(a, b))) {
    w.bytes(name);
    w.time(field.ts, from);
    w.bytes(field.value);
  }
}

function writeNames(w: Writer, names: readonly Bytes[]): void {
  w.u(names.length);
  for (const name of [...names].sort(compareBytes)) w.bytes(name);
}

function reader(array: Uint8Array): Reader {
  if (array.length > FRAME_MAX) throw new Malformed("frame above 16 MiB");
  return new Reader(array);
}

function flag(n: number): boolean {
  if (n > 1) throw new Malformed("flag above 1");
  return n === 1;
}

