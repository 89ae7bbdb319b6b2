//! The elements of a stream: entries, and what is remembered beside them.
//!
//! An entry's name is its id, sixteen bytes. The other names begin with the id 0-0, which no entry has, and stand before all
//! entries. A *mark* is an id that is remembered: the name says which and what, and of several the highest counts. Setting
//! one removes those that were observed, so a mark is the maximum of the ids that regions have set at once. Behind the marks
//! and the counter stand the elements of consumer groups ([`super::group`]).

use super::id::Id;
use crate::draft::Draft;
use crate::effect::{Datum, Kind};
use crate::number::{Number, parse_int};
use crate::plain::Sequence;
use crate::shape::Plain;
use bytes::Bytes;
use tidemark_core::{Reply, Value};

/// The counter of entries that were ever added.
pub(crate) const ADDED: &[u8] = b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0n";

/// An id that is remembered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The last id that was given, where it is not that of the last entry.
    Last,
    /// The highest id that was deleted.
    Deleted,
}

impl Mark {
    fn tag(self) -> u8 {
        match self {
            Self::Last => b'l',
            Self::Deleted => b'd',
        }
    }

    /// The name of the element that remembers an id.
    pub(crate) fn name(self, id: Id) -> Vec<u8> {
        [&[0; 16][..], &[self.tag()], &id.name()].concat()
    }
}

/// A stream as a session sees it. Changes of the command are not in it.
#[derive(Clone, Copy)]
pub(crate) struct Log<'a> {
    elements: &'a Sequence,
    /// The index of the first entry.
    first: usize,
}

impl<'a> Log<'a> {
    /// Of these elements.
    pub(crate) fn new(elements: &'a Sequence) -> Self {
        Self { elements, first: elements.index_of(&Id(1).name()) }
    }

    /// All entries: ids, and fields as [`encode`] writes them.
    pub(crate) fn entries(self) -> impl Iterator<Item = (Id, &'a [u8])> {
        let entries = self.elements.range(self.first..self.elements.len());
        entries.filter_map(|(name, fields)| Some((Id::of(&name.to_vec())?, fields)))
    }

    /// The entries that are not before an id.
    pub(crate) fn entries_from(self, start: Id) -> impl Iterator<Item = (Id, &'a [u8])> + use<'a> {
        let from = self.elements.index_of(&start.name()).max(self.first);
        let entries = self.elements.range(from..self.elements.len());
        entries.filter_map(|(name, fields)| Some((Id::of(&name.to_vec())?, fields)))
    }

    /// How many entries were ever added.
    pub(crate) fn added(self) -> u64 {
        let added = self.elements.get(ADDED).and_then(parse_int);
        added.and_then(|added| u64::try_from(added).ok()).unwrap_or(0).max(self.len() as u64)
    }

    /// The stream that a key holds, if it is there.
    ///
    /// # Errors
    /// It is of another type.
    pub(crate) fn of(draft: &Draft<'a>) -> Result<Option<Self>, Reply> {
        Ok(match draft.of(Kind::Stream)? {
            Some(Plain::Stream(elements)) => Some(Self::new(elements)),
            _ => None,
        })
    }

    /// How many entries it has.
    pub(crate) fn len(self) -> usize {
        self.elements.len() - self.first
    }

    /// The id of the entry with this index.
    pub(crate) fn id(self, at: usize) -> Option<Id> {
        let (name, _) = self.elements.at(self.first + at)?;
        Id::of(&name.to_vec())
    }

    /// The ids of all entries.
    pub(crate) fn ids(self) -> impl DoubleEndedIterator<Item = Id> {
        self.elements.range(self.first..self.elements.len()).filter_map(|(name, _)| Id::of(&name.to_vec()))
    }

    /// The id of the last entry.
    pub(crate) fn top(self) -> Option<Id> {
        self.id(self.len().checked_sub(1)?)
    }

    /// Entries with ids from `start` to `end`, as they are answered; no more than `most`, from either end.
    pub(crate) fn read(self, start: Id, end: Id, most: usize, reverse: bool) -> Vec<Reply> {
        let from = self.elements.index_of(&start.name()).max(self.first);
        let to = match end.0.checked_add(1) {
            Some(behind) => self.elements.index_of(&Id(behind).name()),
            None => self.elements.len(),
        };
        let range = match (from < to, reverse) {
            (false, _) => 0..0,
            (true, false) => from..to.min(from.saturating_add(most)),
            (true, true) => from.max(to.saturating_sub(most))..to,
        };
        let entry = |(name, fields): (crate::plain::Position<'_>, &[u8])| {
            shown(Id::of(&name.to_vec()).unwrap_or(Id(0)), fields)
        };
        let entries = self.elements.range(range);
        if reverse { entries.rev().map(entry).collect() } else { entries.map(entry).collect() }
    }

    fn marks(self, mark: Mark) -> impl Iterator<Item = Id> {
        let names = self.elements.range(0..self.first).map(|(name, _)| name.to_vec());
        // There are a few marks, and perhaps many elements of groups behind them.
        names
            .take_while(move |name| name[16] <= mark.tag())
            .filter(move |name| name.len() == 33 && name[16] == mark.tag())
            .filter_map(|name| Id::of(&name[17..]))
    }

    /// The elements whose names lie from `from` up to `to`. REQUIRES: no entries are among them.
    pub(crate) fn between(
        self,
        from: &[u8],
        to: &[u8],
    ) -> impl DoubleEndedIterator<Item = (Vec<u8>, &'a [u8])> + use<'a> {
        let (from, to) = (self.elements.index_of(from), self.elements.index_of(to));
        self.elements.range(from..to.max(from)).map(|(name, value)| (name.to_vec(), value))
    }

    /// How many they are. O(log n).
    pub(crate) fn count_between(self, from: &[u8], to: &[u8]) -> usize {
        self.elements.index_of(to).saturating_sub(self.elements.index_of(from))
    }

    /// The name of the first element that is not before `from`.
    pub(crate) fn name_from(self, from: &[u8]) -> Option<Vec<u8>> {
        let (name, _) = self.elements.at(self.elements.index_of(from))?;
        Some(name.to_vec())
    }

    /// An entry's fields, as [`encode`] writes them.
    pub(crate) fn get(self, id: Id) -> Option<&'a [u8]> {
        self.elements.get(&id.name())
    }

    /// The id that is remembered; 0-0 if nothing is.
    pub(crate) fn mark(self, mark: Mark) -> Id {
        self.marks(mark).max().unwrap_or(Id(0))
    }

    /// The last id that was given.
    pub(crate) fn last(self) -> Id {
        self.mark(Mark::Last).max(self.top().unwrap_or(Id(0)))
    }

    /// Remembers an id in place of those that are.
    pub(crate) fn set_mark(self, draft: &mut Draft<'_>, mark: Mark, id: Id) {
        for other in self.marks(mark).filter(|other| *other != id) {
            draft.remove(Kind::Stream, &mark.name(other));
        }
        remember(draft, mark, id);
    }

    /// Entries go, and `left` is the last that stays: the last id that was given is remembered if no entry has it any more.
    pub(crate) fn keep_last(self, draft: &mut Draft<'_>, left: Option<Id>) {
        let last = self.last();
        if left.is_none_or(|left| left < last) && self.mark(Mark::Last) < last {
            self.set_mark(draft, Mark::Last, last);
        }
    }
}

/// An entry, as it is answered.
pub(crate) fn shown(id: Id, fields: &[u8]) -> Reply {
    Reply::Array(vec![id.reply(), Reply::Array(decode(fields).map(Reply::bulk).collect())])
}

/// Remembers an id of a stream that is new.
pub(crate) fn remember(draft: &mut Draft<'_>, mark: Mark, id: Id) {
    draft.assign(Kind::Stream, &mark.name(id), Datum::bytes(b""));
}

/// Counts an entry that is added.
pub(crate) fn count_added(draft: &mut Draft<'_>) {
    draft.count(Kind::Stream, ADDED, Number::int(1));
}

/// Fields and values in turn, each behind its length.
pub(crate) fn encode(fields: &[Bytes]) -> Value {
    let mut bytes = Vec::with_capacity(fields.iter().map(|field| field.len() + 2).sum());
    for field in fields {
        let mut len = field.len();
        while len > 0x7f {
            bytes.push(len as u8 | 0x80);
            len >>= 7;
        }
        bytes.push(len as u8);
        bytes.extend_from_slice(field);
    }
    bytes.into()
}

/// The inverse of [`encode`].
pub(crate) fn decode(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let digits = bytes.iter().position(|byte| byte & 0x80 == 0)? + 1;
        let len = bytes[..digits].iter().rev().fold(0, |len, byte| len << 7 | usize::from(byte & 0x7f));
        let field = bytes.get(digits..digits + len)?;
        bytes = &bytes[digits + len..];
        Some(field)
    })
}
