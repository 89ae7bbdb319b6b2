// Stores for Svelte: `$name` in a component. They follow its store contract, and need nothing of Svelte.

import type { Status } from "./core/client.js";
import type { Db } from "./db.js";
import type { Handle, Register } from "./handles.js";
import type { View } from "./view.js";

export interface Readable<T> {
  subscribe(run: (value: T) => void): () => void;
}

export interface Writable<T> extends Readable<T> {
  set(value: T): void;
}

/** The value; undefined until it is loaded. */
export function value<R>(db: Db, handle: Handle<R>): Readable<R | undefined> {
  return {
    subscribe(run) {
      let told = false;
      const end = db.subscribe([handle], (view) => {
        told = true;
        run(view.get(handle));
      });
      if (!told) run(undefined);
      return end;
    },
  };
}

/** What a live query returns; undefined until all that it reads is loaded. */
export function live<R>(db: Db, query: (view: View) => R): Readable<R | undefined> {
  return {
    subscribe(run) {
      let told = false;
      const end = db.live(query, (value) => {
        told = true;
        run(value);
      });
      if (!told) run(undefined);
      return end;
    },
  };
}

/** A register that a component may assign to: each assignment is a transaction. */
export function writable<T>(db: Db, handle: Register<T>): Writable<T | undefined> {
  return {
    ...value(db, handle),
    set: (next) => void db.tx((t) => (next === undefined ? t.delete(handle) : t.set(handle, next))),
  };
}

export function status(db: Db): Readable<Status> {
  return {
    subscribe(run) {
      run(db.status);
      return db.on("status", run);
    },
  };
}
