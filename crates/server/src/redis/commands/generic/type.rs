//! TYPE.

use super::GENERIC;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "type",
    arity: 2,
    flags: &["readonly", "fast"],
    keys: Keys::FIRST,
    family: Family::Get,
    syntax: "key",
    summary: "Returns the type of a key's value, or none.",
    handler: Handler::Operations(parse),
    ..GENERIC
};

fn parse(request: &mut Request<'_>) -> Parsed {
    Ok(Task::once(Op::Get { key: request.key(1) }, |outcome, out| {
        out.simple(if found(outcome)?.value.is_some() { "string" } else { "none" });
        Ok(())
    }))
}
