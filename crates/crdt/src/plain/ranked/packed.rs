//! A small sorted set: one array of bytes in the order of the members.
//!
//! The first byte is the number of members, the second the longest length that was ever put in. Then comes, for each
//! member, its length in a byte, the score in eight, the member, and its length again: walks go both ways.

use crate::plain::block::Block;
use crate::plain::pick;
use std::cmp::Ordering;
use std::ops::Range;

const HEADER: usize = 2;

/// Bytes of an entry beside its member.
const AROUND: usize = 10;

#[derive(Clone, Default)]
pub(super) struct Packed {
    bytes: Block,
}

/// Whole entries and their number.
#[derive(Clone)]
pub(super) struct Entries<'a> {
    bytes: &'a [u8],
    len: usize,
}

impl<'a> Iterator for Entries<'a> {
    type Item = (&'a [u8], f64);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.len = self.len.checked_sub(1)?;
        let (entry, rest) = self.bytes.split_at(AROUND + usize::from(self.bytes[0]));
        self.bytes = rest;
        Some(read(entry))
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
        Some(read(entry))
    }
}

impl ExactSizeIterator for Entries<'_> {}

#[inline]
fn read(entry: &[u8]) -> (&[u8], f64) {
    let score = f64::from_le_bytes(*entry[1..].first_chunk().expect("an entry has a score"));
    (&entry[9..entry.len() - 1], score)
}

impl Packed {
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
        Entries { bytes: self.bytes.get(HEADER..).unwrap_or_default(), len: self.len() }
    }

    pub(super) fn range(&self, ranks: Range<usize>) -> Entries<'_> {
        let mut entries = self.iter();
        let to = ranks.end.min(entries.len);
        let from = ranks.start.min(to);
        let behind = entries.len - to;
        (0..from).for_each(|_| _ = entries.next());
        (0..behind).for_each(|_| _ = entries.next_back());
        entries
    }

    #[inline]
    pub(super) fn score(&self, member: &[u8]) -> Option<f64> {
        self.iter().find(|(there, _)| *there == member).map(|(_, score)| score)
    }

    pub(super) fn rank(&self, member: &[u8]) -> Option<usize> {
        self.iter().position(|(there, _)| there == member)
    }

    pub(super) fn rank_of_score(&self, score: f64, inclusive: bool) -> usize {
        self.iter().take_while(|(_, there)| *there < score || (inclusive && *there == score)).count()
    }

    pub(super) fn rank_of_lex(&self, member: &[u8], inclusive: bool) -> usize {
        self.iter().take_while(|(there, _)| *there < member || (inclusive && *there == member)).count()
    }

    /// The old score; an error, and nothing changed, if there is no room for another member.
    /// REQUIRES: the length fits into a byte, and so does `limit`.
    pub(super) fn insert(&mut self, member: &[u8], score: f64, limit: usize) -> Result<Option<f64>, ()> {
        let old = self.score(member);
        if old.is_none() && self.len() >= limit {
            return Err(());
        }
        if old.is_some_and(|old| old.to_bits() == score.to_bits()) {
            return Ok(old);
        }
        if old.is_some() {
            self.cut(member);
        } else if self.bytes.is_empty() {
            self.bytes.append(HEADER).fill(0);
        }
        self.put(member, score);
        Ok(old)
    }

    /// REQUIRES: the member is not there, and the header is.
    fn put(&mut self, member: &[u8], score: f64) {
        let before = |there: &[u8], other: f64| match other.partial_cmp(&score) {
            Some(Ordering::Equal) | None => there < member,
            Some(order) => order == Ordering::Less,
        };
        let mut rest = self.iter();
        while rest.clone().next().is_some_and(|(there, other)| before(there, other)) {
            rest.next();
        }
        let (at, length) = (self.bytes.len() - rest.bytes.len(), member.len() as u8);
        let entry = self.bytes.splice(at..at, AROUND + member.len());
        entry[0] = length;
        entry[1..9].copy_from_slice(&score.to_le_bytes());
        entry[9..9 + member.len()].copy_from_slice(member);
        entry[9 + member.len()] = length;
        self.bytes[0] += 1;
        self.bytes[1] = self.bytes[1].max(length);
    }

    pub(super) fn remove(&mut self, member: &[u8]) -> Option<f64> {
        let old = self.cut(member);
        self.bytes.shrink();
        old
    }

    fn cut(&mut self, member: &[u8]) -> Option<f64> {
        let mut rest = self.iter();
        let (_, score) = rest.find(|(there, _)| *there == member)?;
        let end = self.bytes.len() - rest.bytes.len();
        self.bytes.splice(end - AROUND - member.len()..end, 0);
        self.bytes[0] -= 1;
        Some(score)
    }

    pub(super) fn sample(&self, mut seed: u64) -> Option<(&[u8], f64)> {
        let len = self.len();
        if len == 0 { None } else { self.iter().nth(pick(&mut seed, len)) }
    }
}
