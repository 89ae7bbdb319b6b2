//! Walks a history in an order in which causes come before effects, and knows each event's causal past.
//!
//! Happens-before (dissertation, Def. 8) is session order, reads-from and what follows from them; an adopted
//! token adds an edge. The past of an event is a vector clock: for each column (a session, or one unknown
//! write) how many of its events are in the past. Only versions that another session still has to read keep
//! a clock, so memory is bounded by what is unread, not by the length of the history.
//!
//! **Invariants**
//! - I1: an event is visited after everything in its past, unless happens-before is cyclic; a cycle is
//!   reported once and cut at one read, which then carries nothing.
//! - I2: `live` holds the visited versions of each key, oldest first, so that the newest version of a key in
//!   somebody's past is found by looking from the newest down: few steps when sessions are walked abreast.

use crate::hash::Map;
use crate::index::{ABSENT, Index, NONE, Ref, UNCHECKED, needs_clock};
use tidemark_core::history::{Fate, ReadKind};

mod clocks;
mod order;
use clocks::{Clocks, join};
pub(crate) use order::Cycle;

/// The causal past of an event, or of a set of versions.
pub(crate) struct Past<'a> {
    index: &'a Index<'a>,
    live: &'a Live,
    clocks: &'a Clocks,
    clock: &'a [u32],
}

impl Past<'_> {
    /// Whether `version` is in the past.
    #[inline]
    pub(crate) fn includes(&self, version: u32) -> bool {
        let v = self.index.version(version);
        v.column != NONE && self.clock[v.column as usize] >= v.pos
    }

    /// The newest version of `key` in the past, if it is newer than `rank`.
    #[inline]
    pub(crate) fn newest_above(&self, key: u32, rank: u32) -> Option<u32> {
        let newer = self.live.of(self.index, key).iter().rev().take_while(|v| self.index.rank(**v) > rank);
        newer.copied().find(|v| self.includes(*v))
    }

    /// The visited versions of `key` that are newer than `rank`, newest first, in the past or not.
    pub(crate) fn newer(&self, key: u32, rank: u32) -> impl Iterator<Item = u32> + '_ {
        let newer = self.live.of(self.index, key).iter().rev();
        newer.copied().take_while(move |v| self.index.rank(*v) > rank)
    }

    /// The past of `version`, while it is kept: another session is reading it.
    pub(crate) fn of_version(&self, version: u32) -> Option<&[u32]> {
        self.clocks.of_version(version)
    }

    /// How many events of `column` are in the past.
    #[inline]
    pub(crate) fn reading(&self, column: u32) -> u32 {
        self.clock[column as usize]
    }
}

/// What checks a history while it is walked. Every call names an event; reads come before the write.
pub(crate) trait Observer {
    /// Event `e` returned `reads`. `past` is its session's past; `joint` is the past that a consistent
    /// snapshot must cover: what was returned with its past and, unless `kind` is `Snapshot`, `past`.
    fn on_reads(&mut self, e: u32, kind: ReadKind, reads: &[Ref], past: &Past<'_>, joint: &Past<'_>);
    /// Event `e` wrote `version` with this past.
    fn on_write(&mut self, e: u32, version: u32, past: &Past<'_>);
    /// The session of event `e` has seen what it returned.
    fn after_reads(&mut self, _e: u32, _reads: &[Ref]) {}
    /// A later event adopts what `session` has seen and done in its first `events` events: now.
    fn on_export(&mut self, _session: u32, _events: u32) {}
    /// `session` takes over what was exported by `from` at `events`.
    fn on_adopt(&mut self, _session: u32, _from: u32, _events: u32) {}
}

/// The visited versions of each key (I2).
struct Live {
    versions: Vec<u32>,
    count: Vec<u32>,
}

impl Live {
    #[inline]
    fn of(&self, index: &Index<'_>, key: u32) -> &[u32] {
        let start = index.key_start[key as usize] as usize;
        &self.versions[start..start + self.count[key as usize] as usize]
    }

    fn insert(&mut self, index: &Index<'_>, version: u32) {
        let v = index.version(version);
        let start = index.key_start[v.key as usize] as usize;
        let mut at = start + self.count[v.key as usize] as usize;
        self.count[v.key as usize] += 1;
        while at > start && index.rank(self.versions[at - 1]) > v.rank {
            self.versions[at] = self.versions[at - 1];
            at -= 1;
        }
        self.versions[at] = version;
    }
}

pub(crate) struct Walk<'i> {
    index: &'i Index<'i>,
    /// Per session: how many events were visited.
    visited: Vec<u32>,
    clocks: Clocks,
    live: Live,
    joint: Vec<u32>,
    /// Clocks of sessions at the moments that adopt events name.
    exports: Map<(u32, u32), Option<Vec<u32>>>,
    order: order::Order,
}

/// Walks the history of `index`, and returns the cycles that were cut.
pub(crate) fn walk(index: &Index<'_>, observer: &mut impl Observer) -> Vec<Cycle> {
    let sessions = index.session_ids.len();
    let mut exports = Map::default();
    for e in 0..index.history.events.len() as u32 {
        if let Some((from, events)) = index.adopts(e) {
            exports.insert((from, done_at(index, from, events)), None);
        }
    }
    let mut walk = Walk {
        index,
        visited: vec![0; sessions],
        clocks: Clocks::new(sessions, index.columns, index.versions.len()),
        live: Live { versions: vec![0; index.by_key.len()], count: vec![0; index.keys.len()] },
        joint: vec![0; index.columns],
        exports,
        order: order::Order::new(index),
    };
    walk.run(observer)
}

/// How many events of `session` have happened when its first `events` and their transaction have.
fn done_at(index: &Index<'_>, session: u32, events: u32) -> u32 {
    index.pos[index.events_of(session)[events as usize - 1] as usize]
}

impl Walk<'_> {
    /// Visits the next event of `session`, or its next transaction: `events`.
    fn visit(&mut self, session: u32, events: &[u32], observer: &mut impl Observer) {
        match events {
            [e] => self.visit_one(session, *e, observer),
            _ => self.visit_transaction(session, events, observer),
        }
        let done = self.visited[session as usize] + events.len() as u32;
        self.visited[session as usize] = done;
        self.clocks.of_session_mut(session)[session as usize] = done;
        for e in events {
            let version = self.index.wrote[*e as usize];
            if version != ABSENT {
                self.live.insert(self.index, version);
                self.keep_clock(session, version);
            }
        }
        if !self.exports.is_empty()
            && let Some(export) = self.exports.get_mut(&(session, done))
        {
            *export = Some(self.clocks.of_session(session).to_vec());
            observer.on_export(session, done);
        }
    }

    fn visit_one(&mut self, session: u32, e: u32, observer: &mut impl Observer) {
        let index = self.index;
        let reads = index.reads_of(e);
        if !reads.is_empty() {
            let kind = index.kind(e);
            self.joint.copy_from_slice(self.clocks.of_session(session));
            if kind == ReadKind::Snapshot {
                self.joint.fill(0);
            }
            if kind != ReadKind::Get {
                self.add_pasts(e, reads, kind);
            }
            self.observe(session, e, kind, reads, observer);
            if kind == ReadKind::Get {
                self.add_pasts(e, reads, kind);
            }
            join(self.clocks.of_session_mut(session), &self.joint);
            self.release(e, reads, kind);
            observer.after_reads(e, reads);
        } else if let Some((from, events)) = index.adopts(e) {
            let at = (from, done_at(index, from, events));
            if let Some(Some(clock)) = self.exports.get(&at) {
                join(self.clocks.of_session_mut(session), clock);
                observer.on_adopt(session, at.0, at.1);
            }
        }
        self.observe_write(session, e, observer);
    }

    /// A transaction reads one snapshot, its own writes aside, and its writes share one past.
    fn visit_transaction(&mut self, session: u32, events: &[u32], observer: &mut impl Observer) {
        let index = self.index;
        let external = |e: u32| -> Vec<Ref> {
            let own = |r: &Ref| r.version != UNCHECKED && events.contains(&index.version(r.version).writer);
            index.reads_of(e).iter().filter(|r| !own(r)).copied().collect()
        };
        let reads: Vec<(u32, Vec<Ref>)> = events.iter().map(|e| (*e, external(*e))).collect();
        self.joint.copy_from_slice(self.clocks.of_session(session));
        for (e, reads) in &reads {
            self.add_pasts(*e, reads, ReadKind::Rotx);
        }
        for (e, reads) in &reads {
            self.observe(session, *e, ReadKind::Rotx, reads, observer);
        }
        join(self.clocks.of_session_mut(session), &self.joint);
        for (e, reads) in &reads {
            self.release(*e, reads, index.kind(*e));
            observer.after_reads(*e, reads);
            self.observe_write(session, *e, observer);
        }
    }

    fn observe(&self, session: u32, e: u32, kind: ReadKind, reads: &[Ref], observer: &mut impl Observer) {
        let (index, live, clocks) = (self.index, &self.live, &self.clocks);
        let past = Past { index, live, clocks, clock: clocks.of_session(session) };
        let joint = Past { index, live, clocks, clock: &self.joint };
        observer.on_reads(e, kind, reads, &past, &joint);
    }

    fn observe_write(&self, session: u32, e: u32, observer: &mut impl Observer) {
        let version = self.index.wrote[e as usize];
        if version != ABSENT {
            let (index, live, clocks) = (self.index, &self.live, &self.clocks);
            observer.on_write(e, version, &Past { index, live, clocks, clock: clocks.of_session(session) });
        }
    }

    /// Adds the versions read, and their pasts, to `joint`.
    fn add_pasts(&mut self, e: u32, reads: &[Ref], kind: ReadKind) {
        for read in reads {
            if read.version != UNCHECKED
                && needs_clock(self.index, e, read.version, kind)
                && let Some(clock) = self.clocks.of_version(read.version)
            {
                join(&mut self.joint, clock);
            }
        }
    }

    fn release(&mut self, e: u32, reads: &[Ref], kind: ReadKind) {
        for read in reads {
            if read.version != UNCHECKED && needs_clock(self.index, e, read.version, kind) {
                self.clocks.release(read.version);
            }
        }
    }

    /// Keeps the clock of a version that other sessions are going to read.
    fn keep_clock(&mut self, session: u32, version: u32) {
        let v = self.index.version(version);
        if v.readers == 0 {
            return;
        }
        let clock = self.clocks.keep(session, version, v.readers);
        if self.index.event(v.writer).fate == Fate::Unknown {
            clock[session as usize] = self.index.seat[v.writer as usize];
            clock[v.column as usize] = v.pos;
        }
    }
}
