//! What a node needs to know to run.

use crate::layout::{ClusterLayout, NodeId, NodeLayout};
use std::sync::Arc;
use tidemark_core::{DcId, Micros};
use tidemark_store::log::Fsync;

/// What a node needs to know to run. Addresses and clients are its driver's business.
#[derive(Clone, Debug)]
pub struct Config {
    /// The cluster.
    pub cluster: Arc<ClusterLayout>,
    /// Which of its nodes this is.
    pub me: NodeId,
    /// The nodes' shared secret.
    pub peer_secret: Option<String>,
    /// When a write is durable.
    pub fsync: Fsync,
    /// How far ahead of physical time a stamp may lie, in microseconds.
    pub max_skew_us: Micros,
    /// The size of a log segment.
    pub log_segment_bytes: u64,
    /// How much log is kept for absent peers.
    pub log_retain_bytes: u64,
    /// How much log is written between two snapshots.
    pub snapshot_every_bytes: u64,
    /// How long an operation may wait for replies, in microseconds.
    pub op_deadline_us: Micros,
    /// How long a follower of a Raft group waits for its leader before it stands for election, in microseconds; members wait
    /// up to 0.6 of it longer, each for another time.
    pub election_timeout_us: Micros,
    /// With more bytes of messages than this waiting for one link, the link ends, and with it the requests on it.
    pub backlog_bytes: usize,
    /// Where the node's random numbers begin: names of logs and of this start, pauses between dials. Two starts must not
    /// have the same.
    pub seed: u64,
}

impl Config {
    /// This node as the others see it.
    pub fn layout(&self) -> &NodeLayout {
        &self.cluster.nodes[self.me.index()]
    }

    /// This node's region.
    pub fn dc(&self) -> DcId {
        self.layout().dc
    }
}
