//! ECHO.

use super::{CONNECTION, FAST};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "echo",
    arity: 2,
    flags: FAST,
    syntax: "message",
    summary: "Returns the message.",
    handler: Handler::Local(answer),
    ..CONNECTION
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    cx.out.bulk(&call.arguments[0]);
    Ok(Next::Continue)
}
