//! Who and where.

use super::placing;
use crate::options::{Options, Placed};
use tidemark_contract::Topology;
use tidemark_contract::info::Transactions;
use tidemark_core::Key;

/// Who and where: the same for every schedule of a run.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Data centres and partitions.
    pub topology: Topology,
    /// Names of keys, those of one partition together.
    pub keys: Vec<Vec<Key>>,
    /// Which transactions that write the protocol has. Where it has none, schedules are drawn as if there were none.
    pub transactions: Transactions,
    /// Whether its operations may ask for fewer guarantees. Where they may not, schedules are drawn as if there were one
    /// kind of operation.
    pub guarantees: bool,
    /// Whether it has checking groups, which operators change.
    pub checking: bool,
    /// Whether who is excluded stays excluded: then schedules lose a data centre before it is.
    pub excludes_for_good: bool,
}

/// How many names each partition has.
const NAMES: usize = 6;

impl Layout {
    /// Finds names that fall to each partition.
    pub fn new(options: &Options, transactions: Transactions, guarantees: bool, checking: bool) -> Self {
        let mut topology = Topology::new(options.dcs, options.partitions);
        let mut keys = vec![Vec::new(); options.partitions];
        for n in 0.. {
            let (letter, round) = ((b'a' + (n % 26) as u8) as char, n / 26);
            let key = Key::from(if round == 0 { letter.into() } else { format!("{letter}{round}") }.as_str());
            let held = &mut keys[topology.partition_of(&key).index()];
            if held.len() < NAMES {
                held.push(key);
            }
            if keys.iter().all(|keys| keys.len() == NAMES) {
                break;
            }
        }
        if options.placement == Placed::ByPartition {
            topology.placement = placing::by_partition(&topology);
        }
        Self { topology, keys, transactions, guarantees, checking, excludes_for_good: false }
    }

    /// The same, where each key is held by some data centres as schedule `seed` draws it.
    pub fn drawn(&self, seed: u64) -> Self {
        let mut layout = self.clone();
        layout.topology.placement = placing::random(&self.topology, seed);
        layout
    }
}
