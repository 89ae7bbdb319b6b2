//! SCRIPT EXISTS.

use super::SCRIPT;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "script|exists",
    arity: -3,
    syntax: "sha1 [sha1 ...]",
    summary: "Returns whether this node knows scripts.",
    handler: Handler::Local(answer),
    ..SCRIPT
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    cx.out.array(call.arguments.len());
    for sha in &call.arguments {
        cx.out.integer(i64::from(cx.shared.scripts.find(sha).is_some()));
    }
    Ok(Next::Continue)
}
