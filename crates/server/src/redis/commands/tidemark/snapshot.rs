//! TIDE.SNAPSHOT.

use super::TIDEMARK;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "tide.snapshot",
    arity: -2,
    flags: &["readonly"],
    keys: Keys::ALL,
    family: Family::Mget,
    syntax: "key [key ...]",
    summary: "Returns the values of several keys from one causally consistent snapshot, which may miss what this \
              session itself has read or written.",
    remark: "The paper's GET-SNAPSHOT: under `gentlerain`, where MGET waits until everything that the session has seen is \
             stable, it does not wait. `hybrid` answers from what is stable, too. Under the others it is the same as MGET.",
    handler: Handler::Operations(parse),
    ..TIDEMARK
};

fn parse(request: &mut Request<'_>) -> Parsed {
    Ok(Task::once(Op::Snapshot { keys: request.keys(1) }, |outcome, out| {
        let all = found_all(outcome)?;
        out.array(all.len());
        all.iter().for_each(|found| value_or_null(found, out));
        Ok(())
    }))
}
