//! Interactive transactions: what a connection has begun with TIDE.BEGIN. Its commands read in one snapshot, with its own writes on
//! top, and nobody else sees a write before TIDE.COMMIT.

use super::events::{Event, events, happened};
use std::fmt;
use tidemark_contract::transaction::{Carried, Place, Transaction};
use tidemark_core::{Failure, Micros, Op, Outcome, Snapshot};

/// The transaction of a connection, if it has begun one.
#[derive(Default)]
pub struct Interactive {
    open: Option<Box<Open>>,
    /// The next one that begins takes no writes.
    only_reads: bool,
    /// What the last one will have caused, if it has committed.
    events: Vec<Event>,
}

struct Open {
    transaction: Transaction,
    only_reads: bool,
    /// What it has caused so far, and what the operation that waits will cause.
    events: Vec<Event>,
    expected: Vec<Event>,
}

/// The operations that end a transaction: the commit, if there is anything to commit, and what gives its snapshot back.
pub(super) struct Ending {
    pub(super) commit: Option<Op>,
    pub(super) end: Op,
}

impl Interactive {
    /// Whether there is one.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// TIDE.BEGIN: one is about to begin.
    pub(super) fn begins(&mut self, only_reads: bool) {
        self.only_reads = only_reads;
    }

    /// It has begun.
    pub fn begun(&mut self, snapshot: Snapshot, place: Place, now: Micros) {
        let (transaction, only_reads) = (Transaction::new(snapshot, place, now), self.only_reads);
        self.open =
            Some(Box::new(Open { transaction, only_reads, events: Vec::new(), expected: Vec::new() }));
    }

    /// Carries out an operation; steps of transactions go to the session. If somebody wants to know of events, those that it causes
    /// are noted.
    pub fn carry(&mut self, op: Op, tells: bool) -> Carried {
        let Some(open) = self.open.as_mut().filter(|_| !matches!(op, Op::Transact(_))) else {
            return Carried::Asks(op);
        };
        if open.only_reads && op.writes().is_some() {
            let why = "the transaction only reads: it was begun with TIDE.BEGIN SNAPSHOT".into();
            return Carried::Ended(Outcome::Failed(Failure::Refused(why)));
        }
        open.expected = if tells { events(&op) } else { Vec::new() };
        let carried = open.transaction.carry(op);
        if let Carried::Ended(outcome) = &carried {
            open.note(outcome);
        }
        carried
    }

    /// Takes the outcome of what [`Self::carry`] asked, and of everything else; how the operation ended.
    pub fn found(&mut self, outcome: Outcome) -> Outcome {
        let Some(open) = &mut self.open else { return outcome };
        if !open.transaction.waits() {
            return outcome;
        }
        let outcome = open.transaction.found(outcome);
        open.note(&outcome);
        outcome
    }

    /// Ends it: TIDE.COMMIT.
    pub(super) fn commit(&mut self, check: bool) -> Option<Ending> {
        let mut open = self.open.take()?;
        self.events = std::mem::take(&mut open.events);
        Some(Ending { commit: open.transaction.commit(check), end: open.transaction.end() })
    }

    /// Ends it: TIDE.ROLLBACK.
    pub(super) fn roll_back(&mut self) -> Option<Ending> {
        Some(Ending { commit: None, end: self.open.take()?.transaction.end() })
    }

    /// Forgets it, and returns the operation that gives its snapshot back.
    pub fn leave(&mut self) -> Option<Op> {
        self.roll_back().map(|ending| ending.end)
    }

    /// What the one that commits will have caused.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }
}

impl Open {
    fn note(&mut self, outcome: &Outcome) {
        let expected = std::mem::take(&mut self.expected);
        if !expected.is_empty() && matches!(outcome, Outcome::Written { stamp: Some(_), .. }) {
            self.events.extend(happened(expected, outcome).map(Event::from));
        }
    }
}

impl fmt::Debug for Interactive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interactive").field("open", &self.is_open()).finish_non_exhaustive()
    }
}
