//! SHUTDOWN.

use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "shutdown",
    arity: -1,
    flags: &["admin", "noscript", "loading", "stale", "no_multi", "allow_busy"],
    syntax: "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]",
    summary: "Stops the node.",
    remark: "The node always ends well: it hands its Raft group over, answers what was done, and syncs its log. \
             The options change nothing of that.",
    handler: Handler::Local(answer),
    ..Spec::DEFAULT
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    let [mut save, mut no_save, mut abort] = [false; 3];
    for option in &call.arguments {
        match () {
            () if is(option, "nosave") => no_save = true,
            () if is(option, "save") => save = true,
            () if is(option, "abort") => abort = true,
            () if is(option, "now") || is(option, "force") => {}
            () => return Err(ErrorReply::SYNTAX),
        }
    }
    if (save && no_save) || (abort && call.arguments.len() > 1) {
        return Err(ErrorReply::SYNTAX);
    }
    if abort {
        return Err(ErrorReply::fixed("ERR No shutdown in progress."));
    }
    // As in Redis the only reply is that the connection ends.
    cx.shared.shutdown = true;
    Ok(Next::Continue)
}
