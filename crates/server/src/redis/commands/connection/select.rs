//! SELECT.

use super::{CONNECTION, FAST};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "select",
    arity: 2,
    flags: FAST,
    syntax: "index",
    summary: "Selects the database.",
    remark: "The only one is 0.",
    handler: Handler::Local(answer),
    ..CONNECTION
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    match integer(&call.arguments[0])? {
        0 => cx.out.ok(),
        _ => return Err(ErrorReply::fixed("ERR DB index is out of range")),
    }
    Ok(Next::Continue)
}
