// The browser's store: one object store of rows by their number, one of values by their keys, one for the rest.
//
// Each step is one transaction with `durability: "strict"`: it completes when its data are on the disk, and a quota that is exceeded aborts it as a whole.

import type { Bytes } from "../core/bytes.js";
import type { Meta, Step } from "../core/client.js";
import type { Row } from "../core/log.js";
import type { Value } from "../core/value.js";
import type { Loaded, Store } from "./store.js";

const LOG = "log";
const META = "meta";
/** Values at the base, by their keys. */
const VALUES = "values";

export class IndexedDbStore implements Store {
  readonly #name: string;
  readonly #factory: IDBFactory;
  #db: IDBDatabase | undefined;
  onLost: (() => void) | undefined;

  constructor(name: string, factory: IDBFactory = indexedDB) {
    this.#name = `tidemark-edge/${name}`;
    this.#factory = factory;
  }

  async load(): Promise<Loaded> {
    const db = await this.#open();
    const transaction = db.transaction([META, LOG, VALUES], "readonly");
    const [meta, rows, keys, values] = await Promise.all([
      result<Meta | undefined>(transaction.objectStore(META).get(META)),
      result<Row[]>(transaction.objectStore(LOG).getAll()),
      result<IDBValidKey[]>(transaction.objectStore(VALUES).getAllKeys()),
      result<Value[]>(transaction.objectStore(VALUES).getAll()),
    ]);
    if (!meta) return rows.length === 0 ? undefined : "lost";
    return rows.every((row, i) => row.k === meta.before + 1 + i) ? { meta, rows, values: new Map(keys.map((key, i) => [key as Bytes, values[i]])) } : "lost";
  }

  async apply(step: Step): Promise<void> {
    const db = await this.#open();
    await new Promise<void>((resolve, reject) => {
      const transaction = db.transaction([META, LOG, VALUES], "readwrite", { durability: "strict" });
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error ?? new DOMException("aborted", "AbortError"));
      try {
        write(transaction, step);
      } catch (error) {
        // Else what came before the error would take place.
        transaction.abort();
        reject(error);
      }
    });
  }

  close(): void {
    this.#db?.close();
    this.#db = undefined;
  }

  async #open(): Promise<IDBDatabase> {
    if (this.#db) return this.#db;
    const request = this.#factory.open(this.#name, 2);
    request.onupgradeneeded = ({ oldVersion }) => {
      if (oldVersion < 1) {
        request.result.createObjectStore(LOG, { keyPath: "k" });
        request.result.createObjectStore(META);
      }
      request.result.createObjectStore(VALUES);
    };
    const db = await result(request);
    this.#db = db;
    db.onclose = () => this.#lost();
    db.onversionchange = () => {
      // Somebody deletes the database: in our way of working nobody else opens it.
      db.close();
      this.#lost();
    };
    return db;
  }

  #lost(): void {
    this.#db = undefined;
    this.onLost?.();
  }
}

function write(transaction: IDBTransaction, step: Step): void {
  const log = transaction.objectStore(LOG);
  if (step.type !== "rows") transaction.objectStore(META).put(step.meta, META);
  if (step.type === "base") {
    log.delete(IDBKeyRange.upperBound(step.meta.before));
    for (const [key, value] of step.values ?? []) {
      if (value) transaction.objectStore(VALUES).put(value, key);
      else transaction.objectStore(VALUES).delete(key);
    }
    return;
  }
  if (step.type === "replace") {
    log.clear();
    transaction.objectStore(VALUES).clear();
  }
  for (const row of step.rows) log.put(row);
}

function result<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
