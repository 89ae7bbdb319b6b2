//! A short list: one array of bytes in the order of positions.
//!
//! The first byte is the number of values, the second the longest length that was ever put in, the third the length of
//! what all positions begin with, which follows. Then comes, for each value, the length of its position's rest and its
//! own in a byte each, the rest, the value, and both lengths added up: walks go both ways.

use super::Position;
use crate::plain::PACKED_BYTES;
use crate::plain::block::Block;
use std::ops::Range;

/// The most values: a walk over half of them costs little.
const VALUES: usize = 64;

const HEADER: usize = 3;

/// Bytes of an entry beside the position's rest and the value.
const AROUND: usize = 3;

#[derive(Clone, Default)]
pub(super) struct Packed {
    bytes: Block,
}

/// Whole entries and their number.
#[derive(Clone)]
pub(super) struct Entries<'a> {
    prefix: &'a [u8],
    bytes: &'a [u8],
    len: usize,
}

impl<'a> Entries<'a> {
    #[inline]
    fn read(&self, entry: &'a [u8]) -> (Position<'a>, &'a [u8]) {
        let (rest, value) = entry[2..entry.len() - 1].split_at(usize::from(entry[0]));
        (Position::new(self.prefix, rest), value)
    }
}

#[inline]
fn entry_len(bytes: &[u8]) -> usize {
    AROUND + usize::from(bytes[0]) + usize::from(bytes[1])
}

impl<'a> Iterator for Entries<'a> {
    type Item = (Position<'a>, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.len = self.len.checked_sub(1)?;
        let (entry, rest) = self.bytes.split_at(entry_len(self.bytes));
        self.bytes = rest;
        Some(self.read(entry))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len, Some(self.len))
    }
}

impl DoubleEndedIterator for Entries<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.len = self.len.checked_sub(1)?;
        let length = AROUND + usize::from(self.bytes[self.bytes.len() - 1]);
        let (rest, entry) = self.bytes.split_at(self.bytes.len() - length);
        self.bytes = rest;
        Some(self.read(entry))
    }
}

impl ExactSizeIterator for Entries<'_> {}

/// Writes an entry; the position's rest is given in two parts.
fn write(to: &mut [u8], (start, end): (&[u8], &[u8]), value: &[u8]) {
    let rest = start.len() + end.len();
    (to[0], to[1]) = (rest as u8, value.len() as u8);
    to[2..2 + start.len()].copy_from_slice(start);
    to[2 + start.len()..2 + rest].copy_from_slice(end);
    to[2 + rest..2 + rest + value.len()].copy_from_slice(value);
    to[2 + rest + value.len()] = (rest + value.len()) as u8;
}

impl Packed {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.bytes.first().map_or(0, |len| usize::from(*len))
    }

    pub(super) fn longest(&self) -> usize {
        self.bytes.get(1).map_or(0, |longest| usize::from(*longest))
    }

    pub(super) fn memory(&self) -> usize {
        self.bytes.memory()
    }

    #[inline]
    fn iter(&self) -> Entries<'_> {
        let bytes = &*self.bytes;
        let [len, _, prefix, rest @ ..] = bytes else { return Entries { prefix: &[], bytes, len: 0 } };
        let (prefix, bytes) = rest.split_at(usize::from(*prefix));
        Entries { prefix, bytes, len: usize::from(*len) }
    }

    pub(super) fn range(&self, indices: Range<usize>) -> Entries<'_> {
        let mut entries = self.iter();
        let to = indices.end.min(entries.len);
        let from = indices.start.min(to);
        let behind = entries.len - to;
        (0..behind).for_each(|_| _ = entries.next_back());
        (0..from).for_each(|_| _ = entries.next());
        entries
    }

    /// How many values stand before a position; the entries from there on; and whether the first of them is at it.
    fn seek(&self, position: &[u8]) -> (usize, Entries<'_>, bool) {
        let mut entries = self.iter();
        let all = entries.len;
        let behind = Entries { bytes: &[], len: 0, ..entries };
        let Some(sought) = position.strip_prefix(entries.prefix) else {
            return if position < entries.prefix { (0, entries, false) } else { (all, behind, false) };
        };
        // Lists grow and shrink at their ends.
        let mut others = entries.clone();
        match others.next_back() {
            Some((last, _)) if last.rest() == sought => {
                let last = Entries { bytes: &entries.bytes[others.bytes.len()..], len: 1, ..entries };
                return (all - 1, last, true);
            }
            Some((last, _)) if last.rest() > sought => {}
            _ => return (all, behind, false),
        }
        loop {
            let next = entries.clone().next();
            match next {
                Some((there, _)) if there.rest() < sought => _ = entries.next(),
                _ => {
                    let found = next.is_some_and(|(there, _)| there.rest() == sought);
                    return (all - entries.len, entries, found);
                }
            }
        }
    }

    pub(super) fn index_of(&self, position: &[u8]) -> usize {
        self.seek(position).0
    }

    pub(super) fn get(&self, position: &[u8]) -> Option<&[u8]> {
        let (_, mut entries, found) = self.seek(position);
        entries.next().filter(|_| found).map(|(_, value)| value)
    }

    /// The bytes of the entry at a position, or the place for one.
    fn place(&self, position: &[u8]) -> Range<usize> {
        let (_, entries, found) = self.seek(position);
        let at = self.bytes.len() - entries.bytes.len();
        at..at + if found { entry_len(entries.bytes) } else { 0 }
    }

    /// Whether the value is new; none, and nothing changed, if there is no room for it.
    pub(super) fn insert(&mut self, position: &[u8], value: &[u8]) -> Option<bool> {
        if position.len().max(value.len()) > PACKED_BYTES {
            return None;
        }
        let mut place = self.place(position);
        let new = place.is_empty();
        if new && self.len() >= VALUES {
            return None;
        }
        let prefix = self.iter().prefix.len();
        let prefix = if self.bytes.is_empty() || !position.starts_with(self.iter().prefix) {
            let common = self.share(position);
            place = self.place(position);
            common
        } else {
            prefix
        };
        let rest = &position[prefix..];
        write(self.bytes.splice(place, AROUND + rest.len() + value.len()), (rest, &[]), value);
        self.bytes[0] += u8::from(new);
        self.bytes[1] = self.bytes[1].max(value.len() as u8);
        Some(new)
    }

    /// Shortens the prefix to what `position` begins with, too, and returns its length.
    fn share(&mut self, position: &[u8]) -> usize {
        let entries = self.iter();
        let both = entries.prefix.iter().zip(position);
        let common = if entries.len == 0 { position.len() } else { both.take_while(|(a, b)| a == b).count() };
        let more = entries.len * (entries.prefix.len().saturating_sub(common));
        let mut bytes = Block::default();
        let mut to = bytes.append(HEADER + common + entries.bytes.len() + more);
        (to[0], to[1], to[2]) = (entries.len as u8, self.longest() as u8, common as u8);
        to[HEADER..HEADER + common].copy_from_slice(&position[..common]);
        to = &mut to[HEADER + common..];
        for (there, value) in entries {
            let (start, end) = there.skip(common);
            let entry;
            (entry, to) = to.split_at_mut(AROUND + start.len() + end.len() + value.len());
            write(entry, (start, end), value);
        }
        self.bytes = bytes;
        common
    }

    pub(super) fn remove(&mut self, position: &[u8]) -> bool {
        let place = self.place(position);
        if place.is_empty() {
            return false;
        }
        self.bytes.splice(place, 0);
        self.bytes[0] -= 1;
        self.bytes.shrink();
        true
    }
}
