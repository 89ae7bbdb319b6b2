//! The times of one server whose transactions commit later than they are proposed: its clock, which never gives out a
//! time twice, what is pending, and up to where everything is applied.
//!
//! A time that was given to a transaction, announced to peers, or read at is never given out again, nor anything below
//! it, not even by a later life: a durable [`Ceiling`] lies above. What is pending is durable as [`TwoPhase`] asks.
//!
//! **Invariants**
//! - I1 What is pending lies above everything announced and read at before it was proposed.
//! - I2 What is durable is written by [`Timeline::save`], with which every event has to end.

use crate::early::SHORTEST_WAIT_US;
use crate::two_phase::{Commit, Transaction, TwoPhase, Undone};
use crate::{Ceiling, Cx, Protocol, Wire, ceiling};
use derive_where::derive_where;
use serde::{Deserialize, Serialize};
use tidemark_core::{Hlc, Micros, ServerId, Vector};

/// What of it outlives a crash.
#[derive_where(Clone, Debug, Default; S: Clone + std::fmt::Debug, D: Clone + std::fmt::Debug)]
#[derive(Serialize, Deserialize)]
#[serde(bound = "S: Wire, D: Wire")]
pub struct Lasting<S, D = ()> {
    /// The ceiling, with the stable value.
    pub times: ceiling::Hard,
    /// Transactions that are not done with.
    pub undone: Undone<S, D>,
}

impl<S, D> AsRef<ceiling::Hard> for Lasting<S, D> {
    fn as_ref(&self) -> &ceiling::Hard {
        &self.times
    }
}

impl<S, D> AsMut<ceiling::Hard> for Lasting<S, D> {
    fn as_mut(&mut self) -> &mut ceiling::Hard {
        &mut self.times
    }
}

/// The times of one server.
pub struct Timeline<S, L> {
    /// The transactions that it coordinates, and those that are pending.
    pub commits: TwoPhase<S, L>,
    last: Hlc,
}

impl<S: Wire, L> Timeline<S, L> {
    /// From what outlived an earlier life, of which the last version written here has the time `written`.
    pub fn new(me: ServerId, life: u64, Lasting { times, undone }: Lasting<S>, written: Hlc) -> Self {
        let proposed = undone.prepared.iter().map(|(_, time, ..)| *time);
        Self {
            last: proposed.fold(times.ceiling.max(written), Hlc::max),
            commits: TwoPhase::new(me, life, undone),
        }
    }

    /// What the clock shows at physical time `now`: at least the last time that was given out, announced or read at.
    pub fn clock(&self, now: Micros) -> Hlc {
        self.last.max(Hlc::at(now))
    }

    /// The latest time that can be given out at physical time `now`: those of one microsecond are told apart by counting.
    pub fn latest(&self, now: Micros) -> Hlc {
        self.last.tick(now).max(Hlc::at(now + 1).prev())
    }

    /// Gives out the next time above `above`.
    pub fn tick_above(&mut self, above: Hlc, now: Micros) -> Hlc {
        self.pass(above);
        self.last = self.last.tick(now);
        self.last
    }

    /// Nothing up to `time` will be given out from now on.
    pub fn pass(&mut self, time: Hlc) {
        self.last = self.last.max(time);
    }

    /// Takes out the next transaction to apply, if the clock can show its time. REQUIRES: it is applied within the same
    /// event.
    pub fn take_next(&mut self, now: Micros) -> Option<Transaction<S, L>> {
        let transaction = self.commits.next(self.latest(now))?;
        self.pass(transaction.time);
        Some(transaction)
    }

    /// Up to where everything is applied that was given out, if the clock shows `clock`.
    pub fn applied(&self, clock: Hlc) -> Hlc {
        self.commits.earliest().map_or(clock, |pending| clock.min(pending.prev()))
    }

    /// How long until the clock can show the next of `times`, or of what is pending, if it has to reach any.
    pub fn next_due(&self, now: Micros, times: impl Iterator<Item = Hlc>) -> Option<Micros> {
        let latest = self.latest(now);
        let due = times.chain(self.commits.earliest()).filter(|time| *time > latest).min()?;
        Some(due.micros().saturating_sub(now).max(SHORTEST_WAIT_US))
    }

    /// Ends an event: sends what transactions have to say, with `wrap` as messages of the protocol, and persists what has
    /// to be, with the stable value of now, below a `ceiling`.
    pub fn save<P: Protocol<Hard = Lasting<S>>>(
        &mut self,
        ceiling: &mut Ceiling<Lasting<S>>,
        stable: impl Fn() -> Vector,
        wrap: fn(Commit<S>) -> P::Peer,
        cx: &mut Cx<'_, P>,
    ) {
        let unsaved = self.commits.flush(wrap, cx);
        let renewed = ceiling.renewed(self.last, &stable).is_some();
        if renewed || ceiling.hurried(cx.store.waiting(), &stable).is_some() || unsaved {
            ceiling.persist(|lasting| lasting.undone = self.commits.undone(), cx);
        }
    }
}
