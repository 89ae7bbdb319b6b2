import type { Bytes } from "../core/bytes.js";
import type { Durable, Meta, Step } from "../core/client.js";
import type { Row } from "../core/log.js";
import type { Value } from "../core/value.js";
import type { Store } from "./store.js";

/** Rows in memory: for tests, and for clients that need not outlive their process. */
export class MemoryStore implements Store {
  #meta: Meta | undefined;
  #rows = new Map<number, Row>();
  #values = new Map<Bytes, Value>();
  onLost: (() => void) | undefined;

  load(): Durable | undefined {
    return this.#meta && { meta: this.#meta, rows: [...this.#rows.values()].sort((a, b) => a.k - b.k), values: new Map(this.#values) };
  }

  apply(step: Step): undefined {
    if (step.type === "rows") {
      for (const row of step.rows) this.#rows.set(row.k, row);
      return;
    }
    this.#meta = step.meta;
    if (step.type === "replace") {
      this.#rows = new Map(step.rows.map((row) => [row.k, row]));
      this.#values.clear();
      return;
    }
    for (const k of this.#rows.keys()) if (k <= step.meta.before) this.#rows.delete(k);
    for (const [key, value] of step.values ?? []) {
      if (value) this.#values.set(key, value);
      else this.#values.delete(key);
    }
  }

  /** What a crash at this moment leaves. */
  copy(): MemoryStore {
    const copy = new MemoryStore();
    copy.#meta = this.#meta;
    copy.#rows = new Map(this.#rows);
    copy.#values = new Map(this.#values);
    return copy;
  }

  close(): void {}
}
