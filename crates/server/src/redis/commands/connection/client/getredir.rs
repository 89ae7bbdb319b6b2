//! CLIENT GETREDIR.

use super::{CLIENT, FLAGS};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "client|getredir",
    arity: 2,
    flags: FLAGS,
    since: "6.0.0",
    summary: "Returns the connection that gets the messages of client-side caching.",
    remark: "Always -1: CLIENT TRACKING is not supported.",
    handler: Handler::Local(answer),
    ..CLIENT
};

fn answer(_: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    cx.out.integer(-1);
    Ok(Next::Continue)
}
