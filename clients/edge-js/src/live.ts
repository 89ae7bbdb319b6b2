// A query that runs again when anything that it has read reads differently. It watches what it reads, and only that.

import type { Bytes } from "./core/bytes.js";
import type { Handle } from "./handles.js";
import { Unavailable } from "./tx.js";
import type { View } from "./view.js";

/** What a live query needs of the database. */
export interface Source {
  /** The values of now; `onRead` is told of each handle that is read. */
  view(onRead: (handle: Handle) => void): View;
  watch(handles: Iterable<Handle>): () => void;
}

export class Live<R> {
  readonly #source: Source;
  readonly #query: (view: View) => R;
  readonly #callback: (value: R) => void;
  readonly #watched = new Map<Bytes, () => void>();
  #running = false;
  #again = false;
  #over = false;

  constructor(source: Source, query: (view: View) => R, callback: (value: R) => void) {
    this.#source = source;
    this.#query = query;
    this.#callback = callback;
  }

  reads(keys: ReadonlySet<Bytes>): boolean {
    return [...keys].some((key) => this.#watched.has(key));
  }

  /** To watch a key may change what is read. */
  run(): void {
    if (this.#running) {
      this.#again = true;
      return;
    }
    let found: { readonly value: R } | undefined;
    this.#running = true;
    try {
      do {
        this.#again = false;
        found = this.#once();
      } while (this.#again && !this.#over);
    } finally {
      this.#running = false;
    }
    if (found && !this.#over) this.#callback(found.value);
  }

  #once(): { readonly value: R } | undefined {
    const read = new Map<Bytes, Handle>();
    let found: { readonly value: R } | undefined;
    try {
      found = { value: this.#query(this.#source.view((handle) => read.set(handle.key, handle))) };
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
    } finally {
      for (const [key, handle] of read) if (!this.#watched.has(key)) this.#watched.set(key, this.#source.watch([handle]));
    }
    // A run that has not come to its end does not say what is not needed.
    if (!found) return undefined;
    for (const [key, unwatch] of [...this.#watched]) {
      if (read.has(key)) continue;
      this.#watched.delete(key);
      unwatch();
    }
    return found;
  }

  end(): void {
    this.#over = true;
    for (const unwatch of this.#watched.values()) unwatch();
    this.#watched.clear();
  }
}
