//! Keys that an operation may change, for those who want to know at once: waiters, keyspace notifications, and who sees to it
//! that this region has rights to a bounded counter.

use super::client::Client;
use super::interactive::commits;
use super::rights;
use crate::redis::Event;
use crate::run::shard::Engine;
use bytes::Bytes;
use tidemark_core::{Key, Op, Outcome};

/// The changes of an operation that was begun.
pub(crate) struct Change {
    /// Keys for which somebody waits.
    awaited: Vec<Key>,
    events: Vec<Event>,
    /// What it takes from a bounded counter, if it does.
    taken: Option<(Key, Bytes)>,
}

impl Change {
    /// Of an operation, if somebody wants to know.
    #[inline]
    pub(super) fn of(engine: &Engine, client: &mut Client, op: &Op) -> Option<Box<Self>> {
        let awaited = engine.waiters.concerned(op);
        let events =
            if commits(op) { client.redis.interactive.take_events() } else { engine.shared.events(op) };
        let taken = rights::takes(op);
        let nobody = awaited.is_empty() && events.is_empty() && taken.is_none();
        if nobody { None } else { Some(Box::new(Self { awaited, events, taken })) }
    }

    /// The operation has ended so.
    pub(super) fn ended(self, engine: &mut Engine, outcome: &Outcome) {
        if matches!(outcome, Outcome::Written { stamp: Some(_), .. }) {
            engine.waiters.wake(&self.awaited);
            engine.shared.tell(self.events, outcome);
        } else if let Some(taken) = self.taken {
            rights::taken(engine, taken, outcome);
        }
    }
}
