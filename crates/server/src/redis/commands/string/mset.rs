//! MSET.

use super::STRING;
use crate::redis::commands::flags::WRITE;
use crate::redis::prelude::*;
use std::vec::IntoIter;

pub(super) static SPEC: Spec = Spec {
    name: "mset",
    arity: -3,
    flags: WRITE,
    keys: Keys::PAIRS,
    family: Family::Mset,
    since: "1.0.1",
    syntax: "key value [key value ...]",
    summary: "Sets the values of several keys.",
    remark: "Atomic under protocols with write transactions (`tidemark protocols`). Under the others another \
             client may see some of the values before the rest.",
    handler: Handler::Operations(parse),
    ..STRING
};

fn parse(request: &mut Request<'_>) -> Parsed {
    if request.len().is_multiple_of(2) {
        return Err(ErrorReply::arity("mset"));
    }
    let pairs = (1..request.len()).step_by(2).map(|index| {
        let key = request.key(index);
        (key, request.value(index + 1))
    });
    Ok(Task::several(MSet { pairs: pairs.collect::<Vec<_>>().into_iter() }))
}

struct MSet {
    /// Those that have not been set yet.
    pairs: IntoIter<(Key, Value)>,
}

impl Steps for MSet {
    fn begin(&mut self, keyspace: &Keyspace<'_>, out: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        if keyspace.write_transactions {
            let writes = self.pairs.by_ref().map(|(key, value)| (key, Write::Assign(value))).collect();
            return Ok(Step::Op(Op::PutAll { writes }));
        }
        Ok(self.next(out))
    }

    fn step(
        &mut self,
        outcome: Outcome,
        _: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        written(outcome)?;
        Ok(self.next(out))
    }
}

impl MSet {
    fn next(&mut self, out: &mut Encoder<'_>) -> Step {
        match self.pairs.next() {
            Some((key, value)) => Step::Op(assign(key, value)),
            None => {
                out.ok();
                Step::Done
            }
        }
    }
}
