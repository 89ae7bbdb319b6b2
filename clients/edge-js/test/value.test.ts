// Rule 1 for values that are fields: a list keeps the rules of a map, with positions in place of names.

import assert from "node:assert/strict";
import test from "node:test";
import { Cached, type Change, type Field, type FieldsKind, NOW, type Op, type Value, applied, elementOf, hashOf, hides } from "../src/core/value.js";

function fields(entries: Record<string, [number, string]>): ReadonlyMap<string, Field> {
  return new Map(Object.entries(entries).map(([name, [ts, value]]) => [name, { ts, value }]));
}

const KINDS = {
  map: {
    other: "list",
    set: (name: string, value: string): Op => ({ op: "mapSet", key: "k", field: name, value }),
    remove: (name: string): Op => ({ op: "mapDelete", key: "k", field: name }),
  },
  list: {
    other: "map",
    set: (name: string, value: string): Op => ({ op: "listSet", key: "k", position: name, value }),
    remove: (name: string): Op => ({ op: "listRemove", key: "k", position: name }),
  },
} as const;

const STRING: Value = { kind: "string", ts: 1, bytes: "x" };
const DELETE: Op = { op: "delete", key: "k" };

for (const kind of ["map", "list"] as FieldsKind[]) {
  const { other, set, remove } = KINDS[kind];
  const value = (entries: Record<string, [number, string]>): Value => ({ kind, fields: fields(entries) });
  const after = (cached: Cached, op: Op, h: number, epoch: number) => applied(cached, cached.value, op, { h, epoch });

  test(`${kind}: elements are set and removed`, () => {
    const empty = new Cached({ kind: "absent" });
    const one = applied(empty, empty.value, set("a", "1"), { h: 5, epoch: 0 });
    assert.deepEqual(one, value({ a: [5, "1"] }));
    const two = applied(empty, one, set("b", "2"), NOW);
    assert.deepEqual([two.kind, [...(two as { fields: ReadonlyMap<string, Field> }).fields.keys()]], [kind, ["a", "b"]]);
    assert.deepEqual(applied(empty, one, remove("a"), NOW), { kind: "absent" });
    assert.deepEqual(applied(empty, one, remove("b"), NOW), one);
    assert.deepEqual(applied(empty, one, DELETE, NOW), { kind: "absent" });
    assert.deepEqual([elementOf(set("a", "1")), elementOf(remove("a"))], ["a", undefined]);
  });

  test(`${kind}: a later write of the element wins, and hides an earlier one`, () => {
    const cached = new Cached(value({ a: [10, "theirs"] }));
    assert.deepEqual([hides(cached, set("a", "mine"), 9), hides(cached, set("a", "mine"), 10), hides(cached, set("b", "mine"), 9)], [true, false, false]);
    assert.deepEqual(after(cached, set("a", "mine"), 9, 0), cached.value);
    assert.deepEqual(after(cached, set("a", "mine"), 11, 0), value({ a: [11, "mine"] }));
    assert.deepEqual(after(cached, { op: "set", key: "k", value: "x" }, 9, 0), cached.value, "a string that is older than an element");
  });

  test(`${kind}: a removal spares what a later base brought`, () => {
    const change: Change = { kind: "mapChange", set: fields({ b: [3, "new"], c: [3, "new"] }), removed: ["d"] };
    const cached = new Cached(value({ a: [1, "old"], b: [1, "old"], d: [1, "old"] })).changed(change, 1, new Set(["c"]))!;
    assert.deepEqual(cached.value, value({ a: [1, "old"], b: [3, "new"], c: [3, "new"] }));
    assert.deepEqual(after(cached, remove("b"), 5, 0), cached.value);
    assert.deepEqual(after(cached, remove("b"), 5, 1), value({ a: [1, "old"], c: [3, "new"] }));
    assert.deepEqual(after(cached, remove("c"), 5, 0), value({ a: [1, "old"], b: [3, "new"] }), "an own write does not count as brought");
    assert.deepEqual(after(cached, DELETE, 5, 0), value({ b: [3, "new"] }));
    const mine = after(cached, set("b", "mine"), 5, 0);
    assert.deepEqual(applied(cached, mine, remove("b"), { h: 6, epoch: 0 }), cached.value, "an own write goes, and theirs is there again");
  });

  test(`${kind}: a new value that is sent whole`, () => {
    const old = new Cached(value({ a: [1, "old"], b: [1, "old"] }));
    const cached = old.changed({ kind: "value", value: value({ a: [0, "old"], b: [2, "new"] }) }, 1)!;
    assert.deepEqual(["a", "b"].map((name) => cached.isNewer(name, 0)), [false, true]);
    const turned = old.changed({ kind: "value", value: { kind: other, fields: fields({ a: [1, "old"] }) } }, 1)!;
    assert.ok(turned.isNewer("a", 0), "an element of another type is another one");
  });

  test(`${kind}: what was seen overwritten stays so when its time is not known any more`, () => {
    const old = new Cached(value({ a: [20, "x"], b: [20, "x"] }));
    const kept = value({ a: [20, "x"], b: [20, "y"], c: [0, "z"] });
    const whole = old.changed({ kind: "value", value: value({ a: [0, "x"], b: [0, "y"], c: [0, "z"] }) }, 1)!;
    assert.deepEqual(whole.value, kept);
    assert.deepEqual(["a", "b", "c"].map((name) => whole.isNewer(name, 0)), [false, true, true]);
    assert.deepEqual(old.changed({ kind: "mapChange", set: fields({ b: [0, "y"], c: [0, "z"] }), removed: [] }, 1)!.value, kept);
    const string = old.changed({ kind: "value", value: { kind: "string", ts: 0, bytes: "y" } }, 1)!;
    assert.deepEqual(string.value, { kind: "string", ts: 20, bytes: "y" }, "it is later than the elements that it replaced");
    const next = string.changed({ kind: "value", value: { kind: "string", ts: 0, bytes: "z" } }, 2)!;
    assert.deepEqual([19, 21].map((h) => hides(next, { op: "set", key: "k", value: "x" }, h)), [true, false]);
  });

  test(`${kind}: operations and changes of another type have no effect`, () => {
    for (const there of [STRING, { kind: other, fields: fields({ a: [20, "1"] }) }, { kind: "set", members: new Set(["a"]) }] as Value[]) {
      const cached = new Cached(there);
      assert.equal(hides(cached, set("a", "x"), 10), false);
      for (const op of [set("a", "x"), remove("a")]) assert.deepEqual(after(cached, op, 30, 0), there, `${op.op} on a ${there.kind}`);
    }
    const empty: Change = { kind: "mapChange", set: new Map(), removed: ["a"] };
    assert.equal(new Cached(STRING).changed(empty, 1), undefined);
    assert.deepEqual(new Cached(value({ a: [1, "x"] })).changed(empty, 1)!.value, { kind: "absent" }, "none is left");
  });

  test(`${kind}: the hash is of the elements in their order, without times`, () => {
    const hash = hashOf(value({ a: [1, "x"], b: [2, "y"] }));
    assert.equal(hashOf(value({ b: [7, "y"], a: [7, "x"] })), hash);
    assert.notEqual(hashOf({ kind: other, fields: fields({ a: [1, "x"], b: [2, "y"] }) }), hash);
    assert.notEqual(hashOf(value({ a: [1, "y"], b: [2, "x"] })), hash);
  });
}
