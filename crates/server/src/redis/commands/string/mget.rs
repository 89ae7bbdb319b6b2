//! MGET.

use super::{READ, STRING};
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "mget",
    arity: -2,
    flags: READ,
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
        all.iter().for_each(|found| value_or_null(found, out));
        Ok(())
    }))
}
