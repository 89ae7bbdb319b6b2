// Records what clients did, for `tidemark check` (docs/history-format.md).

import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import type { Outcome, Plan } from "./workload.js";

export interface Read {
  readonly key: string;
  readonly value: string | null;
}

export type Line =
  | { type: "read"; session: number; dc: number; kind: "get" | "rotx"; txn?: number; reads: Read[] }
  | { type: "write"; session: number; dc: number; key: string; value: string; txn?: number; outcome?: "unknown" }
  | { type: "final"; dc: number; key: string; value: string | null };

export interface Verdict {
  readonly code: number;
  readonly text: string;
}

/** What is done in one session, in its order; each is a list of lines, empty until it is known. */
export class Session {
  readonly id: number;
  readonly dc: number;
  readonly #slots: Line[][] = [];

  constructor(id: number, dc: number) {
    this.id = id;
    this.dc = dc;
  }

  get lines(): readonly Line[] {
    return this.#slots.flat();
  }

  /** A place in the order, for what is told now and known later. */
  slot(): { readonly txn: number; done(lines: Line[]): void } {
    const slot: Line[] = [];
    this.#slots.push(slot);
    return { txn: this.#slots.length, done: (lines) => void slot.push(...lines) };
  }

  read(reads: Read[], txn?: number): Line[] {
    return reads.length === 0 ? [] : [{ type: "read", session: this.id, dc: this.dc, kind: reads.length > 1 || txn ? "rotx" : "get", txn, reads }];
  }

  write(keys: readonly string[], value: string, txn?: number, outcome?: "unknown"): Line[] {
    return keys.map((key) => ({ type: "write", session: this.id, dc: this.dc, key, value, txn, outcome }));
  }

  /** Records a transaction of an edge client; `run` fails if the client's page dies in it. */
  async step(plan: Plan, run: (plan: Plan) => Promise<Outcome>): Promise<"done" | "failed" | "unknown"> {
    const { txn, done } = this.slot();
    const writes = plan.writes.length > 0 ? [...plan.writes, "left", "right"] : [];
    let outcome: Outcome;
    try {
      outcome = await run(plan);
    } catch (error) {
      if (!/closed|crash/.test(String(error))) throw error;
      done(this.write(writes, plan.token, txn, "unknown"));
      return "unknown";
    }
    if (outcome.error) return "failed";
    if (outcome.values) done([...this.read(plan.reads.map((key, i) => ({ key, value: outcome.values![i] })), txn), ...this.write(writes, plan.token, txn)]);
    return "done";
  }
}

export class History {
  readonly #sessions: Session[] = [];
  readonly finals: Line[] = [];

  session(dc: number): Session {
    const session = new Session(this.#sessions.length + 1, dc);
    this.#sessions.push(session);
    return session;
  }

  get lines(): Line[] {
    return [...this.#sessions.flatMap(({ lines }) => lines), ...this.finals];
  }
}

/** `tidemark check` of these lines: causal, with snapshots and atomic transactions. */
export function check(binary: string, path: string, lines: readonly Line[]): Promise<Verdict> {
  const header = { type: "history", format: 1, protocol: "edge clients in a browser", promise: "causal-snapshot", dcs: 3 };
  writeFileSync(path, [header, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(""));
  return new Promise((resolve) => {
    execFile(binary, ["check", path, "--promise", "causal-snapshot"], (error, stdout, stderr) => resolve({ code: error ? Number(error.code) : 0, text: stdout + stderr }));
  });
}
