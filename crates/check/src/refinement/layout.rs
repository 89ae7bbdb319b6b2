//! Where the models stand in the drawing: one row a level, the strongest on top, and lines that cross no box.
//!
//! Source: K. Sugiyama, S. Tagawa and M. Toda, *Methods for visual understanding of hierarchical system structures*
//! (IEEE SMC 1981), in its simplest form. A line that passes levels holds a place in each of them; the order of a row
//! comes from the middle of what each place is joined to, and so do places along the row, as far as neighbours allow.

use super::Map;

/// How often rows are ordered and places moved, down and up; a few times are enough for so few.
const SWEEPS: usize = 12;
/// Between two boxes of a row.
const GAP: f64 = 18.0;
/// What a passing line takes.
const PASSING: f64 = 10.0;

/// A place in a row: of a model, or of a line that passes.
struct Place {
    level: usize,
    width: f64,
    x: f64,
    above: Vec<usize>,
    below: Vec<usize>,
}

/// Which of the places that one is joined to.
#[derive(Clone, Copy)]
enum Joined {
    Above,
    Below,
    Both,
}

pub(super) struct Layout {
    places: Vec<Place>,
    rows: Vec<Vec<usize>>,
    /// The places of each line, from the stronger model down to the weaker.
    lines: Vec<Vec<usize>>,
}

impl Layout {
    /// `widths` are those of the models.
    pub(super) fn new(map: &Map, widths: &[f64]) -> Self {
        let place = |level: usize, width: f64| Place { level, width, x: 0.0, above: vec![], below: vec![] };
        let models = 0..map.models().len();
        let mut places: Vec<Place> =
            models.clone().map(|model| place(map.level(model), widths[model])).collect();
        let mut lines = Vec::new();
        for stronger in models {
            for weaker in map.directly(stronger) {
                let mut line = vec![stronger];
                for level in (map.level(weaker) + 1..map.level(stronger)).rev() {
                    line.push(places.len());
                    places.push(place(level, PASSING));
                }
                line.push(weaker);
                for pair in line.windows(2) {
                    places[pair[0]].below.push(pair[1]);
                    places[pair[1]].above.push(pair[0]);
                }
                lines.push(line);
            }
        }
        let levels = places.iter().map(|place| place.level + 1).max().unwrap_or(0);
        let row = |level: usize| (0..places.len()).filter(|p| places[*p].level == level).collect();
        let rows = (0..levels).map(row).collect();
        let mut layout = Self { places, rows, lines };
        layout.pack();
        layout.sweep(Self::order_row);
        layout.sweep(Self::move_row);
        layout
    }

    /// The middle of a model's box.
    pub(super) fn x(&self, model: usize) -> f64 {
        self.places[model].x
    }

    /// The lines: the stronger model, and in each level from its own down, where the line passes.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, Vec<(usize, f64)>)> + '_ {
        let at = |p: &usize| (self.places[*p].level, self.places[*p].x);
        self.lines.iter().map(move |line| (line[0], line.iter().map(at).collect()))
    }

    /// Where the leftmost box begins, and where the rightmost ends.
    pub(super) fn span(&self) -> (f64, f64) {
        let edge = |side: f64| self.places.iter().map(move |p| p.x + side * p.width / 2.0);
        (edge(-1.0).fold(f64::INFINITY, f64::min), edge(1.0).fold(f64::NEG_INFINITY, f64::max))
    }

    fn sweep(&mut self, row: fn(&mut Self, usize, Joined)) {
        for _ in 0..SWEEPS {
            (0..self.rows.len()).rev().for_each(|level| row(self, level, Joined::Above));
            (0..self.rows.len()).for_each(|level| row(self, level, Joined::Below));
        }
    }

    /// Places every row side by side, around 0.
    fn pack(&mut self) {
        for row in &self.rows {
            let all: f64 = row.iter().map(|p| self.places[*p].width + GAP).sum();
            let mut x = (GAP - all) / 2.0;
            for p in row {
                self.places[*p].x = x + self.places[*p].width / 2.0;
                x += self.places[*p].width + GAP;
            }
        }
    }

    /// The middle of what a place is joined to; its own place if that is nothing.
    fn middle(&self, place: usize, joined: Joined) -> f64 {
        let Place { above, below, x, .. } = &self.places[place];
        let (above, below) = match joined {
            Joined::Above => (above.as_slice(), [].as_slice()),
            Joined::Below => ([].as_slice(), below.as_slice()),
            Joined::Both => (above.as_slice(), below.as_slice()),
        };
        let all = above.iter().chain(below);
        let sum: f64 = all.clone().map(|other| self.places[*other].x).sum();
        if all.clone().count() == 0 { *x } else { sum / all.count() as f64 }
    }

    fn order_row(&mut self, level: usize, joined: Joined) {
        let mut row = std::mem::take(&mut self.rows[level]);
        row.sort_by(|a, b| self.middle(*a, joined).total_cmp(&self.middle(*b, joined)));
        self.rows[level] = row;
        self.pack();
    }

    /// Moves the places of a row towards the middle of all that they are joined to: halfway between what they are
    /// if all are pushed from the left, and if all are pushed from the right.
    fn move_row(&mut self, level: usize, _: Joined) {
        let row = self.rows[level].clone();
        let wanted: Vec<f64> = row.iter().map(|p| self.middle(*p, Joined::Both)).collect();
        let apart = |a: usize, b: usize| (self.places[row[a]].width + self.places[row[b]].width) / 2.0 + GAP;
        let (mut left, mut right) = (wanted.clone(), wanted);
        for i in 1..row.len() {
            left[i] = left[i].max(left[i - 1] + apart(i - 1, i));
        }
        for i in (1..row.len()).rev() {
            right[i - 1] = right[i - 1].min(right[i] - apart(i - 1, i));
        }
        for (i, p) in row.iter().enumerate() {
            self.places[*p].x = f64::midpoint(left[i], right[i]);
        }
    }
}
