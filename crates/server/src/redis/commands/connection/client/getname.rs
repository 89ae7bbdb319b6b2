//! CLIENT GETNAME.

use super::{CLIENT, FLAGS};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "client|getname",
    arity: 2,
    flags: FLAGS,
    since: "2.6.9",
    summary: "Returns the connection's name.",
    handler: Handler::Local(answer),
    ..CLIENT
};

fn answer(connection: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    match cx.registry.get(connection.id) {
        Some(client) if !client.name.is_empty() => cx.out.bulk(&client.name),
        _ => cx.out.null(),
    }
    Ok(Next::Continue)
}
