//! CLIENT TRACKING.

use super::{CLIENT, FLAGS};
use crate::redis::prelude::*;
use crate::redis::tracking::Asked;

pub(super) static SPEC: Spec = Spec {
    name: "client|tracking",
    arity: -3,
    flags: FLAGS,
    since: "6.0.0",
    syntax: "<ON | OFF> [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]",
    summary: "Has the connection told when keys change that it caches.",
    remark: "A key has changed when that becomes visible here, whoever has changed it: also if another region has, or if it has \
             expired. Needs a protocol that carries data types.",
    handler: Handler::Local(answer),
    ..CLIENT
};

fn answer(connection: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    let asked = Asked::parse(&call.arguments[1..], cx.registry)?;
    let id = connection.id;
    if is(&call.arguments[0], "off") {
        connection.reads = Default::default();
        cx.shared.track(id, None);
    } else if is(&call.arguments[0], "on") {
        if !cx.info.has_types() {
            return Err(ErrorReply::fixed(
                "ERR CLIENT TRACKING is not supported under this protocol: it needs one that carries data types, such as \
                 tidemark",
            ));
        }
        let tracker = asked.tracker(cx.shared.tracking.tracker(id))?;
        connection.reads.mode = Some(tracker.mode);
        cx.shared.track(id, Some(tracker));
    } else {
        return Err(ErrorReply::SYNTAX);
    }
    cx.out.ok();
    Ok(Next::Continue)
}
