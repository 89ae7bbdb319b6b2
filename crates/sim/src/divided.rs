//! Reads of keys that no data centre holds together.

use tidemark_contract::Topology;
use tidemark_contract::forwarded::Part;
use tidemark_core::{Op, Outcome};

/// What a read of keys that no data centre holds together promises: each part is one snapshot, after the one before it. So the
/// parts are recorded, with what was found in each; none of any other operation.
pub(crate) fn parts(topology: &Topology, op: &Op, outcome: &Outcome) -> Vec<(Op, Outcome)> {
    let Outcome::FoundAll(found) = outcome else { return Vec::new() };
    let part = |part: Part| {
        let found = part.places.iter().map(|at| found[*at].clone()).collect();
        (part.op, Outcome::FoundAll(found))
    };
    topology.parts_of(op).into_iter().map(part).collect()
}
