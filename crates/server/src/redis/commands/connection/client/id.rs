//! CLIENT ID.

use super::{CLIENT, FLAGS};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "client|id",
    arity: 2,
    flags: FLAGS,
    since: "5.0.0",
    summary: "Returns the connection's ID.",
    handler: Handler::Local(answer),
    ..CLIENT
};

fn answer(connection: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    cx.out.integer(connection.id as i64);
    Ok(Next::Continue)
}
