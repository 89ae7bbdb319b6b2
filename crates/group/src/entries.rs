//! What the Raft library sees of a member's log: the newest entries, in memory. The log itself is the host's.

use raft::eraftpb::{ConfState, Entry, HardState, Snapshot};
use raft::{Error, GetEntriesContext, RaftState, Result, Storage, StorageError};
use std::cell::Cell;
use std::collections::VecDeque;

/// The entries after `base`, and what was known when the member started.
#[derive(Default)]
pub(crate) struct Entries {
    /// What of the group was kept at the last start, for the library to begin with.
    pub(crate) hard: HardState,
    pub(crate) members: ConfState,
    /// The entry before the first: its index and term.
    base: (u64, u64),
    list: VecDeque<Entry>,
    bytes: usize,
    /// Somebody needs what came before the first entry.
    pub(crate) copy_wanted: Cell<bool>,
    /// What there is for them: which entries a copy contains, but not the copy.
    copy: Option<Snapshot>,
    /// Somebody is being brought up to date: nothing is forgotten before there is so much.
    pinned: Option<usize>,
}

impl Entries {
    /// Nothing yet, after entry `base`.
    pub(crate) fn after(base: (u64, u64)) -> Self {
        Self { base, ..Self::default() }
    }

    /// Adds an entry; one of the same index, and those after it, are forgotten.
    pub(crate) fn push(&mut self, entry: Entry) {
        while self.last() >= entry.index {
            let Some(dropped) = self.list.pop_back() else { break };
            self.bytes -= dropped.data.len();
        }
        debug_assert_eq!(entry.index, self.last() + 1, "entries come in order");
        self.bytes += entry.data.len();
        self.list.push_back(entry);
    }

    /// The index of the last entry.
    pub(crate) fn last(&self) -> u64 {
        self.base.0 + self.list.len() as u64
    }

    /// An entry that is here.
    pub(crate) fn get(&self, index: u64) -> Option<&Entry> {
        self.list.get(index.checked_sub(self.base.0 + 1)? as usize)
    }

    /// Forgets the oldest entries up to `applied` while there are more than `bytes` of them.
    pub(crate) fn trim(&mut self, applied: u64, bytes: usize) {
        let bytes = self.pinned.unwrap_or(bytes);
        while self.bytes > bytes && self.base.0 < applied {
            let Some(first) = self.list.pop_front() else { break };
            self.bytes -= first.data.len();
            self.base = (first.index, first.term);
        }
    }

    /// Forgets nothing from now on, until there are `room` bytes more.
    pub(crate) fn pin(&mut self, room: usize) {
        self.pinned = Some(self.bytes + room);
    }

    /// Remembers what was forgotten: `older` are all entries from the newest snapshot, of which `copy` tells, until this was
    /// pinned, or later. Nothing is forgotten until there are `room` bytes more. False if so much was written meanwhile that
    /// something between is gone: then nothing has changed.
    pub(crate) fn refill(&mut self, older: Self, copy: Snapshot, room: usize) -> bool {
        if self.base.0 > older.last() {
            return false;
        }
        // Who is sent an older copy needs what comes after that.
        if self.base.0 > older.base.0 {
            let mut newer = std::mem::take(&mut self.list);
            newer.retain(|entry| entry.index > older.last());
            let Self { base, list, bytes, .. } = older;
            (self.base, self.list, self.bytes) = (base, list, bytes);
            newer.into_iter().for_each(|entry| self.push(entry));
        }
        self.copy = Some(copy);
        self.copy_wanted.set(false);
        self.pin(room);
        true
    }

    /// Nobody has to be brought up to date any more.
    pub(crate) fn unpin(&mut self) {
        (self.copy, self.pinned) = (None, None);
    }
}

impl Storage for Entries {
    fn initial_state(&self) -> Result<RaftState> {
        Ok(RaftState::new(self.hard.clone(), self.members.clone()))
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _context: GetEntriesContext,
    ) -> Result<Vec<Entry>> {
        if low <= self.base.0 {
            return Err(Error::Store(StorageError::Compacted));
        }
        let range = (low - self.base.0 - 1) as usize..(high - self.base.0 - 1) as usize;
        let mut room = max_size.into().unwrap_or(u64::MAX);
        let fits = |entry: &&Entry| {
            let size = entry.data.len() as u64 + 32;
            let first = entry.index == low;
            let fits = first || size <= room;
            room = room.saturating_sub(size);
            fits
        };
        Ok(self.list.range(range).take_while(fits).cloned().collect())
    }

    fn term(&self, index: u64) -> Result<u64> {
        if index == self.base.0 {
            return Ok(self.base.1);
        }
        if index < self.base.0 {
            return Err(Error::Store(StorageError::Compacted));
        }
        self.get(index).map(|entry| entry.term).ok_or(Error::Store(StorageError::Unavailable))
    }

    fn first_index(&self) -> Result<u64> {
        Ok(self.base.0 + 1)
    }

    fn last_index(&self) -> Result<u64> {
        Ok(self.last())
    }

    fn snapshot(&self, request_index: u64, to: u64) -> Result<Snapshot> {
        let serves = |copy: &&Snapshot| {
            let about = copy.get_metadata();
            let members = about.get_conf_state();
            // Nobody takes a copy of a group to which he does not belong.
            about.index >= request_index.max(self.base.0)
                && members.voters.iter().chain(&members.learners).any(|member| *member == to)
        };
        match self.copy.as_ref().filter(serves) {
            Some(copy) => Ok(copy.clone()),
            _ => {
                self.copy_wanted.set(true);
                Err(Error::Store(StorageError::SnapshotTemporarilyUnavailable))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(after: u64, last: u64) -> Entries {
        let mut entries = Entries::after((after, 1));
        let each = |index| Entry { index, term: 1, data: vec![0; 10].into(), ..Entry::default() };
        (after + 1..=last).for_each(|index| entries.push(each(index)));
        entries
    }

    fn copy(index: u64) -> Snapshot {
        let mut copy = Snapshot::default();
        copy.mut_metadata().index = index;
        copy
    }

    #[test]
    fn what_was_forgotten_is_put_before_what_is_known() {
        let mut known = entries(0, 20);
        known.trim(20, 50);
        assert_eq!(known.first_index().unwrap(), 16);
        known.pin(30);
        (21..=22).for_each(|index| known.push(entries(index - 1, index).list[0].clone()));
        assert!(known.refill(entries(10, 20), copy(10), 30));
        assert_eq!((known.first_index().unwrap(), known.last(), known.bytes), (11, 22, 120));
        known.trim(22, 50);
        assert_eq!(known.first_index().unwrap(), 11, "it is pinned");
        (23..=30).for_each(|index| known.push(entries(index - 1, index).list[0].clone()));
        known.trim(30, 50);
        assert_eq!(known.first_index().unwrap(), 16, "as much as it may keep");
        known.unpin();
        known.trim(30, 50);
        assert_eq!(known.first_index().unwrap(), 26);
    }

    /// A copy of a newer snapshot is offered while somebody is being sent one of an older.
    #[test]
    fn who_is_sent_an_older_copy_finds_what_comes_after_it() {
        let mut known = entries(0, 20);
        assert!(known.refill(entries(5, 20), copy(5), 100));
        assert!(known.refill(entries(15, 20), copy(15), 100));
        assert_eq!(known.first_index().unwrap(), 1);
    }

    #[test]
    fn entries_that_do_not_meet_what_is_known_are_not_taken() {
        let mut known = entries(0, 40);
        known.trim(40, 50);
        assert!(!known.refill(entries(10, 20), copy(10), 100));
        assert_eq!(known.first_index().unwrap(), 36);
    }
}
