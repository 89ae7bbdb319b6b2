//! LOLWUT.

use crate::redis::REDIS_VERSION;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "lolwut",
    arity: -1,
    flags: &["readonly", "fast"],
    since: "5.0.0",
    syntax: "[VERSION version]",
    summary: "Returns the version.",
    remark: "Draws nothing.",
    handler: Handler::Local(answer),
    ..Spec::DEFAULT
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    if let [word, version, ..] = &call.arguments[..]
        && is(word, "version")
    {
        integer(version)?;
    }
    let text = format!("Redis ver. {REDIS_VERSION}\nTidemark ver. {}\n", env!("CARGO_PKG_VERSION"));
    cx.out.verbatim(*b"txt", text);
    Ok(Next::Continue)
}
