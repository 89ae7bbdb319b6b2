//! LASTSAVE.

use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "lastsave",
    flags: &["loading", "stale", "fast"],
    categories: &["@admin", "@dangerous"],
    summary: "Returns when the last snapshot was taken.",
    remark: "The time when the node started, if none was taken since. The log holds what was written after that.",
    handler: Handler::Local(answer),
    ..Spec::DEFAULT
};

fn answer(_: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    let at_s = cx.info.facts().last_snapshot_s;
    cx.out.integer(at_s as i64);
    Ok(Next::Continue)
}
