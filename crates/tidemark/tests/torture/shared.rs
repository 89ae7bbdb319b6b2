//! What the clients of a torture test share, and what each brings back.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Instant;
use tidemark_contract::Topology;
use tidemark_core::history::Event;
use tidemark_core::{Key, PartitionId};

/// What all clients share.
pub(crate) struct Shared {
    /// By region: where its nodes listen.
    pub(crate) addresses: Vec<Vec<SocketAddr>>,
    /// The clock of the history.
    pub(crate) begun: Instant,
    /// Ends all clients.
    pub(crate) stop: AtomicBool,
    /// Names sessions.
    pub(crate) sessions: AtomicU64,
    /// The keys over which clients compete.
    pub(crate) keys: Vec<String>,
    /// Pairs of keys on different partitions: an effect is written to the second after its cause to the first.
    pub(crate) pairs: Vec<(String, String)>,
    /// Whether MSET is one transaction.
    pub(crate) transactions: bool,
    /// Which regions hold which keys.
    pub(crate) topology: Topology,
}

/// What must be found under a key that was written once, by one client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// This value: it was acknowledged.
    Value(String),
    /// Nothing: its deletion was acknowledged, or its writing refused.
    Nothing,
    /// Either, but in all regions the same.
    Unknown(String),
}

/// What a client saw.
#[derive(Default)]
pub(crate) struct Log {
    /// In program order of each session.
    pub(crate) events: Vec<Event>,
    /// The keys it wrote once.
    pub(crate) unique: BTreeMap<String, Expected>,
    /// How often each kind of answer came.
    pub(crate) tally: BTreeMap<String, u64>,
}

impl Shared {
    /// For a cluster with nodes at `addresses`, by region, under a protocol that has write `transactions` or has not.
    pub(crate) fn new(addresses: Vec<Vec<SocketAddr>>, partitions: usize, transactions: bool) -> Arc<Self> {
        let topology = Topology::new(addresses.len(), partitions);
        Self::placed(addresses, topology, transactions)
    }

    /// As [`Self::new`], for a cluster whose regions hold the keys that `topology` says.
    pub(crate) fn placed(
        addresses: Vec<Vec<SocketAddr>>,
        topology: Topology,
        transactions: bool,
    ) -> Arc<Self> {
        let partitions = topology.partitions;
        let on = |prefix: &str, partition: usize| {
            let names = (0..).map(|n| format!("{prefix}{n}"));
            let lies =
                |name: &String| topology.partition_of(&Key::from(&**name)) == PartitionId(partition as u16);
            names.into_iter().find(lies).expect("some name lies there")
        };
        let pairs = (0..3).map(|pair| {
            let cause = pair % partitions;
            (on(&format!("cause{pair}:"), cause), on(&format!("effect{pair}:"), (cause + 1) % partitions))
        });
        let pairs = pairs.collect();
        Arc::new(Self {
            pairs,
            topology,
            keys: (0..8).map(|n| format!("k{n}")).collect(),
            addresses,
            begun: Instant::now(),
            stop: AtomicBool::new(false),
            sessions: AtomicU64::new(0),
            transactions,
        })
    }

    /// Every key that is not one client's own.
    pub(crate) fn all_keys(&self) -> Vec<String> {
        let pairs = self.pairs.iter().flat_map(|(cause, effect)| [cause.clone(), effect.clone()]);
        self.keys.iter().cloned().chain(pairs).collect()
    }

    /// Pair `number`: the key of the cause, and that of the effect.
    pub(crate) fn pair(&self, number: usize) -> (String, String) {
        self.pairs[number].clone()
    }

    /// In microseconds since the test began.
    pub(crate) fn now(&self) -> u64 {
        self.begun.elapsed().as_micros() as u64
    }
}
