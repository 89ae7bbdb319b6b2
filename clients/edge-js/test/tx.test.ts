// What a transaction makes of the indices of a list.

import assert from "node:assert/strict";
import test from "node:test";
import type { Bytes } from "../src/core/bytes.js";
import type { Read } from "../src/core/client.js";
import { Author, between, birthOf } from "../src/core/position.js";
import { Cached, NOW, type Op, type Value, applied } from "../src/core/value.js";
import { list, map, text } from "../src/handles.js";
import { Tx, Unavailable } from "../src/tx.js";

const LIST = list("l1", text);
const AUTHOR = 5000;

function transaction(value: Value | undefined, elements: Iterable<Bytes> = [], author = new Author(AUTHOR)): Tx {
  const read = (key: Bytes, buffer: readonly Op[]): Read => {
    const view = value && buffer.filter((op) => op.key === key).reduce((view, op) => applied(new Cached(value), view, op, NOW), value);
    return { value: view, pending: 0, elements: new Set(elements), base: [1_000n << 12n] };
  };
  return new Tx(read, author);
}

/** A list of elements by others, in an order that is not that of the Map. */
function listOf(...values: string[]): Value {
  const fields = values.map((value, i) => [between(undefined, undefined, 6000, 2000 + i), { ts: 2000, value }] as const);
  return { kind: "list", fields: new Map(fields.reverse()) };
}

test("indices are those of the list with the transaction's own operations", () => {
  const t = transaction(listOf("a", "b", "c"));
  assert.deepEqual(t.get(LIST), ["a", "b", "c"]);
  t.removeAt(LIST, 1);
  t.insertAt(LIST, 1, "x");
  t.insertAt(LIST, 0, "first");
  t.setAt(LIST, 2, "y");
  t.push(LIST, "last");
  t.insertAt(LIST, 5, "very last");
  t.setAt(LIST, 5, "the end");
  assert.deepEqual(t.get(LIST), ["first", "a", "y", "c", "last", "the end"]);
  t.delete(LIST);
  assert.throws(() => t.setAt(LIST, 0, "gone"), RangeError);
  t.push(LIST, "again");
  t.insertAt(LIST, 0, "before");
  assert.deepEqual(t.get(LIST), ["before", "again"]);
  assert.deepEqual(t.ops.map(({ op }) => op).join(), "listRemove,listSet,listSet,listSet,listSet,listSet,listSet,delete,listSet,listSet");
});

test("there is nothing outside of a list", () => {
  const t = transaction(listOf("a", "b"));
  for (const index of [-1, 3, 0.5, NaN]) assert.throws(() => t.insertAt(LIST, index, "x"), RangeError, `insertAt ${index}`);
  for (const index of [-1, 2, 0.5, NaN]) {
    assert.throws(() => t.setAt(LIST, index, "x"), RangeError, `setAt ${index}`);
    assert.throws(() => t.removeAt(LIST, index), RangeError, `removeAt ${index}`);
  }
  assert.deepEqual(t.ops, []);
});

test("a list that is not loaded takes pushes alone, and they stay together", () => {
  const t = transaction(undefined);
  t.push(LIST, "a");
  t.push(LIST, "b");
  for (const change of [() => t.insertAt(LIST, 0, "x"), () => t.setAt(LIST, 0, "x"), () => t.removeAt(LIST, 0)]) assert.throws(change, Unavailable);
  const [a, b] = t.ops.map((op) => (op.op === "listSet" ? op.position : ""));
  assert.ok(a < b);
  assert.ok(b.startsWith(a.slice(0, 14)), "in one bunch");
  assert.ok(birthOf(a) > 1_000, "behind what the base has");
});

test("a push to a list that is not loaded is behind own elements of an earlier run", () => {
  const earlier = between(undefined, undefined, AUTHOR + 1, 9_000);
  const t = transaction(undefined, [earlier]);
  t.push(LIST, "b");
  assert.ok((t.ops[0] as { position: Bytes }).position > earlier);
});

test("on a value of another type a list is empty, and stays so", () => {
  const t = transaction({ kind: "string", ts: 1, bytes: "x" });
  t.push(LIST, "a");
  t.insertAt(LIST, 0, "b");
  assert.throws(() => t.insertAt(LIST, 1, "c"), RangeError);
  assert.throws(() => t.removeAt(LIST, 0), RangeError);
  assert.deepEqual([t.get(LIST), t.ops.length], [[], 2]);
});

test("no two elements have one position, whatever became of their transactions", () => {
  const author = new Author(AUTHOR);
  const positions = new Set<Bytes>();
  for (let n = 0; n < 50; n++) {
    const t = transaction({ kind: "absent" }, [], author);
    t.push(LIST, "a");
    t.push(LIST, "b");
    for (const op of t.ops) positions.add((op as { position: Bytes }).position);
  }
  assert.equal(positions.size, 100);
});

test("operations of other types on the key count, too", () => {
  const t = transaction({ kind: "absent" });
  t.push(LIST, "a");
  t.delete(LIST);
  t.put(map("l1", text), "f", "v");
  assert.throws(() => t.insertAt(LIST, 1, "b"), RangeError);
  assert.deepEqual(t.get(LIST), []);
});
