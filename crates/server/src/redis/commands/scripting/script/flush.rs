//! SCRIPT FLUSH.

use super::SCRIPT;
use crate::redis::commands::server::is_flush_mode;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "script|flush",
    arity: -2,
    syntax: "[ASYNC | SYNC]",
    summary: "Forgets every script.",
    remark: "All nodes that are connected forget them.",
    handler: Handler::Local(answer),
    ..SCRIPT
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    match &call.arguments[..] {
        [] => {}
        [mode] if is_flush_mode(mode) => {}
        _ => return Err(ErrorReply::fixed("ERR SCRIPT FLUSH only support SYNC|ASYNC option")),
    }
    cx.shared.scripts.flush();
    cx.out.ok();
    Ok(Next::Continue)
}
