//! CLIENT INFO.

use super::{CLIENT, FLAGS};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "client|info",
    arity: 2,
    flags: FLAGS,
    since: "6.2.0",
    summary: "Describes the connection.",
    remark: "Buffer and memory figures are 0.",
    handler: Handler::Local(answer),
    ..CLIENT
};

fn answer(connection: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    let mut text = String::new();
    if let Some(client) = cx.registry.get(connection.id) {
        client.describe(cx.now, &mut text);
    }
    cx.out.verbatim(*b"txt", text);
    Ok(Next::Continue)
}
