//! OBJECT ENCODING.

use super::OBJECT;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "object|encoding",
    arity: 3,
    flags: &["readonly"],
    keys: Keys::SECOND,
    family: Family::Get,
    syntax: "key",
    summary: "Returns how a value is encoded.",
    handler: Handler::Operations(parse),
    ..OBJECT
};

fn parse(request: &mut Request<'_>) -> Parsed {
    Ok(Task::once(Op::Get { key: request.key(2) }, |outcome, out| {
        match found(outcome)?.value {
            Some(_) => out.bulk("raw"),
            None => out.null(),
        }
        Ok(())
    }))
}
