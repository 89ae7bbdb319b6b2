//! Faults begin and end; in the end all are over.

use super::links::{State, StreamId};
use super::{Event, Stage, World};
use crate::plan::Trouble;
use crate::trace::Happening;
use tidemark_contract::Protocol;
use tidemark_core::{DcId, PartitionId, ServerId};
use tidemark_store::disk::Fault;

impl<P: Protocol> World<'_, P> {
    pub(super) fn fault(&mut self, number: usize, begins: bool) {
        if begins == self.active_faults[number] || begins && self.stage != Stage::Work {
            return;
        }
        self.active_faults[number] = begins;
        let plan = self.plan;
        let what = &plan.faults[number].what;
        self.stats.faults += u64::from(begins);
        let when = if begins { "begins:" } else { "ends:" };
        self.trace(|| Happening::Trouble(format!("{when} {}", plan.tell(what))));
        match what {
            Trouble::Cut { from, to, partition, both_ways } => {
                self.cut(*from, *to, *partition, begins);
                if *both_ways {
                    self.cut(*to, *from, *partition, begins);
                }
                if !begins {
                    self.reconnect();
                }
            }
            Trouble::CutSiblings { from, to, both_ways } => {
                let pairs = [(*from, *to), (*to, *from)];
                for (from, to) in pairs.into_iter().take(1 + usize::from(*both_ways)) {
                    let pair = self.links.pair(from, to);
                    step(&mut self.links.siblings_cut[pair], begins);
                }
            }
            Trouble::SlowLink { from, to, extra_us } => {
                for partition in self.layout.topology.all_partitions() {
                    let stream = self.links.stream(ServerId::new(*from, partition), *to);
                    shift(&mut self.links.streams[stream.0].slow_us, *extra_us, begins);
                }
            }
            Trouble::SlowNode { node, extra_us } => shift(&mut self.nodes[*node].slow_us, *extra_us, begins),
            Trouble::Jump { node, by_us } if begins => self.nodes[*node].clocks.jumped_us += by_us,
            Trouble::Jump { .. } => {}
            Trouble::LosesDisk { process } if begins => self.lose_disk(*process),
            Trouble::LosesDisk { .. } => {}
            Trouble::Apart { process, mute, deaf } => {
                let place = &mut self.nodes[*process];
                apart((&mut place.mute, *mute), (&mut place.deaf, *deaf), begins);
            }
            Trouble::Crash { node, power } => {
                step(&mut self.nodes[*node].kept_down, begins);
                match begins {
                    // Half of those that lead, and keep their power, are asked to end.
                    true if !power && self.ends_well(*node) => {}
                    true => self.crash(*node, *power),
                    false => self.boot(*node),
                }
            }
            Trouble::DiskFails { node, sync, skip } if begins => {
                let fault = if *sync { Fault::Sync } else { Fault::Write };
                self.nodes[*node].disk.inject(fault, *skip);
                self.nodes[*node].injected = true;
            }
            Trouble::DiskFails { .. } => {}
            Trouble::Regroups { .. }
            | Trouble::OperatorCuts { .. }
            | Trouble::Handshakes { .. }
            | Trouble::Damage { .. }
            | Trouble::HangsUp { .. } => {} // whole nodes only
            Trouble::Away { dc } => self.want_away(*dc, begins),
            Trouble::DiskFull { node } => {
                let place = &mut self.nodes[*node];
                place.full = begins;
                place.disk.set_capacity(begins.then(|| place.disk.used()));
            }
        }
    }

    /// Cuts the links from one data centre to another, or heals them.
    fn cut(&mut self, from: DcId, to: DcId, partition: Option<PartitionId>, begins: bool) {
        for one in self.layout.topology.all_partitions() {
            if partition.is_some_and(|partition| partition != one) {
                continue;
            }
            let stream: StreamId = self.links.stream(ServerId::new(from, one), to);
            step(&mut self.links.streams[stream.0].cut, begins);
            if begins && self.links.streams[stream.0].state != State::Refused {
                self.break_feed(stream, None);
            }
            // A feed that was being asked for against the cut direction will not be answered.
            let back: StreamId = self.links.stream(ServerId::new(to, one), from);
            if begins && self.links.streams[back.0].state == State::Asked {
                self.break_feed(back, None);
            }
        }
    }

    /// Everything that fails is over: what is left is to exchange what there is.
    pub(super) fn heal(&mut self) {
        self.trace(|| Happening::Trouble("everything heals".into()));
        for number in 0..self.active_faults.len() {
            if self.active_faults[number] {
                self.fault(number, false);
            }
        }
        for node in 0..self.nodes.len() {
            // A failure that has not come up by now must not fell the node after it has settled.
            self.nodes[node].disk.mend();
            self.boot(node);
        }
        self.reconnect();
        self.begin_settling();
        self.queue.push(self.now, Event::Settle);
    }
}

/// Something begins or ends in the directions that it is about.
fn apart((mute, is_mute): (&mut u32, bool), (deaf, is_deaf): (&mut u32, bool), begins: bool) {
    if is_mute {
        step(mute, begins);
    }
    if is_deaf {
        step(deaf, begins);
    }
}

fn step(count: &mut u32, up: bool) {
    *count = if up { *count + 1 } else { count.saturating_sub(1) };
}

fn shift(sum: &mut u64, by: u64, up: bool) {
    *sum = if up { *sum + by } else { sum.saturating_sub(by) };
}

#[cfg(test)]
mod tests {
    use super::apart;

    /// The beginning and the end of a fault in one direction ended one in the other direction.
    #[test]
    fn who_is_not_heard_stays_so_while_it_does_not_hear_either() {
        let (mut mute, mut deaf) = (0, 0);
        for (is_mute, is_deaf, begins, expected) in [
            (true, false, true, (1, 0)),
            (false, true, true, (1, 1)),
            (false, true, false, (1, 0)),
            (true, true, true, (2, 1)),
            (true, false, false, (1, 1)),
            (true, true, false, (0, 0)),
        ] {
            apart((&mut mute, is_mute), (&mut deaf, is_deaf), begins);
            assert_eq!((mute, deaf), expected);
        }
    }
}
