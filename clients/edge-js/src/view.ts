// Values of one moment, as applications read them.

import { type Bytes, toText } from "./core/bytes.js";
import type { Read } from "./core/client.js";
import type { Vec } from "./core/codec.js";
import { type Value, positionsOf } from "./core/value.js";
import type { Handle } from "./handles.js";
import { Unavailable } from "./tx.js";

/** What one read shows. */
export interface Shown<R> {
  /** undefined if it is not available, or absent. */
  readonly value: R | undefined;
  /** false: the value is not cached yet. */
  readonly available: boolean;
  /** Own transactions on this key that are not in the base yet. */
  readonly pending: number;
  /** The fields of a map, or members of a set, that they write or remove; of a list the indices of elements that they insert or set. */
  readonly pendingIn: ReadonlySet<string>;
  /** The past that `value` belongs to, but for own transactions. */
  readonly base: Vec;
}

/** Values of one moment. */
export interface View {
  readonly base: Vec;
  /** Throws `Unavailable` if the value is not cached. */
  get<R>(handle: Handle<R>): R;
  /** The values of several, in their order. Throws `Unavailable` if one is not cached; in a live query all are asked for then. */
  all<R>(handles: Iterable<Handle<R>>): R[];
  read<R>(handle: Handle<R>): Shown<R>;
}

export class Moment implements View {
  readonly base: Vec;
  readonly #read: (handle: Handle) => Read;

  constructor(base: Vec, read: (handle: Handle) => Read) {
    this.base = base;
    this.#read = read;
  }

  get<R>(handle: Handle<R>): R {
    return valueOf(handle, this.#read(handle));
  }

  all<R>(handles: Iterable<Handle<R>>): R[] {
    const reads = [...handles].map((handle) => [handle, this.#read(handle)] as const);
    return reads.map(([handle, read]) => valueOf(handle, read));
  }

  read<R>(handle: Handle<R>): Shown<R> {
    return shown(handle, this.#read(handle));
  }
}

function valueOf<R>(handle: Handle<R>, { value }: Read): R {
  if (!value) throw new Unavailable(handle.name);
  return handle.show(value);
}

function shown<R>(handle: Handle<R>, { value, pending, elements, base }: Read): Shown<R> {
  return { value: value && handle.show(value), available: value !== undefined, pending, pendingIn: namesOf(handle, value, elements), base };
}

/** Elements as the application names them. */
function namesOf(handle: Handle, value: Value | undefined, elements: ReadonlySet<Bytes>): Set<string> {
  if (handle.kind !== "list") return new Set([...elements].map(toText));
  return new Set(positionsOf(value).flatMap((position, index) => (elements.has(position) ? [String(index)] : [])));
}
