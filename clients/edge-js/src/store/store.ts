import type { Durable, Step } from "../core/client.js";

export type Loaded = Durable | undefined | "lost";

/** Where a client keeps what has to outlive its process. */
export interface Store {
  /** undefined: nothing is kept yet; "lost": a part of it is gone, so that the rest is of no use. */
  load(): Loaded | Promise<Loaded>;
  /**
   * Makes one step durable, as a whole or not at all. Steps come one at a time, in order.
   * A store that can do so synchronously returns undefined. On an error nothing has changed.
   */
  apply(step: Step): undefined | Promise<void>;
  /** The store calls it when what it had is gone: a user cleared the site's data, or the browser needed the room. */
  onLost?: (() => void) | undefined;
  close(): void | Promise<void>;
}
