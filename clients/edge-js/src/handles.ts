// Typed handles: a key, and how its value is shown.

import { type Bytes, fromArray, fromText, toArray, toText } from "./core/bytes.js";
import { KEY_MAX } from "./core/codec.js";
import { type Value, parseInteger, positionsOf } from "./core/value.js";

/** How a value of the application is kept as bytes. */
export interface Codec<T> {
  encode(value: T): Bytes;
  decode(bytes: Bytes): T;
}

/** UTF-8: what `GET` shows is what was set. */
export const text: Codec<string> = { encode: fromText, decode: toText };
export const bytes: Codec<Uint8Array> = { encode: fromArray, decode: toArray };

export function json<T>(): Codec<T> {
  return { encode: (value) => fromText(JSON.stringify(value)), decode: (bytes) => JSON.parse(toText(bytes)) as T };
}

interface Base<R> {
  readonly name: string;
  readonly key: Bytes;
  /** What a read shows. A value of another type is shown like an absent one. */
  show(value: Value): R;
}

/** A string; the last writer wins. */
export interface Register<T> extends Base<T | undefined> {
  readonly kind: "register";
  readonly codec: Codec<T>;
}

/** An integer to which everybody adds. Above 2^53 a read is rounded; `bigint` of it is exact. */
export interface Counter extends Base<number> {
  readonly kind: "counter";
}

/** Fields; for each the last writer wins. */
export interface MapHandle<T> extends Base<ReadonlyMap<string, T>> {
  readonly kind: "map";
  readonly codec: Codec<T>;
}

export interface SetHandle<T> extends Base<ReadonlySet<T>> {
  readonly kind: "set";
  readonly codec: Codec<T>;
}

/** Elements in an order that all clients share, with what others insert meanwhile. */
export interface ListHandle<T> extends Base<readonly T[]> {
  readonly kind: "list";
  readonly codec: Codec<T>;
}

export type Handle<R = unknown> = Base<R> & { readonly kind: "register" | "counter" | "map" | "set" | "list" };

function keyOf(name: string): Bytes {
  const key = fromText(name);
  if (key.length < 1 || key.length > KEY_MAX) throw new RangeError(`a key has 1 to ${KEY_MAX} bytes`);
  return key;
}

export function register<T>(name: string, codec: Codec<T>): Register<T> {
  return { kind: "register", name, key: keyOf(name), codec, show: (value) => (value.kind === "string" ? codec.decode(value.bytes) : undefined) };
}

export function counter(name: string): Counter {
  return { kind: "counter", name, key: keyOf(name), show: (value) => Number(exact(value)) };
}

/** The exact value of a counter. */
export function exact(value: Value): bigint {
  return (value.kind === "string" ? parseInteger(value.bytes) : undefined) ?? 0n;
}

export function map<T>(name: string, codec: Codec<T>): MapHandle<T> {
  const show = (value: Value) => new Map(value.kind === "map" ? [...value.fields].map(([field, { value }]) => [toText(field), codec.decode(value)]) : []);
  return { kind: "map", name, key: keyOf(name), codec, show };
}

export function set<T>(name: string, codec: Codec<T>): SetHandle<T> {
  const show = (value: Value) => new Set(value.kind === "set" ? [...value.members].map((member) => codec.decode(member)) : []);
  return { kind: "set", name, key: keyOf(name), codec, show };
}

export function list<T>(name: string, codec: Codec<T>): ListHandle<T> {
  const show = (value: Value) => (value.kind === "list" ? positionsOf(value).map((position) => codec.decode(value.fields.get(position)!.value)) : []);
  return { kind: "list", name, key: keyOf(name), codec, show };
}
