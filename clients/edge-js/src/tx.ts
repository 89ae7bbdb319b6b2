// What the function of a transaction gets: reads of one moment, and a buffer of operations.

import { type Bytes, fromText } from "./core/bytes.js";
import type { Read } from "./core/client.js";
import { FRAME_MAX, greatest } from "./core/codec.js";
import { type Author, birthOf } from "./core/position.js";
import { type Op, inI64, positionsOf } from "./core/value.js";
import type { Counter, Handle, ListHandle, MapHandle, Register, SetHandle } from "./handles.js";

/** The value of a key that is not cached yet: `load` it first. */
export class Unavailable extends Error {
  constructor(name: string) {
    super(`${name} is not loaded`);
    this.name = "Unavailable";
  }
}

/** Room for the rest of a Transfer. */
const SIZE_MAX = FRAME_MAX - 65_536;

/** A list as a transaction sees it. */
interface List {
  /** false: others may be there that are not cached. */
  readonly isLoaded: boolean;
  /** Of its elements, in their order. */
  readonly positions: Bytes[];
  /** The time of the newest that this client has seen, but for the elements. */
  readonly seen: number;
}

export class Tx {
  readonly #read: (key: Bytes, buffer: readonly Op[]) => Read;
  readonly #author: Author;
  readonly ops: Op[] = [];
  /** Lists that were asked for, with the operations so far. */
  readonly #lists = new Map<Bytes, List>();
  #size = 0;
  #open = true;

  constructor(read: (key: Bytes, buffer: readonly Op[]) => Read, author: Author) {
    this.#read = read;
    this.#author = author;
  }

  /** With this transaction's own operations. */
  get<R>(handle: Handle<R>): R {
    const { value } = this.#read(handle.key, this.ops);
    if (!value) throw new Unavailable(handle.name);
    return handle.show(value);
  }

  set<T>(handle: Register<T>, value: T): void {
    this.#record({ op: "set", key: handle.key, value: handle.codec.encode(value) });
  }

  add(handle: Counter, by: number | bigint): void {
    this.#record({ op: "add", key: handle.key, by: integer(by) });
  }

  /** Sets a field of a map. */
  put<T>(handle: MapHandle<T>, field: string, value: T): void {
    this.#record({ op: "mapSet", key: handle.key, field: fromText(field), value: handle.codec.encode(value) });
  }

  /** Adds to a field of a map, as HINCRBY does. */
  addTo(handle: MapHandle<unknown>, field: string, by: number | bigint): void {
    this.#record({ op: "mapAdd", key: handle.key, field: fromText(field), by: integer(by) });
  }

  insert<T>(handle: SetHandle<T>, member: T): void {
    this.#record({ op: "setAdd", key: handle.key, member: handle.codec.encode(member) });
  }

  /** Takes a field out of a map, or a member out of a set. */
  remove<T>(handle: MapHandle<T>, field: string): void;
  remove<T>(handle: SetHandle<T>, member: T): void;
  remove(handle: MapHandle<unknown> | SetHandle<unknown>, element: unknown): void {
    if (handle.kind === "map") this.#record({ op: "mapDelete", key: handle.key, field: fromText(element as string) });
    else this.#record({ op: "setRemove", key: handle.key, member: handle.codec.encode(element) });
  }

  /** Puts an element at the end of a list; if it is not loaded, behind all that the base has. */
  push<T>(handle: ListHandle<T>, value: T): void {
    const list = this.#list(handle);
    this.#place(handle, list, list.positions.length, value);
  }

  /** Puts an element before the one at `index` of a list, or at its end. */
  insertAt<T>(handle: ListHandle<T>, index: number, value: T): void {
    const list = this.#loaded(handle);
    if (index !== list.positions.length) positionAt(list, index);
    this.#place(handle, list, index, value);
  }

  /** Gives the element at `index` of a list another value. */
  setAt<T>(handle: ListHandle<T>, index: number, value: T): void {
    const position = positionAt(this.#loaded(handle), index);
    this.#record({ op: "listSet", key: handle.key, position, value: handle.codec.encode(value) });
  }

  removeAt(handle: ListHandle<unknown>, index: number): void {
    const list = this.#loaded(handle);
    this.#record({ op: "listRemove", key: handle.key, position: positionAt(list, index) });
    list.positions.splice(index, 1);
  }

  /** The whole key. */
  delete(handle: Handle): void {
    this.#record({ op: "delete", key: handle.key });
  }

  finish(): readonly Op[] {
    this.#open = false;
    return this.ops;
  }

  #list({ key }: ListHandle<unknown>): List {
    const known = this.#lists.get(key);
    if (known) return known;
    const { value, elements, base } = this.#read(key, this.ops);
    // If it is not loaded, a new element has no neighbours, and comes behind own ones by its time.
    const births = value ? [] : [...elements].map(birthOf);
    const list = { isLoaded: value !== undefined, positions: positionsOf(value), seen: births.reduce((a, b) => Math.max(a, b), greatest(base)) };
    // On a value of another type these operations have no effect.
    if (!value || value.kind === "list" || value.kind === "absent") this.#lists.set(key, list);
    return list;
  }

  #loaded(handle: ListHandle<unknown>): List {
    const list = this.#list(handle);
    if (!list.isLoaded) throw new Unavailable(handle.name);
    return list;
  }

  #place<T>(handle: ListHandle<T>, { positions, seen }: List, index: number, value: T): void {
    const position = this.#author.place(positions[index - 1], positions[index], seen);
    this.#record({ op: "listSet", key: handle.key, position, value: handle.codec.encode(value) });
    positions.splice(index, 0, position);
  }

  #record(op: Op): void {
    if (!this.#open) throw new Error("the transaction is over: its function must not be asynchronous");
    this.#size += 64 + Object.values(op).reduce((sum: number, field) => sum + (typeof field === "string" ? field.length : 0), 0);
    if (this.#size > SIZE_MAX) throw new RangeError("a transaction above 16 MiB");
    this.ops.push(op);
    if (op.op !== "listSet" && op.op !== "listRemove") this.#lists.delete(op.key);
  }
}

function positionAt({ positions }: List, index: number): Bytes {
  const position = positions[index];
  if (position === undefined) throw new RangeError(`no index ${index} in a list of ${positions.length}`);
  return position;
}

function integer(by: number | bigint): bigint {
  const n = BigInt(by);
  if (!inI64(n)) throw new RangeError("above 64 bits");
  return n;
}
