//! CLIENT UNBLOCK.

use super::{ADMIN, CLIENT};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "client|unblock",
    arity: -3,
    flags: ADMIN,
    since: "5.0.0",
    syntax: "client-id [TIMEOUT | ERROR]",
    summary: "Ends the command for which a connection waits.",
    handler: Handler::Local(answer),
    ..CLIENT
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    let (id, error) = match &call.arguments[..] {
        [id] => (id, false),
        [id, reason] if is(reason, "timeout") => (id, false),
        [id, reason] if is(reason, "error") => (id, true),
        [_, _] => return Err(ErrorReply::fixed("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")),
        _ => return Err(ErrorReply::wrong_call(cx.spec)),
    };
    let id = u64::try_from(integer(id)?).unwrap_or_default();
    let waits = cx.registry.get_mut(id).is_some_and(|client| std::mem::take(&mut client.waits));
    if waits {
        cx.shared.unblocked.push((id, error));
    }
    cx.out.integer(i64::from(waits));
    Ok(Next::Continue)
}
