//! What the gateway notes of commands: for MONITOR, the slow log, latency events and the counts of INFO.

use super::client::Client;
use crate::redis::{Ended, ErrorReply, Family, Refusal, Spec};
use crate::run::shard::Engine;
use crate::stats::outcome;
use tidemark_wire::resp::Encoder;

/// A command is about to be carried out.
#[inline]
pub(super) fn show(engine: &mut Engine, client: &Client, spec: &'static Spec) {
    if engine.shared.watch.is_monitored() {
        let known = engine.registry.get(client.redis.id());
        engine.shared.show(spec, engine.clock.now().wall, known);
    }
}

/// So many commands that were carried out together have ended, and so many of them failed; the next one begins.
#[inline]
pub(super) fn ended(
    engine: &mut Engine,
    client: &Client,
    spec: &'static Spec,
    (times, failed): (usize, usize),
) {
    let took_us = engine.shared.watch.is_timed().then(|| {
        let now = engine.clock.mono();
        now.saturating_sub(std::mem::replace(&mut engine.shared.watch.begun, now)) / times as u64
    });
    let (registry, id) = (&engine.registry, client.redis.id());
    for nth in 0..times {
        let ended = Ended { spec, failed: nth < failed, took_us, now: engine.now.wall };
        engine.shared.ended(ended, || registry.get(id));
    }
}

/// A request is no command, or one that is refused.
#[cold]
pub(super) fn refused(engine: &mut Engine, client: &mut Client, error: &ErrorReply) {
    error.write(&mut Encoder::new(&mut client.out.bytes, client.redis.version()));
    engine.stats.command(Family::Other, outcome::ERROR);
    engine.shared.error(error);
    match client.redis.refused() {
        Some((spec, Refusal::Rejected)) => engine.shared.rejected(spec),
        Some((spec, Refusal::Failed)) => {
            show(engine, client, spec);
            ended(engine, client, spec, (1, 1));
        }
        None => {}
    }
}

/// Answers bytes that are no request: the connection is to be closed.
#[cold]
pub(super) fn broken(engine: &mut Engine, client: &mut Client, error: &str) {
    Encoder::new(&mut client.out.bytes, client.redis.version()).error(error);
    engine.stats.command(Family::Other, outcome::ERROR);
    client.closing = true;
}
