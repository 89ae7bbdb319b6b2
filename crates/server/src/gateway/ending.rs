//! How commands end: with a reply, or with an error.

use super::blocked::settle;
use super::client::Client;
use super::execute::Progress;
use super::notes::ended;
use crate::redis::{ErrorReply, Spec};
use crate::run::shard::Engine;
use crate::stats::outcome;
use tidemark_wire::resp::Encoder;

/// The reply was written.
#[inline]
pub(super) fn finish(engine: &mut Engine, client: &Client, spec: &'static Spec) -> Progress {
    finish_all(engine, client, spec, (1, &[]))
}

/// The replies to so many commands that were carried out together were written; some are these errors.
#[inline]
pub(super) fn finish_all(
    engine: &mut Engine,
    client: &Client,
    spec: &'static Spec,
    (times, errors): (usize, &[ErrorReply]),
) -> Progress {
    settle(engine, client);
    engine.stats.commands(spec.family, outcome::OK, times - errors.len());
    ended(engine, client, spec, (times, errors.len()));
    for error in errors {
        engine.stats.command(spec.family, outcome::ERROR);
        engine.shared.error(error);
    }
    Progress::Done
}

/// The reply is an error.
#[cold]
pub(super) fn fail(
    engine: &mut Engine,
    client: &mut Client,
    spec: &'static Spec,
    error: &ErrorReply,
) -> Progress {
    fail_as(engine, client, spec, (1, outcome::ERROR), error)
}

/// So many commands that were carried out together have failed with this outcome.
#[cold]
pub(super) fn fail_as(
    engine: &mut Engine,
    client: &mut Client,
    spec: &'static Spec,
    (times, outcome): (usize, usize),
    error: &ErrorReply,
) -> Progress {
    settle(engine, client);
    engine.stats.commands(spec.family, outcome, times);
    for _ in 0..times {
        error.write(&mut Encoder::new(&mut client.out.bytes, client.redis.version()));
        engine.shared.error(error);
    }
    ended(engine, client, spec, (times, times));
    Progress::Done
}
