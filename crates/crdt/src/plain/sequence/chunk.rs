//! A leaf of a list: values and positions in one array of bytes, and their places in order.
//!
//! New values go behind the last byte, wherever they stand in the order; only four bytes a value are moved to make
//! room. Bytes of values that were taken out stay until there are more of them than of others.

use super::Position;
use crate::plain::short::ShortBytes;
use crate::plain::tree::{Leaf, Probe};
use std::collections::VecDeque;
use std::ops::Range;

/// The most values of a chunk.
const VALUES: usize = 128;

/// The most bytes of a chunk with more than one value, as in Redis.
const BYTES: usize = 8192;

/// Bytes at which it is full: one more short value would still have had room.
const FULL: usize = BYTES - 128;

/// Bytes of removed values that are not worth a copy of the others.
const WASTE: usize = 64;

#[derive(Clone)]
pub(super) struct Chunk {
    prefix: ShortBytes,
    /// Values with positions: the lengths of the position's rest and of the value, the rest, the value.
    bytes: Vec<u8>,
    /// Where each value begins, in the order of positions.
    order: VecDeque<u32>,
    /// How many of the bytes belong to values that are there.
    live: usize,
}

impl Default for Chunk {
    fn default() -> Self {
        Self { prefix: ShortBytes::new(&[]), bytes: Vec::new(), order: VecDeque::new(), live: 0 }
    }
}

/// Reads a length; most are below 128 and take a byte.
#[inline]
fn read_length(bytes: &[u8]) -> (usize, &[u8]) {
    if bytes[0] < 128 {
        return (usize::from(bytes[0]), &bytes[1..]);
    }
    let (mut length, mut shift, mut at) = (0, 0, 0);
    loop {
        length |= usize::from(bytes[at] & 127) << shift;
        (shift, at) = (shift + 7, at + 1);
        if bytes[at - 1] < 128 {
            return (length, &bytes[at..]);
        }
    }
}

#[inline]
fn write_lengths(bytes: &mut Vec<u8>, rest: usize, value: usize) {
    if rest.max(value) < 128 {
        bytes.extend_from_slice(&[rest as u8, value as u8]);
    } else {
        write_length(bytes, rest);
        write_length(bytes, value);
    }
}

fn write_length(bytes: &mut Vec<u8>, mut length: usize) {
    while length >= 128 {
        bytes.push(length as u8 | 128);
        length >>= 7;
    }
    bytes.push(length as u8);
}

fn length_len(length: usize) -> usize {
    (length.max(1).ilog2() / 7 + 1) as usize
}

impl Chunk {
    #[inline]
    fn entry(&self, place: u32) -> (&[u8], &[u8]) {
        let (rest, bytes) = read_length(&self.bytes[place as usize..]);
        let (value, bytes) = read_length(bytes);
        (&bytes[..rest], &bytes[rest..rest + value])
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> (Position<'_>, &[u8]) {
        let (rest, value) = self.entry(self.order[at]);
        (Position::new(self.prefix.as_slice(), rest), value)
    }

    #[inline]
    pub(super) fn position(&self, at: usize) -> Position<'_> {
        self.get(at).0
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = (Position<'_>, &[u8])> + Clone {
        self.range(0..self.order.len())
    }

    fn range(&self, places: Range<usize>) -> impl DoubleEndedIterator<Item = (Position<'_>, &[u8])> + Clone {
        places.map(|at| self.get(at))
    }

    /// A chunk of these values, which come in order, with no byte to spare.
    fn collect<'a>(entries: impl DoubleEndedIterator<Item = (Position<'a>, &'a [u8])> + Clone) -> Self {
        let (Some((first, _)), Some((last, _))) = (entries.clone().next(), entries.clone().next_back())
        else {
            return Self::default();
        };
        let common = first.common(&last);
        let size = |position: &Position<'_>, value: &[u8]| {
            let rest = position.len() - common;
            length_len(rest) + length_len(value.len()) + rest + value.len()
        };
        let (len, live) = entries
            .clone()
            .fold((0, 0), |(len, live), (position, value)| (len + 1, live + size(&position, value)));
        let mut prefix = first.to_vec();
        prefix.truncate(common);
        let (bytes, order) = (Vec::with_capacity(live), VecDeque::with_capacity(len));
        let mut chunk = Self { prefix: ShortBytes::new(&prefix), bytes, order, live };
        for (position, value) in entries {
            let place = chunk.write(position.skip(common), value);
            chunk.order.push_back(place);
        }
        chunk
    }

    /// Appends a value with the rest of its position, which is given in two parts, and returns its place.
    fn write(&mut self, (start, end): (&[u8], &[u8]), value: &[u8]) -> u32 {
        let place = self.bytes.len() as u32;
        if value.len() > BYTES {
            self.bytes.reserve_exact(start.len() + end.len() + value.len() + 20);
        }
        write_lengths(&mut self.bytes, start.len() + end.len(), value.len());
        self.bytes.extend_from_slice(start);
        self.bytes.extend_from_slice(end);
        self.bytes.extend_from_slice(value);
        place
    }

    /// The bytes that a value takes.
    fn size(&self, place: u32) -> usize {
        let (rest, value) = self.entry(place);
        length_len(rest.len()) + length_len(value.len()) + rest.len() + value.len()
    }

    /// The bytes that the values with these numbers take.
    fn sizes(&self, places: Range<usize>) -> usize {
        self.order.range(places).map(|place| self.size(*place)).sum()
    }

    /// Puts a new value in as the one numbered `at`.
    pub(super) fn insert(&mut self, at: usize, position: &[u8], value: &[u8]) {
        if !position.starts_with(self.prefix.as_slice()) || self.order.is_empty() {
            self.share(position);
        }
        let place = self.write((&position[self.prefix.as_slice().len()..], &[]), value);
        self.live += self.bytes.len() - place as usize;
        self.order.insert(at, place);
    }

    /// Shortens the prefix to what `position` begins with, too.
    fn share(&mut self, position: &[u8]) {
        if self.order.is_empty() {
            *self = Self { prefix: ShortBytes::new(position), ..Self::default() };
            return;
        }
        let common = Position::new(self.prefix.as_slice(), &[]).common(&Position::new(position, &[]));
        let mut shorter = Self { prefix: ShortBytes::new(&position[..common]), ..Self::default() };
        shorter.bytes.reserve(self.bytes.len() + self.order.len() * (self.prefix.as_slice().len() - common));
        for (position, value) in self.iter() {
            let place = shorter.write(position.skip(common), value);
            shorter.order.push_back(place);
        }
        shorter.live = shorter.bytes.len();
        *self = shorter;
    }

    /// Puts a value in place of the one numbered `at`, whose position is given.
    pub(super) fn replace(&mut self, at: usize, position: &[u8], value: &[u8]) {
        let old = self.entry(self.order[at]).1.len();
        if old == value.len() {
            let end = self.order[at] as usize + self.size(self.order[at]);
            self.bytes[end - old..end].copy_from_slice(value);
            return;
        }
        self.live -= self.size(self.order[at]);
        let place = self.write((&position[self.prefix.as_slice().len()..], &[]), value);
        self.live += self.bytes.len() - place as usize;
        self.order[at] = place;
        self.tidy(self.live + WASTE);
    }

    /// Takes the value numbered `at` out.
    pub(super) fn remove(&mut self, at: usize) {
        let place = self.order.remove(at).expect("it was found");
        self.live -= self.size(place);
        self.tidy(self.live + WASTE);
    }

    /// Drops the bytes of removed values if they are more than `waste`.
    fn tidy(&mut self, waste: usize) {
        if self.bytes.len() - self.live <= waste {
            return;
        }
        let mut bytes = Vec::with_capacity(self.live);
        for at in 0..self.order.len() {
            let (place, size) = (self.order[at], self.size(self.order[at]));
            self.order[at] = bytes.len() as u32;
            bytes.extend_from_slice(&self.bytes[place as usize..place as usize + size]);
        }
        self.bytes = bytes;
        if self.order.len() < self.order.capacity() / 4 {
            self.order.shrink_to(self.order.len() * 2);
        }
    }

    /// Gives back what a chunk does not need that others were just split off.
    fn settle(&mut self) {
        self.tidy(self.live / 16);
        // What little is spare is not worth a copy of the rest.
        if self.bytes.capacity() - self.bytes.len() > self.live / 16 {
            self.bytes.shrink_to_fit();
        }
    }

    /// Makes room for as much as `neighbour` has if this is the one value that came to a full chunk's end: more come.
    fn expect_more(&mut self, neighbour: &Self) {
        if self.order.len() == 1 {
            // A little more: positions are not all equally long.
            let room = (neighbour.live + neighbour.live / 32).min(BYTES);
            self.bytes.reserve_exact(room.saturating_sub(self.bytes.len()));
            self.order.reserve_exact(neighbour.order.len());
        }
    }
}

impl Leaf for Chunk {
    type Key = ShortBytes;

    #[inline]
    fn len(&self) -> usize {
        self.order.len()
    }

    fn first(&self) -> ShortBytes {
        ShortBytes::new(&self.position(0).to_vec())
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.order.len() >= VALUES || self.live >= FULL
    }

    #[inline]
    fn is_small(&self) -> bool {
        self.order.len() < VALUES / 4 && self.live < BYTES / 4
    }

    fn fits(&self, right: &Self) -> bool {
        self.order.len() + right.order.len() <= VALUES / 4 * 3 && self.live + right.live <= BYTES / 4 * 3
    }

    fn split_off(&mut self, at: usize) -> Self {
        // The larger part stays where it is.
        if at < self.order.len() / 2 {
            let mut right = std::mem::take(self);
            *self = Self::collect(right.range(0..at));
            right.live -= right.sizes(0..at);
            right.order.drain(..at);
            right.settle();
            self.expect_more(&right);
            right
        } else {
            let mut right = Self::collect(self.range(at..self.order.len()));
            self.live -= self.sizes(at..self.order.len());
            self.order.truncate(at);
            self.settle();
            right.expect_more(self);
            right
        }
    }

    fn append(&mut self, right: Self) {
        *self = Self::collect(self.iter().chain(right.iter()));
    }

    fn memory(&self) -> usize {
        self.prefix.heap() + self.bytes.capacity() + self.order.capacity() * size_of::<u32>()
    }
}

/// The place before or, if inclusive, behind a position.
pub(super) struct Place<'a> {
    pub(super) position: &'a [u8],
    pub(super) inclusive: bool,
}

impl Place<'_> {
    #[inline]
    fn is_behind_of(&self, there: &[u8], sought: &[u8]) -> bool {
        if self.inclusive { there <= sought } else { there < sought }
    }
}

impl Probe<Chunk> for Place<'_> {
    #[inline]
    fn count_keys(&self, keys: &[ShortBytes]) -> usize {
        let is_behind = |key: &ShortBytes| self.is_behind_of(key.as_slice(), self.position);
        // Lists grow and shrink at their ends.
        match keys {
            [.., last] if is_behind(last) => keys.len(),
            [first, ..] if !is_behind(first) => 0,
            _ => keys.partition_point(is_behind),
        }
    }

    #[inline]
    fn count(&self, chunk: &Chunk) -> usize {
        let prefix = chunk.prefix.as_slice();
        let Some(sought) = self.position.strip_prefix(prefix) else {
            return if self.position < prefix { 0 } else { chunk.order.len() };
        };
        let is_behind = |place: &u32| self.is_behind_of(chunk.entry(*place).0, sought);
        // Lists grow and shrink at their ends.
        match (chunk.order.get(1), chunk.order.back()) {
            (_, Some(last)) if is_behind(last) => chunk.order.len(),
            (Some(second), _) if !is_behind(second) => usize::from(is_behind(&chunk.order[0])),
            _ => chunk.order.partition_point(is_behind),
        }
    }
}
