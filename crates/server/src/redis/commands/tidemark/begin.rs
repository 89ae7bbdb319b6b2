//! TIDE.BEGIN.

use super::TIDEMARK;
use crate::redis::prelude::*;
use tidemark_contract::transaction::Transaction;
use tidemark_core::SLOTS;

pub(super) static SPEC: Spec = Spec {
    name: "tide.begin",
    arity: -1,
    flags: &["noscript", "no_multi", "fast"],
    syntax: "[SNAPSHOT]",
    summary: "Begins an interactive transaction: commands read in one snapshot, with what the transaction itself has written, and \
              nobody else sees a write before TIDE.COMMIT.",
    remark: "Only under `tidemark`, `cure` and `wren`. With SNAPSHOT it only reads. Nothing waits, nothing is locked, and no other \
             transaction makes it fail. It ends with TIDE.COMMIT or TIDE.ROLLBACK, and with the connection. Its snapshot is kept \
             for a minute (`transaction_limit` in [protocol]). Scripts, MULTI, commands that go through all keys, and changes of \
             bounded counters are refused in it.",
    handler: Handler::Local(|connection, call, _| {
        let only_reads = match &call.arguments[..] {
            [] => false,
            [word] if word.eq_ignore_ascii_case(b"snapshot") => true,
            _ => return Err(ErrorReply::SYNTAX),
        };
        if connection.interactive.is_open() {
            return Err(ErrorReply::fixed("ERR TIDE.BEGIN calls can not be nested"));
        }
        connection.interactive.begins(only_reads);
        Ok(Next::Begin(Task::several(Begin)))
    }),
    ..TIDEMARK
};

struct Begin;

impl Steps for Begin {
    fn begin(&mut self, keyspace: &Keyspace<'_>, _: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        // Any server can hold the snapshot.
        let partition = keyspace.topology.partition_of_slot(fastrand::u16(..SLOTS));
        Ok(Step::Op(Transaction::begin(partition)))
    }

    fn step(
        &mut self,
        outcome: Outcome,
        _: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        let Outcome::Begun(_) = outcome else { return Err(ErrorReply::UNEXPECTED) };
        out.ok();
        Ok(Step::Done)
    }
}
