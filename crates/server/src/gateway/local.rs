//! Commands that need no operation.

use super::client::Client;
use super::ending::{fail, finish};
use super::execute::{Progress, begin, start};
use super::info;
use super::notes::ended;
use crate::config::SessionScope;
use crate::redis::{Call, Command, Next, Spec, Work};
use crate::run::shard::Engine;
use tidemark_node::PastName;
use tidemark_wire::resp::Encoder;

/// The connection may have another name, or none any more: it shares its past with all of the same name.
fn share_by_name(engine: &mut Engine, client: &Client) {
    let name = engine.registry.get(client.redis.id()).map_or("", |known| &known.name);
    let past = (!name.is_empty()).then(|| PastName::of(name.as_bytes()));
    engine.node.share(client.session, past);
}

/// Answers a command that is part of another one, which takes the reply.
pub(super) fn answer_inside(engine: &mut Engine, client: &mut Client, command: Command) -> Vec<u8> {
    let Work::Local(call) = command.work else { return Vec::new() };
    let Client { redis, session, .. } = client;
    let (mut reply, version) = (Vec::new(), redis.version());
    let out = Encoder::new(&mut reply, version);
    let next = info::with_context(engine, *session, command.spec, out, |cx| redis.handle(&call, cx));
    if let Err(error) = &next {
        error.write(&mut Encoder::new(&mut reply, version));
    }
    client.closing |= matches!(next, Ok(Next::Close));
    ended(engine, client, command.spec, (1, usize::from(next.is_err())));
    reply
}

/// A command that needs no operation, and then the one behind it.
pub(super) fn local(engine: &mut Engine, client: &mut Client, spec: &'static Spec, call: Call) -> Progress {
    let Client { redis, session, out, .. } = client;
    let out = Encoder::new(&mut out.bytes, redis.version());
    let next = info::with_context(engine, *session, spec, out, |cx| redis.handle(&call, cx));
    if engine.config.session_scope == SessionScope::ClientName {
        share_by_name(engine, client);
    }
    match (next, call.command) {
        (Err(error), _) => fail(engine, client, spec, &error),
        (Ok(Next::Continue), Some(command)) => start(engine, client, *command),
        (Ok(Next::Begin(task)), _) => begin(engine, client, spec, task),
        (Ok(next), _) => {
            client.closing |= matches!(next, Next::Close);
            finish(engine, client, spec)
        }
    }
}
