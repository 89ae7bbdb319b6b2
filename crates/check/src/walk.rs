//! Walks a history in an order in which causes come before effects, and knows each event's causal past.
//!
//! Happens-before (dissertation, Def. 8) is session order, reads-from and what follows from them; an adopted
//! token adds an edge. The past of an event is a vector clock: for each session how many of its events are in
//! the past. Only versions that another session still has to read keep a clock, so memory is bounded by what is
//! unread, not by the length of the history. Where nobody asks for pasts, the clocks are empty.
//!
//! **Invariants**
//! - I1: an event is visited after everything in its past, unless happens-before is cyclic; a cycle is
//!   reported once and cut at one read, which then carries nothing.
//! - I2: a write without an answer is in the past of those who have read it, or another one of its transaction, and
//!   of whoever has that read in the past: no clock counts it.

use crate::hash::Map;
use crate::index::{ABSENT, Index, NONE, Ref, UNCHECKED, needs_clock};
use tidemark_core::history::ReadKind;

mod clocks;
mod live;
mod order;
use clocks::{Clocks, join};
use live::Live;
pub(crate) use order::Cycle;

/// The causal past of an event, or of a set of versions.
pub(crate) struct Past<'a> {
    index: &'a Index<'a>,
    live: &'a Live,
    clocks: &'a Clocks,
    clock: &'a [u32],
    /// What the event itself returns, where that counts.
    returned: &'a [Ref],
}

impl Past<'_> {
    /// Whether `version` is in the past.
    #[inline]
    pub(crate) fn includes(&self, version: u32) -> bool {
        let v = self.index.version(version);
        if v.column != NONE {
            return self.clock[v.column as usize] >= v.pos;
        }
        let same =
            |read: &Ref| read.version != UNCHECKED && self.index.version(read.version).group == v.group;
        self.returned.iter().any(same)
            || self.live.readers_of(v.group).iter().any(|(s, pos)| self.clock[*s as usize] >= *pos)
    }

    /// The newest version of `key` in the past, if it is newer than `rank`. White box.
    #[inline]
    pub(crate) fn newest_above(&self, key: u32, rank: u32) -> Option<u32> {
        self.live.newest_above(self, key, rank)
    }

    /// Of each session the last of its writes of `key` in the past, and every write in the past that got no
    /// answer.
    pub(crate) fn last_writes(&self, key: u32) -> impl Iterator<Item = u32> + '_ {
        let unanswered = self.live.unanswered(key).iter().copied().filter(|v| self.includes(*v));
        self.live.writers(key).iter().filter_map(|w| w.last(self.clock)).map(|w| w.version).chain(unanswered)
    }

    /// Whether `other` is in the past of `version`, as far as that is kept: while another session reads it.
    pub(crate) fn follows(&self, version: u32, other: u32) -> bool {
        self.clocks
            .of_version(version)
            .is_some_and(|clock| Past { clock, returned: &[], ..*self }.includes(other))
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
    /// The session of event `e` takes over what was exported by `from` at `events`.
    fn on_adopt(&mut self, _e: u32, _from: u32, _events: u32) {}
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
    pasts: bool,
}

/// Walks the history of `index`, and returns the cycles that were cut. Without `pasts`, every past is empty: then
/// the walk takes no time and memory for clocks.
pub(crate) fn walk(index: &Index<'_>, pasts: bool, observer: &mut impl Observer) -> Vec<Cycle> {
    let sessions = index.session_ids.len();
    let columns = if pasts { sessions } else { 0 };
    let mut exports = Map::default();
    for e in 0..index.history.events.len() as u32 {
        if let Some((from, events)) = index.adopts(e) {
            exports.insert((from, done_at(index, from, events)), None);
        }
    }
    let mut walk = Walk {
        index,
        visited: vec![0; sessions],
        clocks: Clocks::new(sessions, columns, index.versions.len()),
        live: if pasts { Live::new(index) } else { Live::default() },
        joint: vec![0; columns],
        pasts,
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
        if self.pasts {
            self.count(session, done, events);
        }
        if !self.exports.is_empty()
            && let Some(export) = self.exports.get_mut(&(session, done))
        {
            *export = Some(self.clocks.of_session(session).to_vec());
            observer.on_export(session, done);
        }
    }

    /// The `events` of `session` are in its past from now on, its first `done` events.
    fn count(&mut self, session: u32, done: u32, events: &[u32]) {
        self.clocks.of_session_mut(session)[session as usize] = done;
        for e in events {
            for read in self.index.reads_of(*e).iter().filter(|r| r.version != UNCHECKED) {
                self.live.note_reader(self.index, read.version, (session, done));
            }
            let version = self.index.wrote[*e as usize];
            if version != ABSENT {
                self.live.insert(self.index, version);
                self.keep_clock(session, version);
            }
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
            self.observe(e, (kind, reads), reads, observer);
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
                observer.on_adopt(e, at.0, at.1);
            }
        }
        self.observe_write(session, e, reads, observer);
    }

    /// A transaction reads one snapshot, its own writes aside, and its writes share one past.
    fn visit_transaction(&mut self, session: u32, events: &[u32], observer: &mut impl Observer) {
        let index = self.index;
        let external = |e: u32| -> Vec<Ref> {
            let own = |r: &Ref| r.version != UNCHECKED && events.contains(&index.version(r.version).writer);
            index.reads_of(e).iter().filter(|r| !own(r)).copied().collect()
        };
        let reads: Vec<(u32, Vec<Ref>)> = events.iter().map(|e| (*e, external(*e))).collect();
        let all: Vec<Ref> = reads.iter().flat_map(|(_, reads)| reads).copied().collect();
        self.joint.copy_from_slice(self.clocks.of_session(session));
        for (e, reads) in &reads {
            self.add_pasts(*e, reads, ReadKind::Rotx);
        }
        for (e, reads) in &reads {
            self.observe(*e, (ReadKind::Rotx, reads), &all, observer);
        }
        join(self.clocks.of_session_mut(session), &self.joint);
        for (e, reads) in &reads {
            self.release(*e, reads, index.kind(*e));
            observer.after_reads(*e, reads);
            self.observe_write(session, *e, &all, observer);
        }
    }

    /// Shows what event `e` returned; `all` is what its transaction did.
    fn observe(&self, e: u32, (kind, reads): (ReadKind, &[Ref]), all: &[Ref], observer: &mut impl Observer) {
        let session = self.index.session_of[e as usize];
        let past = self.past(self.clocks.of_session(session), &[]);
        observer.on_reads(e, kind, reads, &past, &self.past(&self.joint, all));
    }

    /// Shows what event `e` wrote, having seen what its transaction returned: `all`.
    fn observe_write(&self, session: u32, e: u32, all: &[Ref], observer: &mut impl Observer) {
        let version = self.index.wrote[e as usize];
        if version != ABSENT {
            observer.on_write(e, version, &self.past(self.clocks.of_session(session), all));
        }
    }

    fn past<'a>(&'a self, clock: &'a [u32], returned: &'a [Ref]) -> Past<'a> {
        Past { index: self.index, live: &self.live, clocks: &self.clocks, clock, returned }
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
        if v.readers > 0 {
            let clock = self.clocks.keep(session, version, v.readers);
            if v.column == NONE {
                clock[session as usize] = self.index.seat[v.writer as usize];
            }
        }
    }
}
