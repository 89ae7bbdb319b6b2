//! Losses of power where there is something to lose: of one process or of several at once, at any moment of a batch, and of a process that
//! has just lost it. Syncs take another time each, stall and fail.
//!
//! The fault `power` has drawn single nodes at single times, and still does ([`super::faults`]). With these a loss meets the
//! moments in which a node has written something and not synced it, and those in which others know of it.

use super::{Fault, Layout, Plan, Trouble};
use crate::options::{Options, Policies};
use crate::rng::{Draw, Rng, Stream, stream};
use tidemark_core::{DcId, Micros};

/// At which moment after the beginning of a fault power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// At once.
    Now,
    /// A batch is in the log, and nothing of it has left.
    Written,
    /// What a batch has to say has left, as far as it need not wait.
    Left,
    /// A sync has taken so much of a hundred of its time.
    Syncing(u64),
    /// A sync has ended, and its node does not know.
    Synced,
    /// At once; and again when the processes have started.
    Opened,
}

/// Draws losses of power. REQUIRES: everything else is drawn, so that it stays as it is without this.
pub(super) fn draw(plan: &mut Plan, layout: &Layout, options: &Options) {
    if !plan.config.loses {
        return;
    }
    let mut rng = stream(plan.seed, Stream::Power);
    plan.config.varies = rng.chance(40) && options.fsync.where_power_fails() == Policies::Varied;
    let wan = plan.config.farthest_us();
    for _ in 0..rng.u32(1..=4) {
        let processes = victims(&mut rng, plan, layout);
        let moment = match rng.u32(0..10) {
            0 => Moment::Now,
            1 | 2 => Moment::Written,
            3..6 => Moment::Left,
            6 | 7 => Moment::Syncing(rng.u64(0..100)),
            8 => Moment::Synced,
            _ => Moment::Opened,
        };
        let skip = rng.u32(0..4);
        let chance = rng.u64(..);
        push(&mut rng, plan, wan, Trouble::LosesPower { processes, moment, skip, chance });
    }
    let servers = plan.nodes(&layout.topology) * plan.replicas;
    for chance in [30, 30] {
        let process = rng.usize(0..servers);
        if rng.chance(chance) {
            push(&mut rng, plan, wan, Trouble::SyncStalls { process });
        }
    }
    let (node, skip) = (rng.usize(0..servers), rng.u64(0..20));
    if rng.chance(15) {
        push(&mut rng, plan, wan, Trouble::DiskFails { node, sync: true, skip });
    }
}

fn push(rng: &mut Rng, plan: &mut Plan, wan: Micros, what: Trouble) {
    let end = plan.end_us.max(1);
    let at = rng.u64(0..end);
    let until = at + rng.scale(wan / 2, (end / 2).max(wan));
    plan.faults.push(Fault { at, until, what });
}

/// Whose power fails at once; it is the first for whose moment is waited.
fn victims(rng: &mut Rng, plan: &Plan, layout: &Layout) -> Vec<usize> {
    let (nodes, replicas) = (plan.nodes(&layout.topology), plan.replicas);
    let of_node = |node: usize| node * replicas..(node + 1) * replicas;
    let of_dc = |dc: DcId| {
        let a_dc = nodes / layout.topology.dcs;
        dc.index() * a_dc * replicas..(dc.index() + 1) * a_dc * replicas
    };
    let node = rng.usize(0..nodes);
    let dc = DcId(rng.u8(0..layout.topology.dcs as u8));
    let mut all: Vec<usize> = match rng.u32(0..10) {
        0..3 => return vec![node * replicas + rng.usize(0..replicas)],
        3..6 => of_node(node).collect(),
        6 | 7 => of_dc(dc).collect(),
        8 => (0..nodes * replicas).collect(),
        // Some of them, or most.
        _ => (0..nodes * replicas).filter(|_| rng.bool()).collect(),
    };
    rng.shuffle(&mut all);
    let quorum = replicas > 1 && rng.bool();
    all.truncate(if quorum { all.len().min(replicas / 2 + 1) } else { all.len() });
    if all.is_empty() { vec![node * replicas] } else { all }
}
