//! PING.

use super::CONNECTION;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "ping",
    arity: -1,
    flags: &["fast"],
    syntax: "[message]",
    summary: "Returns PONG, or the message.",
    handler: Handler::Local(answer),
    ..CONNECTION
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    match &call.arguments[..] {
        [] => cx.out.simple("PONG"),
        [message] => cx.out.bulk(message),
        _ => return Err(ErrorReply::arity("ping")),
    }
    Ok(Next::Continue)
}
