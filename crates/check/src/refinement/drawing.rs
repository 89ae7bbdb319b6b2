//! The map as an SVG document: boxes for models, the strongest on top, and a line down to each model that one implies
//! directly. Whatever stands at a model is written into its box.
//!
//! A pure function, like the pictures of violations. Colours follow the reader's preference for light or dark.

use super::layout::Layout;
use super::{Map, Model};
use crate::picture::markup::{Markup, Point};

/// Something that stands at a model: a store, a protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its name.
    pub name: String,
    /// Whether it is written in bold.
    pub marked: bool,
}

/// Between the drawing and its edge.
const MARGIN: f64 = 22.0;
/// Between a row and the next one, where only lines are.
const AISLE: f64 = 46.0;
/// How wide a letter is, of names and of what stands there.
const LETTER: (f64, f64) = (7.8, 6.4);
/// How high a line is, of names and of what stands there.
const LINE: (f64, f64) = (30.0, 16.0);
/// The most letters in a line of what stands at a model.
const MOST: usize = 44;
/// What is above the drawing.
const HEAD: f64 = 60.0;
/// What is below it.
const FOOT: f64 = 40.0;

/// A model's box.
struct Frame {
    /// What stands at the model, with whether the line is marked.
    lines: Vec<(String, bool)>,
    size: Point,
}

impl Map {
    /// The drawing. `standing` says what stands at each model, by its place in [`Self::models`].
    pub fn svg(&self, standing: &[Vec<Standing>]) -> String {
        let nothing: &[Standing] = &[];
        let at = |model: usize| standing.get(model).map_or(nothing, Vec::as_slice);
        let frames: Vec<Frame> =
            self.models().iter().enumerate().map(|(m, model)| frame(model, at(m))).collect();
        let widths: Vec<f64> = frames.iter().map(|frame| frame.size.0).collect();
        let layout = Layout::new(self, &widths);
        let tops = self.tops(&frames);
        let (left, right) = layout.span();
        let shift = MARGIN - left;
        let size = (right - left + 2.0 * MARGIN, tops[0].1 + FOOT);
        let mut markup = Markup::new(size, STYLE);
        markup.title("Consistency models, the strongest on top; lines lead down to what a model implies");
        markup.raw(ARROW);
        markup.rect("card", (0.5, 0.5), (size.0 - 1.0, size.1 - 1.0), 12.0);
        markup.words("heading", (MARGIN, 34.0), &[("", "Consistency models"), ("legend", SAID)]);
        for (stronger, line) in layout.lines() {
            let from = tops[self.level(stronger)].0 + frames[stronger].size.1;
            markup.path("line", &points(from, &line, &tops, shift), Some("arrow"));
        }
        for (m, frame) in frames.iter().enumerate() {
            let (top, _) = tops[self.level(m)];
            draw(&mut markup, &self.models()[m], frame, (layout.x(m) + shift - frame.size.0 / 2.0, top));
        }
        legend(&mut markup, size.1 - 16.0);
        markup.finish()
    }

    /// Of each level, where its row begins and ends, from the top.
    fn tops(&self, frames: &[Frame]) -> Vec<(f64, f64)> {
        let levels = (0..frames.len()).map(|m| self.level(m) + 1).max().unwrap_or(0);
        let (mut tops, mut y) = (vec![(0.0, 0.0); levels], HEAD);
        for level in (0..levels).rev() {
            let here = (0..frames.len()).filter(|m| self.level(*m) == level);
            let height = here.map(|m| frames[m].size.1).fold(0.0, f64::max);
            tops[level] = (y, y + height);
            y += height + AISLE;
        }
        tops
    }
}

/// What is marked has a line of its own.
fn frame(model: &Model, standing: &[Standing]) -> Frame {
    let mut lines: Vec<(String, bool)> = Vec::new();
    let letters = |text: &str| text.chars().count();
    for one in standing {
        let fits = |line: &&mut (String, bool)| {
            !line.1 && !one.marked && letters(&line.0) + 2 + letters(&one.name) <= MOST
        };
        match lines.last_mut().filter(fits) {
            Some((line, _)) => *line = format!("{line}, {}", one.name),
            None => lines.push((one.name.clone(), one.marked)),
        }
    }
    let longest = lines.iter().map(|(line, _)| letters(line) as f64 * LETTER.1).fold(0.0, f64::max);
    let width = longest.max(letters(&model.name) as f64 * LETTER.0) + 20.0;
    let more = if lines.is_empty() { 0.0 } else { 6.0 + LINE.1 * lines.len() as f64 };
    Frame { size: (width, LINE.0 + more), lines }
}

fn draw(markup: &mut Markup, model: &Model, frame: &Frame, at: Point) {
    let class = if model.promise.is_some() { "model promise" } else { "model guarantee" };
    markup.rect(class, at, frame.size, 6.0);
    let middle = at.0 + frame.size.0 / 2.0;
    markup.words("name", (middle, at.1 + 20.0), &[("", &model.name)]);
    for (n, (line, marked)) in frame.lines.iter().enumerate() {
        let class = if *marked { "standing marked" } else { "standing" };
        markup.words(class, (middle, at.1 + LINE.0 + 9.0 + LINE.1 * n as f64), &[("", line)]);
    }
}

/// A line from the stronger model's box, which ends at `from`, down to the top of the weaker one's row; straight through
/// the rows between.
fn points(from: f64, line: &[(usize, f64)], tops: &[(f64, f64)], shift: f64) -> Vec<Point> {
    let mut points = Vec::new();
    for (n, (level, x)) in line.iter().enumerate() {
        let (top, bottom) = tops[*level];
        if n > 0 {
            points.push((x + shift, if n + 1 == line.len() { top - 2.0 } else { top }));
        }
        if n + 1 < line.len() {
            points.push((x + shift, if n == 0 { from } else { bottom }));
        }
    }
    points
}

const SAID: &str = "a line leads down to what a model implies; no other model is implied";

fn legend(markup: &mut Markup, y: f64) {
    let entries = [
        ("model promise", "a model that a protocol can declare (--promise)"),
        ("model guarantee", "a single guarantee, well formed and convergent (--guarantee)"),
    ];
    let mut x = MARGIN;
    for (class, words) in entries {
        markup.rect(class, (x, y - 11.0), (22.0, 14.0), 4.0);
        markup.words("legend", (x + 30.0, y), &[("", words)]);
        x += 60.0 + LETTER.1 * words.chars().count() as f64;
    }
}

const ARROW: &str = "<defs><marker id=\"arrow\" class=\"head\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" \
    markerWidth=\"8\" markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">\
    <path d=\"M0 0.8 L10 5 L0 9.2 Z\"/></marker></defs>\n";

/// Light, and dark for those who prefer it.
const STYLE: &str = "\
text { font: 12px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; fill: #1f2328; }
.heading { font-size: 17px; font-weight: 600; }
.legend { font-size: 12px; font-weight: 400; fill: #59636e; }
.name { font-size: 13px; font-weight: 600; text-anchor: middle; }
.standing { text-anchor: middle; }
.marked { font-weight: 700; fill: #1a7f37; }
.card { fill: #ffffff; stroke: #d1d9e0; }
.model { stroke-width: 1.3; }
.promise { fill: #e7f2ff; stroke: #4493f8; }
.guarantee { fill: #f0f1f3; stroke: #818b98; }
.line { fill: none; stroke: #818b98; stroke-width: 1.4; }
.head { fill: #818b98; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; }
.legend { fill: #a5aeb8; }
.marked { fill: #3fb950; }
.card { fill: #0d1117; stroke: #30363d; }
.promise { fill: #0f2440; stroke: #4493f8; }
.guarantee { fill: #1c2128; stroke: #818b98; }
}
";
