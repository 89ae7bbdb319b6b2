// What the function of a transaction gets: reads of one moment, and a buffer of operations.

import { type Bytes, fromText } from "./core/bytes.js";
import type { Read } from "./core/client.js";
import { FRAME_MAX } from "./core/codec.js";
import { type Op, inI64 } from "./core/value.js";
import type { Counter, Handle, MapHandle, Register, SetHandle } from "./handles.js";

/** The value of a key that is not cached yet: `load` it first. */
export class Unavailable extends Error {
  constructor(name: string) {
    super(`${name} is not loaded`);
    this.name = "Unavailable";
  }
}

/** Room for the rest of a Transfer. */
const SIZE_MAX = FRAME_MAX - 65_536;

export class Tx {
  readonly #read: (key: Bytes, buffer: readonly Op[]) => Read;
  readonly ops: Op[] = [];
  #size = 0;
  #open = true;

  constructor(read: (key: Bytes, buffer: readonly Op[]) => Read) {
    this.#read = read;
  }

  /** With this transaction's own operations. */
  get<R>(handle: Handle<R>): R {
    const { value } = this.#read(handle.key, this.ops);
    if (!value) throw new Unavailable(handle.name);
    return handle.show(value);
  }

  set<T>(handle: Register<T>, value: T): void {
    this.#push({ op: "set", key: handle.key, value: handle.codec.encode(value) });
  }

  add(handle: Counter, by: number | bigint): void {
    this.#push({ op: "add", key: handle.key, by: integer(by) });
  }

  /** Sets a field of a map. */
  put<T>(handle: MapHandle<T>, field: string, value: T): void {
    this.#push({ op: "mapSet", key: handle.key, field: fromText(field), value: handle.codec.encode(value) });
  }

  /** Adds to a field of a map, as HINCRBY does. */
  addTo(handle: MapHandle<unknown>, field: string, by: number | bigint): void {
    this.#push({ op: "mapAdd", key: handle.key, field: fromText(field), by: integer(by) });
  }

  insert<T>(handle: SetHandle<T>, member: T): void {
    this.#push({ op: "setAdd", key: handle.key, member: handle.codec.encode(member) });
  }

  /** Takes a field out of a map, or a member out of a set. */
  remove<T>(handle: MapHandle<T>, field: string): void;
  remove<T>(handle: SetHandle<T>, member: T): void;
  remove(handle: MapHandle<unknown> | SetHandle<unknown>, element: unknown): void {
    if (handle.kind === "map") this.#push({ op: "mapDelete", key: handle.key, field: fromText(element as string) });
    else this.#push({ op: "setRemove", key: handle.key, member: handle.codec.encode(element) });
  }

  /** The whole key. */
  delete(handle: Handle): void {
    this.#push({ op: "delete", key: handle.key });
  }

  finish(): readonly Op[] {
    this.#open = false;
    return this.ops;
  }

  #push(op: Op): void {
    if (!this.#open) throw new Error("the transaction is over: its function must not be asynchronous");
    this.#size += 64 + Object.values(op).reduce((sum: number, field) => sum + (typeof field === "string" ? field.length : 0), 0);
    if (this.#size > SIZE_MAX) throw new RangeError("a transaction above 16 MiB");
    this.ops.push(op);
  }
}

function integer(by: number | bigint): bigint {
  const n = BigInt(by);
  if (!inI64(n)) throw new RangeError("above 64 bits");
  return n;
}
