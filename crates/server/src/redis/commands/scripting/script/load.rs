//! SCRIPT LOAD.

use super::SCRIPT;
use crate::redis::commands::scripting::eval::error;
use crate::redis::prelude::*;
use crate::redis::scripts::compile;
use tidemark_script::sha1_hex;

pub(super) static SPEC: Spec = Spec {
    name: "script|load",
    arity: 3,
    flags: &["noscript", "stale"],
    syntax: "script",
    summary: "Loads a script, and returns its SHA-1 digest.",
    remark: "All nodes of all regions that are connected know it from then on. No node knows it once it was restarted.",
    handler: Handler::Local(answer),
    ..SCRIPT
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    let source = &call.arguments[0];
    compile(source, &sha1_hex(source)).map_err(error)?;
    cx.out.bulk(cx.shared.scripts.load(source));
    Ok(Next::Continue)
}
