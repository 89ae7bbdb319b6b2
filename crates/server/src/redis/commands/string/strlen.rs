//! STRLEN.

use super::{READ, STRING};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "strlen",
    arity: 2,
    flags: READ,
    family: Family::Get,
    since: "2.2.0",
    syntax: "key",
    summary: "Returns the length of a value.",
    handler: Handler::Operations(parse),
    ..STRING
};

fn parse(request: &mut Request<'_>) -> Parsed {
    Ok(Task::once(Op::Get { key: request.key(1) }, |outcome, out| {
        out.integer(found(outcome)?.value.map_or(0, |value| value.len() as i64));
        Ok(())
    }))
}
