//! BGSAVE.

use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "bgsave",
    arity: -1,
    flags: &["admin", "noscript", "no_async_loading"],
    syntax: "[SCHEDULE]",
    summary: "Begins to take a snapshot.",
    remark: "Of the partitions that this node serves, in Tidemark's own format. Snapshots are also taken by themselves.",
    handler: Handler::Local(answer),
    ..Spec::DEFAULT
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    match &call.arguments[..] {
        [] => {}
        [word] if is(word, "schedule") => {}
        _ => return Err(ErrorReply::SYNTAX),
    }
    cx.info.begin_snapshot().map_err(|why| ErrorReply::new(format!("ERR {why}")))?;
    cx.out.simple("Background saving started");
    Ok(Next::Continue)
}
