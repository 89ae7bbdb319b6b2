//! A small writer of SVG: elements in order, text escaped.

use std::fmt::Write;

/// A point, or a size.
pub(crate) type Point = (f64, f64);

pub(crate) struct Markup {
    text: String,
}

impl Markup {
    pub(crate) fn new((width, height): Point, style: &str) -> Self {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">"
        );
        let _ = writeln!(text, "<style>\n{style}</style>");
        Self { text }
    }

    /// What the picture shows, for those who cannot see it.
    pub(crate) fn title(&mut self, words: &str) {
        let _ = writeln!(self.text, "<title>{}</title>", escaped(words));
    }

    /// Elements as they stand.
    pub(crate) fn raw(&mut self, elements: &str) {
        self.text.push_str(elements);
    }

    pub(crate) fn rect(&mut self, class: &str, (x, y): Point, (width, height): Point, radius: f64) {
        let _ = writeln!(
            self.text,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             rx=\"{radius}\"/>"
        );
    }

    /// A line of text in pieces with classes of their own, each but the first after some space.
    pub(crate) fn words(&mut self, class: &str, (x, y): Point, pieces: &[(&str, &str)]) {
        let _ = write!(self.text, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">");
        let mut space = "";
        for (class, piece) in pieces.iter().filter(|(_, piece)| !piece.is_empty()) {
            let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
            let _ = write!(self.text, "<tspan{class}{space}>{}</tspan>", escaped(piece));
            space = " dx=\"8\"";
        }
        self.text.push_str("</text>\n");
    }

    /// A line through these points, its corners rounded, with an arrow head at its end if one is named.
    pub(crate) fn path(&mut self, class: &str, points: &[Point], head: Option<&str>) {
        let head = head.map_or(String::new(), |head| format!(" marker-end=\"url(#{head})\""));
        let _ = writeln!(self.text, "<path class=\"{class}\" d=\"{}\"{head}/>", rounded(points));
    }

    pub(crate) fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}

/// How round corners are.
const RADIUS: f64 = 9.0;

fn rounded(points: &[Point]) -> String {
    let mut path = format!("M{:.1} {:.1}", points[0].0, points[0].1);
    for corner in points.windows(3) {
        let [before, at, after] = [corner[0], corner[1], corner[2]];
        let toward = |to: Point| {
            let (dx, dy) = (to.0 - at.0, to.1 - at.1);
            let length = dx.hypot(dy).max(0.001);
            let step = RADIUS.min(length / 2.0) / length;
            (at.0 + dx * step, at.1 + dy * step)
        };
        let (from, to) = (toward(before), toward(after));
        let _ =
            write!(path, " L{:.1} {:.1} Q{:.1} {:.1} {:.1} {:.1}", from.0, from.1, at.0, at.1, to.0, to.1);
    }
    if let Some(last) = points.last() {
        let _ = write!(path, " L{:.1} {:.1}", last.0, last.1);
    }
    path
}

/// Text as it may stand in a document; what XML cannot say becomes `�`.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
