// Bindings for React: a component renders again when what it reads has changed.

import { useCallback, useMemo, useRef, useSyncExternalStore } from "react";
import type { Status } from "./core/client.js";
import type { Db } from "./db.js";
import type { Handle } from "./handles.js";
import { Unavailable } from "./tx.js";
import type { View } from "./view.js";

/** The value; undefined until it is loaded. The handle must be the same object from render to render, or have the same name. */
export function useValue<R>(db: Db, handle: Handle<R>): R | undefined {
  const last = useRef<{ readonly value: R | undefined; readonly of: Handle<R> }>(undefined);
  const current = useRef(handle);
  if (current.current.name !== handle.name || current.current.kind !== handle.kind) current.current = handle;
  const stable = current.current;
  const subscribe = useCallback(
    (changed: () => void) =>
      db.subscribe([stable], (view) => {
        last.current = { value: view.get(stable), of: stable };
        changed();
      }),
    [db, stable],
  );
  const snapshot = () => {
    // The same object until something changes: a map is shown as a new one by each read.
    if (last.current?.of !== stable) last.current = { value: db.read(stable).value, of: stable };
    return last.current.value;
  };
  return useSyncExternalStore(subscribe, snapshot, () => undefined);
}

/** What a live query returns; undefined until all that it reads is loaded. `deps`: of what the query depends on beside, as for `useMemo`. */
export function useLive<R>(db: Db, query: (view: View) => R, deps: readonly unknown[] = []): R | undefined {
  const store = useMemo(() => {
    let value: R | undefined;
    try {
      value = query(db);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
    }
    const subscribe = (changed: () => void) =>
      db.live(query, (next) => {
        value = next;
        changed();
      });
    return { subscribe, snapshot: () => value };
  }, [db, ...deps]);
  return useSyncExternalStore(store.subscribe, store.snapshot, () => undefined);
}

export function useStatus(db: Db): Status {
  const subscribe = useCallback((changed: () => void) => db.on("status", changed), [db]);
  const snapshot = () => db.status;
  return useSyncExternalStore(subscribe, snapshot, snapshot);
}
