//! BGREWRITEAOF.

use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "bgrewriteaof",
    flags: &["admin", "noscript", "no_async_loading"],
    summary: "Begins to take a snapshot, after which the older part of the log is deleted.",
    remark: "The same as BGSAVE. Log that absent peers need is kept.",
    handler: Handler::Local(answer),
    ..Spec::DEFAULT
};

fn answer(_: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    cx.info.begin_snapshot().map_err(|why| ErrorReply::new(format!("ERR {why}")))?;
    cx.out.simple("Background append only file rewriting started");
    Ok(Next::Continue)
}
