//! What a node needs to know to run.

use crate::layout::{ClusterLayout, NodeId, NodeLayout};
use crate::link::parts::PartSizes;
use crate::observe::Observer;
use std::sync::Arc;
use tidemark_core::{DcId, Micros, SharedLimit};
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
    /// Names the start of the machine, so that a loss of power can be told from the death of the process; empty if that is not
    /// known.
    pub boot: String,
    /// How far ahead of physical time a stamp may lie, in microseconds.
    pub max_skew_us: Micros,
    /// The limit of values and records: who has a clone may change it.
    pub limit: SharedLimit,
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
    /// What a frame of a replication stream holds of one partition at most, about, in bytes; one record in any case.
    pub stream_frame_bytes: usize,
    /// Sizes of what leaves in parts, and of the parts.
    pub parts: PartSizes,
    /// How long the node waits between attempts.
    pub pace: Pace,
    /// How much a member of a Raft group keeps for the others.
    pub raft: RaftLimits,
    /// Who is told what passes, if anybody measures that.
    pub observer: Option<Arc<dyn Observer>>,
    /// Where the node's random numbers begin: names of logs and of this start, pauses between dials. Two starts must not
    /// have the same.
    pub seed: u64,
}

/// How long a node waits between attempts, in microseconds. The defaults suit any network between regions; a simulation, whose
/// time is its own, has others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Between two pieces of upkeep.
    pub upkeep_us: Micros,
    /// Between two looks at the log for records to send: what is written within it leaves together.
    pub stream_round_us: Micros,
    /// How far ahead of the machine's clock times are kept that are synced before they are given out: see
    /// [`HostConfig::ceiling_us`](tidemark_replica::HostConfig::ceiling_us).
    pub ceiling_us: Micros,
    /// Between two syncs of the log that let records leave: those that are written within it leave together.
    pub sync_us: Micros,
    /// The longest that dialling and the handshake may take.
    pub handshake_us: Micros,
    /// Between two dials: at first, and at most.
    pub dial_us: (Micros, Micros),
    /// Before records that were not taken are offered again.
    pub offer_again_us: Micros,
    /// Before a stream that was refused is asked for again: an operator has to do something meanwhile.
    pub ask_again_us: Micros,
    /// After a stream has ended, before the records are asked for in a third region; 0 is never.
    pub relay_after_us: Micros,
    /// After a copy that did not arrive, before the leader hears of it and tries again.
    pub copy_again_us: Micros,
    /// Between two looks for what an operator should know.
    pub look_us: Micros,
    /// So long a condition has to hold before it is a finding.
    pub hold_us: Micros,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            upkeep_us: 20_000,
            stream_round_us: 1_000,
            sync_us: 1_000,
            ceiling_us: 3_000_000,
            handshake_us: 5_000_000,
            dial_us: (20_000, 1_000_000),
            offer_again_us: 100_000,
            ask_again_us: 5_000_000,
            relay_after_us: 2_000_000,
            copy_again_us: 1_000_000,
            look_us: 1_000_000,
            hold_us: 5_000_000,
        }
    }
}

/// How much a member of a Raft group keeps for the others: who lacks more gets a copy of everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RaftLimits {
    /// Entries in memory, in bytes.
    pub entries_bytes: usize,
    /// Log that is kept for a copy, in bytes.
    pub pinned_bytes: usize,
}

impl Default for RaftLimits {
    fn default() -> Self {
        Self { entries_bytes: 64 << 20, pinned_bytes: 512 << 20 }
    }
}

impl Config {
    /// What servers have for [`Self::stream_frame_bytes`].
    pub const STREAM_FRAME_BYTES: usize = 64 << 10;

    /// This node as the others see it.
    pub fn layout(&self) -> &NodeLayout {
        &self.cluster.nodes[self.me.index()]
    }

    /// This node's region.
    pub fn dc(&self) -> DcId {
        self.layout().dc
    }
}
