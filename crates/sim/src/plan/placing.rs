//! Which data centres hold which keys.

use crate::rng::{Rng, Stream, stream};
use tidemark_contract::Topology;
use tidemark_contract::placement::{Keys, Placement};
use tidemark_core::{DcId, Regions};

/// Each data centre holds one partition, the first the first and so on, and over again; where there are fewer data centres than
/// partitions, the first of them hold the rest too.
pub(super) fn by_partition(topology: &Topology) -> Placement {
    let held = |partition: usize| {
        let holds =
            |dc: &DcId| dc.index() % topology.partitions == partition % topology.dcs.min(topology.partitions);
        topology.all_dcs().filter(holds).fold(Regions::NONE, Regions::with)
    };
    let slots = |partition| {
        let next = tidemark_core::PartitionId(partition + 1);
        let first = topology.first_slot(tidemark_core::PartitionId(partition));
        Keys::Slots(first as u16, (topology.first_slot(next) - 1) as u16)
    };
    let rules = (0..topology.partitions as u16).map(|p| (slots(p), held(p.into()))).collect();
    Placement { rules, ..Placement::default() }
}

/// Keys by their first letter: each is held by some data centres, one at least; now and then a data centre turns to the one before
/// it, not to the one that follows.
pub(super) fn random(topology: &Topology, seed: u64) -> Placement {
    let mut rng = stream(seed, Stream::Placement);
    let some = |rng: &mut Rng| {
        let sure = DcId(rng.u8(0..topology.dcs as u8));
        let others = topology.all_dcs().filter(|dc| *dc == sure || rng.u8(0..2) == 0);
        others.fold(Regions::NONE, Regions::with)
    };
    let rules = (b'a'..=b'z').map(|letter| (Keys::Prefix(vec![letter]), some(&mut rng))).collect();
    let near = match rng.bool() {
        true => Vec::new(),
        false => {
            topology.all_dcs().map(|dc| topology.all_dcs().filter(|other| *other != dc).collect()).collect()
        }
    };
    Placement { rules, near, refuses: false }
}
