//! Positions of list elements: byte strings whose order is the order of the list, between any two of which there is always room.
//!
//! **Idea.** An element is put beside another one, and its position says beside which: it is a *path* of steps from the root of a
//! tree. A step is a *bunch* (the stamp of the version that began it), a *number* in the bunch, and a *side*: the path goes on
//! left of that element, ends at it, or goes on right of it. Bytes are chosen so that comparing two strings walks the tree in order.
//!
//! A region that puts one element behind another goes on in a bunch of its own where that leads to the right place, also past
//! the elements that others have put there meanwhile. So pushes in a row cost no depth, and regions that push in turn stay as
//! deep as there are regions. Otherwise it begins a bunch beside the younger one of the two neighbours: no older one hangs below
//! a younger one. Elements that a region puts beside each other so hang together, and the runs of two regions are not interleaved.
//!
//! **Numbers are times.** The first elements of a bunch are counted; each later command in it takes the time since the bunch
//! began, and counts its own elements. A version is stamped later than everything that it has seen, so its number lies beyond
//! every number it knows of; and no two versions have the same, even if one cannot see the other. A number that follows its
//! live neighbour's would be given again after a pop, and an LSET of the old element elsewhere would then meet the new one.
//!
//! **No tombstones.** A position holds its whole path and is compared byte by byte: the elements that it was put beside may be
//! gone, here or everywhere, and nothing has to remember where they stood. So what is removed leaves nothing.
//!
//! **Limits.** An element between the two newest ones, again and again, is a step deeper each time: 13 bytes.
//!
//! **Clients at the edge** give positions themselves ([`Hand`]): so what they have put somewhere has its name before any region knows of
//! it. There are many of them, and each that goes on behind another would be a step deeper. So a client begins a bunch as near to the root
//! as it can: it is younger than what it has seen, and [`DcId::EDGE`] comes behind every region, so it stands behind its siblings.
//!
//! **Source.** The order is that of Fugue: Weidner, Gentle and Kleppmann, "The Art of the Fugue: Minimizing Interleaving in
//! Collaborative Text Editing", 2023, with runs of its tree's nodes merged into bunches.

mod hand;

use crate::effect::Name;
use bytes::Bytes;
pub use hand::{GIVEN_MAX, Hand, born_us, is_possible};
use smallvec::SmallVec;
use tidemark_core::{DcId, Hlc, Stamp};

/// The path goes on left of the element.
const LEFT: u8 = 1;
/// The path ends: this is the element.
const END: u8 = 2;
/// The path goes on right of the element.
const RIGHT: u8 = 3;

/// The first byte of a number that is not negative; below stand the others, with every bit turned over.
const POSITIVE: u8 = 0x80;
/// The first byte of a number's tail that needs more than a byte.
const LONG: u8 = 0x40;

/// Where the elements of one command go, one behind the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    way: Way,
    path: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Behind everything in the bunch at the path's end.
    Behind,
    /// Before everything in it.
    Before,
    /// In a bunch that begins at the path's end.
    Fresh,
}

impl Run {
    /// Between the positions of two live neighbours, either of which may be missing. REQUIRES: no element that is seen lies
    /// between them, and the elements are written by a version of `origin` that is later than all that is seen.
    pub fn between(left: Option<&[u8]>, right: Option<&[u8]>, origin: DcId) -> Self {
        let run = |way, path: &[u8]| Self { way, path: Bytes::copy_from_slice(path) };
        let is_own = |bunch: Bunch, path: &[u8]| path[bunch.start] == origin.0;
        if let Some(path) = left.and_then(|left| own_bunch(left, right, is_own)) {
            return run(Way::Behind, path);
        }
        if let Some(path) = right.and_then(|right| own_bunch(right, left, is_own)) {
            return run(Way::Before, path);
        }
        let (path, side) = match (left, right) {
            (None, None) => return Self { way: Way::Fresh, path: Bytes::new() },
            (Some(left), None) => (left, RIGHT),
            (None, Some(right)) => (right, LEFT),
            (Some(left), Some(right)) if birth(right) > birth(left) => (right, LEFT),
            (Some(left), Some(_)) => (left, RIGHT),
        };
        let mut path = path.to_vec();
        path.pop();
        path.push(side);
        Self { way: Way::Fresh, path: path.into() }
    }

    /// The name of the element numbered `nth`, from 0, of a command that puts each one behind the last one, or before it if
    /// `backward`. REQUIRES: if there are several, they go to the end of the list, or to its front if `backward`.
    pub fn name(&self, nth: usize, backward: bool) -> Name {
        let nth = i64::try_from(nth).unwrap_or(i64::MAX);
        match self.way {
            Way::Behind => Name::Next(self.path.clone(), nth),
            Way::Before => Name::Next(self.path.clone(), -1 - nth),
            Way::Fresh => {
                let mut rest = Vec::with_capacity(3);
                let number = Number { nth: nth.unsigned_abs(), ..Number::default() };
                number.write(backward && nth > 0, &mut rest);
                rest.push(END);
                Name::New(self.path.clone(), rest.into())
            }
        }
    }

    /// The name of the only element of a command.
    pub(crate) fn into_name(self, backward: bool) -> Name {
        match self.way {
            Way::Behind => Name::Next(self.path, 0),
            Way::Before => Name::Next(self.path, -1),
            Way::Fresh => self.name(0, backward),
        }
    }

    /// The names of `count` elements, in the order of the list, wherever they go.
    pub(crate) fn names(&self, count: usize) -> impl Iterator<Item = Name> {
        let before = self.way == Way::Before;
        (0..count).map(move |nth| self.name(if before { count - 1 - nth } else { nth }, false))
    }
}

/// The time and number of the version that made an element.
fn birth(position: &[u8]) -> (Hlc, u32) {
    let Some(bunch) = (Bunches { path: position, at: 0 }).last() else { return Default::default() };
    let (begun, seq) = bunch.begun(position);
    match Number::read(&position[bunch.end..]) {
        Some((Number { time, counter, seq, .. }, _)) if (time, counter, seq) != (0, 0, 0) => {
            (Hlc(Hlc::at(begun.micros().saturating_add(time)).0 | u64::from(counter)), seq)
        }
        _ => (begun, seq),
    }
}

/// The path to the deepest own bunch that leads to `position` and not to `other`.
fn own_bunch<'a>(
    position: &'a [u8],
    other: Option<&[u8]>,
    is_own: impl Fn(Bunch, &[u8]) -> bool,
) -> Option<&'a [u8]> {
    let bunches: SmallVec<[Bunch; 4]> = Bunches { path: position, at: 0 }.collect();
    let own = bunches.iter().rev().filter(|bunch| is_own(**bunch, position));
    let mut paths = own.map(|bunch| &position[..bunch.end]);
    paths.find(|path| other.is_none_or(|other| !other.starts_with(path)))
}

/// The position in the bunch at the end of `path` that the version with this stamp gives to its element numbered `nth` (see
/// [`Name::Next`]).
pub(crate) fn next(path: &[u8], nth: i64, stamp: Stamp) -> Vec<u8> {
    let begun = Bunches { path, at: 0 }.last().map_or(Hlc::ZERO, |bunch| bunch.begun(path).0);
    let number = Number {
        time: stamp.ts.micros().saturating_sub(begun.micros()),
        counter: (stamp.ts.0 & ((1 << Hlc::COUNTER_BITS) - 1)) as u16,
        seq: stamp.seq,
        nth: if nth < 0 { -1 - nth } else { nth }.unsigned_abs(),
    };
    let mut position = Vec::with_capacity(path.len() + 16);
    position.extend_from_slice(path);
    number.write(nth < 0, &mut position);
    position.push(END);
    position
}

/// Where in a path the stamp of a bunch stands.
#[derive(Clone, Copy)]
struct Bunch {
    start: usize,
    end: usize,
}

impl Bunch {
    /// The time and number of the version that began it.
    fn begun(self, path: &[u8]) -> (Hlc, u32) {
        let time = path[self.start + 1..self.start + 9].iter().fold(0, append);
        let seq = &path[self.start + 9..self.end];
        let seq = seq.get(1..).filter(|long| !long.is_empty()).unwrap_or(seq);
        (Hlc(time), seq.iter().fold(0, append) as u32)
    }
}

/// An integer with one byte more.
fn append(int: u64, byte: &u8) -> u64 {
    int << 8 | u64::from(*byte)
}

/// The bunches of a path, from the root. It may end behind one.
struct Bunches<'a> {
    path: &'a [u8],
    at: usize,
}

impl Iterator for Bunches<'_> {
    type Item = Bunch;

    fn next(&mut self) -> Option<Bunch> {
        let stamp = self.path.get(self.at..).filter(|rest| !rest.is_empty())?;
        let len = stamp.len().min(if stamp.get(9) == Some(&255) { 14 } else { 10 });
        let bunch = (len >= 10).then_some(Bunch { start: self.at, end: self.at + len })?;
        self.at = Number::read(&stamp[len..]).map_or(self.path.len(), |(_, len)| bunch.end + len + 1);
        Some(bunch)
    }
}

/// The number of an element in its bunch, without its sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Number {
    /// Microseconds since the bunch began.
    time: u64,
    counter: u16,
    seq: u32,
    /// Which element of its command.
    nth: u64,
}

impl Number {
    /// Appends the number so that its bytes are ordered as numbers are, and none begins another.
    fn write(&self, negative: bool, to: &mut Vec<u8>) {
        let start = to.len();
        write_int(self.time, POSITIVE, to);
        if self.counter == 0 && self.seq == 0 && self.nth < u64::from(LONG) {
            to.push(self.nth as u8);
        } else {
            to.extend([LONG | (self.counter >> 8) as u8, self.counter as u8]);
            write_int(u64::from(self.seq), 0, to);
            write_int(self.nth, 0, to);
        }
        if negative {
            to[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }

    /// The number that `bytes` begin with, and its length; none if they begin with no number.
    fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let turn = if bytes.first()? & POSITIVE == 0 { 0xff } else { 0 };
        let mut reader = Reader { bytes, turn, at: 0 };
        let time = reader.int(POSITIVE)?;
        let first = reader.byte()?;
        if first < LONG {
            return Some((Self { time, nth: u64::from(first), ..Self::default() }, reader.at));
        }
        let counter = u16::from(first & !LONG) << 8 | u16::from(reader.byte()?);
        let (seq, nth) = (reader.int(0)? as u32, reader.int(0)?);
        Some((Self { time, counter, seq, nth }, reader.at))
    }
}

/// Reads what [`Number::write`] wrote, its bits turned over or not.
struct Reader<'a> {
    bytes: &'a [u8],
    turn: u8,
    at: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at)? ^ self.turn;
        self.at += 1;
        Some(byte)
    }

    fn int(&mut self, flag: u8) -> Option<u64> {
        let len = self.byte()? & !flag;
        (0..len.min(9)).try_fold(0, |int, _| Some(append(int, &self.byte()?)))
    }
}

/// Appends an integer: how many bytes it has, with a flag, and those.
fn write_int(int: u64, flag: u8, to: &mut Vec<u8>) {
    let skipped = int.leading_zeros() as usize / 8;
    to.push(flag | (8 - skipped) as u8);
    to.extend_from_slice(&int.to_be_bytes()[skipped..]);
}

#[cfg(test)]
mod tests;
