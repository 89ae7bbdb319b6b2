//! Where everything stands: a lane for each session, a row for each event.

use super::markup::Point;
use crate::report::{DeedKind, Fact, Link, Step, Violation};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// Space around everything.
pub(super) const MARGIN: f64 = 24.0;
/// Space between lanes, where arrows run.
const GUTTER: f64 = 56.0;
/// Space between rows.
const GAP: f64 = 22.0;
const PADDING: f64 = 11.0;
/// Of a monospaced character of 13 px, and of others of 12 px at most.
const MONO: f64 = 7.9;
const SANS: f64 = 6.4;
const FACT_LINE: f64 = 18.0;
/// Longest key shown.
const SHOWN: usize = 24;
/// Most keys shown of one event.
const FACTS: usize = 6;
const LEAST_WIDTH: f64 = 520.0;

/// One line of a box: a key with its value, and its version.
pub(super) struct Line {
    pub(super) what: String,
    pub(super) version: String,
}

/// One event.
pub(super) struct Node {
    pub(super) kind: DeedKind,
    pub(super) shows: bool,
    pub(super) number: String,
    pub(super) words: String,
    pub(super) lines: Vec<Line>,
    lane: usize,
    pub(super) at: Point,
    pub(super) size: Point,
}

/// Why an arrow leads from one box to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Style {
    Session,
    Reads,
    Adopts,
    Later,
    Overwrites,
    /// What should have been seen, and was not.
    Missed,
}

pub(super) struct Arrow {
    pub(super) style: Style,
    pub(super) points: Vec<Point>,
}

pub(super) struct Lane {
    pub(super) name: String,
    pub(super) place: String,
    pub(super) x: f64,
}

pub(super) struct Layout {
    pub(super) size: Point,
    pub(super) explanation: Vec<String>,
    pub(super) lanes: Vec<Lane>,
    /// Where the lines of the lanes begin and end.
    pub(super) span: (f64, f64),
    pub(super) nodes: Vec<Node>,
    pub(super) arrows: Vec<Arrow>,
    /// What stands in the legend, and where.
    pub(super) legend: Vec<(Style, Point)>,
}

impl Layout {
    pub(super) fn new(violation: &Violation) -> Self {
        let (mut nodes, order, mut lanes) = nodes(violation);
        let links = links(violation, &order);
        let rows = rows(&nodes, &links);
        let right = place_lanes(&mut lanes, &nodes, &links);
        let styles: BTreeSet<Style> = links.iter().map(|(_, _, style)| *style).collect();
        let width = right.max(LEAST_WIDTH);
        let explanation = wrapped(&violation.explanation, ((width - 2.0 * MARGIN) / SANS) as usize);
        let top = 58.0 + 18.0 * explanation.len() as f64 + 12.0;
        let mut y = top + 52.0;
        for node in rows {
            let Node { lane, at, size, .. } = &mut nodes[node];
            *at = (lanes[*lane].x - size.0 / 2.0, y);
            y += size.1 + GAP;
        }
        let arrows = arrows(&nodes, &links);
        let (legend, bottom) = legend(&styles, width, y + 26.0);
        Self {
            size: (width, bottom + MARGIN),
            explanation,
            lanes,
            span: (top + 34.0, y),
            nodes,
            arrows,
            legend,
        }
    }
}

/// The boxes, the box of each step, and the lanes.
fn nodes(violation: &Violation) -> (Vec<Node>, Vec<usize>, Vec<Lane>) {
    let (mut nodes, mut order, mut lanes): (Vec<Node>, Vec<usize>, Vec<Lane>) = Default::default();
    let (mut of_event, mut of_lane) = (Vec::new(), Vec::new());
    for step in &violation.steps {
        let known = of_event.iter().position(|event: &Option<u64>| event.is_some() && *event == step.event);
        if let Some(known) = known {
            nodes[known].shows |= step.shows;
            order.push(known);
            continue;
        }
        let whose = (step.session, step.dc);
        let lane = of_lane.iter().position(|lane| *lane == whose).unwrap_or_else(|| {
            let name = step.session.map_or("replica".to_string(), |session| session.to_string());
            lanes.push(Lane { name, place: format!("in {}", step.dc), x: 0.0 });
            of_lane.push(whose);
            of_lane.len() - 1
        });
        order.push(nodes.len());
        of_event.push(step.event);
        nodes.push(node(step, lane));
    }
    (nodes, order, lanes)
}

fn node(step: &Step, lane: usize) -> Node {
    let line = |fact: &Fact| Line {
        what: format!("{} = {}", shortened(&fact.key), fact.value).replace(" = deleted", ""),
        version: fact.version.clone().unwrap_or_default(),
    };
    let mut lines: Vec<Line> = step.facts.iter().take(FACTS).map(line).collect();
    if step.facts.len() > FACTS {
        lines.push(Line { what: "…".into(), version: String::new() });
    }
    let number = step.event.map_or(String::new(), |e| format!("#{e}"));
    let words = step.deed.words.clone();
    let head = SANS * (cells(&number) + cells(&words) + 2) as f64;
    let widest = lines.iter().map(|line| {
        let gap = if line.version.is_empty() { 0.0 } else { 8.0 };
        MONO * (cells(&line.what) + cells(&line.version)) as f64 + gap
    });
    let width = widest.fold(head, f64::max) + 2.0 * PADDING;
    let height = 17.0 + FACT_LINE * lines.len() as f64 + 2.0 * 7.0;
    let (kind, at) = (step.deed.kind, (0.0, 0.0));
    Node { kind, shows: step.shows, number, words, lines, lane, at, size: (width.max(92.0), height) }
}

/// From box to box, and why.
type Links = Vec<(usize, usize, Style)>;

fn links(violation: &Violation, order: &[usize]) -> Links {
    let mut links: Links = Vec::new();
    for (i, step) in violation.steps.iter().enumerate().skip(1) {
        let style = match step.link {
            Link::Beside => continue,
            Link::SessionOrder => Style::Session,
            Link::ReadsFrom => Style::Reads,
            Link::Adopts => Style::Adopts,
            Link::Later | Link::NotYet => Style::Later,
            Link::Overwrites => Style::Overwrites,
        };
        links.push((order[i - 1], order[i], style));
    }
    // A story that leads from a write to where it was missed, by more than one step.
    let whole = violation.steps.iter().skip(1).all(|step| step.link != Link::Beside);
    let ends = (order.first().copied(), order.last().copied());
    let tells = |kind: DeedKind, node: usize| {
        violation.steps[order.iter().position(|n| *n == node).unwrap_or(0)].deed.kind == kind
    };
    if let (true, true, (Some(first), Some(last))) = (whole, order.len() > 2, ends)
        && first != last
        && tells(DeedKind::Write, first)
        && links.iter().all(|(_, _, style)| *style != Style::Overwrites)
    {
        links.push((first, last, Style::Missed));
    }
    links.extend(returned(violation, order));
    links.extend(in_sessions(violation, order));
    links.retain(|(from, to, _)| from != to);
    links.sort_by_key(|(from, to, style)| (*to, *from, *style));
    links.dedup_by_key(|(from, to, _)| (*from, *to));
    links
}

/// Whoever returns what another event of the story wrote, whether or not the story is about that.
fn returned(violation: &Violation, order: &[usize]) -> Links {
    let all = || violation.steps.iter().zip(order);
    let writes = all().filter(|(step, _)| step.deed.kind == DeedKind::Write);
    let same = |a: &Fact, b: &Fact| a.key == b.key && a.value == b.value && a.version == b.version;
    let found = writes.flat_map(|(write, from)| {
        let returns = move |step: &Step| step.facts.iter().any(|f| write.facts.iter().any(|w| same(f, w)));
        let others = all().filter(move |(step, _)| step.deed.kind != DeedKind::Write && returns(step));
        others.map(move |(_, to)| (*from, *to, Style::Reads))
    });
    found.collect()
}

/// The boxes from top to bottom: causes first, the events of a session in its order.
fn rows(nodes: &[Node], links: &Links) -> Vec<usize> {
    let number = |n: usize| nodes[n].number.trim_start_matches('#').parse::<u64>().unwrap_or(u64::MAX);
    let mut left: Vec<usize> = (0..nodes.len()).collect();
    let mut rows = Vec::with_capacity(nodes.len());
    while !left.is_empty() {
        let waits = |n: usize| {
            let earlier = |m: &usize| nodes[*m].lane == nodes[n].lane && number(*m) < number(n);
            let cause = |(from, to, style): &(usize, usize, Style)| {
                *to == n && !matches!(style, Style::Overwrites | Style::Missed) && left.contains(from)
            };
            left.iter().any(earlier) || links.iter().any(cause)
        };
        // In a circle everybody waits: then the first goes first.
        let free =
            (0..left.len()).filter(|place| !waits(left[*place])).min_by_key(|place| number(left[*place]));
        rows.push(left.remove(free.unwrap_or(0)));
    }
    rows
}

/// Places the lanes side by side, and returns where the last one ends.
fn place_lanes(lanes: &mut [Lane], nodes: &[Node], links: &Links) -> f64 {
    let mut x = MARGIN + 18.0;
    for (i, lane) in lanes.iter_mut().enumerate() {
        if i > 0 {
            let here = |link: &&(usize, usize, Style)| {
                let (a, b) = (nodes[link.0].lane, nodes[link.1].lane);
                a != b && link.2 != Style::Missed && i == b + usize::from(a > b)
            };
            x += GUTTER.max(17.0 * (links.iter().filter(here).count() + 1) as f64);
        }
        let header = SANS * (cells(&lane.name) + cells(&lane.place) + 3) as f64;
        let widest = nodes.iter().filter(|n| n.lane == i).map(|n| n.size.0).fold(header, f64::max);
        lane.x = x + widest / 2.0;
        x += widest;
    }
    x + 14.0 + MARGIN
}

fn arrows(nodes: &[Node], links: &Links) -> Vec<Arrow> {
    let gutters: Vec<Option<Gutter>> = links.iter().map(|link| gutter(nodes, link)).collect();
    // How many arrows leave or meet each side of each box, so that they stand apart.
    let mut used: Vec<(usize, bool)> = Vec::new();
    let mut offset = |node: usize, right: bool| {
        let before = used.iter().filter(|u| **u == (node, right)).count();
        used.push((node, right));
        [0.0, 9.0, -9.0, 14.0][before.min(3)]
    };
    let center = |n: &Node| (n.at.0 + n.size.0 / 2.0, n.at.1 + n.size.1 / 2.0);
    let side = |n: &Node, right: bool| if right { n.at.0 + n.size.0 } else { n.at.0 };
    let arrow = |(i, (from, to, style)): (usize, &(usize, usize, Style))| {
        let (a, b) = (&nodes[*from], &nodes[*to]);
        let Some(gutter) = gutters[i] else {
            let x = center(a).0;
            return Arrow { style: *style, points: vec![(x, a.at.1 + a.size.1), (x, b.at.1 - 2.0)] };
        };
        // Sideways out of the one, down (or up) between the lanes, sideways into the other.
        let x = place_in(nodes, &gutters, i, gutter);
        let (out_right, in_right) = (x > center(a).0, x > center(b).0);
        let (ya, yb) = (center(a).1 + offset(*from, out_right), center(b).1 + offset(*to, in_right));
        let (xa, xb) = (side(a, out_right), side(b, in_right));
        let tip = if in_right { xb + 2.0 } else { xb - 2.0 };
        Arrow { style: *style, points: vec![(xa, ya), (x, ya), (x, yb), (tip, yb)] }
    };
    links.iter().enumerate().map(arrow).collect()
}

/// The space to the left of this lane.
type Gutter = usize;

/// Where an arrow goes down. None if it goes straight along its lane.
fn gutter(nodes: &[Node], (from, to, style): &(usize, usize, Style)) -> Option<Gutter> {
    let (a, b) = (&nodes[*from], &nodes[*to]);
    match a.lane.cmp(&b.lane) {
        // Round everything: in the last row nothing is in its way.
        _ if *style == Style::Missed => Some(0),
        Ordering::Equal if a.at.1 < b.at.1 && *style != Style::Overwrites => None,
        Ordering::Equal | Ordering::Less => Some(b.lane),
        Ordering::Greater => Some(b.lane + 1),
    }
}

/// The arrows of a gutter share its width.
fn place_in(nodes: &[Node], gutters: &[Option<Gutter>], arrow: usize, gutter: Gutter) -> f64 {
    let of_lane = |lane: usize| nodes.iter().filter(move |n| n.lane == lane);
    let left = of_lane(gutter.wrapping_sub(1)).map(|n| n.at.0 + n.size.0).fold(0.0, f64::max);
    let right = of_lane(gutter).map(|n| n.at.0).fold(f64::INFINITY, f64::min);
    let right = if right.is_finite() { right } else { left + GUTTER };
    let left = if gutter == 0 { right - 28.0 } else { left };
    let all = gutters.iter().filter(|g| **g == Some(gutter)).count();
    let before = gutters[..arrow].iter().filter(|g| **g == Some(gutter)).count();
    left + (right - left) * (before + 1) as f64 / (all + 1) as f64
}

/// Each event of a session after the one before it in the picture.
fn in_sessions(violation: &Violation, order: &[usize]) -> Links {
    let mut all: Vec<(u64, u64, usize)> = violation
        .steps
        .iter()
        .zip(order)
        .filter_map(|(step, node)| Some((step.session?.0, step.event?, *node)))
        .collect();
    all.sort_unstable();
    all.dedup();
    let pairs = all.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    pairs.map(|pair| (pair[0].2, pair[1].2, Style::Session)).collect()
}

impl Style {
    /// What it means.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Session => "later in the same session",
            Self::Reads => "returns what was written",
            Self::Adopts => "adopts its past",
            Self::Later => "started after the acknowledgement",
            Self::Overwrites => "must win over it",
            Self::Missed => "was in its past, and missed",
        }
    }
}

/// How much of a legend's entry is its sample.
pub(super) const SAMPLE: f64 = 34.0;

/// The places of the legend's entries, in as many rows as it takes, and where it ends.
fn legend(styles: &BTreeSet<Style>, width: f64, y: f64) -> (Vec<(Style, Point)>, f64) {
    let (mut x, mut y) = (MARGIN, y);
    let mut placed = Vec::new();
    for style in styles {
        let size = SAMPLE + 8.0 + SANS * cells(style.words()) as f64 + 18.0;
        if x > MARGIN && x + size > width - MARGIN + 18.0 {
            (x, y) = (MARGIN, y + 20.0);
        }
        placed.push((*style, (x, y)));
        x += size;
    }
    (placed, y)
}

/// A long key without its middle: keys differ in their ends.
fn shortened(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= SHOWN {
        return text.into();
    }
    let (head, tail) = (&chars[..SHOWN / 2], &chars[chars.len() - SHOWN / 2 + 1..]);
    head.iter().chain(&['…']).chain(tail).collect()
}

/// How many cells of a monospaced font the text takes.
fn cells(text: &str) -> usize {
    text.chars().map(|c| if matches!(c as u32, 0..0x1100 | 0x2000..=0x206f) { 1 } else { 2 }).sum()
}

/// Text in lines of at most `cells` cells; a longer word is cut.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always one");
        if !line.is_empty() && cells(line) + 1 + cells(word) > most {
            lines.push(String::new());
        }
        let line = lines.last_mut().expect("there is always one");
        if !line.is_empty() {
            line.push(' ');
        }
        for c in word.chars() {
            if cells(lines.last().expect("there is always one")) >= most {
                lines.push(String::new());
            }
            lines.last_mut().expect("there is always one").push(c);
        }
    }
    lines
}
