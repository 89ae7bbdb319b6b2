//! TIDE.SESSION IMPORT.

use super::TIDEMARK;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "tide.session|import",
    arity: 3,
    flags: &["readonly"],
    syntax: "token",
    summary: "Adds the past of another session, given as its token, to that of this one.",
    remark: "Waits until this region has everything that the token depends on. After a bound it returns \
             STALESESSION and changes nothing.",
    handler: Handler::Operations(|request| Ok(Task::several(Import { token: request.take(2) }))),
    ..TIDEMARK
};

struct Import {
    token: Bytes,
}

impl Steps for Import {
    fn begin(&mut self, _: &Keyspace<'_>, _: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        Ok(Step::Import(std::mem::take(&mut self.token)))
    }

    fn step(
        &mut self,
        outcome: Outcome,
        _: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        match outcome {
            Outcome::Adopted => out.ok(),
            _ => return Err(ErrorReply::UNEXPECTED),
        }
        Ok(Step::Done)
    }
}
