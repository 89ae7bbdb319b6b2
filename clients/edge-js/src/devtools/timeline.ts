// What a client did lately, made of what it says of itself again and again. Times are milliseconds of one clock.

import { toText } from "../core/bytes.js";
import type { Inspection, Phase, Stage } from "../core/client.js";
import type { Op } from "../core/value.js";

/** A transaction. A time is undefined until the client was seen to have come so far. */
export interface Span {
  readonly k: number;
  /** By which it wins, in microseconds of the servers. */
  h: number;
  readonly ops: readonly string[];
  readonly tab: string | undefined;
  readonly committed: number;
  /** How far it is; `base`: K regions have it; `gone`: taken back, or under another identity now. */
  stage: Stage | "base" | "gone";
  accepted?: number;
  /** When the base got it, or when it was gone. */
  ended?: number;
}

/** From then on the client was in this phase, at this region. */
export interface Turn {
  readonly at: number;
  readonly phase: Phase;
  readonly region: string | undefined;
}

export class Timeline {
  readonly #keptMs: number;
  readonly #open = new Map<number, Span>();
  #spans: Span[] = [];
  turns: Turn[] = [];
  /** When the base changed. */
  bases: number[] = [];
  /** Names of regions, as far as they are known. */
  readonly names = new Map<number, string>();
  last: Inspection | undefined;

  /** `keptMs`: for how long what is over is kept. */
  constructor(keptMs: number) {
    this.#keptMs = keptMs;
  }

  /** By their commits. */
  get spans(): readonly Span[] {
    return this.#spans;
  }

  get pending(): readonly Span[] {
    return [...this.#open.values()];
  }

  add(inspection: Inspection, now: number): void {
    const { status, before, base, serverUs, region, transactions } = inspection;
    const { last } = this;
    // Numbers begin anew with a new identity.
    if (last && before < last.before) for (const span of this.#open.values()) this.#end(span, "gone", now);
    const log = new Map(transactions.map((one) => [one.k, one]));
    for (const span of [...this.#open.values()]) {
      if (span.k <= before) this.#end(span, "base", now);
      else if (!log.has(span.k)) this.#end(span, "gone", now);
    }
    for (const { k, h, stage, ops, tab } of transactions) {
      let span = this.#open.get(k);
      // With a new identity, another transaction may have its number.
      if (span && span.ops[0] !== words(ops[0])) {
        this.#end(span, "gone", now);
        span = undefined;
      }
      if (!span) {
        // What was there before this looked has its time, if the servers' clock is known.
        const age = last || serverUs === 0 ? 0 : Math.max(0, (serverUs - h) / 1000);
        span = { k, h, ops: ops.map(words), tab, committed: now - age, stage };
        this.#open.set(k, span);
        this.#spans.push(span);
      }
      span.h = h;
      span.stage = stage;
      if (stage === "accepted") span.accepted ??= now;
      // Another region may not have it.
      else span.accepted = undefined;
    }
    if (region !== undefined && status.region !== undefined) this.names.set(region, status.region);
    const turn = this.turns.at(-1);
    if (turn?.phase !== status.phase || turn.region !== status.region) this.turns.push({ at: now, phase: status.phase, region: status.region });
    if (base.some((entry, i) => entry !== last?.base[i])) this.bases.push(now);
    this.last = inspection;
    this.#forget(now - this.#keptMs);
  }

  #end(span: Span, stage: "base" | "gone", now: number): void {
    span.stage = stage;
    span.ended = now;
    this.#open.delete(span.k);
  }

  #forget(before: number): void {
    this.#spans = this.#spans.filter(({ ended }) => ended === undefined || ended >= before);
    this.bases = this.bases.filter((at) => at >= before);
    // The one that lasts into the time that is kept stays.
    while (this.turns.length > 1 && this.turns[1].at < before) this.turns.shift();
  }
}

/** An operation in words. */
export function words(op: Op): string {
  const key = toText(op.key);
  switch (op.op) {
    case "set":
      return `${key} = ${quoted(op.value)}`;
    case "delete":
      return `delete ${key}`;
    case "add":
      return `${key} ${signed(op.by)}`;
    case "mapSet":
      return `${key} · ${toText(op.field)} = ${quoted(op.value)}`;
    case "mapAdd":
      return `${key} · ${toText(op.field)} ${signed(op.by)}`;
    case "mapDelete":
      return `${key} · without ${toText(op.field)}`;
    case "setAdd":
      return `${key} · with ${quoted(op.member)}`;
    case "setRemove":
      return `${key} · without ${quoted(op.member)}`;
    // Nobody can read a position.
    case "listSet":
      return `${key} · an element = ${quoted(op.value)}`;
    case "listRemove":
      return `${key} · without an element`;
  }
}

function quoted(bytes: string): string {
  const text = toText(bytes);
  return `“${text.length > 80 ? `${text.slice(0, 80)}…` : text}”`;
}

function signed(by: bigint): string {
  return by < 0n ? `− ${-by}` : `+ ${by}`;
}
