// The columns. An element of a card lives as long as the card is shown: so it can move, and be dragged.

import { type Board, COLUMNS, type Card, type Column, type Comment, type Model, type Shown } from "./board.js";
import { color, element, write } from "./dom.js";

const TITLES: Record<Column, string> = { ideas: "Ideas", doing: "Doing", done: "Done" };

interface Parts {
  readonly list: HTMLOListElement;
  readonly count: HTMLElement;
}

export class Columns {
  readonly #board: Board;
  readonly #open: (id: string) => void;
  readonly #columns = new Map<Column, Parts>();
  readonly #cards = new Map<string, HTMLLIElement>();
  #dragged: string | undefined;
  #first = true;

  constructor(root: HTMLElement, board: Board, open: (id: string) => void) {
    this.#board = board;
    this.#open = open;
    for (const column of COLUMNS) root.append(this.#column(column));
  }

  #column(column: Column): HTMLElement {
    const list = element("ol");
    const count = element("span", { className: "count" });
    const input = element("input", { placeholder: "Add a card", ariaLabel: `Add a card to ${TITLES[column]}`, maxLength: 120, autocomplete: "off" });
    const form = element("form", { className: "add" }, input);
    form.onsubmit = (event) => {
      event.preventDefault();
      const title = input.value.trim();
      if (title) this.#board.add(column, title);
      input.value = "";
      list.scrollTop = list.scrollHeight;
    };
    const section = element("section", {}, element("h2", {}, TITLES[column], count), list, form);
    section.dataset.column = column;
    section.ondragover = (event) => {
      if (this.#dragged === undefined) return;
      event.preventDefault();
      section.classList.add("over");
      this.#mark(this.#before(list, event.clientY));
    };
    section.ondragleave = (event) => {
      if (!section.contains(event.relatedTarget as Node | null)) section.classList.remove("over");
    };
    section.ondrop = (event) => {
      event.preventDefault();
      section.classList.remove("over");
      const before = this.#before(list, event.clientY)?.dataset.id;
      if (this.#dragged !== undefined) this.#board.move(this.#dragged, column, before);
    };
    this.#columns.set(column, { list, count });
    return section;
  }

  #before(list: HTMLElement, y: number): HTMLElement | undefined {
    return ([...list.children] as HTMLElement[]).find((card) => {
      const { top, height } = card.getBoundingClientRect();
      return card.dataset.id !== this.#dragged && y < top + height / 2;
    });
  }

  #mark(before: HTMLElement | undefined): void {
    for (const card of this.#cards.values()) card.classList.toggle("before", card === before);
  }

  show(model: Model): void {
    const places = new Map([...this.#cards].map(([id, card]) => [id, card.getBoundingClientRect()]));
    const here = new Set<string>();
    for (const [column, cards] of model.columns) {
      const { list, count } = this.#columns.get(column)!;
      write(count, String(cards.length));
      const elements = cards.map((card) => {
        here.add(card.id);
        return this.#card(card, model.comments.get(card.id) ?? []);
      });
      elements.forEach((card, i) => {
        if (list.children[i] !== card) list.insertBefore(card, list.children[i] ?? null);
      });
    }
    for (const [id, card] of this.#cards) {
      if (here.has(id)) continue;
      card.remove();
      this.#cards.delete(id);
    }
    for (const [id, card] of this.#cards) this.#slide(card, places.get(id));
    this.#first = false;
  }

  #card({ id, value, pending }: Shown<Card>, comments: readonly Shown<Comment>[]): HTMLLIElement {
    let card = this.#cards.get(id);
    if (!card) {
      card = this.#make(id);
      this.#cards.set(id, card);
    }
    const [title, by, said] = card.querySelectorAll<HTMLElement>(".title, .by, .said");
    write(title, value.title);
    write(by, value.by);
    by.style.setProperty("--color", color(value.by));
    write(said, comments.length > 0 ? String(comments.length) : "");
    said.classList.toggle("pending", comments.some(({ pending }) => pending));
    card.classList.toggle("pending", pending);
    return card;
  }

  #make(id: string): HTMLLIElement {
    const mark = element("i", { className: "mark", title: "Not in the base yet" });
    const card = element("li", { draggable: true, tabIndex: 0 }, element("div", { className: "title" }), element("div", { className: "meta" }, element("span", { className: "by" }), element("span", { className: "said", title: "Comments" }), mark));
    card.dataset.id = id;
    card.onclick = () => this.#open(id);
    card.onkeydown = (event) => {
      if (event.key === "Enter") this.#open(id);
    };
    card.ondragstart = (event) => {
      this.#dragged = id;
      event.dataTransfer!.effectAllowed = "move";
      event.dataTransfer!.setData("text/plain", id);
      card.classList.add("dragged");
    };
    card.ondragend = () => {
      this.#dragged = undefined;
      card.classList.remove("dragged");
      this.#mark(undefined);
      for (const { list } of this.#columns.values()) list.parentElement!.classList.remove("over");
    };
    return card;
  }

  /** From where it was to where it is. */
  #slide(card: HTMLElement, from: DOMRect | undefined): void {
    if (this.#first || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    if (!from) {
      card.animate([{ opacity: 0, transform: "translateY(-6px)" }, { opacity: 1, transform: "none" }], { duration: 180, easing: "ease-out" });
      return;
    }
    const to = card.getBoundingClientRect();
    const [x, y] = [from.left - to.left, from.top - to.top];
    if (x !== 0 || y !== 0) card.animate([{ transform: `translate(${x}px, ${y}px)` }, { transform: "none" }], { duration: 220, easing: "ease-out" });
  }
}
