//! What the log of one of a group says when it is opened: entries, of which some are known to be agreed on.

use crate::applied::apply;
use crate::entry::{Entries, Entry, EntryKind, push_record, records};
use crate::group::{GroupState, Membership, Open, malformed};
use crate::place::Place;
use crate::record::{self, CEILING, ENTRY, GROUP, START};
use crate::recover::{Item, Known, OpenError, meaning};
use bytes::Bytes;
use std::collections::VecDeque;
use tidemark_contract::Protocol;
use tidemark_store::log::Position;

/// What is being put together of a group's log.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    group: Membership,
    /// The group when the snapshot was begun: it contains the entries that were applied then.
    contained: GroupState,
    /// Those after it, and where each begins.
    entries: VecDeque<(Entry, Position)>,
    /// How many of these are applied.
    applied: usize,
}

impl Replay {
    /// Takes a record of a snapshot, if it is of the group.
    pub(crate) fn takes_of_snapshot(&mut self, item: &Item<'_>) -> Result<bool, OpenError> {
        if item.kind != GROUP {
            return Ok(false);
        }
        let (state, retracted): (GroupState, Vec<(u64, u64)>) =
            record::decode(item.payload).map_err(|error| meaning(item, error))?;
        self.contained = state.clone();
        self.group.state = state;
        self.group.retracted =
            retracted.into_iter().map(|(from, to)| (Position(from), Position(to))).collect();
        Ok(true)
    }

    /// Takes a record of the log.
    pub(crate) fn take(&mut self, item: &Item<'_>) -> Result<(), OpenError> {
        match item.kind {
            START | CEILING => {} // of the host alone, and of no entry
            ENTRY => self.close(item)?,
            GROUP => {
                let state: GroupState = record::decode(item.payload).map_err(|error| meaning(item, error))?;
                if self.entries.is_empty() && state.applied > self.contained.applied {
                    // A founder's log begins after the entry that says who founded the group, which is nowhere written.
                    self.contained = state.clone();
                }
                let before = std::mem::replace(&mut self.group.state, state);
                if before.applied > self.group.state.applied {
                    // The snapshot was begun after this was written.
                    let GroupState { term, vote, .. } = self.group.state;
                    self.group.state = GroupState { term, vote, ..before };
                }
            }
            _ => {
                self.group.turn_start.get_or_insert(item.at);
                let header = (item.kind, item.partition, item.seq);
                push_record(&mut self.group.turn, header, |buffer| buffer.extend_from_slice(item.payload));
            }
        }
        Ok(())
    }

    /// Applies what is known to be agreed on, and is not applied.
    pub(crate) fn apply<P: Protocol>(
        &mut self,
        places: &mut [Place<P>],
        known: &mut Known,
    ) -> Result<(), OpenError> {
        let agreed = self.group.state.applied.saturating_sub(self.contained.applied) as usize;
        for at in self.applied..agreed.min(self.entries.len()) {
            let (entry, _) = &self.entries[at];
            if entry.kind == EntryKind::Records {
                for item in records(&entry.data) {
                    apply(places, known, &item.map_err(|detail| malformed(entry, detail))?)?;
                }
            }
            self.applied = at + 1;
        }
        Ok(())
    }

    fn close(&mut self, item: &Item<'_>) -> Result<(), OpenError> {
        let (term, kind, data): (u64, EntryKind, &[u8]) =
            postcard::from_bytes(item.payload).map_err(|error| meaning(item, error))?;
        let (start, data) = match kind {
            EntryKind::Records => (self.group.turn_start.take(), std::mem::take(&mut self.group.turn).into()),
            EntryKind::Members => (self.group.turn_start, Bytes::copy_from_slice(data)), // group, I4
        };
        let start = start.unwrap_or(item.at);
        let index = item.seq;
        let Some(at) = index.checked_sub(self.contained.applied + 1) else { return Ok(()) };
        let at = at as usize;
        if at > self.entries.len() || at < self.applied {
            return Err(meaning(item, "it is not the entry after the last one"));
        }
        if let Some((_, retracted)) = self.entries.get(at) {
            self.group.retracted.push((*retracted, start));
            self.entries.truncate(at);
        }
        self.entries.push_back((Entry { index, term, kind, data }, start));
        Ok(())
    }

    /// All of the log was taken; it ends at `end`. Returns the entries that are there beside the snapshot.
    pub(crate) fn finish(mut self, end: Position) -> Result<(Membership, Entries), OpenError> {
        if let Some(position) = self.group.turn_start {
            let detail = "the records from here on are of no entry".to_string(); // group, I3
            return Err(OpenError::Meaning { kind: ENTRY, seq: 0, position, detail });
        }
        let open = self.entries.iter().skip(self.applied);
        self.group.open =
            open.map(|(entry, start)| Open { index: entry.index, start: *start, end: None }).collect();
        self.group.committed = self.group.open.front().map_or(end, |open| open.start);
        self.group.flushed(end);
        let list = self.entries.into_iter().map(|(entry, _)| entry).collect();
        Ok((self.group, Entries { after: self.contained, list }))
    }
}
