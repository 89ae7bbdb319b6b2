// Positions of list elements: byte strings whose order is the order of the list, and between any two of which there is always room.
//
// A position is a path of steps from the root of a tree. A step is a bunch (who began it, and when), the number of an element in the bunch, and a side:
// the path goes on left of that element, ends at it, or goes on right of it. So comparing two strings walks the tree in order, and nothing has to remember
// the elements that are gone. An author that puts elements beside each other goes on in its bunch: so its elements stay together.
//
// The format, why no two elements have one position, and the source of the order: crates/crdt/src/position.rs. Regions give positions, too; `between` is
// what clients do.

import type { Bytes } from "./bytes.js";

/** The least number of an author. */
export const AUTHOR_MIN = 255;

/** The origin of all clients: behind that of every region. */
const EDGE = 255;

const LEFT = "\x01";
const END = "\x02";
const RIGHT = "\x03";

/** The first byte of a number that is not negative; below stand the others, with every bit inverted. */
const POSITIVE = 0x80;
/** The first byte of a number's rest that needs more than one byte. */
const LONG = 0x40;

/** One step of a path. */
interface Step {
  /** undefined: a region. */
  readonly author: number | undefined;
  /** When the bunch began, in microseconds. */
  readonly begun: number;
  /** When the element was put there. */
  readonly born: number;
  /** Where the bunch ends in the path, and where the step ends, behind its side. */
  readonly bunchEnd: number;
  readonly end: number;
}

/** Puts elements into lists. No two authors have the same number, and each gives every element a time of its own. */
export class Author {
  readonly #number: number;
  #last = 0;

  /** `number`: at random, from `AUTHOR_MIN` to 2^32 - 1. */
  constructor(number: number) {
    this.#number = number;
  }

  /** Between two neighbours, either of which may be missing. `seen`: the time in microseconds of the newest that the author has seen, but for these two. */
  place(left: Bytes | undefined, right: Bytes | undefined, seen: number): Bytes {
    this.#last = Math.max(this.#last, seen, birthOf(left ?? ""), birthOf(right ?? "")) + 1;
    return between(left, right, this.#number, this.#last);
  }
}

/**
 * A position between two neighbours, either of which may be missing.
 *
 * REQUIRES: the author sees no element between them; `time`, in microseconds, is above the births of both; the author has given no other element this `time` and `nth`.
 */
export function between(left: Bytes | undefined, right: Bytes | undefined, author: number, time: number, nth = 0): Bytes {
  const behind = ownBunch(left, right, author);
  if (behind) return behind.path + number(time - behind.begun, nth) + END;
  const before = ownBunch(right, left, author);
  if (before) return before.path + inverted(number(time - before.begun, nth)) + END;
  return freshPath(left ?? "", right, author) + bunch(time, author) + number(0, nth) + END;
}

/** When the element was put there, in microseconds. */
export function birthOf(position: Bytes): number {
  return stepsOf(position).at(-1)?.born ?? 0;
}

/** The deepest bunch of the author that leads to `position` and not to `other`. */
function ownBunch(position: Bytes | undefined, other: Bytes | undefined, author: number): { readonly path: Bytes; readonly begun: number } | undefined {
  if (position === undefined) return undefined;
  const own = stepsOf(position).filter((step) => step.author === author);
  return own.map(({ bunchEnd, begun }) => ({ path: position.slice(0, bunchEnd), begun })).findLast(({ path }) => !other?.startsWith(path));
}

/** Where a new bunch is in its place, as near to the root as can be. It is younger than what is there: so it comes behind that. */
function freshPath(left: Bytes, right: Bytes | undefined, author: number): Bytes {
  if (right === undefined) return "";
  // A run that grows backwards, in a bunch that leads to both: beside anything else another run could come between.
  if (stepsOf(right).at(-1)?.author === author && birthOf(right) > birthOf(left)) return beside(right, LEFT);
  const paths = stepsOf(left).map(({ end }) => (end < left.length ? left.slice(0, end) : beside(left, RIGHT)));
  return paths.find((path) => !right.startsWith(path)) ?? beside(right, LEFT);
}

function beside(position: Bytes, side: Bytes): Bytes {
  return position.slice(0, -1) + side;
}

// ---- bytes

function bunch(time: number, author: number): Bytes {
  // An Hlc: the time in its upper 52 bits.
  return chars(EDGE, ...bigEndian(Math.floor(time / 16), 6), (time % 16) << 4, 0, 255, ...bigEndian(author, 4));
}

/** So that numbers are ordered as their bytes are. */
function number(time: number, nth: number): Bytes {
  const rest = nth < LONG ? [nth] : [LONG, 0, 0, ...integer(nth, 0)];
  return chars(...integer(time, POSITIVE), ...rest);
}

function inverted(bytes: Bytes): Bytes {
  return chars(...[...bytes].map((char) => char.charCodeAt(0) ^ 0xff));
}

/** How many bytes an integer has, with a flag, and those. */
function integer(n: number, flag: number): number[] {
  let length = 0;
  while (n >= 256 ** length) length++;
  return [flag | length, ...bigEndian(n, length)];
}

function bigEndian(n: number, length: number): number[] {
  return Array.from({ length }, (_, i) => Math.floor(n / 256 ** (length - 1 - i)) % 256);
}

function chars(...bytes: number[]): Bytes {
  return String.fromCharCode(...bytes);
}

/** The steps of a path from the root. What is no step ends them. */
function stepsOf(path: Bytes): Step[] {
  const steps: Step[] = [];
  for (let at = 0; ; at = steps.at(-1)!.end) {
    const step = stepAt(path, at);
    if (step.end > path.length) return steps;
    steps.push(step);
  }
}

/** If it ends beyond the path there is none. */
function stepAt(path: Bytes, at: number): Step {
  const isLong = path.charCodeAt(at + 9) === 255;
  const bunchEnd = at + (isLong ? 14 : 10);
  const turn = path.charCodeAt(bunchEnd) & POSITIVE ? 0 : 0xff;
  const byte = (i: number) => path.charCodeAt(i) ^ turn;
  /** Where the integer ends whose length stands there. */
  const endOf = (from: number) => from + 1 + (byte(from) & ~POSITIVE);
  const timeEnd = endOf(bunchEnd);
  const end = 1 + (byte(timeEnd) < LONG ? timeEnd + 1 : endOf(endOf(timeEnd + 2)));
  const begun = read(path, at + 1, at + 7) * 16 + (path.charCodeAt(at + 7) >> 4);
  const author = isLong && path.charCodeAt(at) === EDGE ? read(path, at + 10, bunchEnd) : undefined;
  return { author, begun, born: begun + read(path, bunchEnd + 1, timeEnd, turn), bunchEnd, end };
}

function read(path: Bytes, from: number, to: number, turn = 0): number {
  let n = 0;
  for (let i = from; i < to; i++) n = n * 256 + (path.charCodeAt(i) ^ turn);
  return n;
}
