//! GETSET.

use super::{STRING, set};
use crate::redis::commands::flags::FAST_WRITE;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "getset",
    arity: 3,
    flags: FAST_WRITE,
    family: Family::Set,
    syntax: "key value",
    summary: "Sets the value of a key and returns the previous one.",
    remark: "The previous value is the one that this region saw.",
    handler: Handler::Operations(parse),
    ..STRING
};

fn parse(request: &mut Request<'_>) -> Parsed {
    let key = request.key(1);
    let update = Update::put(Write::Assign(request.value(2)));
    let op = Op::Put { key, update: Update { returns_previous: true, ..update } };
    Ok(Task::once(op, set::previous))
}
