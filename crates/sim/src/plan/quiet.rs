//! A schedule in which nothing is drawn but clocks, and nothing fails: for runs that measure.

use super::{ClockPlan, Config, Mix, Plan};
use tidemark_core::Micros;
use tidemark_node::PartSizes;
use tidemark_store::log::Fsync;

/// What such a run varies.
pub(crate) struct Quiet<'a> {
    pub(crate) seed: u64,
    pub(crate) replicas: usize,
    pub(crate) rtt_us: &'a [Vec<Micros>],
    pub(crate) wan_jitter_percent: u64,
    pub(crate) lan_us: Micros,
    pub(crate) lan_jitter_us: Micros,
    /// One for each node.
    pub(crate) clocks: Vec<ClockPlan>,
    /// Records may come through a third region.
    pub(crate) relays: bool,
}

/// The unit of time of groups: that of servers whose `election_timeout` is its default.
const TICK_US: Micros = 100_000;

/// What clocks show is as large as it is today, for numbers are sent in as many bytes as they need.
const TODAY_US: i64 = 1_760_000_000_000_000;

/// A clock that is off by so much, today.
pub(crate) fn clock_of_today(offset_us: i64) -> ClockPlan {
    ClockPlan { offset_us: TODAY_US + offset_us, drift_ppm: 0, grain_us: 1 }
}

impl Quiet<'_> {
    pub(crate) fn plan(self) -> Plan {
        Plan {
            replicas: self.replicas,
            tick_us: Some(TICK_US),
            pools: false,
            typed: false,
            relays: self.relays,
            seed: self.seed,
            config: self.config(),
            scripts: Vec::new(),
            faults: Vec::new(),
            holds: Vec::new(),
            edge: Vec::new(),
            end_us: Micros::MAX,
        }
    }

    fn config(self) -> Config {
        let nodes = self.clocks.len();
        Config {
            partitions_a_node: 1,
            fsync: Fsync::No,
            loses: false,
            varies: false,
            sync_us: 0,
            lan_us: self.lan_us,
            lan_jitter_us: self.lan_jitter_us,
            wan_us: self.rtt_us.iter().flatten().map(|rtt| rtt / 2).collect(),
            wan_jitter_percent: self.wan_jitter_percent,
            late_percent: 0,
            late_factor: 1,
            theta_us: vec![0; nodes],
            delta_us: vec![0; nodes],
            clocks: self.clocks,
            boot_us: (0..nodes as u64).map(|node| node * 137 % 5_000).collect(),
            pieces: false,
            max_skew_us: 60_000_000,
            deadline_us: 60_000_000,
            upkeep_us: 200_000,
            spacing_us: 0,
            overlap_percent: 0,
            keys_a_partition: 0,
            mix: Mix::default(),
            // Segments take memory before they are full.
            parts: PartSizes::default(),
            segment_bytes: if nodes > 500 { 32 << 10 } else { 1 << 20 },
            snapshot_bytes: 1 << 40,
            deep: false,
        }
    }
}
