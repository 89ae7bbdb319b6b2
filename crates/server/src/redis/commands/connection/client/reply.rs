//! CLIENT REPLY.

use super::{CLIENT, FLAGS};
use crate::redis::connection::Replies;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "client|reply",
    arity: 3,
    flags: FLAGS,
    since: "3.2.0",
    syntax: "<ON | OFF | SKIP>",
    summary: "Turns replies on or off, or skips the next one.",
    handler: Handler::Local(answer),
    ..CLIENT
};

fn answer(connection: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    let mode = &call.arguments[0];
    if is(mode, "on") {
        connection.replies = Replies::On;
        cx.out.ok();
    } else if is(mode, "off") {
        connection.replies = Replies::Off;
    } else if is(mode, "skip") {
        if connection.replies != Replies::Off {
            connection.replies = Replies::SkipNext;
        }
    } else {
        return Err(ErrorReply::SYNTAX);
    }
    Ok(Next::Continue)
}
