//! FUNCTION FLUSH.

use super::FUNCTION;
use crate::redis::commands::server::is_flush_mode;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "function|flush",
    arity: -2,
    flags: &["write", "noscript"],
    syntax: "[ASYNC | SYNC]",
    summary: "Deletes every function.",
    remark: "There are none.",
    handler: Handler::Local(answer),
    ..FUNCTION
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    match &call.arguments[..] {
        [] => {}
        [mode] if is_flush_mode(mode) => {}
        _ => return Err(ErrorReply::fixed("ERR FUNCTION FLUSH only supports SYNC|ASYNC option")),
    }
    cx.out.ok();
    Ok(Next::Continue)
}
