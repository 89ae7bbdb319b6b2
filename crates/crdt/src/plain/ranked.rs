//! A sorted set: members in the order of their scores, found by member, by score and by rank.
//!
//! A sorted set is packed while it has at most 128 members of at most 64 bytes: one array of bytes in order. Then it
//! is converted, once and for good, into a table from members to scores and a tree of (score, entry in the table).

mod large;
mod packed;
mod range;

use super::{Near, PACKED_BYTES, PACKED_ENTRIES, SEED, Text};
use large::Large;
use packed::Packed;
pub use range::RankedRange;
use std::fmt;
use std::ops::Range;

/// A sorted set: distinct members, each with a score, in the order of scores and of bytes among equal scores.
///
/// Scores are never NaN; -0.0 and 0.0 are equal. Ranks start from 0 at the lowest score.
#[derive(Clone)]
pub struct Ranked {
    form: Form,
}

#[derive(Clone)]
enum Form {
    Packed(Packed),
    Large(Box<Large>),
}

impl Default for Ranked {
    fn default() -> Self {
        Self::new()
    }
}

/// Calls a method of the form at hand.
macro_rules! either {
    ($self:ident, $form:ident => $call:expr) => {
        match &$self.form {
            Form::Packed($form) => $call,
            Form::Large($form) => $call,
        }
    };
}

impl Ranked {
    /// An empty sorted set; it allocates nothing.
    pub fn new() -> Self {
        Self { form: Form::Packed(Packed::default()) }
    }

    /// The number of members. O(1).
    #[inline]
    pub fn len(&self) -> usize {
        either!(self, form => form.len())
    }

    /// Whether there are no members. O(1).
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the set is one array of bytes: Redis's `listpack` as opposed to its `skiplist`.
    #[inline]
    pub fn is_packed(&self) -> bool {
        matches!(self.form, Form::Packed(_))
    }

    /// The score of a member. O(1), a walk over the members if packed.
    #[inline]
    pub fn score(&self, member: &[u8]) -> Option<f64> {
        either!(self, form => form.score(member))
    }

    /// Where a look-up of `member` probably ends, unless the set is packed. Reads the index.
    #[inline]
    pub(crate) fn near(&self, member: &[u8]) -> Option<Near<'_, f64>> {
        match &self.form {
            Form::Packed(_) => None,
            Form::Large(large) => large.near(member),
        }
    }

    /// Gives a member a score and returns the one it had before. O(log n). REQUIRES: the score is not NaN.
    pub fn insert(&mut self, member: &[u8], score: f64) -> Option<f64> {
        if let Form::Packed(packed) = &mut self.form {
            if member.len() <= PACKED_BYTES
                && let Ok(old) = packed.insert(member, score, PACKED_ENTRIES)
            {
                return old;
            }
            self.convert();
        }
        match &mut self.form {
            Form::Large(large) => large.insert(member, score),
            Form::Packed(_) => unreachable!("it was converted"),
        }
    }

    fn convert(&mut self) {
        if let Form::Packed(packed) = &self.form {
            let large = Large::collect(SEED, packed.longest(), packed.len(), packed.range(0..packed.len()));
            self.form = Form::Large(Box::new(large));
        }
    }

    /// Takes a member out and returns the score that it had. O(log n).
    pub fn remove(&mut self, member: &[u8]) -> Option<f64> {
        match &mut self.form {
            Form::Packed(packed) => packed.remove(member),
            Form::Large(large) => large.remove(member),
        }
    }

    /// The number of members before this one. O(log n).
    pub fn rank(&self, member: &[u8]) -> Option<usize> {
        either!(self, form => form.rank(member))
    }

    /// The member of that rank and its score. O(log n).
    pub fn at(&self, rank: usize) -> Option<(&[u8], f64)> {
        self.range(rank..rank.saturating_add(1)).next()
    }

    /// The member with the lowest rank, and its score. O(log n).
    pub fn first(&self) -> Option<(&[u8], f64)> {
        self.range(0..1).next()
    }

    /// The member with the highest rank, and its score. O(log n).
    pub fn last(&self) -> Option<(&[u8], f64)> {
        self.at(self.len().checked_sub(1)?)
    }

    /// The members with these ranks, as far as there are any, from either end. O(log n), and O(1) for each member.
    pub fn range(&self, ranks: Range<usize>) -> RankedRange<'_> {
        match &self.form {
            Form::Packed(packed) => RankedRange::packed(packed.range(ranks)),
            Form::Large(large) => RankedRange::large(large.range(ranks)),
        }
    }

    /// All members in their order.
    pub fn iter(&self) -> RankedRange<'_> {
        self.range(0..self.len())
    }

    /// The number of members whose score is below `score`, or also equal to it if `inclusive`. O(log n).
    pub fn rank_of_score(&self, score: f64, inclusive: bool) -> usize {
        either!(self, form => form.rank_of_score(score, inclusive))
    }

    /// The number of members below `member` in the order of bytes, or also equal to it if `inclusive`. O(log n).
    /// REQUIRES: all scores are equal.
    pub fn rank_of_lex(&self, member: &[u8], inclusive: bool) -> usize {
        either!(self, form => form.rank_of_lex(member, inclusive))
    }

    /// One member and its score, each equally likely over all seeds. O(1), a walk over the members if packed.
    pub fn sample(&self, seed: u64) -> Option<(&[u8], f64)> {
        either!(self, form => form.sample(seed))
    }

    /// Calls `each` with about `count` members and returns the cursor to go on with, as [`Table::scan`] does.
    ///
    /// [`Table::scan`]: super::Table::scan
    pub fn scan(&self, cursor: u64, count: usize, mut each: impl FnMut(&[u8], f64)) -> u64 {
        match &self.form {
            Form::Packed(packed) => {
                packed.range(0..packed.len()).for_each(|(member, score)| each(member, score));
                0
            }
            Form::Large(large) => large.scan(cursor, count, each),
        }
    }

    /// The length in bytes of the longest member that was ever inserted. O(1).
    pub fn longest(&self) -> usize {
        either!(self, form => form.longest())
    }

    /// Bytes allocated, without the set's own 16. O(1).
    pub fn memory(&self) -> usize {
        match &self.form {
            Form::Packed(packed) => packed.memory(),
            Form::Large(large) => size_of::<Large>() + large.memory(),
        }
    }
}

impl fmt::Debug for Ranked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.iter().map(|(member, score)| (Text(member), score))).finish()
    }
}
