//! GET.

use super::STRING;
use crate::redis::commands::flags::FAST_READ;
use crate::redis::prelude::*;

pub(in crate::redis) static SPEC: Spec = Spec {
    name: "get",
    arity: 2,
    flags: FAST_READ,
    family: Family::Get,
    syntax: "key",
    summary: "Returns the value of a key.",
    handler: Handler::Operations(parse),
    ..STRING
};

/// REQUIRES: two arguments.
#[inline]
pub(in crate::redis) fn parse(request: &mut Request<'_>) -> Parsed {
    Ok(Task::get(Op::Get { key: request.key(1) }))
}

#[inline]
pub(in crate::redis) fn reply(outcome: Outcome, out: &mut Encoder<'_>) -> Result<(), ErrorReply> {
    let found = found(outcome)?;
    if let Some(Reply::Error(text)) = found.reply.as_deref() {
        return Err(ErrorReply::new(text.as_bytes()));
    }
    value_or_null(&found, out);
    Ok(())
}
