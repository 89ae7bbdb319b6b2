//! TIDE.BEGIN.

use super::TIDEMARK;
use crate::redis::prelude::*;
use tidemark_contract::transaction::Transaction;
use tidemark_core::SLOTS;

pub(super) static SPEC: Spec = Spec {
    name: "tide.begin",
    arity: -1,
    flags: &["noscript", "no_multi", "fast"],
    syntax: "[SNAPSHOT [REGIONS number]]",
    summary: "Begins an interactive transaction: commands read in one snapshot, with what the transaction itself has written, and \
              nobody else sees a write before TIDE.COMMIT.",
    remark: "Only under `tidemark`, `cure` and `wren`. With SNAPSHOT it only reads; with \
             REGIONS, in the newest snapshot of which that many regions have everything, so that what it reads outlives the loss of \
             all of them but one (`base_regions` in [protocol]; the snapshot is older, and may lack what this connection has \
             written). Nothing waits, nothing is locked, and no other \
             transaction makes it fail. It ends with TIDE.COMMIT or TIDE.ROLLBACK, and with the connection. Its snapshot is kept \
             for a minute (`transaction_limit` in [protocol]). Scripts, MULTI, commands that go through all keys, and changes of \
             bounded counters are refused in it.",
    handler: Handler::Local(|connection, call, _| {
        let is = |word: &[u8], name: &str| word.eq_ignore_ascii_case(name.as_bytes());
        let (only_reads, regions) = match &call.arguments[..] {
            [] => (false, 0),
            [word] if is(word, "snapshot") => (true, 0),
            [word, option, number] if is(word, "snapshot") && is(option, "regions") => {
                (true, regions(number)?)
            }
            _ => return Err(ErrorReply::SYNTAX),
        };
        if connection.interactive.is_open() {
            return Err(ErrorReply::fixed("ERR TIDE.BEGIN calls can not be nested"));
        }
        connection.interactive.begins(only_reads);
        Ok(Next::Begin(Task::several(Begin { regions })))
    }),
    ..TIDEMARK
};

struct Begin {
    /// How many must have the snapshot; at 0 it is the newest of all.
    regions: u8,
}

fn regions(number: &[u8]) -> Result<u8, ErrorReply> {
    let number =
        std::str::from_utf8(number).ok().and_then(|text| text.parse().ok()).filter(|number| *number > 0);
    number.ok_or_else(|| ErrorReply::fixed("ERR REGIONS needs a number of regions, 1 or more"))
}

impl Steps for Begin {
    fn begin(&mut self, keyspace: &Keyspace<'_>, _: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        if self.regions > 0 {
            return Ok(Step::Op(Transaction::begin_base(self.regions)));
        }
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
