//! What commands know of the store: how keys are spread over partitions, how to get through all of them, and what time it is.

use super::scripts::Scripts;
use tidemark_contract::Topology;
use tidemark_core::{Key, Micros, Op, PartitionId, SLOTS};

/// The region's keys, as commands see them.
#[derive(Clone, Copy, Debug)]
pub struct Keyspace<'a> {
    /// Which partition holds which slots.
    pub topology: &'a Topology,
    /// Whether several keys can be written in one transaction.
    pub write_transactions: bool,
    /// Whether keys can be of data types.
    pub types: bool,
    /// Physical time.
    pub now: Micros,
    /// The scripts that the node knows.
    pub scripts: &'a Scripts,
}

impl Keyspace<'_> {
    /// Whether one command may change keys of several partitions.
    pub(super) fn spans_partitions(&self) -> bool {
        self.write_transactions && self.types
    }

    /// Whether a command can be carried out on both keys where they live.
    pub(super) fn together(&self, one: &Key, other: &Key) -> bool {
        let Self { topology, .. } = self;
        topology.partition_of(one) == topology.partition_of(other)
            && topology.holders(one) == topology.holders(other)
    }
}

/// Where a scan over all partitions goes on. Cursors number slots over all partitions, so that one partition's scan
/// is followed by that of the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cursor(u64);

impl Cursor {
    /// How many keys a scan over everything looks at in one operation.
    pub(super) const KEYS_AT_ONCE: u32 = 512;

    /// The cursor that a client gave, unless no reply can have contained it.
    pub(super) fn from_client(cursor: u64) -> Option<Self> {
        (cursor >> 32 < u64::from(SLOTS)).then_some(Self(cursor))
    }

    /// A slot at random.
    pub(super) fn random() -> Self {
        Self(u64::from(fastrand::u16(..SLOTS)) << 32)
    }

    /// The operation that looks at about `limit` keys from here on.
    pub(super) fn scan(self, keyspace: &Keyspace<'_>, limit: u32) -> Op {
        let partition = keyspace.topology.partition_of_slot((self.0 >> 32) as u16);
        Op::Scan { partition, cursor: self.0, limit }
    }

    /// What follows that operation, which returned `cursor`; none at the very end.
    pub(super) fn after(self, keyspace: &Keyspace<'_>, cursor: u64) -> Option<Self> {
        if cursor != 0 {
            return Some(Self(cursor));
        }
        let partition = keyspace.topology.partition_of_slot((self.0 >> 32) as u16);
        let next = PartitionId(partition.0 + 1);
        (next.index() < keyspace.topology.partitions)
            .then(|| Self(u64::from(keyspace.topology.first_slot(next)) << 32))
    }

    /// As a client is told.
    pub(super) fn to_client(this: Option<Self>) -> u64 {
        this.map_or(0, |cursor| cursor.0)
    }
}
