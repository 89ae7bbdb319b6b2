//! What becomes visible here, whoever has changed it: for connections that cache, subscribers to keyspace notifications, and
//! commands that wait for a key.
//!
//! Partitions of this node are asked while somebody listens: before a connection's commands run, behind each write, and where a
//! batch ends. So a connection that caches hears of a change before any reply that may show it or what came after it. What
//! changes at partitions of other nodes of the region they tell (`listening.rs`).

use super::client::Client;
use super::deliver::deliver;
use super::listening;
use crate::redis::{By, is_reserved};
use crate::run::shard::{Core, Engine};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use tidemark_core::{Key, Outcome, Stamp};
use tidemark_replica::Change;

/// Of so many writes of this node's commands it is known whose they were, when their changes are told.
const WRITTEN: usize = 1_000;

/// A key, the stamp of its new version, and which events to tell of it.
type ChangedKey = (Bytes, Stamp, Vec<(char, String)>);

/// Changes, as nodes tell them each other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Heard {
    /// Any key may have changed.
    pub(super) unknown: bool,
    keys: Vec<ChangedKey>,
}

impl Heard {
    /// Whether nothing has changed.
    pub(super) fn is_empty(&self) -> bool {
        !self.unknown && self.keys.is_empty()
    }

    fn add(&mut self, change: Change) {
        match change {
            Change::Unknown => self.unknown = true,
            Change::Version { key, .. } if is_reserved(&key) => {}
            Change::Expired(key) => {
                let event = ('x', "expired".to_string());
                self.keys.push((key.0, Stamp::default(), vec![event]));
            }
            Change::Version { key, stamp, events } => {
                let events = events.into_iter().map(|(class, name)| (class, name.to_string())).collect();
                self.keys.push((key.0, stamp, events));
            }
        }
    }
}

/// Whether this node listens to its partitions, and what it has heard.
#[derive(Default)]
pub(crate) struct Ears {
    open: bool,
    more: bool,
    /// Not yet told to the other nodes of the region.
    untold: Heard,
    /// What connections here have written last.
    written: VecDeque<(Stamp, u64)>,
}

impl Ears {
    /// Whether the partitions have more to say.
    pub(crate) fn has_more(&self) -> bool {
        self.more
    }
}

/// Whether somebody is told of what changes.
#[inline]
pub(super) fn listens(engine: &Engine) -> bool {
    engine.shared.listens() || engine.ears.open || engine.listening.is_listened_to()
}

/// Asks what has changed. The command of a connection has written the version with this stamp, if one is given.
#[cold]
fn look(engine: &mut Engine, by: Option<(u64, Stamp)>) {
    let wanted = engine.shared.listens() || engine.listening.is_listened_to();
    engine.ears.open = wanted && engine.about.types;
    let mut changes = Vec::new();
    engine.ears.more = engine.node.changes(engine.ears.open, &mut changes);
    let mut heard = Heard::default();
    changes.into_iter().for_each(|change| heard.add(change));
    if let Some((id, stamp)) = by {
        engine.ears.written.push_back((stamp, id));
        if engine.ears.written.len() > WRITTEN {
            engine.ears.written.pop_front();
        }
    }
    hear_changes(engine, &heard, by);
    if engine.listening.is_listened_to() {
        engine.ears.untold.unknown |= heard.unknown;
        engine.ears.untold.keys.extend(heard.keys);
    }
}

/// Tells connections here what has changed: what others have done at once, and what the command that runs has done, which is `by`,
/// behind its reply.
pub(super) fn hear_changes(engine: &mut Engine, heard: &Heard, by: Option<(u64, Stamp)>) {
    let own = |stamp: &Stamp| by.is_some_and(|(_, own)| own == *stamp);
    let Engine { shared, registry, waiters, ears, .. } = engine;
    if heard.unknown {
        shared.tracking.flush(By(None), registry, &mut shared.mail);
    }
    let mut others = heard.keys.iter().filter(|(_, stamp, _)| !own(stamp)).peekable();
    if others.peek().is_some() {
        for (key, stamp, events) in others {
            let writer = ears.written.iter().rev().find(|(written, _)| written == stamp);
            let by = By(writer.map(|(_, id)| *id));
            shared.tracking.changed(key, by, registry, &mut shared.mail);
            for (class, name) in events {
                shared.tell_elsewhere(key, *class, name);
            }
            waiters.wake(&[Key(key.clone())]);
        }
        shared.tracking.broadcast(registry, &mut shared.mail);
    }
    for (key, _, events) in heard.keys.iter().filter(|(_, stamp, _)| own(stamp)) {
        shared.tracking.changed(key, By(by.map(|(id, _)| id)), registry, &mut shared.mail);
        for (class, name) in events {
            shared.tell_elsewhere(key, *class, name);
        }
    }
}

/// A command of `client` has come to this outcome: tells what it has changed.
#[inline]
pub(super) fn look_at_outcome(engine: &mut Engine, client: &Client, outcome: &Outcome) {
    if let Outcome::Written { stamp: Some(stamp), .. } = outcome
        && listens(engine)
    {
        look(engine, Some((client.redis.id(), *stamp)));
    }
}

/// Before a connection's commands run, and where a batch ends: looks, tells the other nodes, and delivers.
#[inline]
pub(crate) fn look_around(core: &mut Core) {
    let engine = &mut core.engine;
    if !listens(engine) {
        return;
    }
    engine.now = engine.clock.now();
    look(engine, None);
    let mut untold = std::mem::take(&mut engine.ears.untold);
    if listening::look_after(engine, engine.shared.listens(), &mut untold) {
        hear_changes(engine, &Heard { unknown: true, ..Heard::default() }, None);
    }
    let shared = &mut engine.shared;
    shared.tracking.limit(shared.tracked_max, &engine.registry, &mut shared.mail);
    shared.tracking.release(&mut shared.mail);
    deliver(core);
}
