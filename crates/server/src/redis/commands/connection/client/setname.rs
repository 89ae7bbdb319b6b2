//! CLIENT SETNAME.

use super::{CLIENT, FLAGS, printable};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "client|setname",
    arity: 3,
    flags: FLAGS,
    since: "2.6.9",
    syntax: "connection-name",
    summary: "Names the connection.",
    handler: Handler::Local(answer),
    ..CLIENT
};

fn answer(connection: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    let name = printable(&call.arguments[0], "Client names")?;
    if let Some(client) = cx.registry.get_mut(connection.id) {
        client.name = name;
    }
    cx.out.ok();
    Ok(Next::Continue)
}
