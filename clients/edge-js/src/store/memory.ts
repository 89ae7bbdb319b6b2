import type { Durable, Meta, Step } from "../core/client.js";
import type { Row } from "../core/log.js";
import type { Store } from "./store.js";

/** Rows in memory: for tests, and for clients that need not outlive their process. */
export class MemoryStore implements Store {
  #meta: Meta | undefined;
  #rows = new Map<number, Row>();
  onLost: (() => void) | undefined;

  load(): Durable | undefined {
    return this.#meta && { meta: this.#meta, rows: [...this.#rows.values()].sort((a, b) => a.k - b.k) };
  }

  apply(step: Step): undefined {
    if (step.type === "rows") {
      for (const row of step.rows) this.#rows.set(row.k, row);
      return;
    }
    this.#meta = step.meta;
    if (step.type === "replace") this.#rows = new Map(step.rows.map((row) => [row.k, row]));
    else for (const k of this.#rows.keys()) if (k <= step.meta.before) this.#rows.delete(k);
  }

  /** What a crash at this moment leaves. */
  copy(): MemoryStore {
    const copy = new MemoryStore();
    copy.#meta = this.#meta;
    copy.#rows = new Map(this.#rows);
    return copy;
  }

  close(): void {}
}
