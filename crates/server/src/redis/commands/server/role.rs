//! ROLE.

use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "role",
    flags: &["noscript", "loading", "stale", "fast"],
    categories: &["@admin", "@dangerous"],
    since: "2.8.12",
    summary: "Returns the role of the server in Redis's replication.",
    remark: "Always a master without replicas: every node takes writes.",
    handler: Handler::Local(answer),
    ..Spec::DEFAULT
};

fn answer(_: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    cx.out.array(3);
    cx.out.bulk("master");
    cx.out.integer(0);
    cx.out.array(0);
    Ok(Next::Continue)
}
