// What a database needs from the side that it is on: leader of its tabs, or follower.

import type { Bytes } from "./core/bytes.js";
import type { Inspection, Read, Refusal, Status } from "./core/client.js";
import type { Vec } from "./core/codec.js";
import type { Op } from "./core/value.js";

export interface Commit {
  /** undefined: another tab will give it its number. */
  readonly k: number | undefined;
  /** The number, once the transaction is durable; undefined: a tab that is gone has committed it. */
  readonly durable: Promise<number | undefined>;
}

/** Why there is a new identity: nothing was kept; another copy of the disk has gone on; what was kept is gone. */
export type IdentityReason = "created" | "forked" | "cleared";

/** `code` is NOAUTH if the token is wrong. */
export interface GatewayError {
  readonly code: string;
  readonly text: string;
}

export interface Listener {
  /** `keys`: those that may read differently. */
  changed(keys: ReadonlySet<Bytes>): void;
  status(status: Status): void;
  refused(refusal: Refusal): void;
  identity(reason: IdentityReason): void;
  /** A gateway has closed the connection, and said why. */
  error(error: GatewayError): void;
  /** Transactions on these keys have become durable. */
  stored?(keys: ReadonlySet<Bytes>): void;
  /** A transaction could not be made durable, and was taken back. */
  failed(error: unknown): void;
}

export interface Engine {
  readonly base: Vec;
  readonly status: Status;
  read(key: Bytes, buffer?: readonly Op[]): Read;
  commit(ops: readonly Op[]): Commit;
  watch(key: Bytes): void;
  unwatch(key: Bytes): void;
  setK(K: number): void;
  /** Is a connection wanted? */
  link(wanted: boolean): void;
  prefer(endpoint: number): void;
  /** What the leader knows. In a follower it waits for as long as there is none. */
  inspect(): Promise<Inspection>;
  close(): Promise<void>;
}

/** A promise, and how to settle it. Nobody has to wait for it: a rejection is also told to `Listener.failed`. */
export class Deferred<T> {
  readonly promise: Promise<T>;
  resolve!: (value: T | PromiseLike<T>) => void;
  reject!: (error: unknown) => void;

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    this.promise.catch(() => undefined);
  }
}
