//! TIDE.CONFLICTS.

use super::TIDEMARK;
use crate::redis::prelude::*;
use tidemark_core::{Found, PartitionId};

pub(super) static SPEC: Spec = Spec {
    name: "tide.conflicts",
    arity: -1,
    flags: &["readonly"],
    family: Family::Scan,
    syntax: "[COUNT count]",
    summary: "Returns keys whose latest versions did not see each other, with these versions, newest first: of each its \
              value, or null for a deletion, the region that wrote it, and its time.",
    remark: "At most 100 keys, or COUNT. A later SET or DEL of this session, in any region, takes the place of what is \
             returned; so does any write where all of the versions are visible. Only under `gentlerain` with a \
             `resolver` in [protocol] other than `last-writer`. With `application`, GET returns the last writer's \
             value until then.",
    handler: Handler::Operations(parse),
    ..TIDEMARK
};

/// How many keys are returned if nobody says.
const COUNT: usize = 100;
/// How many keys may be asked for at once.
const COUNT_MAX: i64 = 100_000;

fn parse(request: &mut Request<'_>) -> Parsed {
    let count = match request.len() {
        1 => COUNT,
        3 if request.is(1, "count") => match integer(&request[2])? {
            count @ 1..=COUNT_MAX => count as usize,
            _ => return Err(ErrorReply::SYNTAX),
        },
        _ => return Err(ErrorReply::SYNTAX),
    };
    Ok(Task::several(Conflicts { next: PartitionId(0), count, found: Vec::new() }))
}

struct Conflicts {
    /// The partition to be asked next.
    next: PartitionId,
    count: usize,
    found: Vec<(Key, Vec<Found>)>,
}

impl Steps for Conflicts {
    fn begin(&mut self, keyspace: &Keyspace<'_>, out: &mut Encoder<'_>) -> Result<Step, ErrorReply> {
        let (partition, missing) = (self.next, self.count.saturating_sub(self.found.len()));
        if partition.index() == keyspace.topology.partitions || missing == 0 {
            self.write(out);
            return Ok(Step::Done);
        }
        self.next = PartitionId(partition.0 + 1);
        Ok(Step::Op(Op::Conflicts { partition, limit: missing as u32 }))
    }

    fn step(
        &mut self,
        outcome: Outcome,
        keyspace: &Keyspace<'_>,
        out: &mut Encoder<'_>,
    ) -> Result<Step, ErrorReply> {
        let Outcome::Conflicts(found) = outcome else { return Err(ErrorReply::UNEXPECTED) };
        self.found.extend(found);
        self.begin(keyspace, out)
    }
}

impl Conflicts {
    fn write(&self, out: &mut Encoder<'_>) {
        out.array(self.found.len());
        for (key, versions) in &self.found {
            out.array(2);
            out.bulk(&**key);
            out.array(versions.len());
            for found in versions {
                let stamp = found.stamp.unwrap_or_default();
                let micros = stamp.ts.micros();
                out.array(3);
                value_or_null(found, out);
                out.bulk(stamp.origin.to_string());
                out.bulk(format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000));
            }
        }
    }
}
