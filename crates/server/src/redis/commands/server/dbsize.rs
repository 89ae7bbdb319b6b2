//! DBSIZE.

use crate::redis::prelude::*;
use tidemark_core::PartitionId;

pub(super) static SPEC: Spec = Spec {
    name: "dbsize",
    flags: &["readonly", "fast"],
    family: Family::Scan,
    summary: "Returns the number of keys.",
    remark: "Counts what this region sees, one partition after the other.",
    handler: Handler::Operations(|_| Ok(Task::several(DbSize { next: PartitionId(0), count: 0 }))),
    ..Spec::DEFAULT
};

struct DbSize {
    /// The partition to be counted next.
    next: PartitionId,
    count: u64,
}

impl Steps for DbSize {
    fn begin(&mut self, keyspace: &Keyspace<'_>, out: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        let partition = self.next;
        if partition.index() == keyspace.topology.partitions {
            out.integer(self.count as i64);
            return Ok(Step::Done);
        }
        self.next = PartitionId(partition.0 + 1);
        Ok(Step::Op(Op::Count { partition }))
    }

    fn step(
        &mut self,
        outcome: Outcome,
        keyspace: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        self.count += counted(outcome)?;
        self.begin(keyspace, out)
    }
}
