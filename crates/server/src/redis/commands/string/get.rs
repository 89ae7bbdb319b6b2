//! GET.

use super::{READ, STRING};
use crate::redis::prelude::*;

pub(in crate::redis) static SPEC: Spec = Spec {
    name: "get",
    arity: 2,
    flags: READ,
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
    value_or_null(&found(outcome)?, out);
    Ok(())
}
