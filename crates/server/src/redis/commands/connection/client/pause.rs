//! CLIENT PAUSE.

use super::{ADMIN, CLIENT};
use crate::redis::pause::Extent;
use crate::redis::prelude::*;
use tidemark_wire::resp::parse_i64;

pub(super) static SPEC: Spec = Spec {
    name: "client|pause",
    arity: -3,
    flags: ADMIN,
    since: "3.0.0",
    syntax: "timeout [WRITE | ALL]",
    summary: "Lets commands wait for so many milliseconds.",
    remark: "Commands of this node. Writes that arrive from other nodes and regions do not wait, and keys expire.",
    handler: Handler::Local(answer),
    ..CLIENT
};

fn answer(_: &mut Connection, call: &Call, cx: &mut Context<'_>) -> Answer {
    let (timeout, extent) = match &call.arguments[..] {
        [timeout] => (timeout, Extent::All),
        [timeout, mode] if is(mode, "all") => (timeout, Extent::All),
        [timeout, mode] if is(mode, "write") => (timeout, Extent::Writes),
        [_, _] => return Err(ErrorReply::fixed("ERR CLIENT PAUSE mode must be WRITE or ALL")),
        _ => return Err(ErrorReply::wrong_call(cx.spec)),
    };
    let timeout =
        parse_i64(timeout).ok_or(ErrorReply::fixed("ERR timeout is not an integer or out of range"))?;
    let timeout = u64::try_from(timeout).map_err(|_| ErrorReply::fixed("ERR timeout is negative"))?;
    let until = timeout.checked_mul(1_000).and_then(|timeout_us| cx.now.checked_add(timeout_us));
    cx.shared.pause.begin(until.ok_or(ErrorReply::fixed("ERR timeout is out of range"))?, extent);
    cx.out.ok();
    Ok(Next::Continue)
}
