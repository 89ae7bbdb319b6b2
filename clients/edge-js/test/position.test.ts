// Positions of list elements: their order, and that they are those of the Rust side.

import assert from "node:assert/strict";
import test from "node:test";
import { type Bytes, fromArray } from "../src/core/bytes.js";
import { AUTHOR_MIN, Author, between, birthOf } from "../src/core/position.js";
import { Rng } from "../src/core/rng.js";
import { lines } from "./fixtures.js";
import { hexOf, unhex } from "./hex.js";

/** An author, and the positions of the elements that it sees, in their order. */
class Writer {
  readonly number: number;
  readonly #author: Author;
  positions: Bytes[];

  constructor(number: number, positions: readonly Bytes[] = []) {
    this.number = number;
    this.#author = new Author(number);
    this.positions = [...positions];
  }

  insert(index: number, seen = 0): Bytes {
    const [left, right] = [this.positions[index - 1], this.positions[index]];
    const position = this.#author.place(left, right, seen);
    assert.ok(left === undefined || left < position, "behind its left neighbour");
    assert.ok(right === undefined || position < right, "before its right neighbour");
    assert.ok(birthOf(position) > Math.max(birthOf(left ?? ""), birthOf(right ?? ""), seen), "younger than what is seen");
    this.positions.splice(index, 0, position);
    return position;
  }

  learn(positions: readonly Bytes[]): void {
    this.positions = [...new Set([...this.positions, ...positions])].sort();
  }
}

test("authors insert anywhere in what each of them sees: positions stay between their neighbours, and no two are equal", () => {
  for (let seed = 1; seed <= 300; seed++) {
    const rng = new Rng(seed);
    const writers = Array.from({ length: 2 + rng.below(3) }, (_, i) => new Writer(AUTHOR_MIN + i));
    const all = new Set<Bytes>();
    for (let step = 0; step < 80; step++) {
      const [one, other] = [writers[rng.below(writers.length)], writers[rng.below(writers.length)]];
      if (one !== other) {
        one.learn(other.positions);
        continue;
      }
      // As if some had been removed. Others may still see them.
      if (rng.below(6) === 0) one.positions = one.positions.filter(() => rng.below(3) > 0);
      const { length } = one.positions;
      const position = one.insert([0, length, rng.below(length + 1)][rng.below(3)]);
      assert.ok(!all.has(position), `seed ${seed}: given twice`);
      all.add(position);
    }
  }
});

/** A list to which four authors have added, and of which most is gone. */
function drawn(rng: Rng): Bytes[] {
  const all = new Writer(1000);
  const writers = [0, 1, 2, 3].map((i) => new Writer(2000 + i));
  for (let n = 0; n < 16; n++) {
    const writer = writers[rng.below(4)];
    writer.learn(all.positions);
    all.learn([writer.insert(rng.below(writer.positions.length + 1))]);
  }
  return all.positions.filter(() => rng.below(3) === 0);
}

/** Three authors put five elements each at one place, and none sees the others'. Whose elements follow each other then? */
function typed(base: readonly Bytes[], index: number, first: number, way: "forward" | "backward", rng: Rng): number[] {
  const owners = new Map<Bytes, number>();
  for (const number of [first, first + 1, first + 2]) {
    const writer = new Writer(number, base);
    const seen = 1_000_000 + rng.below(10);
    for (let n = 0; n < 5; n++) owners.set(writer.insert(way === "forward" ? index + n : index, seen + rng.below(10)), number);
  }
  return [...owners.keys()].sort().map((position) => owners.get(position)!);
}

test("what authors type at one place at once is not interleaved", () => {
  for (let seed = 1; seed <= 300; seed++) {
    const rng = new Rng(seed);
    const base = drawn(rng);
    for (let index = 0; index <= base.length; index++) {
      // Authors that have put nothing into the list before, and those that have.
      for (const [first, way] of [[3000, "forward"], [3000, "backward"], [2000, "forward"], [2000, "backward"]] as const) {
        const owners = typed(base, index, first, way, rng);
        const runs = owners.filter((owner, i) => owner !== owners[i - 1]);
        assert.deepEqual([owners.length, runs.length], [15, 3], `seed ${seed}, ${way}: ${owners}`);
      }
    }
  }
});

test("positions stay short when many authors go on behind each other, and when one types", () => {
  let positions: Bytes[] = [];
  for (let n = 0; n < 200; n++) {
    const writer = new Writer(AUTHOR_MIN + n, positions);
    writer.insert(n);
    ({ positions } = writer);
  }
  assert.ok(positions.every(({ length }) => length < 40), `${Math.max(...positions.map(({ length }) => length))}`);
  for (const way of ["forward", "backward"]) {
    const writer = new Writer(AUTHOR_MIN);
    for (let n = 0; n < 2000; n++) writer.insert(way === "forward" ? n : 0);
    assert.ok(writer.positions.every(({ length }) => length < 24), way);
  }
});

test("without neighbours a position is behind all that was there before", () => {
  const writers = [7, 3, 5].map((n) => new Writer(AUTHOR_MIN + n));
  let last = "";
  for (let time = 1_790_000_000_000_000, n = 0; n < 30; n++, time += 10) {
    const writer = writers[n % 3];
    writer.positions = [];
    const position = writer.insert(0, time);
    assert.ok(last < position);
    last = position;
  }
});

test("bytes that are no position are harmless", () => {
  const rng = new Rng(5);
  const first = between(undefined, undefined, 300, 1000);
  const second = between(undefined, first, 400, 2000, 70);
  assert.deepEqual([birthOf(first), birthOf(second), birthOf("")], [1000, 2000, 0]);
  for (let n = 0; n < 2000; n++) {
    const changed = [...second].map((char) => (rng.below(10) === 0 ? String.fromCharCode(rng.below(256)) : char)).join("").slice(0, rng.below(second.length + 1));
    assert.ok(birthOf(changed) >= 0);
    assert.ok(between(changed, second, 300, 3000).length > 0);
  }
});

test("positions that regions give are read", () => {
  // Region 2; an Hlc with a counter; sequence number 0. And one that does not fit into a byte.
  const short = "02" + "65bf8d01e9c0a005" + "00";
  const long = "02" + "65bf8d01e9c0a005" + "ff0000012c";
  const begun = Number(0x65bf8d01e9c0a005n >> 12n);
  // The second element of its command; 3000 µs later, with a counter of 5, a sequence number of 300, and the eighth of its command; the same, negative.
  const numbers = { "8001": 0, "820bb8400502012c0107": 3000, "7df447bffafdfed3fef8": 3000 };
  for (const bunch of [short, long]) {
    for (const [number, later] of Object.entries(numbers)) {
      const region = fromArray(unhex(`${bunch}${number}02`));
      assert.equal(birthOf(region), begun + later, number);
      const behind = new Writer(300, [region]).insert(1);
      const child = new Writer(400, [region, behind]).insert(1);
      assert.equal(hexOf(child).slice(0, bunch.length + number.length + 4), `${bunch}${number}03ff`);
      const before = new Writer(500, [region, child, behind]).insert(0);
      assert.equal(hexOf(before).slice(0, bunch.length + number.length + 4), `${bunch}${number}01ff`);
      new Writer(600, [before, region, child, behind]).insert(2);
    }
  }
});

test("positions are those of the Rust side, byte for byte", () => {
  const bin = (hex: string | null) => (hex === null ? undefined : fromArray(unhex(hex)));
  const all = lines("positions.jsonl");
  for (const { left, right, author, time, nth, position, birth } of all) {
    assert.equal(hexOf(between(bin(left), bin(right), author, Number(time), Number(nth))), position, `between ${left} and ${right}`);
    assert.equal(String(birthOf(bin(position)!)), birth);
  }
  assert.ok(all.length > 100, `${all.length}`);
});
