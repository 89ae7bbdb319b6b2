//! A host as one of a group: several that hold the same, of which one leads.
//!
//! What the leader writes in a turn is an *entry*, with a number, its index. Entries stand in the log as the records that
//! they are made of, closed by a record that says which entry they were; so streams are read from it as from any other log,
//! and a replica appends what the leader sends as its own. Which entries are agreed on is decided elsewhere, and said here:
//! [`Host::agreed`]. An entry that was not agreed on can be retracted; its records stay in the log, and are passed over.
//!
//! **Invariants**
//! - I1 What an entry says is applied once it is agreed on, in order, each once; the leader's own were applied as they
//!   were made.
//! - I2 [`Host::durable`] never lies behind the first record of an entry that is not agreed on.
//! - I3 An entry is in the log whole or not at all: it is closed in the batch that holds its records.
//! - I4 A change of members has no records. Those before the record that closes it are of the entry that is closed next: the
//!   leader wrote them in the turn in which it changed the members.

use crate::applied::apply;
use crate::entry::{Entry, EntryKind, push_record, records};
use crate::host::{Fatal, Host};
use crate::place::Place;
use crate::record::{self, ENTRY, GROUP, RECEIVED, WRITTEN};
use crate::recover::OpenError;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use tidemark_contract::Protocol;
use tidemark_core::{DcId, PartitionId};
use tidemark_store::log::{Log, LogResult, Position};

/// What one of a group must not forget, beside entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupState {
    /// The latest term that it has heard of.
    pub term: u64,
    /// For whom it voted in that; 0 for nobody.
    pub vote: u64,
    /// The last entry that is applied here.
    pub applied: u64,
    /// The term of that entry.
    pub applied_term: u64,
    /// Who votes, as of that entry.
    pub voters: Vec<u64>,
    /// Who only listens, as of that entry.
    pub learners: Vec<u64>,
}

/// Part of the log: from the one position up to the other.
pub(crate) type Span = (Position, Position);

/// Whether `position` is in one of `spans`.
pub(crate) fn is_within(spans: &[Span], position: Position) -> bool {
    spans.iter().any(|(from, to)| (*from..*to).contains(&position))
}

/// An entry that is in the log, and not known to be agreed on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    pub(crate) index: u64,
    pub(crate) start: Position,
    /// What is written when it is agreed on, if no entry of its batch comes after it.
    pub(crate) end: Option<Position>,
}

/// What a host knows as one of a group.
#[derive(Debug, Default)]
pub(crate) struct Membership {
    /// The records since the last entry, in the form in which they travel, and where they begin.
    pub(crate) turn: Vec<u8>,
    pub(crate) turn_start: Option<Position>,
    pub(crate) open: VecDeque<Open>,
    /// See [`Self::committed`].
    pub(crate) committed: Position,
    /// Records of entries that were retracted.
    pub(crate) retracted: Vec<Span>,
    /// As it was kept last.
    pub(crate) state: GroupState,
}

impl Membership {
    /// Appends a record, and remembers it for the entry that it will be part of.
    pub(crate) fn append(
        &mut self,
        log: &mut Log,
        header: (u8, u16, u64),
        encode: impl FnOnce(&mut Vec<u8>),
    ) -> LogResult<Position> {
        let payload = push_record(&mut self.turn, header, encode);
        let (kind, partition, seq) = header;
        let position = log.append(kind, partition, seq, |buffer| buffer.extend(&self.turn[payload..]))?;
        self.turn_start.get_or_insert(position);
        Ok(position)
    }

    /// A batch was written; the log is written up to `position`.
    pub(crate) fn flushed(&mut self, position: Position) {
        match self.open.back_mut() {
            Some(last) => last.end = Some(position),
            None => self.committed = position,
        }
    }

    /// Up to where everything in the log is agreed on.
    pub(crate) fn committed(&self) -> Position {
        self.committed
    }

    /// Whether the record at `position` is of an entry that was retracted.
    pub(crate) fn is_retracted(&self, position: Position) -> bool {
        is_within(&self.retracted, position)
    }

    /// What a snapshot has to say of the group: that it contains what is applied by now, and what of the log before it
    /// is to be passed over.
    pub(crate) fn for_snapshot(&self) -> (GroupState, Vec<(u64, u64)>) {
        (self.state.clone(), self.retracted.iter().map(|(from, to)| (from.0, to.0)).collect())
    }

    /// Forgets what was retracted of a part of the log that is gone.
    pub(crate) fn forget_before(&mut self, oldest: Position) {
        self.retracted.retain(|(_, to)| *to > oldest);
    }
}

impl<P: Protocol> Host<P> {
    fn membership(&mut self) -> &mut Membership {
        self.group.as_mut().expect("it is one of a group")
    }

    /// What this host keeps as one of a group.
    ///
    /// # Panics
    /// When it is not one of a group.
    pub fn group_state(&self) -> &GroupState {
        &self.group.as_ref().expect("it is one of a group").state
    }

    /// What a follower may answer to a question that only reads: see [`tidemark_contract::Extensions::follower_read`]. None while it leads.
    pub fn read_at_follower(&self, at: PartitionId, question: &P::Request) -> Option<P::Reply> {
        let place = self.place(at);
        let read = P::EXTENSIONS.follower_read.filter(|_| place.protocol.is_none())?;
        read(question, &place.applied(self.config.dc), &place.store)
    }

    /// Takes what was written since the last entry: the data of the next one. None if that is nothing.
    pub fn take_turn(&mut self) -> Option<Bytes> {
        let turn = &mut self.membership().turn;
        (!turn.is_empty()).then(|| Bytes::from(std::mem::take(turn)))
    }

    /// Logs an entry: with `own` only what closes it, for its records are there already. REQUIRES: the entry after the
    /// last one. A failure is kept, and comes back from [`Self::commit`].
    ///
    /// # Errors
    /// Its data cannot be understood; nothing of this turn may be written.
    pub fn log_entry(&mut self, entry: &Entry, own: bool) -> Result<(), OpenError> {
        self.unstage(); // staged, I1
        let group = self.membership();
        let mut start = match entry.kind {
            EntryKind::Records => group.turn_start.take(),
            EntryKind::Members => group.turn_start, // I4
        };
        if !own && entry.kind == EntryKind::Records {
            for item in records(&entry.data) {
                let item = item.map_err(|detail| malformed(entry, detail))?;
                let payload = |buffer: &mut Vec<u8>| buffer.extend_from_slice(item.payload);
                let position = self.append_as_it_is(item.kind, item.partition, item.seq, payload);
                if let (Some(origin), Some(position)) = (origin(item.kind, item.payload), position) {
                    note(&mut self.places, (item.partition, origin), item.seq, position);
                }
                start = start.or(position);
            }
        }
        let data: &[u8] = if entry.kind == EntryKind::Members { &entry.data } else { &[] };
        let payload = (entry.term, entry.kind, data);
        let closed = self.append_as_it_is(ENTRY, 0, entry.index, |buffer| record::encode(&payload, buffer));
        if let Some(start) = start.or(closed) {
            self.membership().open.push_back(Open { index: entry.index, start, end: None });
        }
        Ok(())
    }

    /// The entries from `index` on, which were not agreed on, are none any more. REQUIRES: this host does not lead, and
    /// another entry with this index is logged in the same batch.
    pub fn retract(&mut self, index: u64) {
        let end = self.log.end();
        let group = self.membership();
        let Some(at) = group.open.iter().position(|open| open.index >= index) else { return };
        group.retracted.push((group.open[at].start, end));
        group.open.truncate(at);
    }

    /// The group has agreed on `entry`, the one after the last that it agreed on. `apply` unless this host made it
    /// while it led.
    ///
    /// # Errors
    /// It cannot be understood.
    pub fn agreed(&mut self, entry: &Entry, apply_it: bool) -> Result<(), OpenError> {
        if apply_it && entry.kind == EntryKind::Records {
            for item in records(&entry.data) {
                let item = item.map_err(|detail| malformed(entry, detail))?;
                apply(&mut self.places, &mut self.known, &item)?;
            }
        }
        let flushed = self.log.flushed();
        let group = self.membership();
        group.state.applied = entry.index;
        group.state.applied_term = entry.term;
        while let Some(open) = group.open.front().filter(|open| open.index <= entry.index) {
            group.committed = open.end.unwrap_or(group.committed);
            group.open.pop_front();
        }
        if group.open.is_empty() {
            group.committed = flushed;
        }
        self.settle();
        Ok(())
    }

    /// Keeps `state`, which is of this moment, in the log.
    pub fn keep(&mut self, state: GroupState) {
        self.append_as_it_is(GROUP, 0, state.applied, |buffer| record::encode(&state, buffer));
        self.membership().state = state;
    }

    /// A record that is of no entry, or of one that somebody else made.
    pub(crate) fn append_as_it_is(
        &mut self,
        kind: u8,
        partition: u16,
        seq: u64,
        encode: impl FnOnce(&mut Vec<u8>),
    ) -> Option<Position> {
        match self.log.append(kind, partition, seq, encode) {
            Ok(position) => Some(position),
            Err(error) => {
                self.fatal.get_or_insert(Fatal::from(error));
                None
            }
        }
    }
}

/// Remembers where a record stands for which streams look: one that was written here, or in the data centre that is named.
pub(crate) fn note<P: Protocol>(
    places: &mut [Place<P>],
    (partition, origin): (u16, Option<DcId>),
    seq: u64,
    position: Position,
) {
    let Some(place) = places.iter_mut().find(|place| place.id == PartitionId(partition)) else { return };
    match origin {
        None => place.note(seq, position),
        Some(dc) => {
            place.received.get_mut(dc.index()).into_iter().for_each(|received| received.note(seq, position))
        }
    }
}

/// Where a record was written for which streams look: none if it was here. None at all of other records.
pub(crate) fn origin(kind: u8, payload: &[u8]) -> Option<Option<DcId>> {
    match kind {
        WRITTEN => Some(None),
        RECEIVED => payload.first().map(|dc| Some(DcId(*dc))),
        _ => None,
    }
}

pub(crate) fn malformed(entry: &Entry, detail: String) -> OpenError {
    let Entry { index, .. } = *entry;
    OpenError::Meaning { kind: ENTRY, seq: index, position: Position::START, detail }
}
