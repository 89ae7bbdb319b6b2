//! How a host is opened, and how it is told the time.

use derive_where::derive_where;
use serde::{Deserialize, Serialize};
use tidemark_contract::{Protocol, Topology};
use tidemark_core::{DcId, Micros, PartitionId, SharedLimit};
use tidemark_store::log::Fsync;

/// The time, on two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Now {
    /// Physical time in microseconds since 1970, as protocols see it. It may jump.
    pub wall: Micros,
    /// A clock that never goes back and never jumps, from any origin: timers run on it.
    pub mono: Micros,
}

/// How a host is opened.
#[derive_where(Clone, Debug)]
pub struct HostConfig<P: Protocol> {
    /// Its data centre.
    pub dc: DcId,
    /// The partitions that it holds there.
    pub partitions: Vec<PartitionId>,
    /// All data centres and partitions.
    pub topology: Topology,
    /// The protocol's numbers.
    pub params: P::Params,
    /// When a commit is durable.
    pub fsync: Fsync,
    /// Names the start of the machine; empty if that is not known.
    pub boot: String,
    /// The distance of the ceiling of times from the machine's clock, in microseconds: more than there is between two syncs.
    pub ceiling_us: Micros,
    /// Whether other nodes of this region hold other partitions.
    pub several: bool,
    /// How far ahead of physical time a stamp may lie.
    pub max_skew_us: Micros,
    /// The limit of values and records.
    pub limit: SharedLimit,
    /// The size of a log segment, in bytes.
    pub log_segment_bytes: u64,
    /// How much log is kept for peers that are away, in bytes.
    pub log_retain_bytes: u64,
    /// Whether records of other data centres are kept for third ones, which may ask for them here.
    pub relays: bool,
    /// How much log is written before the next snapshot, in bytes.
    pub snapshot_every_bytes: u64,
    /// Names the log, if the directory is new: a random number, not 0.
    pub new_incarnation: u64,
}
