//! SETNX.

use super::STRING;
use crate::redis::commands::flags::FAST_WRITE;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "setnx",
    arity: 3,
    flags: FAST_WRITE,
    family: Family::Set,
    syntax: "key value",
    summary: "Sets the value of a key that does not exist.",
    remark: "Decided by what this region sees: two regions may both return 1.",
    handler: Handler::Operations(parse),
    ..STRING
};

fn parse(request: &mut Request<'_>) -> Parsed {
    let key = request.key(1);
    let update = Update::put(Write::Assign(request.value(2)));
    let op = Op::Put { key, update: Update { condition: Condition::IfAbsent, ..update } };
    Ok(Task::once(op, |outcome, out| {
        let (set, _) = written(outcome)?;
        out.integer(i64::from(set));
        Ok(())
    }))
}
