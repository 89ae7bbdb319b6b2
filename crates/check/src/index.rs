//! A history in numbers: sessions, keys and versions interned, every read resolved to the version it saw.
//!
//! Two ways to know a version. *White box*: by its stamp, which also says which of two versions is newer.
//! *Black box*: by its value, which must be unique per key; which of two versions is newer is not known.
//! A history is white box if every acknowledged write carries its version, unless values alone are to count.
//!
//! **Invariants**
//! - I1: version 0 is the absence of every key, rank 0; ranks of a key's versions count from 1, oldest first
//!   (white box).
//! - I2: an unknown write is a version only if its stamp was recorded or somebody read it. Its session's later
//!   operations do not follow it, so no session's column counts it: who has it in the past is known from who
//!   read it, or another write of its transaction.

use crate::hash::Map;
use tidemark_core::history::{Action, Event, Fate, History, ReadKind, SessionId};
use tidemark_core::{Found, Guarantees, Key, Stamp};

mod resolve;
pub(crate) use resolve::{Oddity, needs_clock};

/// The absence of a key, as a version.
pub(crate) const ABSENT: u32 = 0;
/// A read that cannot be resolved: several writes may have written its value. It is not checked.
pub(crate) const UNCHECKED: u32 = u32::MAX;
/// No event, no column.
pub(crate) const NONE: u32 = u32::MAX;

/// Which of its key's versions a read returned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ref {
    pub(crate) key: u32,
    pub(crate) version: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Version {
    pub(crate) key: u32,
    /// Place among the versions of the key, oldest first; 0 in a black box.
    pub(crate) rank: u32,
    /// The session that counts the write among its own; NONE if it is nobody's, or got no answer (I2).
    pub(crate) column: u32,
    /// How many events of that session have happened when the version is in the past.
    pub(crate) pos: u32,
    /// The event that wrote it, or NONE.
    pub(crate) writer: u32,
    /// Unanswered writes of one transaction are in somebody's past together: the first of them, or this.
    pub(crate) group: u32,
    /// How many reads of other sessions return it.
    pub(crate) readers: u32,
    pub(crate) delete: bool,
    pub(crate) stamp: Option<Stamp>,
}

pub(crate) struct Index<'h> {
    pub(crate) history: &'h History,
    pub(crate) white_box: bool,
    pub(crate) keys: Vec<&'h Key>,
    pub(crate) session_ids: Vec<SessionId>,
    session_numbers: Map<u64, u32>,
    /// Per event: the number of its session.
    pub(crate) session_of: Vec<u32>,
    /// Per event: its place in its session, from 0.
    pub(crate) seat: Vec<u32>,
    /// Per event: how many events of its session have happened when its transaction is complete.
    pub(crate) pos: Vec<u32>,
    /// The events of each session in program order, one session after the other.
    by_session: Vec<u32>,
    session_start: Vec<u32>,
    reads: Vec<Ref>,
    first_read: Vec<u32>,
    /// Per event: the version it wrote, or ABSENT.
    pub(crate) wrote: Vec<u32>,
    pub(crate) finals: Vec<Ref>,
    pub(crate) versions: Vec<Version>,
    /// Versions by key, and by rank within a key.
    pub(crate) by_key: Vec<u32>,
    pub(crate) key_start: Vec<u32>,
    /// Per key: the rank of the newest delete; `u32::MAX` if one may have happened whose rank is not known.
    newest_delete: Vec<u32>,
    pub(crate) oddities: Vec<Oddity>,
    /// Reads that were not resolved because several writes may have written their value.
    pub(crate) ambiguous: u64,
    pub(crate) has_txns: bool,
}

impl<'h> Index<'h> {
    pub(crate) fn new(history: &'h History, values_only: bool) -> Self {
        let n = history.events.len();
        let mut index = Self {
            history,
            white_box: !values_only && is_white_box(history),
            keys: Vec::new(),
            session_ids: Vec::new(),
            session_numbers: Map::default(),
            session_of: Vec::with_capacity(n),
            seat: Vec::with_capacity(n),
            pos: Vec::with_capacity(n),
            by_session: vec![0; n],
            session_start: Vec::new(),
            reads: Vec::with_capacity(n),
            first_read: Vec::with_capacity(n + 1),
            wrote: Vec::with_capacity(n),
            finals: Vec::with_capacity(history.finals.len()),
            versions: Vec::with_capacity(n / 2 + 1),
            by_key: Vec::new(),
            key_start: Vec::new(),
            newest_delete: Vec::new(),
            oddities: Vec::new(),
            ambiguous: 0,
            has_txns: false,
        };
        index.seat_events();
        resolve::resolve(&mut index);
        index.rank_versions();
        index
    }

    /// Interns sessions and places every event in its own.
    fn seat_events(&mut self) {
        let mut last = (0, NONE);
        let mut counts: Vec<u32> = Vec::with_capacity(16);
        for event in &self.history.events {
            if last != (event.session.0, last.1) || last.1 == NONE {
                let fresh = self.session_ids.len() as u32;
                let number = *self.session_numbers.entry(event.session.0).or_insert(fresh);
                if number == fresh {
                    self.session_ids.push(event.session);
                    counts.push(0);
                }
                last = (event.session.0, number);
            }
            self.session_of.push(last.1);
            self.seat.push(counts[last.1 as usize]);
            self.pos.push(counts[last.1 as usize] + 1);
            counts[last.1 as usize] += 1;
            self.has_txns |= event.txn.is_some();
        }
        let mut start = 0;
        for count in &counts {
            self.session_start.push(start);
            start += count;
        }
        self.session_start.push(start);
        for (e, (session, seat)) in self.session_of.iter().zip(&self.seat).enumerate() {
            self.by_session[(self.session_start[*session as usize] + seat) as usize] = e as u32;
        }
        if self.has_txns {
            self.close_transactions();
        }
    }

    /// Lets every event of a transaction count as done when the last one is.
    fn close_transactions(&mut self) {
        for session in 0..self.session_ids.len() as u32 {
            let events = self.events_of(session).to_vec();
            for (event, next) in events.iter().zip(&events[1..]).rev() {
                let txn = self.event(*event).txn;
                if txn.is_some() && txn == self.event(*next).txn {
                    self.pos[*event as usize] = self.pos[*next as usize];
                }
            }
        }
    }

    /// Orders the versions of each key (I1) and finds the newest delete of each.
    fn rank_versions(&mut self) {
        let Self { versions, by_key, key_start, .. } = self;
        by_key.extend(1..versions.len() as u32);
        by_key.sort_unstable_by_key(|v| {
            let version = &versions[*v as usize];
            (version.key, version.stamp, *v)
        });
        key_start.resize(self.keys.len() + 1, 0);
        let mut at = 0;
        for (key, start) in key_start.iter_mut().enumerate() {
            *start = at as u32;
            let mut rank = 0;
            while at < by_key.len() && versions[by_key[at] as usize].key as usize == key {
                let version = &mut versions[by_key[at] as usize];
                if self.white_box {
                    rank += 1;
                    version.rank = rank;
                }
                if version.delete {
                    let newest = &mut self.newest_delete[key];
                    *newest = (*newest).max(if self.white_box { rank } else { u32::MAX });
                }
                at += 1;
            }
        }
    }

    #[inline]
    pub(crate) fn event(&self, e: u32) -> &'h Event {
        &self.history.events[e as usize]
    }

    /// Which session guarantees event `e` asked for: the others do not hold it.
    #[inline]
    pub(crate) fn asked(&self, e: u32) -> Guarantees {
        self.event(e).asked
    }

    #[inline]
    pub(crate) fn events_of(&self, session: u32) -> &[u32] {
        let s = session as usize;
        &self.by_session[self.session_start[s] as usize..self.session_start[s + 1] as usize]
    }

    /// The seat of the first event of the transaction of event `e`, or its own.
    pub(crate) fn began(&self, e: u32) -> u32 {
        let events = self.events_of(self.session_of[e as usize]);
        let done = self.pos[e as usize];
        let before = events[..self.seat[e as usize] as usize].iter().rev();
        self.seat[e as usize] - before.take_while(|i| self.pos[**i as usize] == done).count() as u32
    }

    /// The versions of `key` above `rank`, newest first. White box.
    pub(crate) fn newer(&self, key: u32, rank: u32) -> impl Iterator<Item = u32> + '_ {
        let (start, end) = (self.key_start[key as usize], self.key_start[key as usize + 1]);
        self.by_key[(start + rank) as usize..end as usize].iter().rev().copied()
    }

    /// The events of the transaction of event `e`: itself at least.
    pub(crate) fn transaction(&self, e: u32) -> &[u32] {
        let (all, end) = (self.events_of(self.session_of[e as usize]), self.pos[e as usize]);
        let same = |other: &&u32| self.pos[**other as usize] == end;
        let events = all[..end as usize].iter().rev().take_while(same).count();
        &all[end as usize - events..end as usize]
    }

    /// The reads of event `e`: what it observed, or what it returned. None if it failed.
    #[inline]
    pub(crate) fn reads_of(&self, e: u32) -> &[Ref] {
        &self.reads[self.first_read[e as usize] as usize..self.first_read[e as usize + 1] as usize]
    }

    /// The versions of a key, oldest first in a white box, as recorded in a black one.
    pub(crate) fn versions_of(&self, key: u32) -> &[u32] {
        &self.by_key[self.key_start[key as usize] as usize..self.key_start[key as usize + 1] as usize]
    }

    #[inline]
    pub(crate) fn version(&self, v: u32) -> &Version {
        &self.versions[v as usize]
    }

    /// The rank of what a read returned: 0 for absence.
    #[inline]
    pub(crate) fn rank(&self, v: u32) -> u32 {
        self.versions[v as usize].rank
    }

    /// Whether a read of `key` that returned `version` may do so although `newer` is newer and in its past:
    /// a tombstone at or above it may have been collected, and reads as absence then.
    #[inline]
    pub(crate) fn excused(&self, read: Ref, newer: u32) -> bool {
        read.version == ABSENT && self.newest_delete[read.key as usize] >= self.version(newer).rank.max(1)
    }

    /// Whether any delete of `key` may have happened.
    pub(crate) fn ever_deleted(&self, key: u32) -> bool {
        self.newest_delete[key as usize] > 0
    }

    /// Which kind of read event `e` is: an update observes its key as a GET does.
    #[inline]
    pub(crate) fn kind(&self, e: u32) -> ReadKind {
        match self.event(e).action {
            Action::Read { kind, .. } => kind,
            _ => ReadKind::Get,
        }
    }

    /// The session that event `e` adopts, and how many of its events.
    pub(crate) fn adopts(&self, e: u32) -> Option<(u32, u32)> {
        match self.event(e) {
            Event { action: Action::Adopt { from, events }, fate: Fate::Ok, .. } => {
                let session = *self.session_numbers.get(&from.0)?;
                let events = (*events).min(self.events_of(session).len() as u64) as u32;
                (events > 0).then_some((session, events))
            }
            _ => None,
        }
    }
}

fn is_white_box(history: &History) -> bool {
    history
        .events
        .iter()
        .all(|e| e.fate != Fate::Ok || !matches!(e.action, Action::Write { version: None, .. }))
}

/// Whether `found` is the absence of its key rather than a version.
pub(crate) fn is_absence(found: &Found) -> bool {
    found.stamp.is_none() && found.value.is_none()
}
