// A panel that shows what a client is doing: which of its transactions wait for what, and which base it shows.

import { type Inspection } from "../core/client.js";
import { micros } from "../core/codec.js";
import type { Db } from "../db.js";
import { draw } from "./diagram.js";
import { html } from "./dom.js";
import { STYLE } from "./style.js";
import { type Span, Timeline } from "./timeline.js";

export interface DevtoolsOptions {
  /** How much time the diagram shows, in seconds; default 20. */
  readonly seconds?: number;
}

const EVERY_MS = 100;
const ROWS_MAX = 200;
/** A region whose part of the base is older than that is late. */
const LATE_MS = 2000;

/** The panel: put `element` anywhere in the page, and call `close` when it is not needed any more. */
export function devtools(db: Db, { seconds = 20 }: DevtoolsOptions = {}): { readonly element: HTMLElement; close(): void } {
  const panel = new Panel(db, seconds * 1000);
  return { element: panel.element, close: () => panel.close() };
}

class Panel {
  readonly element = html("div");
  readonly #db: Db;
  readonly #windowMs: number;
  readonly #timeline: Timeline;
  readonly #top = html("div", { class: "facts", style: "display: contents" });
  readonly #diagram = html("div", { class: "diagram" });
  readonly #regions = html("div", { class: "regions" });
  readonly #pending = html("div", { class: "scroll" });
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #endStatus: () => void;
  #asking = false;
  #isPaused = false;

  constructor(db: Db, windowMs: number) {
    this.#db = db;
    this.#windowMs = windowMs;
    this.#timeline = new Timeline(windowMs);
    const pause = html("button", { type: "button" }, "Pause");
    pause.onclick = () => {
      this.#isPaused = !this.#isPaused;
      pause.textContent = this.#isPaused ? "Go on" : "Pause";
    };
    const legend = html("span", { class: "legend" }, ...["stored", "sent", "accepted", "base"].map((stage) => html("span", { class: `chip ${stage}` }, stage === "base" ? "in the base" : stage)));
    const lower = html("div", { class: "lower" }, html("div", {}, html("h3", {}, "The base, which is the past that is shown"), this.#regions), html("div", {}, html("h3", {}, "Own transactions that are not in the base"), this.#pending));
    this.element.attachShadow({ mode: "open" }).append(html("style", {}, STYLE), html("div", { class: "top" }, this.#top, legend, pause), this.#diagram, lower);
    this.#timer = setInterval(() => this.#ask(), EVERY_MS);
    // Each commit and each answer of a region is told: so that no moment is missed.
    this.#endStatus = db.on("status", () => this.#ask());
    this.#ask();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#endStatus();
    this.element.remove();
  }

  #ask(): void {
    if (this.#asking) return this.#show();
    this.#asking = true;
    const told = this.#db.inspect();
    told.then((inspection) => this.#timeline.add(inspection, performance.now())).then(
      () => this.#answered(),
      () => this.#answered(),
    );
  }

  #answered(): void {
    this.#asking = false;
    this.#show();
  }

  #show(): void {
    const { last } = this.#timeline;
    if (this.#isPaused || !last || !this.element.isConnected) return;
    const now = performance.now();
    this.#top.replaceChildren(...facts(last, this.#db.leading));
    this.#diagram.replaceChildren(draw(this.#timeline, now - this.#windowMs, now, Math.max(300, this.#diagram.clientWidth)));
    this.#regions.replaceChildren(regionsOf(last, this.#timeline.names));
    this.#pending.replaceChildren(pendingOf(this.#timeline.pending, now));
  }
}

function facts({ status, K, have }: Inspection, leading: boolean): HTMLElement[] {
  const { phase, region, unsent, pending, lost } = status;
  const fact = (name: string, value: string) => html("span", { class: "fact" }, html("span", {}, `${name} `), html("b", {}, value));
  const all = [html("span", { class: "fact" }, html("i", { class: `dot ${phase}` }), html("b", {}, phase))];
  if (region !== undefined) all.push(fact("region", region));
  all.push(fact("unsent", String(unsent)), fact("pending", String(pending)), fact("K", String(K)));
  if (have !== undefined) all.push(fact("the base is in", `${bits(have)} regions`));
  if (lost) all.push(fact("lost", "this region lacks own transactions: too many regions were lost"));
  all.push(fact("this tab", leading ? "leads" : "follows"));
  return all;
}

function bits(mask: bigint): number {
  return mask.toString(2).replaceAll("0", "").length;
}

function regionsOf({ base, have, serverUs, region, regions }: Inspection, names: ReadonlyMap<number, string>): HTMLElement {
  const count = Math.max(base.length, regions ?? 0);
  if (count === 0) return html("p", { class: "none" }, "none yet");
  const rows = Array.from({ length: count }, (_, m) => {
    const at = base[m] ?? 0n;
    const ageMs = at === 0n || serverUs === 0 ? undefined : Math.max(0, (serverUs - micros(at)) / 1000);
    const bar = html("i", { class: ageMs !== undefined && ageMs > LATE_MS ? "late" : "", style: `width: ${ageMs === undefined ? 0 : Math.min(100, (ageMs / 5000) * 100)}%` });
    const name = `${names.get(m) ?? `#${m}`}${m === region ? " ←" : ""}`;
    const has = have === undefined ? "–" : (have >> BigInt(m)) & 1n ? "yes" : "not known";
    return html("tr", {}, html("td", {}, name), html("td", { class: has === "yes" ? "has" : "lacks" }, has), html("td", { class: "number" }, ageMs === undefined ? "–" : `${seconds(ageMs)} ago`), html("td", {}, html("div", { class: "bar" }, bar)));
  });
  const head = ["region", "has it whole", "it has all until", ""].map((name) => html("th", {}, name));
  return html("table", {}, html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...rows));
}

function pendingOf(pending: readonly Span[], now: number): HTMLElement {
  if (pending.length === 0) return html("p", { class: "none" }, "none: all that was committed is in the base");
  const rows = pending.slice(0, ROWS_MAX).map(({ k, stage, committed, ops, tab }) =>
    html("tr", {}, html("td", { class: "number" }, String(k)), html("td", {}, html("span", { class: `chip ${stage}` }, stage)), html("td", { class: "number" }, seconds(now - committed)), html("td", {}, ops.join("; "), ...(tab === undefined ? [] : [html("span", { class: "none" }, " (another tab)")]))),
  );
  if (pending.length > ROWS_MAX) rows.push(html("tr", {}, html("td", {}, `and ${pending.length - ROWS_MAX} more`)));
  return html("table", {}, ...rows);
}

function seconds(ms: number): string {
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : ms < 120_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;
}
