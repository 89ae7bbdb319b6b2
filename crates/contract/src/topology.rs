//! How many data centres and partitions there are, and which partition holds a key.

use crate::forwarded::{self, Part};
use crate::placement::Placement;
use serde::{Deserialize, Serialize};
use tidemark_core::slot::slot_of;
use tidemark_core::{DcId, Op, PartitionId, Regions, SLOTS, ServerId, Slot};

/// `M` data centres with `N` partitions each; slots are spread over partitions in equal, contiguous ranges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    /// The number of data centres: the papers' `M`, 1 to 64.
    pub dcs: usize,
    /// The number of partitions in each: the papers' `N`, 1 to 16,384.
    pub partitions: usize,
    /// Which data centres hold which keys.
    pub placement: Placement,
}

impl Topology {
    /// A topology of `dcs` data centres with `partitions` partitions each.
    pub fn new(dcs: usize, partitions: usize) -> Self {
        assert!((1..=64).contains(&dcs), "a topology has 1 to 64 data centres, not {dcs}");
        assert!((1..=SLOTS as usize).contains(&partitions), "1 to {SLOTS} partitions, not {partitions}");
        Self { dcs, partitions, placement: Placement::default() }
    }

    /// The partition that holds `slot`.
    #[inline]
    pub fn partition_of_slot(&self, slot: Slot) -> PartitionId {
        PartitionId((slot as usize * self.partitions / SLOTS as usize) as u16)
    }

    /// The first slot of `partition`; of the partition after the last one, the number of slots.
    pub fn first_slot(&self, partition: PartitionId) -> u32 {
        ((partition.index() * SLOTS as usize).div_ceil(self.partitions)) as u32
    }

    /// The partition that holds `key`.
    #[inline]
    pub fn partition_of(&self, key: &[u8]) -> PartitionId {
        if self.partitions == 1 { PartitionId(0) } else { self.partition_of_slot(slot_of(key)) }
    }

    /// The data centres that hold `key`.
    #[inline]
    pub fn holders(&self, key: &[u8]) -> Regions {
        self.placement.holders(key, self.dcs)
    }

    /// The data centres that hold all keys of `op`.
    pub fn holders_of(&self, op: &Op) -> Regions {
        forwarded::holders(op, |key| self.holders(key), Regions::all(self.dcs))
    }

    /// The parts in which a session reads several keys: one, where a data centre holds all of them. None of other operations.
    pub fn parts_of(&self, op: &Op) -> Vec<Part> {
        forwarded::parts(op, |keys| self.placement.divide(keys, self.dcs))
    }

    /// Every data centre.
    pub fn all_dcs(&self) -> impl Iterator<Item = DcId> + use<> {
        (0..self.dcs as u8).map(DcId)
    }

    /// Every partition.
    pub fn all_partitions(&self) -> impl Iterator<Item = PartitionId> + use<> {
        (0..self.partitions as u16).map(PartitionId)
    }

    /// Every server.
    pub fn servers(&self) -> impl Iterator<Item = ServerId> + use<> {
        let partitions = self.partitions as u16;
        let of = move |dc| (0..partitions).map(move |n| ServerId::new(dc, PartitionId(n)));
        self.all_dcs().flat_map(of)
    }

    /// The servers of the same partition in other data centres.
    pub fn peers(&self, me: ServerId) -> impl Iterator<Item = ServerId> + use<> {
        self.all_dcs().filter(move |dc| *dc != me.dc).map(move |dc| ServerId::new(dc, me.partition))
    }

    /// The servers of the same partition in other data centres that hold some key that `me` holds too.
    pub fn sharing(&self, me: ServerId) -> impl Iterator<Item = ServerId> + '_ {
        let slots = self.first_slot(me.partition)..self.first_slot(PartitionId(me.partition.0 + 1));
        self.peers(me).filter(move |peer| self.placement.share((me.dc, peer.dc), slots.clone(), self.dcs))
    }

    /// The servers of the other partitions in the same data centre.
    pub fn siblings(&self, me: ServerId) -> impl Iterator<Item = ServerId> + use<> {
        let others = self.all_partitions().filter(move |partition| *partition != me.partition);
        others.map(move |partition| ServerId::new(me.dc, partition))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_belongs_to_the_partition_whose_range_contains_it() {
        for partitions in [1, 2, 3, 7, 16, 1000] {
            let topology = Topology::new(1, partitions);
            for slot in 0..SLOTS {
                let p = topology.partition_of_slot(slot);
                let next = PartitionId(p.0 + 1);
                let range = topology.first_slot(p)..topology.first_slot(next);
                assert!(range.contains(&(slot as u32)), "slot {slot} of {partitions}");
            }
        }
    }
}
