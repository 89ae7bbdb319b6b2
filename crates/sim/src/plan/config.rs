//! The numbers of a schedule: delays, clocks, intervals, disks and what sessions like to do.

use crate::options::{FaultKind, Options, Policies, VARIED};
use crate::rng::{Draw, Rng};
use tidemark_core::Micros;
use tidemark_node::PartSizes;
use tidemark_store::log::Fsync;

/// The clock of one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockPlan {
    /// How far it is ahead at the start.
    pub offset_us: i64,
    /// How much it gains in a second.
    pub drift_ppm: i64,
    /// It shows multiples of this.
    pub grain_us: Micros,
}

/// The numbers of a schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// How many partitions share a node, its log and its thread.
    pub partitions_a_node: usize,
    /// When logs are synced.
    pub fsync: Fsync,
    /// Power fails at any moment of a batch, of any processes, and there is something to lose: see `power`.
    pub loses: bool,
    /// Nodes sync as another policy says after a restart, as each start draws it.
    pub varies: bool,
    /// How long a sync takes; 0 if that is not modelled.
    pub sync_us: Micros,
    /// The least delay within a data centre.
    pub lan_us: Micros,
    /// What chance adds to it at most.
    pub lan_jitter_us: Micros,
    /// The least delay from each data centre to each other, by `from * dcs + to`.
    pub wan_us: Vec<Micros>,
    /// What chance adds at most, in percent of it.
    pub wan_jitter_percent: u64,
    /// How many of a hundred messages are late.
    pub late_percent: u64,
    /// How late they are at most, in least delays.
    pub late_factor: u64,
    /// θ of each node.
    pub theta_us: Vec<Micros>,
    /// Δ of each node.
    pub delta_us: Vec<Micros>,
    /// When each node starts.
    pub boot_us: Vec<Micros>,
    /// Records of a replication stream arrive one by one, with gaps between them.
    pub pieces: bool,
    /// The clock of each node.
    pub clocks: Vec<ClockPlan>,
    /// How far ahead of a clock a stamp may lie.
    pub max_skew_us: Micros,
    /// How long a session waits for an answer.
    pub deadline_us: Micros,
    /// How often nodes tidy up, and confirm what they have received.
    pub upkeep_us: Micros,
    /// The mean time from one operation to the next, over all sessions.
    pub spacing_us: Micros,
    /// How far into one motif the next begins, at most.
    pub overlap_percent: u64,
    /// How many keys of each partition are used.
    pub keys_a_partition: usize,
    /// What sessions like to do.
    pub mix: Mix,
    /// The size of a log segment.
    pub segment_bytes: u64,
    /// Sizes of what leaves in parts.
    pub parts: PartSizes,
    /// A snapshot after so many bytes of log.
    pub snapshot_bytes: u64,
    /// After the end, wait until collection has caught up too, and check that it has.
    pub deep: bool,
}

/// What sessions like to do, in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mix {
    /// Updates; the rest reads.
    pub writes: u32,
    /// Updates that delete.
    pub deletes: u32,
    /// Updates that look first.
    pub conditional: u32,
    /// Reads of several keys.
    pub rotx: u32,
    /// Of those, snapshots that may miss the session's past.
    pub snapshots: u32,
    /// Scans and counts.
    pub scans: u32,
    /// Steps that move a session's past to another session.
    pub roams: u32,
    /// How much of the work goes to few keys.
    pub skew: u32,
    /// Adversarial sequences among the pieces of the schedule.
    pub motifs: u32,
}

impl Config {
    /// Draws the numbers. `on` says which faults the schedule has.
    pub(super) fn draw(rng: &mut Rng, options: &Options, on: impl Fn(FaultKind) -> bool) -> Self {
        let (dcs, partitions) = (options.dcs, options.partitions);
        let partitions_a_node = match rng.u32(0..10) {
            0 => partitions,
            1 | 2 => partitions.div_ceil(2),
            _ => 1,
        };
        let nodes = dcs * partitions.div_ceil(partitions_a_node);
        let wan = rng.scale(10_000, 120_000);
        let lan_us = (wan / rng.scale(8, 200)).max(50);
        let uneven = rng.chance(60);
        let wan_us = (0..dcs * dcs).map(|_| if uneven { rng.u64(wan / 4..=wan * 2) } else { wan });
        let wan_us = wan_us.collect();
        let deadline_us = rng.scale(4 * wan, 20 * wan);
        let drawn = rng.u32(0..4);
        let fsync = match options.fsync.where_power_fails() {
            Policies::Of(fsync) => fsync,
            Policies::Varied if on(FaultKind::Power) => VARIED[drawn as usize % VARIED.len()],
            _ if on(FaultKind::Power) => Fsync::Always,
            _ => [Fsync::Always, Fsync::EverySec, Fsync::No, Fsync::No][drawn as usize],
        };
        let loses = on(FaultKind::Power) && options.fsync.where_power_fails() != Policies::Lossless;
        Self {
            fsync,
            loses,
            varies: false,
            sync_us: if rng.bool() { 0 } else { rng.scale(200, wan) },
            lan_us,
            lan_jitter_us: rng.scale(lan_us / 8, lan_us * 4),
            wan_us,
            wan_jitter_percent: rng.one(&[0, 10, 100, 300]),
            late_percent: rng.one(&[0, 0, 1, 5, 15]),
            late_factor: rng.one(&[4, 20]),
            theta_us: intervals(rng, wan, nodes),
            delta_us: intervals(rng, wan, nodes),
            boot_us: (0..nodes).map(|_| rng.u64(0..wan)).collect(),
            pieces: false,
            clocks: clocks(rng, wan, lan_us, nodes, on(FaultKind::Drift)),
            max_skew_us: if rng.chance(5) { rng.scale(wan, 20 * wan) } else { 60_000_000 },
            deadline_us,
            upkeep_us: rng.u64(4 * wan..=16 * wan),
            spacing_us: rng.scale((wan / 60).max(1), wan / 8),
            overlap_percent: rng.one(&[6, 12, 30]),
            keys_a_partition: rng.one(&[1, 1, 2, 3, 5]),
            mix: Mix::draw(rng),
            segment_bytes: rng.one(&[4 << 10, 8 << 10, 16 << 10]),
            parts: PartSizes::default(),
            snapshot_bytes: rng.one(&[4 << 10, 8 << 10, 1 << 20, 1 << 20]),
            deep: rng.chance(6),
            partitions_a_node,
        }
    }

    /// The longest least delay between data centres.
    pub fn farthest_us(&self) -> Micros {
        self.wan_us.iter().copied().max().unwrap_or(self.lan_us)
    }

    /// The same, for a message that is late.
    pub fn slowest_us(&self) -> Micros {
        self.farthest_us() * (2 + self.wan_jitter_percent / 100) * self.late_factor
    }
}

impl Mix {
    fn draw(rng: &mut Rng) -> Self {
        Self {
            writes: rng.u32(20..75),
            deletes: rng.one(&[0, 5, 30]),
            conditional: rng.one(&[0, 10, 40]),
            rotx: rng.one(&[0, 20, 50]),
            snapshots: rng.one(&[0, 0, 50]),
            scans: rng.one(&[0, 0, 0, 4]),
            roams: rng.one(&[0, 0, 3, 10]),
            skew: rng.one(&[0, 50, 90]),
            motifs: rng.one(&[0, 40, 80, 100]),
        }
    }
}

/// An interval for each node: the same for all, or each its own. Many nodes have longer ones: ticks are most of what
/// a schedule costs.
fn intervals(rng: &mut Rng, wan: Micros, nodes: usize) -> Vec<Micros> {
    let (low, high) = if nodes > 6 { (wan, wan * 6) } else { (wan / 2, wan * 3) };
    let all = rng.scale(low, high);
    if rng.chance(70) { vec![all; nodes] } else { (0..nodes).map(|_| rng.scale(low, high)).collect() }
}

fn clocks(rng: &mut Rng, wan: Micros, lan: Micros, nodes: usize, drift: bool) -> Vec<ClockPlan> {
    let spread = match rng.u32(0..4) {
        0 => 0,
        1 => lan,
        2 => wan / 2,
        _ => wan * 4,
    } as i64;
    let ppm = if drift { rng.one(&[200, 20_000, 100_000]) } else { 0 };
    let grain_us = if rng.chance(60) { 1 } else { rng.scale(10, 20_000) };
    let one =
        |_| ClockPlan { offset_us: rng.i64(-spread..=spread), drift_ppm: rng.i64(-ppm..=ppm), grain_us };
    (0..nodes).map(one).collect()
}
