//! What fails of whole nodes: what an operator orders, connections while they are made, bytes, connections of clients.

use super::{Fault, Layout, Plan, Trouble};
use crate::grouping;
use crate::options::{FaultKind, Options};
use crate::rng::{Draw, Rng, Stream, stream};
use tidemark_core::{DcId, Micros, PartitionId, ServerId};
use tidemark_node::cuts::Place;

/// What may be wrong with a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// The connection breaks in the midst of it.
    Lost,
    /// What is said takes so much longer.
    Late(Micros),
    /// What was said on an earlier connection arrives again, on one of its own, so much later at most.
    Repeated(Micros),
}

/// How bytes are damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// A bit is another one.
    Flips,
    /// The end of a piece is missing, and what follows is not.
    Truncates,
    /// There are bytes that nobody sent before a piece.
    Garbage,
    /// Nothing is wrong with them, but they do not arrive at once.
    Splits,
}

struct Drawer<'a> {
    rng: Rng,
    plan: &'a mut Plan,
    layout: &'a Layout,
    wan: Micros,
}

/// Draws what only whole nodes know. REQUIRES: everything else is drawn, so that it stays as it is without this.
pub(super) fn draw(plan: &mut Plan, options: &Options, layout: &Layout) {
    if layout.checking {
        grouping::draw_orders(plan, layout);
    }
    let wan = plan.config.farthest_us();
    let mut drawer = Drawer { rng: stream(plan.seed, Stream::Nodes), plan, layout, wan };
    for kind in FaultKind::last() {
        // Each schedule has its own selection.
        let drawn = drawer.rng.chance(40);
        for _ in 0..drawer.rng.u32(1..=3) {
            let (at, until) = drawer.span(kind);
            let what = drawer.trouble(kind);
            if let (true, Some(what)) = (drawn && options.faults.has(kind), what) {
                drawer.plan.faults.push(Fault { at, until, what });
            }
        }
    }
}

impl Drawer<'_> {
    /// When it begins and ends. Connections have trouble from the start on: that is when most are made.
    fn span(&mut self, kind: FaultKind) -> (Micros, Micros) {
        let end = self.plan.end_us.max(1);
        let at = match kind {
            FaultKind::Handshakes if self.rng.bool() => 0,
            _ => self.rng.u64(0..end),
        };
        (at, at + self.rng.scale(self.wan / 4, (end / 2).max(self.wan)))
    }

    fn process(&mut self) -> usize {
        self.rng.usize(0..self.plan.nodes(&self.layout.topology) * self.plan.replicas)
    }

    /// A region, or a server of it.
    fn place(&mut self, dc: DcId) -> Place {
        match self.rng.bool() {
            true => Place::Region(dc),
            false => {
                let partition = self.rng.u16(0..self.layout.topology.partitions as u16);
                Place::Server(ServerId::new(dc, PartitionId(partition)))
            }
        }
    }

    fn trouble(&mut self, kind: FaultKind) -> Option<Trouble> {
        let dcs = self.layout.topology.dcs as u8;
        Some(match kind {
            FaultKind::OperatorCuts => {
                let from = self.rng.u8(0..dcs);
                let to = (from + self.rng.u8(0..dcs.max(2) - 1) + 1) % dcs;
                let (from, to) = (self.place(DcId(from)), self.place(DcId(to)));
                // Nothing is cut inside a region as a whole: links there are between servers.
                if from.dc() == to.dc() {
                    return None;
                }
                Trouble::OperatorCuts { from, to, chance: self.rng.u64(..) }
            }
            FaultKind::Handshakes => {
                let process = self.process();
                // A node waits for about as long as the slowest message takes, there and back.
                let late = self.rng.scale(self.wan, 4 * self.plan.config.slowest_us());
                let how = match self.rng.u32(0..3) {
                    0 => Handshake::Lost,
                    1 => Handshake::Late(late),
                    _ => Handshake::Repeated(late),
                };
                Trouble::Handshakes { process, how }
            }
            FaultKind::Damage => {
                let how = self.rng.one(&[Damage::Flips, Damage::Truncates, Damage::Garbage, Damage::Splits]);
                Trouble::Damage { process: self.process(), how, one_in: self.rng.scale(1, 200) }
            }
            FaultKind::Clients => {
                let client = self.rng.usize(0..self.plan.scripts.len());
                let home = (client % self.layout.topology.dcs) as u8;
                let dc = if self.rng.chance(60) { home } else { self.rng.u8(0..dcs) };
                Trouble::HangsUp { client, dc: DcId(dc), node: self.rng.usize(0..3) }
            }
            _ => return None,
        })
    }
}
