//! Names of keys. Keys are numbered, and a number decides the name; with tagged names also the partition.
//!
//! Tagged: `{tag}:index`. Number `n` lives in partition `n` modulo their number. Its tag was found by trying 0, 1, 2, …
//! until one hashes there, and Redis's hash tags make everybody agree. YCSB's: `user` and the hashed number,
//! wherever that hashes to.

use crate::{Names, Workload, WorkloadError};
use bytes::Bytes;
use std::sync::atomic::{AtomicU64, Ordering};
use tidemark_contract::Topology;
use tidemark_core::{Key, Op, PartitionId};

/// The keys of a store, shared by all clients of a run. It grows by what they insert.
#[derive(Debug)]
pub struct KeySpace {
    topology: Topology,
    /// Of each partition what its keys begin with; empty for YCSB's names.
    prefixes: Vec<Box<str>>,
    /// How many keys the fill phase writes.
    loaded: u64,
    /// The number of the next key to be inserted.
    next: AtomicU64,
    /// How many keys have been inserted whose inserts have ended.
    acknowledged: AtomicU64,
}

impl KeySpace {
    /// The keys of `workload` in a store of `partitions` partitions (1 to 16,384); fails if those do not fit together.
    pub fn new(workload: &Workload, partitions: usize) -> Result<Self, WorkloadError> {
        workload.validate_for(partitions)?;
        Ok(match workload.names {
            Names::Tagged => Self::tagged(workload.keys, partitions),
            Names::Ycsb => Self::ycsb(workload.keys, partitions),
        })
    }

    /// `keys` keys, spread evenly over `partitions` partitions, with tags that make them live there.
    pub fn tagged(keys: u64, partitions: usize) -> Self {
        let topology = Topology::new(1, partitions);
        let mut prefixes: Vec<Option<Box<str>>> = vec![None; partitions];
        let mut missing = partitions;
        for tag in 0u64.. {
            let prefix = format!("{{{tag}}}:");
            let place = &mut prefixes[topology.partition_of(&Key::from(prefix.as_str())).index()];
            if place.is_none() {
                *place = Some(prefix.into());
                missing -= 1;
            }
            if missing == 0 {
                break;
            }
        }
        Self::of(topology, prefixes.into_iter().flatten().collect(), keys)
    }

    /// `keys` keys with YCSB's names, which hash to any of `partitions` partitions.
    pub fn ycsb(keys: u64, partitions: usize) -> Self {
        Self::of(Topology::new(1, partitions), Vec::new(), keys)
    }

    fn of(topology: Topology, prefixes: Vec<Box<str>>, loaded: u64) -> Self {
        Self { topology, prefixes, loaded, next: AtomicU64::new(loaded), acknowledged: AtomicU64::new(0) }
    }

    /// How many partitions there are.
    pub fn partitions(&self) -> usize {
        self.topology.partitions
    }

    /// How many keys the fill phase writes: numbers 0 to this one, exclusive.
    pub fn loaded(&self) -> u64 {
        self.loaded
    }

    /// How many of them every partition has at least, with tagged names.
    pub fn loaded_per_partition(&self) -> u64 {
        self.loaded / self.partitions() as u64
    }

    /// How many keys there are with those whose inserts have ended.
    pub fn present(&self) -> u64 {
        self.loaded + self.acknowledged.load(Ordering::Relaxed)
    }

    /// The number of a key that nobody has inserted yet.
    pub(crate) fn insert(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// `inserts` inserts have ended. (They are counted, not named: with several clients the last few may still be under way.)
    pub(crate) fn acknowledge(&self, inserts: u64) {
        self.acknowledged.fetch_add(inserts, Ordering::Relaxed);
    }

    /// The key of a number.
    pub fn key(&self, number: u64) -> Key {
        let mut digits = itoa::Buffer::new();
        let (prefix, digits) = if self.prefixes.is_empty() {
            ("user", digits.format(hash(number)))
        } else {
            let partitions = self.prefixes.len() as u64;
            (&*self.prefixes[(number % partitions) as usize], digits.format(number / partitions))
        };
        let mut name = Vec::with_capacity(prefix.len() + digits.len());
        name.extend_from_slice(prefix.as_bytes());
        name.extend_from_slice(digits.as_bytes());
        Key(Bytes::from(name))
    }

    /// The number of the `index`th key of `partition`, with tagged names.
    pub fn number_in(&self, partition: usize, index: u64) -> u64 {
        debug_assert!(!self.prefixes.is_empty(), "only tagged names have a partition");
        index * self.partitions() as u64 + partition as u64
    }

    /// The partition that holds `key`.
    pub fn partition_of(&self, key: &Key) -> PartitionId {
        self.topology.partition_of(key)
    }

    /// Whether an operation concerns keys of a partition.
    pub fn concerns(&self, op: &Op, partition: usize) -> bool {
        let there = |key: &Key| self.partition_of(key).index() == partition;
        match op {
            Op::Get { key } | Op::Put { key, .. } => there(key),
            Op::Rotx { keys } | Op::Snapshot { keys } | Op::At { keys, .. } | Op::Query { keys, .. } => {
                keys.iter().any(there)
            }
            Op::PutAll { writes } => writes.iter().any(|(key, _)| there(key)),
            Op::Transact(step) => step.keys().any(there),
            Op::Scan { partition: of, .. }
            | Op::Count { partition: of }
            | Op::Conflicts { partition: of, .. } => of.index() == partition,
        }
    }
}

/// YCSB's hash of a number (`fnvhash64`): FNV-1a over its bytes, lowest first, without the sign.
pub(crate) fn hash(number: u64) -> u64 {
    let hash = number.to_le_bytes().iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash.cast_signed().unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn tagged_keys_live_where_their_number_says() {
        for partitions in [1, 2, 3, 8, 32, 1000] {
            let keys = KeySpace::tagged(10 * partitions as u64, partitions);
            let mut seen = HashSet::new();
            for number in 0..keys.loaded() {
                let key = keys.key(number);
                assert_eq!(
                    Topology::new(3, partitions).partition_of(&key).index() as u64,
                    number % partitions as u64
                );
                assert!(seen.insert(key), "number {number} has the name of another");
            }
            for partition in 0..partitions {
                let key = keys.key(keys.number_in(partition, 7));
                assert_eq!(keys.partition_of(&key).index(), partition);
                assert!(key.ends_with(b":7"));
                let read = Op::Rotx { keys: vec![keys.key(0), key] };
                assert!(keys.concerns(&read, partition) && keys.concerns(&read, 0));
                assert_eq!(keys.concerns(&read, 1), partition == 1, "it concerns what it reads, and no more");
            }
        }
    }

    /// The first keys that YCSB itself loads, as in every tutorial's output.
    #[test]
    fn names_are_those_of_ycsb() {
        let keys = KeySpace::ycsb(2, 1);
        assert_eq!(keys.key(0), Key::from("user6284781860667377211"));
        assert_eq!(keys.key(1), Key::from("user8517097267634966620"));
    }
}
