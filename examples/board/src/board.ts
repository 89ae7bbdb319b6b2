// The board's data: keys, what one view of them shows, and what people do.
//
// What changes on its own is an entry of its own: so one renames a card and another one moves it, both without a network, and both count.
// Where a card stands is said twice. `places` says its column, and of two moves the later one counts. The list of that column says where in it:
// an entry in another one is of a move that lost, and of two entries in one the first counts.

import { type Db, type ListHandle, type Tx, type View, json } from "@tidemark/edge";

export const COLUMNS = ["ideas", "doing", "done"] as const;
export type Column = (typeof COLUMNS)[number];
/** Cards are never removed, so that a comment always has its card: those that nobody wants are in the archive. */
export interface Card {
  readonly title: string;
  readonly by: string;
}

export interface Comment {
  readonly card: string;
  readonly text: string;
  readonly by: string;
  readonly at: number;
}

export interface Shown<T> {
  readonly id: string;
  readonly value: T;
  /** Not in the base yet. */
  readonly pending: boolean;
}

export interface Model {
  readonly columns: ReadonlyMap<Column, readonly Shown<Card>[]>;
  readonly comments: ReadonlyMap<string, readonly Shown<Comment>[]>;
  readonly people: readonly string[];
  readonly cheers: number;
  readonly cheersPending: boolean;
  /** Comments and places without their card: an effect without its cause. There are none. */
  readonly orphans: number;
}

export class Board {
  readonly #db: Db;
  readonly #cards;
  readonly #places;
  readonly #lists: ReadonlyMap<Column, ListHandle<string>>;
  readonly #comments;
  readonly #people;
  readonly #cheers;
  readonly me: string;

  constructor(db: Db, name: string, me: string) {
    this.#db = db;
    this.me = me;
    this.#cards = db.map(`board:${name}:cards`, json<Card>());
    this.#places = db.map(`board:${name}:places`);
    this.#lists = new Map(COLUMNS.map((column) => [column, db.list(`board:${name}:${column}`)]));
    this.#comments = db.map(`board:${name}:comments`, json<Comment>());
    this.#people = db.set(`board:${name}:people`);
    this.#cheers = db.counter(`board:${name}:cheers`);
  }

  /** Calls back with each new state, and at once if the board is loaded. */
  subscribe(callback: (model: Model) => void): void {
    const handles = [this.#cards, this.#places, ...this.#lists.values(), this.#comments, this.#people, this.#cheers];
    this.#db.subscribe(handles, (view) => callback(this.#model(view)));
  }

  #model(view: View): Model {
    const cards = view.get(this.#cards);
    const places = view.get(this.#places);
    const { value: said, pendingIn: saidPending } = view.read(this.#comments);
    const comments = new Map<string, Shown<Comment>[]>();
    for (const [id, value] of said!) {
      const of = comments.get(value.card) ?? [];
      comments.set(value.card, of);
      of.push({ id, value, pending: saidPending.has(id) });
    }
    for (const of of comments.values()) of.sort((a, b) => a.value.at - b.value.at || (a.id < b.id ? -1 : 1));
    return {
      columns: new Map(COLUMNS.map((column) => [column, this.#shown(view, column)])),
      comments,
      people: [...view.get(this.#people)].sort(),
      cheers: view.get(this.#cheers),
      cheersPending: view.read(this.#cheers).pending > 0,
      orphans: [...[...said!.values()].map(({ card }) => card), ...places.keys()].filter((card) => !cards.has(card)).length,
    };
  }

  #shown(view: View, column: Column): Shown<Card>[] {
    const [cards, places, list] = [view.read(this.#cards), view.read(this.#places), view.read(this.#lists.get(column)!)];
    const shown = new Map<string, Shown<Card>>();
    for (const [index, id] of list.value!.entries()) {
      const value = cards.value!.get(id);
      if (!value || places.value!.get(id) !== column || shown.has(id)) continue;
      shown.set(id, { id, value, pending: cards.pendingIn.has(id) || places.pendingIn.has(id) || list.pendingIn.has(String(index)) });
    }
    return [...shown.values()];
  }

  join(): void {
    this.#db.tx((t) => {
      if (!t.get(this.#people).has(this.me)) t.insert(this.#people, this.me);
    });
  }

  add(column: Column, title: string): string {
    const id = crypto.randomUUID().slice(0, 13);
    this.#db.tx((t) => {
      t.put(this.#cards, id, { title, by: this.me });
      t.put(this.#places, id, column);
      t.push(this.#lists.get(column)!, id);
    });
    return id;
  }

  rename(id: string, title: string): void {
    this.#db.tx((t) => {
      const card = t.get(this.#cards).get(id);
      if (card && card.title !== title) t.put(this.#cards, id, { ...card, title });
    });
  }

  archive(id: string): void {
    this.#db.tx((t) => {
      this.#takeOut(t, id);
      t.put(this.#places, id, "archive");
    });
  }

  /** Puts a card before another one, or at the end of the column. */
  move(id: string, column: Column, before?: string): void {
    if (id === before) return;
    this.#db.tx((t) => {
      this.#takeOut(t, id);
      const list = this.#lists.get(column)!;
      const ids = t.get(list);
      const at = before === undefined ? -1 : ids.indexOf(before);
      t.insertAt(list, at < 0 ? ids.length : at, id);
      t.put(this.#places, id, column);
    });
  }

  #takeOut(t: Tx, id: string): void {
    for (const list of this.#lists.values()) {
      const ids = t.get(list);
      for (let at = ids.lastIndexOf(id); at >= 0; at = at > 0 ? ids.lastIndexOf(id, at - 1) : -1) t.removeAt(list, at);
    }
  }

  comment(card: string, text: string): void {
    const id = crypto.randomUUID().slice(0, 13);
    this.#db.tx((t) => t.put(this.#comments, id, { card, text, by: this.me, at: Date.now() }));
  }

  cheer(): void {
    this.#db.tx((t) => t.add(this.#cheers, 1));
  }
}
