//! TIME.

use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "time",
    flags: &["loading", "stale", "fast"],
    since: "2.6.0",
    summary: "Returns the server's time: seconds and microseconds.",
    handler: Handler::Local(answer),
    ..Spec::DEFAULT
};

fn answer(_: &mut Connection, _: &Call, cx: &mut Context<'_>) -> Answer {
    cx.out.array(2);
    cx.out.bulk((cx.now / 1_000_000).to_string());
    cx.out.bulk((cx.now % 1_000_000).to_string());
    Ok(Next::Continue)
}
