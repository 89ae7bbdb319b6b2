// Values, and what a client's own pending operations make of them (rule 1 of the edge link).

import { type Bytes, compareBytes, fromArray } from "./bytes.js";
import { Writer } from "./codec.js";
import { sha256 } from "./sha256.js";

/** `ts`: time in microseconds of the write that won; 0: not known any more. */
export interface Field {
  readonly ts: number;
  readonly value: Bytes;
}

export type FieldsKind = "map" | "list";

export type Value =
  | { readonly kind: "absent" }
  | { readonly kind: "string"; readonly ts: number; readonly bytes: Bytes }
  /** In a list the names of fields are positions: their order is that of the list. */
  | { readonly kind: FieldsKind; readonly fields: ReadonlyMap<Bytes, Field> }
  | { readonly kind: "set"; readonly members: ReadonlySet<Bytes> }
  | { readonly kind: "other"; readonly type: Bytes };

export type Op =
  | { readonly op: "set"; readonly key: Bytes; readonly value: Bytes }
  | { readonly op: "delete"; readonly key: Bytes }
  | { readonly op: "add"; readonly key: Bytes; readonly by: bigint }
  | { readonly op: "mapSet"; readonly key: Bytes; readonly field: Bytes; readonly value: Bytes }
  | { readonly op: "mapDelete"; readonly key: Bytes; readonly field: Bytes }
  | { readonly op: "setAdd"; readonly key: Bytes; readonly member: Bytes }
  | { readonly op: "setRemove"; readonly key: Bytes; readonly member: Bytes }
  | { readonly op: "mapAdd"; readonly key: Bytes; readonly field: Bytes; readonly by: bigint }
  | { readonly op: "listSet"; readonly key: Bytes; readonly position: Bytes; readonly value: Bytes }
  | { readonly op: "listRemove"; readonly key: Bytes; readonly position: Bytes };

export type Change =
  | { readonly kind: "value"; readonly value: Value }
  /** Of a map, or of a list. */
  | { readonly kind: "mapChange"; readonly set: ReadonlyMap<Bytes, Field>; readonly removed: readonly Bytes[] }
  | { readonly kind: "setChange"; readonly added: readonly Bytes[]; readonly removed: readonly Bytes[] };

export const ABSENT: Value = { kind: "absent" };

/** First 8 bytes of SHA-256 of the canonical encoding: no times, fields and members sorted. */
export function hashOf(value: Value): Bytes {
  const w = new Writer();
  switch (value.kind) {
    case "absent":
      w.u8(0);
      break;
    case "string":
      w.u8(1);
      w.bytes(value.bytes);
      break;
    case "map":
    case "list":
      w.u8(value.kind === "map" ? 2 : 7);
      w.u(value.fields.size);
      for (const field of [...value.fields.keys()].sort(compareBytes)) {
        w.bytes(field);
        w.bytes(value.fields.get(field)!.value);
      }
      break;
    case "set":
      w.u8(3);
      w.u(value.members.size);
      for (const member of [...value.members].sort(compareBytes)) w.bytes(member);
      break;
    case "other":
      w.u8(4);
      w.bytes(value.type);
  }
  return fromArray(sha256(w.finish()).subarray(0, 8));
}

const I64_MAX = (1n << 63n) - 1n;
const I64_MIN = -(1n << 63n);

export function inI64(n: bigint): boolean {
  return n >= I64_MIN && n <= I64_MAX;
}

/** The integer that these bytes are the shortest decimal form of, as Redis reads it. */
export function parseInteger(bytes: Bytes): bigint | undefined {
  if (!/^(0|-?[1-9][0-9]{0,18})$/.test(bytes)) return undefined;
  const n = BigInt(bytes);
  return inI64(n) ? n : undefined;
}

function sum(bytes: Bytes, by: bigint): Bytes | undefined {
  const n = parseInteger(bytes);
  return n === undefined || !inI64(n + by) ? undefined : String(n + by);
}

/** Of the elements of a list, in its order; of another value none. */
export function positionsOf(value: Value | undefined): Bytes[] {
  return value?.kind === "list" ? [...value.fields.keys()].sort(compareBytes) : [];
}

/** The field, position or member that an operation writes; undefined: it writes none. */
export function elementOf(op: Op): Bytes | undefined {
  switch (op.op) {
    case "mapSet":
    case "mapAdd":
      return op.field;
    case "listSet":
      return op.position;
    case "setAdd":
      return op.member;
    default:
      return undefined;
  }
}

/**
 * The value of a watched key at the base.
 *
 * An epoch counts the bases that the client has had since it was started. Each element knows the epoch in which it came or changed, but for those of 0.
 * Regions forget when a value was written, but a client does not: what it has seen overwritten stays so while it is away.
 */
export class Cached {
  readonly value: Value;
  readonly #since: ReadonlyMap<Bytes, number>;
  /** That of a value that has no elements. */
  readonly sinceWhole: number;

  /** A value that was just learnt: nobody knows how old its elements are. */
  constructor(value: Value, since: ReadonlyMap<Bytes, number> = new Map(), sinceWhole = 0) {
    this.value = value;
    this.#since = since;
    this.sinceWhole = sinceWhole;
  }

  /** Did the element come or change after this epoch? */
  isNewer(element: Bytes, epoch: number): boolean {
    return (this.#since.get(element) ?? 0) > epoch;
  }

  /**
   * The value at the base of `epoch`; undefined: the change is one of a map, a list or a set, and the value is none.
   * `own`: elements that own transactions wrote that this base brings. A later own removal covers them, so they do not count as changed.
   */
  changed(change: Change, epoch: number, own: ReadonlySet<Bytes> = new Set()): Cached | undefined {
    const old = this.value;
    if (change.kind === "value") return this.#replaced(this.#withKnownTimes(change.value), epoch, own);
    const since = new Map(this.#since);
    const came = (element: Bytes) => (own.has(element) ? undefined : since.set(element, epoch));
    for (const element of change.removed) since.delete(element);
    if (change.kind === "mapChange") {
      if (!("fields" in old)) return undefined;
      const fields = new Map(old.fields);
      for (const name of change.removed) fields.delete(name);
      for (const [name, field] of change.set) {
        fields.set(name, notBefore(fields.get(name), field));
        came(name);
      }
      return new Cached(valueOf(old.kind, fields), since, this.sinceWhole);
    }
    if (old.kind !== "set") return undefined;
    const members = new Set(old.members);
    for (const member of change.removed) members.delete(member);
    for (const member of change.added) {
      members.add(member);
      came(member);
    }
    return new Cached(setOf(members), since, this.sinceWhole);
  }

  /** A new value with the times that are known only from the old one. */
  #withKnownTimes(value: Value): Value {
    const old = this.value;
    if (value.kind === "string") return value.ts === 0 ? { ...value, ts: this.newest } : value;
    if (!("fields" in value && "fields" in old && value.kind === old.kind)) return value;
    const fields = [...value.fields].map(([name, field]) => [name, notBefore(old.fields.get(name), field)] as const);
    return { kind: value.kind, fields: new Map(fields) };
  }

  /** What a new value has in common with the old one keeps its epoch. */
  #replaced(value: Value, epoch: number, own: ReadonlySet<Bytes>): Cached {
    const old = this.value;
    const since = new Map<Bytes, number>();
    const at = (element: Bytes, same: boolean) => {
      const then = same || own.has(element) ? (this.#since.get(element) ?? 0) : epoch;
      if (then > 0) since.set(element, then);
    };
    if ("fields" in value) {
      for (const [name, field] of value.fields) {
        const before = fieldsOf(old, value.kind)?.get(name);
        at(name, before !== undefined && isSame(before, field));
      }
    } else if (value.kind === "set") {
      for (const member of value.members) at(member, old.kind === "set" && old.members.has(member));
    }
    const sameWhole = old.kind === value.kind && (old.kind === "absent" || (old.kind === "other" && value.kind === "other" && old.type === value.type));
    return new Cached(value, since, sameWhole ? this.sinceWhole : epoch);
  }

  /** When the newest part of the value was written, as far as that is known. */
  get newest(): number {
    const value = this.value;
    if (value.kind === "string") return value.ts;
    let newest = 0;
    if ("fields" in value) for (const { ts } of value.fields.values()) newest = Math.max(newest, ts);
    return newest;
  }
}

/** A write whose time is not known any more was not before the one that it replaced. */
function notBefore(old: Field | undefined, now: Field): Field {
  return old && now.ts === 0 ? { ...now, ts: old.ts } : now;
}

/** Whether two writes are one: a time of 0 was not known any more. */
function isSame(old: Field, now: Field): boolean {
  return old.value === now.value && (old.ts === now.ts || old.ts === 0);
}

function valueOf(kind: FieldsKind, fields: ReadonlyMap<Bytes, Field>): Value {
  return fields.size > 0 ? { kind, fields } : ABSENT;
}

function setOf(members: ReadonlySet<Bytes>): Value {
  return members.size > 0 ? { kind: "set", members } : ABSENT;
}

/** undefined: the value is of another kind. */
function fieldsOf(value: Value, kind: FieldsKind): ReadonlyMap<Bytes, Field> | undefined {
  if ("fields" in value && value.kind === kind) return value.fields;
  return value.kind === "absent" ? new Map() : undefined;
}

/** The kind of value that an operation on a field is for, and the field. */
function fieldOf(op: Extract<Op, { readonly field: Bytes } | { readonly position: Bytes }>): { readonly kind: FieldsKind; readonly name: Bytes } {
  return "field" in op ? { kind: "map", name: op.field } : { kind: "list", name: op.position };
}

/** When an operation was prepared, and when it counts. */
export interface Moment {
  readonly h: number;
  /** The epoch of the base that its transaction read. */
  readonly epoch: number;
}

/** Operations that are not committed yet: they are later than all that is there. */
export const NOW: Moment = { h: Number.MAX_SAFE_INTEGER, epoch: Number.MAX_SAFE_INTEGER };

/** Whether the value at the base hides an operation: a later write of the same was seen. */
export function hides({ value, newest }: Cached, op: Op, h: number): boolean {
  switch (op.op) {
    case "set":
      return newest > h;
    case "mapSet":
    case "listSet": {
      const { kind, name } = fieldOf(op);
      return (fieldsOf(value, kind)?.get(name)?.ts ?? 0) > h;
    }
    case "delete":
      return value.kind === "string" && value.ts > h;
    default:
      return false;
  }
}

/** Rule 1: what one operation on a key makes of `view`, which earlier ones have made of the cached value. One of the wrong type has no effect. */
export function applied(cached: Cached, view: Value, op: Op, { h, epoch }: Moment): Value {
  switch (op.op) {
    case "set":
      return hides(cached, op, h) ? view : { kind: "string", ts: h, bytes: op.value };
    case "delete":
      return leftByDelete(cached, h, epoch);
    case "add": {
      if (view.kind === "absent") return { kind: "string", ts: h, bytes: String(op.by) };
      const bytes = view.kind === "string" ? sum(view.bytes, op.by) : undefined;
      return view.kind === "string" && bytes !== undefined ? { kind: "string", ts: view.ts, bytes } : view;
    }
    case "setAdd":
      if (view.kind !== "set" && view.kind !== "absent") return view;
      return { kind: "set", members: new Set(view.kind === "set" ? view.members : []).add(op.member) };
    case "setRemove": {
      if (view.kind !== "set" || cached.isNewer(op.member, epoch)) return view;
      const members = new Set(view.members);
      members.delete(op.member);
      return setOf(members);
    }
    case "mapSet":
    case "listSet": {
      const { kind, name } = fieldOf(op);
      const fields = fieldsOf(view, kind);
      if (!fields || hides(cached, op, h)) return view;
      return { kind, fields: new Map(fields).set(name, { ts: h, value: op.value }) };
    }
    case "mapDelete":
    case "listRemove": {
      const { kind, name } = fieldOf(op);
      if (!("fields" in view) || view.kind !== kind) return view;
      const fields = new Map(view.fields);
      const there = fieldsOf(cached.value, kind)?.get(name);
      if (there && cached.isNewer(name, epoch)) fields.set(name, there);
      else fields.delete(name);
      return valueOf(kind, fields);
    }
    case "mapAdd": {
      const fields = fieldsOf(view, "map");
      if (!fields) return view;
      const before = fields.get(op.field);
      const value = before ? sum(before.value, op.by) : String(op.by);
      return value === undefined ? view : { kind: "map", fields: new Map(fields).set(op.field, { ts: before?.ts ?? h, value }) };
    }
  }
}

/** A later string, and elements that came after the deletion was prepared. */
function leftByDelete(cached: Cached, h: number, epoch: number): Value {
  const value = cached.value;
  switch (value.kind) {
    case "absent":
      return value;
    case "string":
      return value.ts > h ? value : ABSENT;
    case "map":
    case "list":
      return valueOf(value.kind, new Map([...value.fields].filter(([field]) => cached.isNewer(field, epoch))));
    case "set":
      return setOf(new Set([...value.members].filter((member) => cached.isNewer(member, epoch))));
    case "other":
      return cached.sinceWhole > epoch ? value : ABSENT;
  }
}
