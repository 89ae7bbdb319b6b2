//! TIDE.ROLLBACK.

use super::TIDEMARK;
use super::commit::End;
use crate::redis::prelude::*;

pub(super) static SPEC: Spec = Spec {
    name: "tide.rollback",
    flags: &["noscript", "no_multi", "fast"],
    summary: "Forgets the transaction that TIDE.BEGIN has begun, and all of its writes.",
    handler: Handler::Local(|connection, _, _| {
        let ending = connection.interactive.roll_back();
        let ending = ending.ok_or(ErrorReply::fixed("ERR TIDE.ROLLBACK without TIDE.BEGIN"))?;
        Ok(Next::Begin(Task::several(End::of(ending))))
    }),
    ..TIDEMARK
};
