//! RESET.

use super::{BEFORE_AUTH, CONNECTION};
use crate::redis::prelude::*;
use tidemark_core::Failure;
use tidemark_wire::resp::Version;

pub(super) static SPEC: Spec = Spec {
    name: "reset",
    flags: BEFORE_AUTH,
    since: "6.2.0",
    summary: "Puts the connection into the state of a new one.",
    remark: "The session goes on: the connection keeps seeing what it has seen.",
    handler: Handler::Local(answer),
    ..CONNECTION
};

fn answer(connection: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    let left = connection.interactive.leave();
    connection.reset(cx.config);
    cx.shared.forget(connection.id);
    connection.speak(Version::Resp2, cx);
    if let Some(client) = cx.registry.get_mut(connection.id) {
        client.name.clear();
        (client.no_evict, client.no_touch) = (false, false);
        (client.subscriptions, client.monitor) = ([0; 3], false);
    }
    if let Some(end) = left {
        return Ok(Next::Begin(Task::several(GivesBack(Some(end)))));
    }
    cx.out.simple("RESET");
    Ok(Next::Continue)
}

/// The snapshot of a transaction that the connection was in is given back first.
struct GivesBack(Option<Op>);

impl Steps for GivesBack {
    fn begin(&mut self, _: &Keyspace<'_>, out: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        Ok(match self.0.take() {
            Some(end) => Step::Op(end),
            None => {
                out.simple("RESET");
                Step::Done
            }
        })
    }

    fn step(
        &mut self,
        _: Outcome,
        keyspace: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        self.begin(keyspace, out)
    }

    /// A snapshot is not held for ever: the connection is reset all the same.
    fn after_failure(
        &mut self,
        _: &Failure,
        keyspace: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Option<Step>, ErrorReply> {
        self.begin(keyspace, out).map(Some)
    }
}
