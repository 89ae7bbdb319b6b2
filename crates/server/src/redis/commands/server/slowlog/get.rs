//! SLOWLOG GET.

use super::{EMPTY, SLOWLOG};
use crate::redis::prelude::*;
use tidemark_wire::resp::parse_i64;

pub(super) static SPEC: Spec = Spec {
    name: "slowlog|get",
    arity: -2,
    syntax: "[count]",
    summary: "Returns the latest slow commands.",
    remark: EMPTY,
    handler: Handler::Local(answer),
    ..SLOWLOG
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    match &call.arguments[..] {
        [] => {}
        [count] if parse_i64(count).is_some_and(|count| count >= -1) => {}
        [_] => return Err(ErrorReply::fixed("ERR count should be greater than or equal to -1")),
        _ => return Err(ErrorReply::arity("slowlog|get")),
    }
    cx.out.array(0);
    Ok(Next::Continue)
}
