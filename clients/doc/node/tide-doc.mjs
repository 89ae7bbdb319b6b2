// A Yjs document that lives in Tidemark: in every region, also in one that is cut off.
//
//   const shared = new TideDoc(client, "notes", doc);   // a node-redis client that is connected, a key, a Y.Doc
//   await shared.sync();                                // now and then: sends what was edited here, fetches the rest
//   await shared.compact();                             // seldom: one update in the place of all
//
// Yjs merges updates in any order and more than once, so nothing here waits for another client, and every call may be repeated.

import { RESP_TYPES } from 'redis';
import * as Y from 'yjs';

export class TideDoc {
  #client;
  #key;
  #doc;
  #token;
  #unsent = [];

  constructor(client, key, doc) {
    this.#client = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
    this.#key = key;
    this.#doc = doc;
    doc.on('update', (update, origin) => {
      if (origin !== this) this.#unsent.push(update);
    });
  }

  /** Sends what was edited here, and fetches what others did. */
  async sync() {
    await this.push();
    return this.pull();
  }

  /** Sends what was edited here. If that fails it is sent next time: Tidemark may have it then, which does no harm. */
  async push() {
    if (this.#unsent.length === 0) return;
    const update = Y.mergeUpdates(this.#unsent.splice(0));
    try {
      await this.#client.sendCommand(['TIDE.DOC', 'PUT', this.#key, Buffer.from(update)]);
    } catch (error) {
      this.#unsent.unshift(update);
      throw error;
    }
  }

  /** Fetches what is new, and returns how many updates that were. */
  async pull() {
    const since = this.#token ? ['SINCE', this.#token] : [];
    const [token, updates] = await this.#client.sendCommand(['TIDE.DOC', 'READ', this.#key, ...since]);
    for (const update of updates) Y.applyUpdate(this.#doc, update, this);
    // The token goes with what was applied: only now is all of it.
    this.#token = token;
    return updates.length;
  }

  /** Puts one update in the place of all that this document contains, and returns how many they were. */
  async compact() {
    await this.sync();
    const state = Buffer.from(Y.encodeStateAsUpdate(this.#doc));
    return this.#client.sendCommand(['TIDE.DOC', 'COMPACT', this.#key, state, 'UPTO', this.#token]);
  }
}
