// The page: which client this window is, the connection's controls, and the board.

import { type Db, type Status, open } from "@tidemark/edge";
import { devtools } from "@tidemark/edge/devtools";
import { Board, type Model } from "./board.js";
import { CardDialog } from "./dialog.js";
import { Columns } from "./columns.js";
import { color, element } from "./dom.js";

const NAMES = ["Ada", "Bo", "Cleo", "Dev", "Edda", "Finn", "Gao", "Hana", "Ines", "Jo", "Kai", "Lea"];
const WORDS: Record<Status["phase"], string> = { live: "Live", behind: "Behind", offline: "Offline", connecting: "Connecting" };

declare global {
  interface Window {
    /** For tests. */
    db: Db;
    board: Board;
    model: Model | undefined;
    views: number;
    orphans: number;
  }
}

const asked = new URLSearchParams(location.search);
const endpoints = document.documentElement.dataset.endpoints!.split(" ");
const first = Math.min(Math.max(Number(asked.get("region") ?? 0) || 0, 0), endpoints.length - 1);
// Windows with the same seat are one client, as tabs are: so a window keeps its seat when it goes to another region.
const seat = kept(sessionStorage, "seat", () => String(first));
const me = kept(localStorage, `me/${seat}`, () => NAMES[(Number(seat) * 4 + Math.floor(Math.random() * 4)) % NAMES.length]);

function kept(storage: Storage, name: string, fresh: () => string): string {
  const value = storage.getItem(name) ?? fresh();
  storage.setItem(name, value);
  return value;
}

const $ = <E extends HTMLElement>(id: string) => document.getElementById(id) as E;

const db = await open({ name: `board-${seat}`, endpoints, k: Math.min(2, endpoints.length) });
const board = new Board(db, asked.get("board") ?? "demo", me);
const dialog = new CardDialog($<HTMLDialogElement>("card"), board);
const columns = new Columns($("columns"), board, (id) => dialog.open(id));

let wanted = first;
let joined = false;

const buttons = endpoints.map((_, m) => {
  const button = element("button", { textContent: String.fromCharCode(65 + m), title: `Connect to region ${String.fromCharCode(65 + m)}` });
  button.onclick = () => {
    wanted = m;
    db.prefer(m);
    asked.set("region", String(m));
    history.replaceState(null, "", `?${asked}`);
    showStatus();
  };
  $("regions").append(button);
  return button;
});
if (first !== 0) db.prefer(first);

const cut = $<HTMLInputElement>("cut");
cut.onchange = () => {
  if (cut.checked) db.disconnect();
  else db.connect();
  showStatus();
};

$("cheer").onclick = () => {
  board.cheer();
  const clap = element("i", { className: "heart clap" });
  clap.style.setProperty("--drift", `${Math.round(Math.random() * 60 - 30)}px`);
  clap.onanimationend = () => clap.remove();
  $("cheer").append(clap);
};

let panel: ReturnType<typeof devtools> | undefined;
$("tools").onclick = () => {
  if (panel) {
    panel.close();
    panel = undefined;
  } else {
    panel = devtools(db);
    $("devtools").append(panel.element);
  }
  $("devtools").hidden = !panel;
  $("tools").setAttribute("aria-pressed", String(panel !== undefined));
};

const theme = kept(localStorage, "theme", () => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
document.documentElement.dataset.theme = theme;
$("theme").onclick = () => {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  localStorage.setItem("theme", next);
};

function showStatus(): void {
  const { status } = db;
  const { phase, region, unsent, pending } = status;
  const parts = [];
  if (region) parts.push(`region ${region.toUpperCase()}`);
  if (unsent > 0) parts.push(`${unsent} unsent`);
  else if (pending > 0) parts.push(`${pending} on the way`);
  const box = $("status");
  box.dataset.phase = phase;
  document.body.classList.toggle("cut", cut.checked);
  box.querySelector("b")!.textContent = cut.checked ? "Cut off" : WORDS[phase];
  box.querySelector("span")!.textContent = parts.join(" · ");
  const at = region ? region.toUpperCase().charCodeAt(0) - 65 : undefined;
  for (const [m, button] of buttons.entries()) {
    button.setAttribute("aria-pressed", String(m === (at ?? wanted)));
    button.classList.toggle("there", m === at);
  }
}

function show(model: Model): void {
  window.model = model;
  window.views++;
  window.orphans += model.orphans;
  $("loading").hidden = true;
  columns.show(model);
  dialog.show(model);
  const cheers = $("cheer");
  cheers.querySelector("b")!.textContent = String(model.cheers);
  cheers.classList.toggle("pending", model.cheersPending);
  $("people").replaceChildren(
    ...model.people.slice(0, 8).map((name) => {
      const avatar = element("span", { textContent: name[0], title: name === me ? `${name} (you)` : name, className: name === me ? "avatar me" : "avatar" });
      avatar.style.background = color(name);
      return avatar;
    }),
  );
  if (joined) return;
  joined = true;
  board.join();
}

Object.assign(window, { db, board });
window.views = window.orphans = 0;
db.on("status", showStatus);
db.onRefused(({ text }) => console.warn("refused:", text));
showStatus();
board.subscribe(show);
// Until here a click would have been lost.
document.querySelector("header")!.inert = false;
