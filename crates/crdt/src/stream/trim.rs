//! MAXLEN and MINID: which of the oldest entries go.
//!
//! Redis's `~` removes whole nodes of up to a hundred entries. There are no nodes here: `~` removes the oldest entries by the
//! hundred, which comes to the same while entries are small and none was deleted in between.

use super::id::Id;
use crate::args::{int, is};
use bytes::Bytes;
use tidemark_core::Reply;

/// Entries of a full node of Redis.
const NODE: usize = 100;
/// How many entries `~` removes at most if nothing is said.
const LIMIT: i64 = 100 * NODE as i64;

#[derive(Clone, Copy)]
enum Bound {
    Length(i64),
    Oldest(Id),
}

/// Options as they are read.
#[derive(Default)]
pub(super) struct Options {
    bound: Option<Bound>,
    approximate: bool,
    limit: Option<i64>,
}

/// Which entries to remove.
pub(super) struct Trim {
    bound: Bound,
    approximate: bool,
    /// How many entries at most; 0 is no limit.
    limit: usize,
}

impl Options {
    /// Reads one option at the beginning of `args` and returns the rest; none if there is none.
    ///
    /// # Errors
    /// Its value is not valid.
    pub(super) fn option<'a>(&mut self, args: &'a [Bytes]) -> Result<Option<&'a [Bytes]>, Reply> {
        let [word, rest @ ..] = args else { return Ok(None) };
        let [value, behind @ ..] = rest else { return Ok(None) };
        if is(word, "limit") {
            let limit = int(value)?;
            if limit < 0 {
                return Err(Reply::error("ERR The LIMIT argument must be >= 0."));
            }
            self.limit = Some(limit);
            return Ok(Some(behind));
        }
        let by_length = is(word, "maxlen");
        if !by_length && !is(word, "minid") {
            return Ok(None);
        }
        if self.bound.is_some() {
            return Err(Reply::error(
                "ERR syntax error, MAXLEN and MINID options at the same time are not compatible",
            ));
        }
        let (value, behind) = match (&value[..], behind) {
            (b"~" | b"=", [second, behind @ ..]) => {
                self.approximate = &value[..] == b"~";
                (second, behind)
            }
            _ => (value, behind),
        };
        self.bound = Some(if by_length { length(value)? } else { Bound::Oldest(Id::strict(value, 0)?) });
        Ok(Some(behind))
    }

    /// All options have been read. None if nothing is to go.
    ///
    /// # Errors
    /// They do not fit each other, or one is missing.
    pub(super) fn finish(self, required: bool) -> Result<Option<Trim>, Reply> {
        if self.bound.is_none() && self.limit.unwrap_or(0) != 0 {
            return Err(Reply::error(
                "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy",
            ));
        }
        if self.bound.is_none() && required {
            return Err(Reply::error("ERR syntax error, XTRIM must be called with a trimming strategy"));
        }
        if self.limit.is_some() && !self.approximate {
            return Err(Reply::error("ERR syntax error, LIMIT cannot be used without the special ~ option"));
        }
        let limit = self.limit.unwrap_or(if self.approximate { LIMIT } else { 0 });
        let limit = usize::try_from(limit).unwrap_or(0);
        Ok(self.bound.map(|bound| Trim { bound, approximate: self.approximate, limit }))
    }
}

fn length(value: &[u8]) -> Result<Bound, Reply> {
    match int(value)? {
        length @ 0.. => Ok(Bound::Length(length)),
        _ => Err(Reply::error("ERR The MAXLEN argument must be >= 0.")),
    }
}

impl Trim {
    /// How many of `len` entries go; `id` says the id of the entry with some index.
    pub(super) fn count(&self, len: usize, id: impl Fn(usize) -> Option<Id>) -> usize {
        let goes = match self.bound {
            Bound::Length(longest) => len.saturating_sub(usize::try_from(longest).unwrap_or(usize::MAX)),
            Bound::Oldest(oldest) => first(len, |at| id(at).is_none_or(|id| id >= oldest)),
        };
        if !self.approximate {
            return goes;
        }
        let mut removed = 0;
        while removed < len {
            let node = NODE.min(len - removed);
            let too_much = self.limit > 0 && removed + node > self.limit;
            if removed + node > goes || too_much {
                break;
            }
            removed += node;
        }
        removed
    }
}

/// The first of `len` indices that `holds`, which all behind it do.
fn first(len: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}
