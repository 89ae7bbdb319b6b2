//! Which keys have deadlines, in their order: so that nobody has to go through all keys to find those that have expired.
//!
//! **Idea.** A key stands in the index as long as fresh readers see content with a deadline there. It is *ahead* until somebody
//! notices that its deadline has passed, and *passed* until its content may be dropped (R19): then collection looks at it again.
//! What is passed is counted, and told to who asked for it. Each step looks at no more keys than its budget.
//!
//! **Invariants**
//! - I1 Whenever a head has changed, [`Store::index_deadline`] is called.
//! - I2 A key is passed once for each deadline that it has had, as long as its server runs.

use super::Store;
use super::object::Object;
use std::collections::BTreeSet;
use tidemark_core::{Hlc, Key};
use tidemark_crdt::rule;

/// How many keys a round of collection takes from the index at most.
const KEYS_A_ROUND: usize = 1_000;

/// A key whose deadline has passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expired {
    /// Which.
    pub key: Key,
    /// Its deadline, in milliseconds since 1970.
    pub deadline_ms: u64,
}

/// See above.
#[derive(Default)]
pub(super) struct DeadlineIndex {
    /// Deadlines in milliseconds, and handles of entries.
    ahead: BTreeSet<(u64, u32)>,
    passed: BTreeSet<(u64, u32)>,
    count: u64,
    /// If somebody asked for them: those that passed since the last time.
    told: Option<Vec<Expired>>,
    /// Whether a key of this partition has had a deadline.
    ever: bool,
}

impl DeadlineIndex {
    fn remove(&mut self, deadline: u64, handle: u32) {
        let place = (deadline, handle);
        if !self.ahead.remove(&place) {
            self.passed.remove(&place);
        }
    }
}

impl<M: Clone> Store<M> {
    /// Whether a key of this partition has had a deadline: then a key that is gone here may have expired, and be there still
    /// elsewhere (R18).
    pub fn is_expiring(&self) -> bool {
        self.deadlines.ever
    }

    /// This store goes on from a snapshot of one that was, or was not, [expiring](Self::is_expiring).
    pub fn goes_on(&mut self, expiring: bool) {
        self.deadlines.ever |= expiring && rule::EXPIRY_SURVIVES.kept();
    }

    /// Notices keys whose deadlines are at or below `time`, up to `budget` of them, nearest first. Returns how many.
    pub fn pass_deadlines(&mut self, time: Hlc, budget: usize) -> usize {
        let upto = time.micros() / 1000;
        let mut noticed = 0;
        while noticed < budget
            && let Some(place) =
                self.deadlines.ahead.first().copied().filter(|(deadline, _)| *deadline <= upto)
        {
            self.pass(place);
            noticed += 1;
        }
        noticed
    }

    /// Notices that a deadline has passed.
    fn pass(&mut self, place: (u64, u32)) {
        let index = &mut self.deadlines;
        if !index.ahead.remove(&place) {
            return;
        }
        index.passed.insert(place);
        index.count += 1;
        if let Some(told) = &mut index.told {
            let (deadline_ms, handle) = place;
            let key = Key(bytes::Bytes::copy_from_slice(&self.tables.entry(handle).key));
            told.push(Expired { key, deadline_ms });
        }
    }

    /// An entry is about to lose what had expired at or below `settled`: that is noticed first.
    pub(super) fn pass_before(&mut self, handle: u32, settled: Hlc) {
        let due = self.tables.object(handle).due();
        if let Some(deadline) = due.filter(|deadline| *deadline <= settled.micros() / 1000) {
            self.pass((deadline, handle));
        }
    }

    /// Whether keys that pass are remembered until [`Self::take_expired`]. REQUIRES: who turns it on takes them regularly.
    pub fn tell_expired(&mut self, on: bool) {
        self.deadlines.told = on.then(|| self.deadlines.told.take().unwrap_or_default());
    }

    /// The keys that have passed since the last time, in the order in which it was noticed: see [`Self::tell_expired`].
    pub fn take_expired(&mut self) -> Vec<Expired> {
        self.deadlines.told.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// How many keys have passed since this server started.
    pub fn expired(&self) -> u64 {
        self.deadlines.count
    }

    /// How many keys with deadlines there are, of which content is left.
    pub fn with_deadlines(&self) -> u64 {
        (self.deadlines.ahead.len() + self.deadlines.passed.len()) as u64
    }

    /// The first of the deadlines that nobody has noticed to have passed, in milliseconds since 1970.
    pub fn next_deadline(&self) -> Option<u64> {
        self.deadlines.ahead.first().map(|(deadline, _)| *deadline)
    }

    /// Up to `limit` keys in the order of their deadlines, the nearest first, with their deadlines in milliseconds since 1970. Those
    /// of which content is left although they have expired come first.
    pub fn nearest_deadlines(&self, limit: usize) -> Vec<Expired> {
        let all = self.deadlines.passed.iter().chain(&self.deadlines.ahead).take(limit);
        let key = |handle| Key(bytes::Bytes::copy_from_slice(&self.tables.entry(handle).key));
        all.map(|(deadline, handle)| Expired { key: key(*handle), deadline_ms: *deadline }).collect()
    }

    /// The head of an entry's object has changed (I1).
    pub(super) fn index_deadline(&mut self, handle: u32) {
        let object = self.tables.object_mut(handle);
        let deadline = object.head().deadlines.effective();
        self.deadlines.ever |= deadline.is_some();
        let due = deadline.filter(|_| object.head().kind().is_some());
        let before = object.due();
        if before == due {
            return;
        }
        object.set_due(due);
        if let Some(before) = before {
            self.deadlines.remove(before, handle);
        }
        if let Some(due) = due {
            self.deadlines.ahead.insert((due, handle));
        }
    }

    /// An entry's object goes.
    pub(super) fn forget_deadline(&mut self, handle: u32, object: &Object<M>) {
        if let Some(due) = object.due() {
            self.deadlines.remove(due, handle);
        }
    }

    /// Hands what has expired and may be dropped (R19) to collection. It is not indexed again unless its deadline changes: an
    /// object does not rest before its expired content is gone.
    pub(super) fn collect_expired(&mut self) {
        let settled = self.settled();
        self.pass_deadlines(settled, KEYS_A_ROUND);
        let upto = settled.micros() / 1000;
        for _ in 0..KEYS_A_ROUND {
            let first = self.deadlines.passed.first().copied();
            let Some((deadline, handle)) = first.filter(|(deadline, _)| *deadline <= upto) else { break };
            self.deadlines.passed.remove(&(deadline, handle));
            self.queue(handle);
        }
    }
}
