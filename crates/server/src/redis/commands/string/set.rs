//! SET.

use super::{STRING, WRITE};
use crate::redis::prelude::*;

pub(in crate::redis) static SPEC: Spec = Spec {
    name: "set",
    arity: -3,
    flags: WRITE,
    family: Family::Set,
    syntax: "key value [NX | XX] [GET]",
    summary: "Sets the value of a key.",
    remark: "NX, XX and GET are decided by what this region sees. Expiry is not supported yet: EX, PX, EXAT, \
             PXAT and KEEPTTL are refused.",
    handler: Handler::Operations(parse),
    ..STRING
};

/// REQUIRES: three arguments or more.
#[inline]
pub(in crate::redis) fn parse(request: &mut Request<'_>) -> Parsed {
    let (condition, get) = if request.len() > 3 { options(request)? } else { Default::default() };
    let key = request.key(1);
    let write = Write::Assign(request.value(2));
    let op = Op::Put { key, update: Update { write, condition, returns_previous: get } };
    Ok(if get { Task::once(op, previous) } else { Task::set(op) })
}

fn options(request: &Request<'_>) -> Result<(Condition, bool), ErrorReply> {
    let (mut condition, mut get, mut expiry) = (Condition::Always, false, false);
    let mut options = request.iter().skip(3);
    while let Some(option) = options.next() {
        if is(option, "nx") && condition != Condition::IfPresent {
            condition = Condition::IfAbsent;
        } else if is(option, "xx") && condition != Condition::IfAbsent {
            condition = Condition::IfPresent;
        } else if is(option, "get") {
            get = true;
        } else if is(option, "keepttl") && !expiry {
            expiry = true;
        } else if ["ex", "px", "exat", "pxat"].iter().any(|word| is(option, word)) && !expiry {
            options.next().ok_or(ErrorReply::SYNTAX)?;
            expiry = true;
        } else {
            return Err(ErrorReply::SYNTAX);
        }
    }
    if expiry { Err(ErrorReply::fixed("ERR expiry is not supported yet")) } else { Ok((condition, get)) }
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
    value_or_null(&previous.unwrap_or_default(), out);
    Ok(())
}
