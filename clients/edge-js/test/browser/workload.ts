// Random transactions of one client, and what each of its views has to satisfy. It runs in a page or in this process.

import { dominates } from "../../src/core/codec.js";
import type { Counter, Db, MapHandle, Register, SetHandle, View } from "../../src/index.js";

/** One transaction: which registers it reads, then which it writes; `token` names it, if it writes. */
export interface Plan {
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly token: string;
}

/** `values`: of the reads, undefined if they do not count; `error`: the transaction certainly did not happen. */
export interface Outcome {
  readonly values?: readonly (string | null)[];
  readonly error?: string;
}

export class Worker {
  readonly db: Db;
  readonly #prefix: string;
  readonly likes: Counter;
  readonly tokens: SetHandle<string>;
  /** Of each transaction one that was seen before it. */
  readonly #causes: MapHandle<string>;
  /** Each transaction writes both. */
  readonly #pair: readonly [Register<string>, Register<string>];
  #base: View["base"] = [];
  #stored: Promise<unknown> = Promise.resolve();
  views = 0;
  readonly #violated: (what: string) => void;

  /** `violated` is told what views show that they must not, and refusals. */
  constructor(db: Db, prefix: string, violated: (what: string) => void) {
    this.db = db;
    this.#violated = violated;
    this.#prefix = prefix;
    this.likes = db.counter(`${prefix}likes`);
    this.tokens = db.set(`${prefix}tokens`);
    this.#causes = db.map(`${prefix}causes`);
    this.#pair = [db.register(`${prefix}left`), db.register(`${prefix}right`)];
    db.subscribe([this.likes, this.tokens, this.#causes, ...this.#pair], (view) => this.#check(view));
    db.onRefused(({ code, text }) => violated(`refused: ${code} ${text}`));
  }

  async load(registers: readonly string[]): Promise<void> {
    await this.db.load([this.likes, this.tokens, this.#causes, ...this.#pair, ...registers.map((name) => this.#register(name))]);
  }

  #register(name: string): Register<string> {
    return this.db.register(this.#prefix + name);
  }

  #check(view: View): void {
    this.views++;
    const claim = (holds: boolean, what: string) => {
      if (!holds) this.#violated(`view ${this.views}: ${what}`);
    };
    claim(dominates(view.base, this.#base), "the base has gone back");
    this.#base = view.base;
    const [tokens, causes, [left, right]] = [view.get(this.tokens), view.get(this.#causes), this.#pair.map((one) => view.get(one))];
    claim(view.get(this.likes) === tokens.size, `${view.get(this.likes)} likes of ${tokens.size} transactions`);
    claim(causes.size === tokens.size, "two keys of one transaction");
    claim(left === right, `the pair is ${left} and ${right}`);
    for (const [token, cause] of causes) {
      claim(tokens.has(token), `${token} is half there`);
      claim(cause === "" || tokens.has(cause), `${token} without its cause ${cause}`);
    }
  }

  /** Ends once the transaction, or what it may have read of this tab, is stored. */
  async step({ reads, writes, token }: Plan): Promise<Outcome> {
    const values: (string | null)[] = [];
    const { durable } = this.db.tx((t) => {
      for (const name of reads) values.push(t.get(this.#register(name)) ?? null);
      if (writes.length === 0) return;
      const [last = ""] = [...t.get(this.tokens)].slice(-1);
      for (const name of writes) t.set(this.#register(name), token);
      for (const one of this.#pair) t.set(one, token);
      t.add(this.likes, 1);
      t.insert(this.tokens, token);
      t.put(this.#causes, token, last);
    });
    if (writes.length > 0) this.#stored = durable;
    const stored = this.#stored;
    try {
      await stored;
      return { values };
    } catch (error) {
      return writes.length > 0 ? { error: (error as Error).name } : {};
    }
  }
}
