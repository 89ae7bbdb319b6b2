//! SET.

use super::STRING;
use crate::redis::commands::flags::WRITE;
use crate::redis::prelude::*;

pub(in crate::redis) static SPEC: Spec = Spec {
    name: "set",
    arity: -3,
    flags: WRITE,
    family: Family::Set,
    syntax: "key value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | \
             PXAT unix-time-milliseconds | KEEPTTL]",
    summary: "Sets the value of a key.",
    remark: "NX, XX and GET are decided by what this region sees.",
    handler: Handler::Operations(parse),
    ..STRING
};

/// REQUIRES: three arguments or more.
#[inline]
pub(in crate::redis) fn parse(request: &mut Request<'_>) -> Parsed {
    let Some((condition, get)) =
        (if request.len() > 3 { options(request) } else { Some(Default::default()) })
    else {
        return Ok(typed::task(Verb::Set, 1, request));
    };
    let key = request.key(1);
    let write = Write::Assign(request.value(2));
    let op = Op::Put { key, update: Update { write, condition, returns_previous: get, command: None } };
    Ok(if get { Task::once(op, previous) } else { Task::set(op) })
}

/// The options, if there are no others than these: the rest is decided where the key lives.
fn options(request: &Request<'_>) -> Option<(Condition, bool)> {
    let (mut condition, mut get) = (Condition::Always, false);
    for option in request.iter().skip(3) {
        if is(option, "nx") && condition != Condition::IfPresent {
            condition = Condition::IfAbsent;
        } else if is(option, "xx") && condition != Condition::IfAbsent {
            condition = Condition::IfPresent;
        } else if is(option, "get") {
            get = true;
        } else {
            return None;
        }
    }
    Some((condition, get))
}

/// OK, or null if the condition did not hold.
#[inline]
pub(in crate::redis) fn reply(outcome: Outcome, out: &mut Encoder<'_>) -> Result<(), ErrorReply> {
    match written(outcome)? {
        (true, _) => out.ok(),
        (false, _) => out.null(),
    }
    Ok(())
}

/// What the key held before, whether the condition held or not.
pub(super) fn previous(outcome: Outcome, out: &mut Encoder<'_>) -> Result<(), ErrorReply> {
    let (_, previous) = written(outcome)?;
    if let Some(Found { reply: Some(reply), .. }) = &previous
        && let Reply::Error(text) = &**reply
    {
        return Err(ErrorReply::new(text.as_bytes()));
    }
    value_or_null(&previous.unwrap_or_default(), out);
    Ok(())
}
