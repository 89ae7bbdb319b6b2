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
    settle(engine, client);
    engine.stats.command(spec.family, outcome::OK);
    ended(engine, client, spec, false);
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
    fail_as(engine, client, spec, outcome::ERROR, error)
}

#[cold]
pub(super) fn fail_as(
    engine: &mut Engine,
    client: &mut Client,
    spec: &'static Spec,
    outcome: usize,
    error: &ErrorReply,
) -> Progress {
    settle(engine, client);
    error.write(&mut Encoder::new(&mut client.out.bytes, client.redis.version()));
    engine.stats.command(spec.family, outcome);
    engine.shared.error(error);
    ended(engine, client, spec, true);
    Progress::Done
}
