//! Interactive transactions of clients: their operations are carried out at the gateway, and ask the session for keys alone.

use super::changes::Change;
use super::client::Client;
use crate::run::shard::Engine;
use tidemark_contract::transaction::{Carried, Place};
use tidemark_core::{Op, Outcome, Transact};

/// Begins an operation: how it has ended, unless it waits. `change` is what it changes, if somebody wants to know.
#[inline]
pub(super) fn begin(
    engine: &mut Engine,
    client: &mut Client,
    mut op: Op,
    change: &mut Option<Box<Change>>,
) -> Option<Outcome> {
    if client.redis.interactive.is_open() {
        let tells = engine.shared.tells_events();
        match client.redis.interactive.carry(op, tells) {
            Carried::Ended(outcome) => return Some(outcome),
            Carried::Asks(asked) => op = asked,
        }
    }
    *change = Change::of(engine, client, &op);
    let outcome = engine.node.begin(engine.now, client.session, op);
    if let Some(outcome) = &outcome
        && let Some(change) = change.take()
    {
        change.ended(engine, outcome);
    }
    outcome
}

/// Takes the outcome of an operation: how that of the client has ended.
#[inline]
pub(super) fn found(engine: &Engine, client: &mut Client, outcome: Outcome) -> Outcome {
    if let Outcome::Begun(snapshot) = outcome {
        let (dc, dcs) = (engine.config.dc(), engine.topology().dcs);
        let place = Place { dc, alone: dcs == 1, types: engine.about.types };
        client.redis.interactive.begun(snapshot, place, engine.now.wall);
    } else if client.redis.interactive.is_open() {
        return client.redis.interactive.found(outcome);
    }
    outcome
}

/// A client is gone: the snapshot of its transaction need not be held any longer. If that is not heard, it is not held for ever.
pub(super) fn leave(engine: &mut Engine, client: &mut Client) {
    if let Some(end) = client.redis.interactive.leave()
        && client.running.is_none()
    {
        engine.node.begin(engine.now, client.session, end);
    }
}

/// Whether the operation commits an interactive transaction.
pub(super) fn commits(op: &Op) -> bool {
    matches!(op, Op::Transact(step) if matches!(**step, Transact::Commit { .. }))
}
