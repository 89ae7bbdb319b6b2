// The board's data: keys, what one view of them shows, and what people do.

import { type Db, type View, json } from "@tidemark/edge";

export const COLUMNS = ["ideas", "doing", "done"] as const;
export type Column = (typeof COLUMNS)[number];
/** Cards are never removed, so that a comment always has its card. */
type Place = Column | "archive";

export interface Card {
  readonly title: string;
  readonly column: Place;
  /** Cards of a column stand in this order. */
  readonly order: number;
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
  /** Comments without their card: an effect without its cause. There are none. */
  readonly orphans: number;
}

export class Board {
  readonly #db: Db;
  readonly #cards;
  readonly #comments;
  readonly #people;
  readonly #cheers;
  readonly me: string;

  constructor(db: Db, name: string, me: string) {
    this.#db = db;
    this.me = me;
    this.#cards = db.map(`board:${name}:cards`, json<Card>());
    this.#comments = db.map(`board:${name}:comments`, json<Comment>());
    this.#people = db.set(`board:${name}:people`);
    this.#cheers = db.counter(`board:${name}:cheers`);
  }

  /** Calls back with each new state, and at once if the board is loaded. */
  subscribe(callback: (model: Model) => void): void {
    this.#db.subscribe([this.#cards, this.#comments, this.#people, this.#cheers], (view) => callback(this.#model(view)));
  }

  #model(view: View): Model {
    const { value: cards, pendingIn } = view.read(this.#cards);
    const { value: said, pendingIn: saidPending } = view.read(this.#comments);
    const shown = [...cards!].map(([id, value]) => ({ id, value, pending: pendingIn.has(id) }));
    shown.sort((a, b) => a.value.order - b.value.order || (a.id < b.id ? -1 : 1));
    const comments = new Map<string, Shown<Comment>[]>();
    for (const [id, value] of said!) {
      const of = comments.get(value.card) ?? [];
      comments.set(value.card, of);
      of.push({ id, value, pending: saidPending.has(id) });
    }
    for (const of of comments.values()) of.sort((a, b) => a.value.at - b.value.at || (a.id < b.id ? -1 : 1));
    return {
      columns: new Map(COLUMNS.map((column) => [column, shown.filter(({ value }) => value.column === column)])),
      comments,
      people: [...view.get(this.#people)].sort(),
      cheers: view.get(this.#cheers),
      cheersPending: view.read(this.#cheers).pending > 0,
      orphans: [...said!.values()].filter(({ card }) => !cards!.has(card)).length,
    };
  }

  join(): void {
    this.#db.tx((t) => {
      if (!t.get(this.#people).has(this.me)) t.insert(this.#people, this.me);
    });
  }

  add(column: Column, title: string): string {
    const id = crypto.randomUUID().slice(0, 13);
    this.#db.tx((t) => {
      const orders = [...t.get(this.#cards).values()].filter((card) => card.column === column).map(({ order }) => order);
      t.put(this.#cards, id, { title, column, order: Math.max(0, ...orders) + 1, by: this.me });
    });
    return id;
  }

  rename(id: string, title: string): void {
    this.#change(id, (card) => (card.title === title ? card : { ...card, title }));
  }

  archive(id: string): void {
    this.#change(id, (card) => ({ ...card, column: "archive" }));
  }

  /** Puts a card before another one, or at the end of the column. */
  move(id: string, column: Column, before?: string): void {
    if (id === before) return;
    this.#db.tx((t) => {
      const cards = t.get(this.#cards);
      const card = cards.get(id);
      if (!card) return;
      const others = [...cards].filter(([other, { column: of }]) => of === column && other !== id).map(([other, { order }]) => ({ other, order }));
      others.sort((a, b) => a.order - b.order);
      const at = before === undefined ? -1 : others.findIndex(({ other }) => other === before);
      const next = at < 0 ? undefined : others[at].order;
      const last = (at < 0 ? others.at(-1) : others[at - 1])?.order;
      const order = next === undefined ? (last ?? 0) + 1 : ((last ?? next - 2) + next) / 2;
      t.put(this.#cards, id, { ...card, column, order });
    });
  }

  comment(card: string, text: string): void {
    const id = crypto.randomUUID().slice(0, 13);
    this.#db.tx((t) => t.put(this.#comments, id, { card, text, by: this.me, at: Date.now() }));
  }

  cheer(): void {
    this.#db.tx((t) => t.add(this.#cheers, 1));
  }

  #change(id: string, change: (card: Card) => Card): void {
    this.#db.tx((t) => {
      const card = t.get(this.#cards).get(id);
      if (!card) return;
      const changed = change(card);
      if (changed !== card) t.put(this.#cards, id, changed);
    });
  }
}
