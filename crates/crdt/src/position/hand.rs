//! Positions that clients at the edge give.

use super::{Bunch, Bunches, END, LEFT, Number, RIGHT, birth, own_bunch};
use crate::effect::stamp_bytes;
use std::iter;
use tidemark_core::{DcId, Hlc, Micros, Stamp};

/// The longest position that a client may give, in bytes.
pub const GIVEN_MAX: usize = 16 << 10;

/// Who puts an element somewhere, and when. No two elements have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hand {
    /// Whose: a number that nobody else has drawn, at least [`Hand::LEAST`].
    pub author: u32,
    /// When, in microseconds since 1970: later than what the author sees.
    pub time_us: Micros,
    /// Which of the elements of that time.
    pub nth: u64,
}

impl Hand {
    /// The least number of an author.
    pub const LEAST: u32 = 255;

    /// Between the positions of two live neighbours, either of which may be missing. REQUIRES: no element that is seen lies between them.
    pub fn between(self, left: Option<&[u8]>, right: Option<&[u8]>) -> Vec<u8> {
        let is_own = |bunch: Bunch, path: &[u8]| self.is_own(bunch, path);
        if let Some(path) = left.and_then(|left| own_bunch(left, right, is_own)) {
            return self.within(path, false);
        }
        if let Some(path) = right.and_then(|right| own_bunch(right, left, is_own)) {
            return self.within(path, true);
        }
        let mut path = self.fresh(left.unwrap_or_default(), right);
        let bunch = Stamp { ts: Hlc::at(self.time_us), origin: DcId::EDGE, seq: self.author };
        path.extend(stamp_bytes(bunch));
        Number { nth: self.nth, ..Number::default() }.write(false, &mut path);
        path.push(END);
        path
    }

    /// Where a bunch begins between two neighbours.
    fn fresh(self, left: &[u8], right: Option<&[u8]>) -> Vec<u8> {
        let Some(right) = right else { return Vec::new() };
        let own = Bunches { path: right, at: 0 }.last().filter(|bunch| self.is_own(*bunch, right));
        // A run that grows backwards, in a bunch that leads to both: beside anything else another run could come between.
        if own.is_some() && birth(right) > birth(left) {
            return beside(right, LEFT);
        }
        shallowest(left, right).unwrap_or_else(|| beside(right, LEFT))
    }

    fn is_own(self, bunch: Bunch, path: &[u8]) -> bool {
        path[bunch.start] == DcId::EDGE.0 && bunch.begun(path).1 == self.author
    }

    /// In the own bunch at the end of `path`: behind everything there, or before it.
    fn within(self, path: &[u8], before: bool) -> Vec<u8> {
        let begun = Bunches { path, at: 0 }.last().map_or(0, |bunch| bunch.begun(path).0.micros());
        let mut path = path.to_vec();
        Number { time: self.time_us.saturating_sub(begun), nth: self.nth, ..Number::default() }
            .write(before, &mut path);
        path.push(END);
        path
    }
}

/// When the author of an element has put it there, in microseconds since 1970.
pub fn born_us(position: &[u8]) -> Micros {
    birth(position).0.micros()
}

/// Whether a client that is at `now_us` can have given or seen a position.
pub fn is_possible(position: &[u8], now_us: Micros) -> bool {
    position.len() <= GIVEN_MAX && is_path(position) && born_us(position) <= now_us
}

/// Whether bytes are steps from the root to an element.
fn is_path(position: &[u8]) -> bool {
    for end in steps(position) {
        match position[end - 1] {
            LEFT | RIGHT => {}
            side => return side == END && end == position.len(),
        }
    }
    false
}

/// Where each step of a path ends, behind its side.
fn steps(path: &[u8]) -> impl Iterator<Item = usize> {
    let mut at = 0;
    iter::from_fn(move || {
        let bunch = Bunches { path, at }.next()?;
        let (_, len) = Number::read(path.get(bunch.end..)?)?;
        at = bunch.end + len + 1;
        (at <= path.len()).then_some(at)
    })
}

/// The shortest path through steps of `left` where a new bunch comes before `right`: behind `left` it comes wherever it is.
fn shallowest(left: &[u8], right: &[u8]) -> Option<Vec<u8>> {
    let mut paths = steps(left).map(|end| match left[end - 1] {
        END => beside(&left[..end], RIGHT),
        _ => left[..end].to_vec(),
    });
    paths.find(|path| !right.starts_with(path))
}

/// The path on one side of an element.
fn beside(position: &[u8], side: u8) -> Vec<u8> {
    let mut path = position.to_vec();
    path.pop();
    path.push(side);
    path
}
