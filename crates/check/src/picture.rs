//! A violation as a space-time picture: a line for each session, time running down, each event a box, and between
//! them the arrows that make one follow from another. Where the violation shows, the box is red.
//!
//! A pure function from a violation's story to the text of an SVG. Every event has a row of its own, so that nothing
//! overlaps: an arrow leaves its box sideways, goes down between the lines, and meets its target in a row that holds
//! no other box. Colours follow the reader's preference for light or dark.

use crate::report::{DeedKind, Violation};

mod layout;
pub(crate) mod markup;
use layout::{Layout, MARGIN, Node, SAMPLE, Style};
use markup::Markup;

/// The picture of a violation, as an SVG document.
pub fn svg(violation: &Violation) -> String {
    let layout = Layout::new(violation);
    let (width, height) = layout.size;
    let mut markup = Markup::new(layout.size, STYLE);
    markup.title(&format!("{}: {}", violation.property, violation.explanation));
    markup.raw(&heads());
    markup.rect("card", (0.5, 0.5), (width - 1.0, height - 1.0), 12.0);
    markup.words("heading", (MARGIN, 34.0), &[("", violation.property.name()), ("violated", "violated")]);
    for (n, line) in layout.explanation.iter().enumerate() {
        markup.words("told", (MARGIN, 58.0 + 18.0 * n as f64), &[("", line)]);
    }
    let (top, bottom) = layout.span;
    for lane in &layout.lanes {
        markup.path("lane", &[(lane.x, top), (lane.x, bottom)], Some("head-lane"));
        markup.words("owner", (lane.x, top - 10.0), &[("who", &lane.name), ("where", &lane.place)]);
    }
    for arrow in &layout.arrows {
        line(&mut markup, arrow.style, &arrow.points);
    }
    layout.nodes.iter().for_each(|node| event(&mut markup, node));
    for (style, (x, y)) in &layout.legend {
        line(&mut markup, *style, &[(*x, y - 4.0), (x + SAMPLE, y - 4.0)]);
        markup.words("legend", (x + SAMPLE + 8.0, *y), &[("", style.words())]);
    }
    markup.finish()
}

fn event(markup: &mut Markup, node: &Node) {
    let kind = match node.kind {
        DeedKind::Write => "write",
        DeedKind::Read => "read",
        DeedKind::Adopt => "adopt",
        DeedKind::LastWord => "last",
    };
    let class = if node.shows { format!("event {kind} shows") } else { format!("event {kind}") };
    markup.rect(&class, node.at, node.size, 6.0);
    let (x, mut y) = (node.at.0 + 11.0, node.at.1 + 19.0);
    markup.words("deed", (x, y), &[("number", &node.number), ("", &node.words)]);
    for line in &node.lines {
        y += 18.0;
        markup.words("fact", (x, y), &[("", &line.what), ("version", &line.version)]);
    }
}

fn line(markup: &mut Markup, style: Style, points: &[markup::Point]) {
    let name = name(style);
    markup.path(&format!("arrow {name}"), points, Some(&format!("head-{name}")));
}

fn name(style: Style) -> &'static str {
    match style {
        Style::Session => "session",
        Style::Reads => "reads",
        Style::Adopts => "adopts",
        Style::Later => "later",
        Style::Overwrites => "overwrites",
        Style::Missed => "missed",
    }
}

/// Arrow heads, one of each colour.
fn heads() -> String {
    let all = [Style::Session, Style::Reads, Style::Adopts, Style::Later, Style::Overwrites, Style::Missed];
    let mut defs = String::from("<defs>\n");
    for head in all.map(name).into_iter().chain(["lane"]) {
        defs.push_str(&format!(
            "<marker id=\"head-{head}\" class=\"head {head}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" \
             markerWidth=\"9\" markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">\
             <path d=\"M0 0.8 L10 5 L0 9.2 Z\"/></marker>\n"
        ));
    }
    defs + "</defs>\n"
}

/// Light, and dark for those who prefer it.
const STYLE: &str = "\
text { font: 12px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; fill: #1f2328; }
.fact { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; }
.heading { font-size: 17px; font-weight: 600; }
.violated { fill: #cf222e; }
.owner { text-anchor: middle; }
.who { font-weight: 600; font-size: 14px; }
.where, .deed, .version, .legend, .told { fill: #59636e; }
.number { font-weight: 600; }
.card { fill: #ffffff; stroke: #d1d9e0; }
.lane { fill: none; stroke: #c4ccd4; stroke-width: 1.2; stroke-dasharray: 2 4; }
.event { stroke-width: 1.3; }
.write { fill: #fff4e0; stroke: #bf8700; }
.read { fill: #e7f2ff; stroke: #4493f8; }
.adopt, .last { fill: #f0f1f3; stroke: #818b98; }
.shows { fill: #ffe3e1; stroke: #cf222e; stroke-width: 2.4; }
.arrow { fill: none; stroke-width: 1.8; }
.arrow.session { stroke: #59636e; }
.arrow.reads { stroke: #0969da; }
.arrow.adopts { stroke: #1a7f37; }
.arrow.later { stroke: #8250df; stroke-dasharray: 6 4; }
.arrow.overwrites, .arrow.missed { stroke: #cf222e; stroke-dasharray: 6 4; }
.head.session { fill: #59636e; }
.head.reads { fill: #0969da; }
.head.adopts { fill: #1a7f37; }
.head.later { fill: #8250df; }
.head.overwrites, .head.missed { fill: #cf222e; }
.head.lane { fill: #c4ccd4; stroke: none; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; }
.violated { fill: #ff7b72; }
.where, .deed, .version, .legend, .told { fill: #a5aeb8; }
.card { fill: #0d1117; stroke: #30363d; }
.lane { stroke: #484f58; }
.write { fill: #2b2111; stroke: #d29922; }
.read { fill: #0f2440; stroke: #4493f8; }
.adopt, .last { fill: #1c2128; stroke: #818b98; }
.shows { fill: #3d1416; stroke: #ff7b72; }
.arrow.session { stroke: #a5aeb8; }
.arrow.reads { stroke: #58a6ff; }
.arrow.adopts { stroke: #3fb950; }
.arrow.later { stroke: #bc8cff; }
.arrow.overwrites, .arrow.missed { stroke: #ff7b72; }
.head.session { fill: #a5aeb8; }
.head.reads { fill: #58a6ff; }
.head.adopts { fill: #3fb950; }
.head.later { fill: #bc8cff; }
.head.overwrites, .head.missed { fill: #ff7b72; }
.head.lane { fill: #484f58; }
}
";
