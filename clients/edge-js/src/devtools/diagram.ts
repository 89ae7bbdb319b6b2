// The space-time view: time runs to the right, and a transaction goes down from the client, through its region, into the base.

import { svg } from "./dom.js";
import type { Span, Timeline } from "./timeline.js";

const RIGHT = 12;
const LANES = { client: 34, region: 92, base: 150 };
const HEIGHT = 190;
const SPANS_MAX = 300;

/** Draws the time from `from` to `to` in so many pixels. */
export function draw(timeline: Timeline, from: number, to: number, width: number): SVGSVGElement {
  const [left, right] = [width < 600 ? 92 : 132, width - RIGHT];
  const x = (at: number) => left + ((Math.max(from, Math.min(to, at)) - from) / (to - from)) * (right - left);
  const root = svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-label": "Own transactions in time: this client, its region, the base" });
  root.append(...axis(from, to, width < 600, x), ...regions(timeline, to, x));
  const { last } = timeline;
  label(root, LANES.client, "this client", "its log");
  label(root, LANES.region, "its region", last?.status.region === undefined ? "none" : last.status.region);
  label(root, LANES.base, "the base", last ? `${last.K}${last.regions ? ` of ${last.regions}` : ""} regions` : "");
  for (const y of [LANES.client, LANES.base]) root.append(svg("path", { class: "lane", d: `M${left} ${y}H${right}` }));
  for (const at of timeline.bases) if (at >= from) root.append(svg("path", { class: "tick", d: `M${x(at)} ${LANES.base - 5}v10` }));
  for (const span of timeline.spans.slice(-SPANS_MAX)) if ((span.ended ?? to) >= from) root.append(...path(span, to, x));
  return root;
}

function label(root: SVGElement, y: number, name: string, more: string): void {
  root.append(svg("text", { class: "name", x: 12, y: y - 2 }, name), svg("text", { class: "more", x: 12, y: y + 14 }, more));
}

function* axis(from: number, to: number, isNarrow: boolean, x: (at: number) => number): Iterable<SVGElement> {
  const step = (to - from > 40_000 ? 10_000 : to - from > 15_000 ? 5000 : 1000) * (isNarrow ? 2 : 1);
  for (let ago = 0; to - ago >= from; ago += step) {
    const at = x(to - ago);
    yield svg("path", { class: "grid", d: `M${at} 14V${HEIGHT - 20}` });
    yield svg("text", { class: "time", x: at, y: HEIGHT - 6, "text-anchor": ago === 0 ? "end" : "middle" }, ago === 0 ? "now" : `−${ago / 1000} s`);
  }
}

/** Where the client was connected, and how that went. */
function* regions(timeline: Timeline, to: number, x: (at: number) => number): Iterable<SVGElement> {
  for (const [i, { at, phase, region }] of timeline.turns.entries()) {
    const [start, end] = [x(at), x(timeline.turns[i + 1]?.at ?? to)];
    if (end - start < 0.5) continue;
    yield svg("path", { class: `link ${phase}`, d: `M${start} ${LANES.region}H${end}` }, svg("title", {}, region === undefined ? phase : `${phase}, region ${region}`));
    if (end - start > 46) yield svg("text", { class: "phase", x: start + 6, y: LANES.region - 10 }, region === undefined ? phase : phase === "live" ? region : `${region}, ${phase}`);
  }
}

/** A transaction: where it is now it waits, to the right. */
function path(span: Span, to: number, x: (at: number) => number): SVGElement[] {
  const points: [number, number][] = [[x(span.committed), LANES.client]];
  if (span.accepted !== undefined) points.push([x(span.accepted), LANES.region]);
  const isOver = span.ended !== undefined;
  if (span.stage === "base") points.push([x(span.ended!), LANES.base]);
  const group = svg("g", { class: `span ${span.stage}` }, svg("title", {}, `${span.k}: ${span.stage}\n${span.ops.join("\n")}`));
  if (points.length > 1) group.append(svg("path", { class: "way", d: `M${points.map((point) => point.join(" ")).join("L")}` }));
  const [atX, atY] = points.at(-1)!;
  if (!isOver && x(to) > atX) group.append(svg("path", { class: "waits", d: `M${atX} ${atY}H${x(to)}` }));
  for (const [cx, cy] of points) group.append(svg("circle", { cx, cy, r: 3.5 }));
  if (span.stage === "gone") group.append(svg("path", { class: "cross", d: `M${x(span.ended!) - 4} ${LANES.client - 4}l8 8m0 -8l-8 8` }));
  return [group];
}
