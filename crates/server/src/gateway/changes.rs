//! Keys that an operation may change, for those who want to know at once: waiters and keyspace notifications.

use crate::redis::Event;
use crate::run::shard::Engine;
use tidemark_core::{Key, Op, Outcome};

/// The changes of an operation that was begun.
pub(crate) struct Change {
    /// Keys for which somebody waits.
    awaited: Vec<Key>,
    events: Vec<Event>,
}

impl Change {
    /// Of an operation, if somebody wants to know.
    #[inline]
    pub(super) fn of(engine: &Engine, op: &Op) -> Option<Box<Self>> {
        let (awaited, events) = (engine.waiters.concerned(op), engine.shared.events(op));
        if awaited.is_empty() && events.is_empty() { None } else { Some(Box::new(Self { awaited, events })) }
    }

    /// The operation has ended so.
    pub(super) fn ended(self, engine: &mut Engine, outcome: &Outcome) {
        if matches!(outcome, Outcome::Written { stamp: Some(_), .. }) {
            engine.waiters.wake(&self.awaited);
            engine.shared.tell(self.events, outcome);
        }
    }
}
