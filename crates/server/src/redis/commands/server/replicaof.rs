//! REPLICAOF.

use crate::redis::prelude::*;

/// Of both names of the command.
pub(super) const REPLICAOF: Spec = Spec {
    arity: 3,
    flags: &["admin", "noscript", "stale", "no_async_loading"],
    syntax: "<host port | NO ONE>",
    summary: "Makes the server a replica of another.",
    remark: "Refused, except NO ONE, which changes nothing: the cluster file says which nodes replicate each other.",
    handler: Handler::Local(answer),
    ..Spec::DEFAULT
};

pub(super) static SPEC: Spec = Spec { name: "replicaof", since: "5.0.0", ..REPLICAOF };

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    if !(is(&call.arguments[0], "no") && is(&call.arguments[1], "one")) {
        return Err(ErrorReply::new(format!(
            "ERR {} is not supported: the cluster file says which nodes and regions replicate each other",
            cx.spec.name.to_ascii_uppercase()
        )));
    }
    cx.out.ok();
    Ok(Next::Continue)
}
