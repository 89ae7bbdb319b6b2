//! MGET.

use super::STRING;
use crate::redis::commands::flags::FAST_READ;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "mget",
    arity: -2,
    flags: FAST_READ,
    keys: Keys::ALL,
    family: Family::Mget,
    syntax: "key [key ...]",
    summary: "Returns the values of several keys.",
    remark: "They are one causally consistent snapshot across partitions, under protocols that have \
             snapshots (`tidemark protocols`).",
    handler: Handler::Operations(parse),
    ..STRING
};

fn parse(request: &mut Request<'_>) -> Parsed {
    Ok(Task::once(Op::Rotx { keys: request.keys(1) }, |outcome, out| {
        let all = found_all(outcome)?;
        out.array(all.len());
        // A key of another type has no string: null, as in Redis.
        all.into_iter().for_each(|found| value_or_null(&Found { reply: None, ..found }, out));
        Ok(())
    }))
}
