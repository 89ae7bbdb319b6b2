//! CLIENT CACHING.

use super::{CLIENT, FLAGS};
use crate::redis::prelude::*;
use crate::redis::tracking::Mode;

pub(super) static SPEC: Spec = Spec {
    name: "client|caching",
    arity: 3,
    flags: FLAGS,
    since: "6.0.0",
    syntax: "<YES | NO>",
    summary: "Says whether the connection caches what the next command reads.",
    handler: Handler::Local(answer),
    ..CLIENT
};

fn answer(connection: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    let wrong = |why| Err(ErrorReply::fixed(why));
    let caching = is(&call.arguments[0], "yes");
    if !matches!(connection.reads.mode, Some(Mode::OptIn | Mode::OptOut)) {
        return wrong(
            "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled",
        );
    }
    if !caching && !is(&call.arguments[0], "no") {
        return Err(ErrorReply::SYNTAX);
    }
    if caching != (connection.reads.mode == Some(Mode::OptIn)) {
        return wrong(if caching {
            "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode."
        } else {
            "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode."
        });
    }
    connection.reads.caching = Some(caching);
    cx.out.ok();
    Ok(Next::Continue)
}
