//! Starts of the machine, and the ceiling of times: the two things that a log has to know about losses of power.
//!
//! The death of a process leaves its log as it was written. A loss of power leaves what was synced, so times may have been given
//! to clients, and to nodes of the region on their behalf, of which the log knows nothing any more; and the clock of the machine may have
//! been set back. So a *ceiling* is synced before any time above it is given out, two to three seconds ahead; and a server
//! whose machine has started since the last time begins there.

use crate::host::Host;
use crate::record::{self, CEILING, START};
use crate::rule::{CEILING_IS_SYNCED, MARKS_ARE_SYNCED};
use serde::{Deserialize, Serialize};
use tidemark_contract::Protocol;
use tidemark_core::{Hlc, Micros};
use tidemark_store::log::{Fsync, Position};

/// A new ceiling lies so far above the highest time that may have been given out: not much, for a machine that loses power again
/// and again begins there each time.
const ABOVE_US: Micros = 50_000;

/// The refusal of a node that lost power and had synced nothing.
const UNSYNCED: &str = "this node takes no writes: its machine lost power while fsync was 'no', and its log may lack what other nodes \
                        hold of it; reads go on";

/// A start of a host, as its log remembers it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Start {
    /// Names the start of the machine; empty if that is not known.
    pub(crate) boot: String,
    /// Nothing waited for a sync.
    pub(crate) unsynced: bool,
    /// The first start since which no power was lost.
    pub(crate) since: u64,
    /// Power was lost when nothing was synced: others may hold what is missing here.
    pub(crate) old: bool,
}

/// The starts before this one, as the log tells them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Past {
    /// Their number.
    pub(crate) starts: u64,
    /// The last one.
    pub(crate) last: Start,
    /// The last ceiling.
    pub(crate) ceiling: Micros,
}

/// See the module.
pub(crate) struct Lineage {
    past: Past,
    /// Whether times need a ceiling: clients are told what is merely written.
    needed: bool,
    /// The least that the clock shows.
    from: Micros,
    /// The highest that the machine's clock has shown.
    wall: Micros,
    /// Times up to this may have been given out.
    reached: Micros,
    /// Synced.
    synced: Micros,
    /// Written, and where.
    written: Option<(Position, Micros)>,
    /// The highest time of a version that was written here.
    stamped: Micros,
    /// The last change that may show a version which the log had before.
    shown: Position,
}

impl Lineage {
    pub(crate) fn new(past: Past, fsync: Fsync, grouped: bool) -> Self {
        let (needed, synced) = (fsync == Fsync::EverySec && !grouped, past.ceiling);
        Self {
            past,
            needed,
            from: 0,
            wall: 0,
            reached: 0,
            synced,
            written: None,
            stamped: 0,
            shown: Position::START,
        }
    }

    /// The time when the machine's clock shows `wall`.
    #[inline]
    pub(crate) fn clock(&mut self, wall: Micros) -> Micros {
        self.wall = self.wall.max(wall);
        wall.max(self.from)
    }

    /// Notes that a version was written at `ts`.
    #[inline]
    pub(crate) fn stamp(&mut self, ts: Hlc) {
        self.stamped = self.stamped.max(ts.micros());
        self.reach(ts);
    }

    /// Notes that times up to `ts` may have been given out.
    #[inline]
    pub(crate) fn reach(&mut self, ts: Hlc) {
        self.reached = self.reached.max(ts.micros());
    }

    /// The highest time that [`Self::clock`] has returned.
    pub(crate) fn highest_clock(&self) -> Micros {
        self.wall.max(self.from)
    }

    /// No time that was given out, or may be now, lies above this.
    fn highest(&self) -> Micros {
        self.reached.max(self.highest_clock())
    }

    /// Notes that the record at `position` may show a version which was hidden.
    pub(crate) fn show(&mut self, position: Position) {
        self.shown = position;
    }

    /// The log is synced up to `durable`.
    pub(crate) fn settle(&mut self, durable: Position) {
        if let Some((_, ceiling)) = self.written.take_if(|(at, _)| *at < durable) {
            self.synced = ceiling;
        }
    }

    /// The first start since which no power was lost: records of before may be gone, and their numbers given again.
    pub(crate) fn since(&self) -> u64 {
        self.past.last.since
    }

    /// The start and the ceiling that a snapshot has to keep.
    pub(crate) fn for_snapshot(&self) -> (u64, &Start, Micros) {
        let written = self.written.map_or(self.synced, |(_, ceiling)| ceiling);
        (self.past.starts, &self.past.last, written)
    }
}

impl<P: Protocol> Host<P> {
    /// Logs that the host starts, on this machine, under this policy. `closed` says that its log was closed before.
    pub(crate) fn log_start(&mut self, closed: bool) {
        let old = self.may_be_old(closed);
        let (boot, unsynced) = (self.config.boot.clone(), self.config.fsync == Fsync::No);
        let past = &mut self.lineage.past;
        past.starts += 1;
        let number = past.starts;
        let powered = !boot.is_empty() && boot == past.last.boot;
        if !powered {
            self.lineage.from = past.ceiling;
        }
        let start = Start { boot, unsynced, since: if powered { past.last.since } else { number }, old };
        past.last = start.clone();
        self.disowned = old.then(|| UNSYNCED.to_string());
        self.append_as_it_is(START, 0, number, |buffer| record::encode(&start, buffer));
    }

    /// Whether the log may lack what others hold: nothing was synced, and the machine has started anew. Whoever is alone has lost what it
    /// has lost, and nobody holds anything else.
    fn may_be_old(&self, closed: bool) -> bool {
        let Past { starts, last, .. } = &self.lineage.past;
        let alone = self.config.topology.dcs == 1 && !self.config.several;
        let lost = *starts > 0 && last.unsynced && last.boot != self.config.boot && !closed && !alone;
        lost || last.old
    }

    /// Sees to it that the ceiling lies so far ahead of the machine's clock at least. Without room for it, nothing is written that
    /// needs it.
    pub(crate) fn raise_ceiling(&mut self, least_us: Micros) {
        let Lineage { written, synced, wall, needed, .. } = self.lineage;
        let written = written.map_or(synced, |(_, ceiling)| ceiling);
        let highest = self.lineage.highest();
        let ahead_us = self.config.ceiling_us;
        let is_far = written >= highest && written >= wall + least_us;
        if !needed || is_far || !CEILING_IS_SYNCED.kept() || self.log.reserve(1, 16).is_err() {
            return;
        }
        let ceiling = (highest + ABOVE_US).max(wall + ahead_us);
        let position = self.append_as_it_is(CEILING, 0, ceiling, |_| ());
        self.lineage.written = position.map(|position| (position, ceiling));
    }

    /// Whether a time that is given out now may lie above the ceiling that is synced: writes wait, and so does what other nodes of
    /// the region are told.
    pub(crate) fn is_over_ceiling(&self) -> bool {
        self.lineage.needed && CEILING_IS_SYNCED.kept() && self.lineage.highest() > self.lineage.synced
    }

    /// Everything at or below may be told to clients. A loss of power may take it back, together with all that was done for them.
    #[inline]
    pub fn for_clients(&self) -> Position {
        let durable = self.durable();
        let Lineage { needed, synced, stamped, shown, .. } = self.lineage;
        let above = stamped > synced && CEILING_IS_SYNCED.kept();
        match needed && !above && (shown < durable || !self.arrivals.defer || !MARKS_ARE_SYNCED.kept()) {
            true => self.log.flushed(),
            false => durable,
        }
    }

    /// Everything at or below may be told to other nodes of the region on behalf of a client.
    pub fn for_siblings(&self) -> Position {
        if self.is_over_ceiling() { self.durable() } else { self.for_clients() }
    }
}
