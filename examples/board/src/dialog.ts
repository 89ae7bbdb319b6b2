// One card: its title, its column, its comments.

import { type Board, COLUMNS, type Model } from "./board.js";
import { color, element } from "./dom.js";

export class CardDialog {
  readonly #dialog: HTMLDialogElement;
  readonly #board: Board;
  readonly #title: HTMLInputElement;
  readonly #moves: HTMLElement;
  readonly #comments: HTMLElement;
  #id: string | undefined;
  #model: Model | undefined;

  constructor(dialog: HTMLDialogElement, board: Board) {
    this.#dialog = dialog;
    this.#board = board;
    this.#title = dialog.querySelector("#title")!;
    this.#moves = dialog.querySelector("#moves")!;
    this.#comments = dialog.querySelector("#comments")!;
    this.#title.onchange = () => {
      const title = this.#title.value.trim();
      if (this.#id !== undefined && title) this.#board.rename(this.#id, title);
    };
    const say = dialog.querySelector<HTMLFormElement>("#say")!;
    const text = dialog.querySelector<HTMLInputElement>("#text")!;
    say.onsubmit = (event) => {
      event.preventDefault();
      if (this.#id !== undefined && text.value.trim()) this.#board.comment(this.#id, text.value.trim());
      text.value = "";
    };
    dialog.onclose = () => (this.#id = undefined);
    dialog.onclick = (event) => {
      if (event.target === dialog) dialog.close();
    };
  }

  open(id: string): void {
    this.#id = id;
    this.#dialog.showModal();
    if (this.#model) this.show(this.#model);
    this.#dialog.querySelector<HTMLInputElement>("#text")!.focus();
  }

  show(model: Model): void {
    this.#model = model;
    const id = this.#id;
    if (id === undefined) return;
    const found = [...model.columns].flatMap(([at, cards]) => cards.filter((card) => card.id === id).map((card) => ({ at, card })))[0];
    if (!found) return this.#dialog.close();
    const { at, card } = found;
    if (document.activeElement !== this.#title) this.#title.value = card.value.title;
    const buttons = COLUMNS.map((column) => {
      const button = element("button", { type: "button", textContent: column[0].toUpperCase() + column.slice(1), onclick: () => this.#board.move(id, column) });
      button.setAttribute("aria-pressed", String(column === at));
      return button;
    });
    const archive = element("button", { type: "button", textContent: "Archive", className: "quiet", onclick: () => this.#board.archive(id) });
    this.#moves.replaceChildren(...buttons, archive);
    const comments = model.comments.get(id) ?? [];
    const said = comments.map(({ value, pending }) => {
      const avatar = element("span", { className: "avatar", textContent: value.by[0] });
      avatar.style.background = color(value.by);
      const time = new Date(value.at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
      const text = element("div", {}, element("b", { textContent: value.by }), element("time", { textContent: time }), element("p", { textContent: value.text }));
      return element("li", { className: pending ? "pending" : "" }, avatar, text, element("i", { className: "mark", title: "Not in the base yet" }));
    });
    const isAtEnd = this.#comments.scrollHeight - this.#comments.scrollTop - this.#comments.clientHeight < 40;
    this.#comments.replaceChildren(...(said.length > 0 ? said : [element("li", { className: "none", textContent: "No comments yet" })]));
    if (isAtEnd) this.#comments.scrollTop = this.#comments.scrollHeight;
  }
}
