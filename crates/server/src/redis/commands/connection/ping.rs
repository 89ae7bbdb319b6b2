//! PING.

use super::CONNECTION;
use crate::redis::connection::Mode;
use crate::redis::prelude::*;
use tidemark_wire::resp::Version;

pub(super) static SPEC: Spec = Spec {
    name: "ping",
    arity: -1,
    flags: &["fast"],
    syntax: "[message]",
    summary: "Returns PONG, or the message.",
    handler: Handler::Local(answer),
    ..CONNECTION
};

fn answer(connection: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    match &call.arguments[..] {
        [] | [_] if connection.mode == Mode::Subscriber && connection.version == Version::Resp2 => {
            cx.out.array(2);
            cx.out.bulk("pong");
            cx.out.bulk(call.arguments.first().map_or(&b""[..], |message| message));
        }
        [] => cx.out.simple("PONG"),
        [message] => cx.out.bulk(message),
        _ => return Err(ErrorReply::arity("ping")),
    }
    Ok(Next::Continue)
}
