//! Which members a range means: by rank, by score or by name, in the words of clients.

use crate::args::int;
use crate::number::parse_double;
use crate::plain::Ranked;
use bytes::Bytes;
use std::ops::Range;
use tidemark_core::Reply;

const NOT_SCORES: Reply = Reply::error("ERR min or max is not a float");
const NOT_NAMES: Reply = Reply::error("ERR min or max not valid string range item");

/// One end of a range of scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ScoreEnd {
    score: f64,
    exclusive: bool,
}

impl ScoreEnd {
    /// Reads `1.5`, or `(1.5` for an end that is not part of the range. As with C's `strtod`, blanks may stand before the number,
    /// and nothing at all is 0.
    fn parse(argument: &[u8]) -> Result<Self, Reply> {
        let (number, exclusive) = match argument {
            [b'(', number @ ..] => (number, true),
            number => (number, false),
        };
        let score = match std::str::from_utf8(number).map_err(|_| NOT_SCORES)? {
            "" => 0.0,
            text => parse_double(text.trim_ascii_start()).ok_or(NOT_SCORES)?,
        };
        Ok(Self { score, exclusive })
    }
}

/// One end of a range of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NameEnd {
    /// Before all names.
    Lowest,
    /// Behind all names.
    Highest,
    /// This name, which is part of the range.
    Inclusive(Bytes),
    /// This name, which is not part of it.
    Exclusive(Bytes),
}

impl NameEnd {
    /// Reads `-`, `+`, `[name` or `(name`.
    fn parse(argument: &Bytes) -> Result<Self, Reply> {
        match &argument[..] {
            b"-" => Ok(Self::Lowest),
            b"+" => Ok(Self::Highest),
            [b'[', ..] => Ok(Self::Inclusive(argument.slice(1..))),
            [b'(', ..] => Ok(Self::Exclusive(argument.slice(1..))),
            _ => Err(NOT_NAMES),
        }
    }

    /// How many members stand before this end, as the lower one or the upper one of a range.
    fn rank(&self, members: &Ranked, upper: bool) -> usize {
        match self {
            Self::Lowest => 0,
            Self::Highest => members.len(),
            Self::Inclusive(name) => members.rank_of_lex(name, upper),
            Self::Exclusive(name) => members.rank_of_lex(name, !upper),
        }
    }
}

/// A range of members.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Span {
    /// From this rank to that one, both included; negative ones count from the end.
    Ranks(i64, i64),
    /// From this score to that one.
    Scores(ScoreEnd, ScoreEnd),
    /// From this name to that one.
    Names(NameEnd, NameEnd),
}

impl Span {
    /// Reads two ranks.
    ///
    /// # Errors
    /// They are none.
    pub(super) fn ranks(first: &Bytes, last: &Bytes) -> Result<Self, Reply> {
        Ok(Self::Ranks(int(first)?, int(last)?))
    }

    /// Reads two scores.
    ///
    /// # Errors
    /// They are none.
    pub(super) fn scores(least: &Bytes, most: &Bytes) -> Result<Self, Reply> {
        Ok(Self::Scores(ScoreEnd::parse(least)?, ScoreEnd::parse(most)?))
    }

    /// Reads two names.
    ///
    /// # Errors
    /// They are none.
    pub(super) fn names(first: &Bytes, last: &Bytes) -> Result<Self, Reply> {
        Ok(Self::Names(NameEnd::parse(first)?, NameEnd::parse(last)?))
    }

    /// The ranks of the members in it. O(log n).
    pub(super) fn of(&self, members: &Ranked) -> Range<usize> {
        let (start, end) = match self {
            Self::Ranks(first, last) => return between(*first, *last, members.len()),
            Self::Scores(least, most) => (
                members.rank_of_score(least.score, least.exclusive),
                members.rank_of_score(most.score, !most.exclusive),
            ),
            Self::Names(first, last) => (first.rank(members, false), last.rank(members, true)),
        };
        start..end.max(start)
    }
}

/// The ranks from `first` to `last`, of which negative ones count from the end of `len` members.
fn between(first: i64, last: i64, len: usize) -> Range<usize> {
    let len = i64::try_from(len).unwrap_or(i64::MAX);
    let absolute = |rank: i64| if rank < 0 { len + rank } else { rank };
    let (first, last) = (absolute(first).max(0), absolute(last).min(len - 1));
    if first > last { 0..0 } else { first as usize..last as usize + 1 }
}
