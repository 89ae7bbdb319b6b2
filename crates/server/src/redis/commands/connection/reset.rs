//! RESET.

use super::{BEFORE_AUTH, CONNECTION};
use crate::redis::prelude::*;
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
    connection.reset(cx.config);
    cx.shared.forget(connection.id);
    connection.speak(Version::Resp2, cx);
    if let Some(client) = cx.registry.get_mut(connection.id) {
        client.name.clear();
        (client.no_evict, client.no_touch) = (false, false);
        (client.subscriptions, client.monitor) = ([0; 3], false);
    }
    cx.out.simple("RESET");
    Ok(Next::Continue)
}
