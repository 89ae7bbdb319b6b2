// Plays a transcript of the Rust client: the same events have the same effects, byte for byte.
//
// Not compared: what only one of both has. The Rust client keeps K on its disk; this one takes it from its options.

import assert from "node:assert/strict";
import { type Bytes, fromArray } from "../src/core/bytes.js";
import { Client, type Effect, type Meta, type Step, freshMeta } from "../src/core/client.js";
import type { Row } from "../src/core/log.js";
import { decodeBody } from "../src/core/frames.js";
import type { Op, Value } from "../src/core/value.js";
import { hexOf, unhex } from "./hex.js";
import { type Json, valueOf } from "./json.js";

function bin(hex: string): Bytes {
  return fromArray(unhex(hex));
}

function opOf(json: Json): Op {
  const key = bin(json.key);
  const op = json.op[0].toLowerCase() + json.op.slice(1);
  const rest: Json = {};
  for (const name of ["field", "position", "value", "member"]) if (json[name] !== undefined) rest[name] = bin(json[name]);
  if (json.amount !== undefined) rest.by = BigInt(json.amount);
  return { op, key, ...rest } as Op;
}

function disk(rows: Json[]): { meta: Meta; rows: Row[]; K: number } {
  let meta = freshMeta("", 0);
  const kept: Row[] = [];
  let K = 1;
  for (const row of rows) {
    if (row.row === "Secret") meta = { ...meta, secret: bin(row.secret) };
    if (row.row === "Base") meta = { ...meta, base: row.base.map(BigInt), g: Number(row.g), before: Number(row.chainK), digest: bin(row.chain) };
    if (row.row === "Regions") K = Number(row.K);
    // The row of an entry: its type, and the body.
    if (row.row === "Entry") kept.push({ k: Number(row.k), body: unhex(row.hex).slice(1) });
  }
  return { meta, rows: kept, K };
}

/** What was read, its fields and members in the order of the transcripts. */
function readOf(value: Value | undefined): Json | null {
  if (value === undefined) return null;
  const json = valueOf(value);
  json.fields?.sort((a: Json, b: Json) => (a.field < b.field ? -1 : 1));
  json.members?.sort();
  return json;
}

/** Rows as this test compares them. */
function entryOf(row: Row): string {
  return `Entry ${row.k} ${hexOf(row.body)}`;
}

function baseOf(meta: Meta): string {
  return `Base ${meta.base.join()} ${meta.g} ${meta.before} ${hexOf(meta.digest)}`;
}

function rowsOf(step: Step): string[] {
  if (step.type === "rows") return step.rows.map(entryOf);
  if (step.type === "base") return [baseOf(step.meta), `Drop ${step.meta.before}`];
  return [`Secret ${hexOf(step.meta.secret)}`, ...step.rows.map(entryOf)];
}

function theirRow(row: Json): string {
  if (row.row === "Entry") {
    const body = unhex(row.hex).slice(1);
    assert.equal(String(decodeBody(body).k), row.k);
    return `Entry ${row.k} ${hexOf(body)}`;
  }
  if (row.row === "Base") return `Base ${row.base.join()} ${row.g} ${row.chainK} ${row.chain}`;
  if (row.row === "Drop") return `Drop ${row.k}`;
  return `Secret ${row.secret}`;
}

function theirs(effect: Json): string[] {
  switch (effect.type) {
    case "Send":
      return [`Send ${effect.hex}`];
    case "Persist": {
      const rows = effect.rows.filter(({ row }: Json) => row !== "Regions").map(theirRow);
      return rows.length > 0 ? [`Persist ${rows.join("; ")}`] : [];
    }
    case "Connect":
      return [`Connect ${effect.endpoint}`];
    case "WakeAt":
      return [`WakeAt ${effect.at}`];
    case "Status":
      return [`Status ${effect.status}`];
    case "Committed":
      return [`Committed ${effect.id} ${effect.k}`];
    case "CommitFailed":
      return [`CommitFailed ${effect.id}`];
    case "Changed":
      return [`Changed ${effect.keys.join()}`];
    case "Refused":
      return [`Refused ${effect.k} ${effect.op} ${effect.code} ${effect.text}`];
    case "Forked":
      return effect.dropped.map((k: string) => `Forked ${k}`);
    case "DrawSecret":
    case "Close":
      return [effect.type];
    case "Error":
      return [`Error ${effect.code}`];
    case "Lost":
      return [];
    default:
      return [JSON.stringify(effect)];
  }
}

/** One process of one client. */
export class Player {
  readonly #client: Client;
  #phase = "offline";
  /** Commits by this client's number. */
  readonly #ids = new Map<number, string>();
  /** Writes of the Rust client that this one does not do. */
  readonly #foreign = new Set<string>();
  /** Writes of both that are under way. */
  readonly #writes = new Set<string>();
  /** Its disk was full while several writes waited: then the two differ (D3). */
  #full = false;

  constructor(start: Json) {
    const { meta, rows, K } = disk(start.disk);
    this.#client = new Client({ K, endpoints: start.endpoints, token: bin(start.token), seed: BigInt(start.seed), lowers: start.lowers === true, eager: false, timing: start.timing }, { meta, rows });
  }

  #effects(): string[] {
    const all: string[] = [];
    for (const effect of this.#client.take()) all.push(...this.#ours(effect));
    return all;
  }

  #ours(effect: Effect): string[] {
    switch (effect.type) {
      case "send":
        return [`Send ${hexOf(effect.frame)}`];
      case "persist":
        return [`Persist ${rowsOf(effect.step).join("; ")}`];
      case "connect":
        return [`Connect ${effect.endpoint}`];
      case "wake":
        return [`WakeAt ${effect.atUs}`];
      case "status": {
        const { phase } = this.#client.status;
        if (phase === this.#phase) return [];
        this.#phase = phase;
        return [`Status ${phase}`];
      }
      case "durable":
        return [`Committed ${this.#ids.get(effect.id)} ${effect.k}`];
      case "failed":
        return effect.ids.map((id) => `CommitFailed ${this.#ids.get(id)}`);
      case "changed":
        return effect.keys.size > 0 ? [`Changed ${[...effect.keys].sort().map(hexOf).join()}`] : [];
      case "refused": {
        const { k, op, code, text, ops } = effect.refusal;
        return code === "forked" ? [`Forked ${k}`] : [`Refused ${k} ${op ?? ops.length} ${Buffer.from(code).toString("hex")} ${Buffer.from(text).toString("hex")}`];
      }
      case "error":
        return [`Error ${Buffer.from(effect.code).toString("hex")}`];
      case "forked":
        return ["DrawSecret"];
      case "close":
        return ["Close"];
    }
  }

  /** false: it was not compared. */
  play(line: Json): boolean {
    if (line.event?.type === "PersistFailed" && this.#writes.size > 1) this.#full = true;
    if (this.#full) return false;
    if (line.read !== undefined) {
      assert.deepEqual(readOf(this.#client.read(bin(line.read)).value), line.value, `read ${line.read}`);
      return true;
    }
    const { type, id } = line.event;
    if (type === "PersistFailed" || type === "Persisted") this.#writes.delete(id);
    for (const effect of line.effects) if (effect.type === "Persist") (effect.rows.every(({ row }: Json) => row === "Regions") ? this.#foreign : this.#writes).add(effect.id);
    this.#event(Number(line.now), line.event);
    assert.deepEqual(this.#effects(), line.effects.flatMap(theirs), JSON.stringify(line.event));
    return true;
  }

  #event(now: number, event: Json): void {
    const client = this.#client;
    switch (event.type) {
      case "Start":
        return client.start(now);
      case "Stop":
        return client.stop(now);
      case "Connected":
        return client.connected(now);
      case "Disconnected":
        return client.disconnected(now);
      case "Frame":
        return client.received(now, unhex(event.hex));
      case "Persisted":
        return this.#foreign.has(event.id) ? undefined : client.persisted(now);
      case "PersistFailed":
        return this.#foreign.has(event.id) ? undefined : client.persistFailed(now, new Error("full"));
      case "Secret":
        return client.renew(now, bin(event.secret));
      case "Timer":
        return client.wake(now);
      case "Watch":
        return client.watch(now, bin(event.key));
      case "Unwatch":
        return client.unwatch(now, bin(event.key));
      case "SetK":
        return client.setK(now, Number(event.K));
      case "Commit": {
        const before = this.#ids.size + 1;
        // The number is given in order; effects of the same call need it.
        this.#ids.set(before, event.id);
        const { id } = client.commit(now, event.ops.map(opOf));
        assert.equal(id, before);
        return;
      }
      default:
        assert.fail(`unknown event ${event.type}`);
    }
  }
}
