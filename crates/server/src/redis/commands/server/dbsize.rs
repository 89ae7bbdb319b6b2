//! DBSIZE.

use crate::redis::functions;
use crate::redis::prelude::*;
use tidemark_core::PartitionId;

pub(super) static SPEC: Spec = Spec {
    name: "dbsize",
    flags: &["readonly", "fast"],
    family: Family::Scan,
    summary: "Returns the number of keys.",
    remark: "Counts what this region sees, one partition after the other.",
    handler: Handler::Operations(|_| Ok(Task::several(DbSize { next: Some(PartitionId(0)), count: 0 }))),
    ..Spec::DEFAULT
};

struct DbSize {
    /// The partition to be counted next; none if the reserved key is looked for, which was counted too.
    next: Option<PartitionId>,
    count: u64,
}

impl Steps for DbSize {
    fn begin(&mut self, keyspace: &Keyspace<'_>, _: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        let next = self.next.filter(|next| next.index() < keyspace.topology.partitions);
        self.next = next.map(|partition| PartitionId(partition.0 + 1));
        Ok(Step::Op(next.map_or_else(functions::exist, |partition| Op::Count { partition })))
    }

    fn step(
        &mut self,
        outcome: Outcome,
        keyspace: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        if self.next.is_some() {
            self.count += counted(outcome)?;
            return self.begin(keyspace, out);
        }
        let Reply::Int(reserved) = typed::answer(outcome)? else { return Err(ErrorReply::UNEXPECTED) };
        out.integer(self.count as i64 - reserved);
        Ok(Step::Done)
    }
}
