//! What fails, and when.

use super::{Fault, Hold, Layout, Plan, Trouble};
use crate::options::FaultKind;
use crate::rng::{Draw, Rng, Stream, stream};
use tidemark_core::{DcId, Micros, PartitionId, ServerId};

struct Drawer<'a> {
    rng: Rng,
    plan: &'a mut Plan,
    layout: &'a Layout,
    wan: Micros,
}

/// Draws the faults of the kinds that the schedule has.
pub(super) fn draw(plan: &mut Plan, layout: &Layout, on: impl Fn(FaultKind) -> bool) {
    let wan = plan.config.farthest_us();
    let rng = stream(plan.seed, Stream::Faults);
    let mut drawer = Drawer { rng, plan, layout, wan };
    for kind in FaultKind::first().filter(|kind| on(*kind)) {
        for _ in 0..drawer.rng.u32(1..=3) {
            if let Some(what) = drawer.trouble(kind) {
                let (at, until) = drawer.span();
                drawer.plan.faults.push(Fault { at, until, what });
            }
        }
    }
}

/// Draws an absence: a data centre is cut off, link by link, more or less, and the operator does without it meanwhile.
pub(super) fn draw_exclusion(plan: &mut Plan, layout: &Layout) {
    let wan = plan.config.farthest_us();
    let rng = stream(plan.seed, Stream::Removal);
    let mut drawer = Drawer { rng, plan, layout, wan };
    for _ in 0..drawer.rng.u32(1..=2) {
        let Some((dc, _)) = drawer.dcs() else { return };
        let end = drawer.plan.end_us.max(1);
        let at = drawer.rng.u64(0..end);
        let until = at + drawer.rng.scale(wan, end * 2);
        drawer.plan.faults.push(Fault { at, until, what: Trouble::Away { dc } });
        for other in layout.topology.all_dcs().filter(|other| *other != dc) {
            let what = match drawer.rng.u32(0..10) {
                0 => continue,
                1..3 => Trouble::Cut { from: dc, to: other, partition: None, both_ways: false },
                3 => {
                    Trouble::Cut { from: dc, to: other, partition: Some(drawer.partition()), both_ways: true }
                }
                _ => Trouble::Cut { from: dc, to: other, partition: None, both_ways: true },
            };
            let (before, after) = (drawer.rng.scale(1, wan * 4), drawer.rng.scale(1, wan * 4));
            let early = drawer.rng.bool();
            let until = if early { until.saturating_sub(after) } else { until + after };
            drawer.plan.faults.push(Fault { at: at.saturating_sub(before), until, what });
        }
    }
}

/// Draws a loss: what a data centre sends is held up, link by link, more or less; then it is lost, and later the operator excludes it.
pub(super) fn draw_loss(plan: &mut Plan, layout: &Layout) {
    let wan = plan.config.farthest_us();
    let rng = stream(plan.seed, Stream::Removal);
    let mut drawer = Drawer { rng, plan, layout, wan };
    let Some((dc, _)) = drawer.dcs() else { return };
    let end = drawer.plan.end_us.max(1);
    let at = drawer.rng.u64(0..end);
    let until = at + drawer.rng.scale(wan, end);
    drawer.plan.faults.push(Fault { at, until, what: Trouble::Lost { dc } });
    for other in layout.topology.all_dcs().filter(|other| *other != dc) {
        let partition = match drawer.rng.u32(0..10) {
            0..3 => continue,
            3..6 => None,
            _ => Some(drawer.partition()),
        };
        let both_ways = drawer.rng.bool();
        let before = drawer.rng.scale(1, wan * 4);
        let what = Trouble::Cut { from: dc, to: other, partition, both_ways };
        drawer.plan.faults.push(Fault { at: at.saturating_sub(before), until, what });
    }
}

/// Where nodes are groups, what fails of a node is one of its processes; and processes are cut off from the others of
/// their group, the one that leads among them.
pub(super) fn draw_in_groups(plan: &mut Plan, layout: &Layout, on: impl Fn(FaultKind) -> bool) {
    let wan = plan.config.farthest_us();
    let rng = stream(plan.seed, Stream::Groups);
    let mut drawer = Drawer { rng, plan, layout, wan };
    let replicas = drawer.plan.replicas;
    // Leaders are elected before anything happens.
    let elected_us = wan + 2 * crate::cluster::ELECTION_TICKS as Micros * drawer.plan.tick_us();
    drawer.plan.begin_later(elected_us);
    for at in 0..drawer.plan.faults.len() {
        let chosen = drawer.rng.usize(0..replicas);
        match &mut drawer.plan.faults[at].what {
            Trouble::SlowNode { node, .. }
            | Trouble::Jump { node, .. }
            | Trouble::Crash { node, .. }
            | Trouble::DiskFails { node, .. }
            | Trouble::DiskFull { node } => *node = *node * replicas + chosen,
            _ => {}
        }
    }
    // One disk of a group, at most: more than half of them are needed.
    let (node, replica, (at, until)) = (drawer.node(), drawer.rng.usize(0..replicas), drawer.span());
    if on(FaultKind::Disk) && replicas > 2 {
        let what = Trouble::LosesDisk { process: node * replicas + replica };
        drawer.plan.faults.push(Fault { at, until, what });
    }
    for (kind, both_ways) in [(FaultKind::Cuts, true), (FaultKind::OneWay, false)] {
        for _ in 0..drawer.rng.u32(1..=4) {
            let (node, (at, until)) = (drawer.node(), drawer.span());
            let mute = drawer.rng.bool();
            // The first is mostly the one that leads.
            let first = drawer.rng.bool();
            let process = node * replicas + if first { 0 } else { drawer.rng.usize(0..replicas) };
            let what = Trouble::Apart { process, mute: both_ways || mute, deaf: both_ways || !mute };
            if on(kind) {
                drawer.plan.faults.push(Fault { at, until, what });
            }
        }
    }
}

impl Plan {
    /// Everything happens so much later, but that processes start.
    pub(super) fn begin_later(&mut self, by: Micros) {
        self.scripts.iter_mut().flatten().for_each(|step| step.at += by);
        for Fault { at, until, .. } in &mut self.faults {
            (*at, *until) = (*at + by, *until + by);
        }
        for Hold { at, until, .. } in &mut self.holds {
            (*at, *until) = (*at + by, *until + by);
        }
        self.end_us += by;
    }
}

impl Drawer<'_> {
    fn span(&mut self) -> (Micros, Micros) {
        let end = self.plan.end_us.max(1);
        let at = self.rng.u64(0..end);
        (at, at + self.rng.scale(self.wan / 4, (end / 2).max(self.wan)))
    }

    fn node(&mut self) -> usize {
        let nodes = self.plan.nodes(&self.layout.topology);
        self.rng.usize(0..nodes)
    }

    fn partition(&mut self) -> PartitionId {
        PartitionId(self.rng.u16(0..self.layout.topology.partitions as u16))
    }

    /// Two different data centres.
    fn dcs(&mut self) -> Option<(DcId, DcId)> {
        let dcs = self.layout.topology.dcs as u8;
        if dcs < 2 {
            return None;
        }
        let from = self.rng.u8(0..dcs);
        Some((DcId(from), DcId((from + self.rng.u8(1..dcs)) % dcs)))
    }

    fn trouble(&mut self, kind: FaultKind) -> Option<Trouble> {
        Some(match kind {
            FaultKind::Cuts => self.cut(true)?,
            FaultKind::OneWay => self.cut(false)?,
            FaultKind::Slow if self.rng.bool() => {
                let (from, to) = self.dcs()?;
                Trouble::SlowLink { from, to, extra_us: self.rng.scale(self.wan / 2, self.wan * 10) }
            }
            FaultKind::Slow => {
                let extra_us = self.rng.scale(self.plan.config.lan_us, self.wan * 2);
                Trouble::SlowNode { node: self.node(), extra_us }
            }
            FaultKind::Drift
            | FaultKind::OperatorCuts
            | FaultKind::Handshakes
            | FaultKind::Damage
            | FaultKind::Clients => return None,
            FaultKind::Jumps => {
                let by_us = self.rng.scale(1_000, self.wan * 8) as i64;
                Trouble::Jump { node: self.node(), by_us: if self.rng.bool() { by_us } else { -by_us } }
            }
            FaultKind::Crashes => Trouble::Crash { node: self.node(), power: false },
            FaultKind::Power => Trouble::Crash { node: self.node(), power: true },
            FaultKind::Disk => match self.rng.u32(0..3) {
                0 => Trouble::DiskFull { node: self.node() },
                n => {
                    let skip = self.rng.u64(0..20);
                    Trouble::DiskFails { node: self.node(), sync: n == 1, skip }
                }
            },
        })
    }

    fn cut(&mut self, both_ways: bool) -> Option<Trouble> {
        if self.layout.topology.partitions > 1 && self.rng.chance(20) {
            let dc = DcId(self.rng.u8(0..self.layout.topology.dcs as u8));
            let (from, to) = (ServerId::new(dc, self.partition()), ServerId::new(dc, self.partition()));
            return Some(Trouble::CutSiblings { from, to, both_ways });
        }
        let (from, to) = self.dcs()?;
        let partition = if self.rng.bool() { None } else { Some(self.partition()) };
        Some(Trouble::Cut { from, to, partition, both_ways })
    }
}
