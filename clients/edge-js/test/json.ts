// Values as the fixtures write them.

import type { Bytes } from "../src/core/bytes.js";
import type { Value } from "../src/core/value.js";
import { hexOf } from "./hex.js";

export type Json = Record<string, any>;

export function fieldsOf(fields: ReadonlyMap<Bytes, { ts: number; value: Bytes }>): Json[] {
  return [...fields].map(([field, { ts, value }]) => ({ field: hexOf(field), ts: String(ts), value: hexOf(value) }));
}

export function valueOf(value: Value): Json {
  switch (value.kind) {
    case "absent":
      return { kind: "absent" };
    case "string":
      return { kind: "string", ts: String(value.ts), value: hexOf(value.bytes) };
    case "map":
    case "list":
      return { kind: value.kind, fields: fieldsOf(value.fields) };
    case "set":
      return { kind: "set", members: [...value.members].map(hexOf) };
    case "other":
      return { kind: "other", type: hexOf(value.type) };
  }
}
