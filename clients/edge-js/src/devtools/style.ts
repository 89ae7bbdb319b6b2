// Colours follow `color-scheme` of the page.

export const STYLE = `
:host {
  --back: light-dark(#ffffff, #171e22); --face: light-dark(#f4f6f6, #1f282d); --line: light-dark(#d9dfdf, #334047);
  --text: light-dark(#17211f, #e6eded); --soft: light-dark(#5c6967, #97a6a7);
  --stored: light-dark(#b45309, #f0ad4e); --sent: light-dark(#7c3aed, #b794f6); --accepted: light-dark(#1d6fd1, #6cb2ff); --base: light-dark(#0d7d74, #35b7a9); --gone: light-dark(#c23b3b, #f07a75);
  display: block; color: var(--text); background: var(--back); font: 13px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; font-variant-numeric: tabular-nums;
}
* { box-sizing: border-box; }
.top { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 20px; padding: 10px 14px; border-bottom: 1px solid var(--line); }
.top b { font-weight: 620; }
.top .fact { white-space: nowrap; }
.top .fact span, .none { color: var(--soft); }
.legend { display: flex; gap: 6px; margin-left: auto; }
.top button { padding: 3px 12px; border: 1px solid var(--line); border-radius: 12px; background: var(--face); color: inherit; font: inherit; cursor: pointer; }
.dot { display: inline-block; width: 9px; height: 9px; margin-right: 6px; border-radius: 50%; background: var(--soft); }
.dot.live { background: var(--base); } .dot.behind { background: var(--stored); } .dot.offline { background: var(--gone); }
.diagram { padding: 4px 0; border-bottom: 1px solid var(--line); background: var(--face); }
.diagram svg { display: block; }
.lower { display: grid; grid-template-columns: minmax(340px, 1fr) 2fr; }
.lower > div { min-width: 0; padding: 10px 14px; }
.lower > div + div { border-left: 1px solid var(--line); }
@media (max-width: 720px) {
  .lower { grid-template-columns: 1fr; }
  .lower > div + div { border-left: 0; border-top: 1px solid var(--line); }
}
h3 { margin: 0 0 6px; font-size: 12px; font-weight: 620; color: var(--soft); }
table { width: 100%; border-collapse: collapse; }
td { padding: 3px 12px 3px 0; vertical-align: top; white-space: nowrap; }
td:last-child { width: 100%; padding-right: 0; white-space: normal; overflow-wrap: anywhere; }
td.number { text-align: right; }
th { padding: 0 12px 2px 0; font-weight: 400; font-size: 12px; color: var(--soft); text-align: left; white-space: nowrap; }
.scroll { max-height: 190px; overflow: auto; }
.chip { display: inline-block; padding: 0 8px; border-radius: 9px; border: 1px solid currentColor; font-size: 12px; }
.chip.storing, .chip.stored { color: var(--stored); } .chip.sent { color: var(--sent); } .chip.accepted { color: var(--accepted); } .chip.base { color: var(--base); } .chip.gone { color: var(--gone); }
.bar { height: 5px; min-width: 40px; margin-top: 7px; border-radius: 3px; background: var(--line); overflow: hidden; }
.bar i { display: block; height: 100%; background: var(--base); }
.bar i.late { background: var(--stored); }
.has { color: var(--base); } .lacks { color: var(--soft); }
svg text { fill: var(--text); font-size: 12px; }
svg .more, svg .time, svg .phase { fill: var(--soft); font-size: 11px; }
svg .name { font-weight: 600; }
svg .grid { stroke: var(--line); stroke-width: 1; opacity: 0.6; }
svg .lane { stroke: var(--line); stroke-width: 2; }
svg .tick { stroke: var(--base); stroke-width: 1.5; opacity: 0.55; }
svg .link { stroke-width: 6; stroke-linecap: butt; opacity: 0.4; stroke: var(--soft); }
svg .link.live { stroke: var(--base); } svg .link.behind { stroke: var(--stored); } svg .link.offline, svg .link.connecting { stroke: var(--gone); stroke-width: 2; stroke-dasharray: 4 4; opacity: 0.8; }
svg .span { color: var(--stored); } svg .span.sent { color: var(--sent); } svg .span.accepted { color: var(--accepted); } svg .span.base { color: var(--base); } svg .span.gone { color: var(--gone); }
svg .span path { stroke: currentColor; stroke-width: 1.6; fill: none; } svg .span circle { fill: currentColor; stroke: var(--face); }
svg .span .waits { stroke-dasharray: 2 4; }
svg .span:hover path { stroke-width: 3; }
`;
