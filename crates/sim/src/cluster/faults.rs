//! Faults begin and end; in the end all are over.

use super::{Cluster, Event, Stage};
use crate::plan::Trouble;
use crate::trace::Happening;
use tidemark_core::{DcId, PartitionId, ServerId};
use tidemark_node::cuts::CutOrder;
use tidemark_store::disk::Fault;

impl Cluster<'_> {
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
                self.ways_changed();
            }
            Trouble::CutSiblings { from, to, both_ways } => {
                self.cut_servers(*from, *to, begins);
                if *both_ways {
                    self.cut_servers(*to, *from, begins);
                }
                self.ways_changed();
            }
            Trouble::SlowLink { from, to, extra_us } => {
                let slow = (from.index() << 8 | to.index(), *extra_us);
                match begins {
                    true => self.net.slow.push(slow),
                    false => self.net.slow.retain(|other| *other != slow),
                }
            }
            Trouble::SlowNode { node, extra_us } => {
                shift(&mut self.processes[*node].slow_us, *extra_us, begins)
            }
            Trouble::Jump { node, by_us } if begins => self.processes[*node].clocks.jumped_us += by_us,
            Trouble::Jump { .. } => {}
            Trouble::LosesDisk { process } if begins && self.is_whole(*process) => self.lose_disk(*process),
            Trouble::LosesDisk { .. } => {}
            Trouble::Apart { process, mute, deaf } => {
                step(&mut self.processes[*process].mute, begins, *mute);
                step(&mut self.processes[*process].deaf, begins, *deaf);
                self.ways_changed();
            }
            Trouble::Crash { node, power } => {
                step(&mut self.processes[*node].kept_down, begins, true);
                match begins {
                    // Half of those that keep their power are asked to end.
                    true if !power && self.ends_well(*node) => {}
                    true => self.crash(*node, *power),
                    false => self.boot(*node),
                }
            }
            Trouble::DiskFails { node, sync, skip } if begins => {
                let fault = if *sync { Fault::Sync } else { Fault::Write };
                self.processes[*node].disk.inject(fault, *skip);
                self.processes[*node].injected = true;
            }
            Trouble::DiskFails { .. } => {}
            Trouble::DiskFull { node } => {
                let process = &mut self.processes[*node];
                process.full = begins;
                process.injected |= begins; // a write that fails may be noticed when there is room again
                process.disk.set_capacity(begins.then(|| process.disk.used()));
            }
            of_nodes => self.fault_of_nodes(number, of_nodes, begins),
        }
    }

    /// What operators and clients do, and what connections suffer.
    fn fault_of_nodes(&mut self, number: usize, what: &Trouble, begins: bool) {
        match what {
            Trouble::LosesPower { .. } if begins => self.power_is_to_fail(number),
            Trouble::LosesPower { .. } => self.power_holds(number),
            Trouble::SyncStalls { process } => self.stall_syncs(*process, begins),
            Trouble::Away { dc } => self.want_away(*dc, begins),
            Trouble::Lost { dc } if begins => self.lose(*dc),
            Trouble::Lost { dc } => self.want_gone(*dc),
            Trouble::Regroups { .. } if begins => self.want_regrouped(number),
            Trouble::Regroups { .. } => {}
            Trouble::OperatorCuts { from, to, chance } => match begins {
                true => self.tell_cut(CutOrder::Cut(*from, *to), *chance),
                false => self.tell_cut(CutOrder::Heal(*from, *to), *chance),
            },
            Trouble::Handshakes { process, how } => {
                let wrong = (*process, *how);
                match begins {
                    true => self.net.wrong.handshakes.push(wrong),
                    false => self.net.wrong.handshakes.retain(|other| *other != wrong),
                }
            }
            Trouble::Damage { process, how, one_in } => {
                let wrong = (*process, *how, *one_in);
                match begins {
                    true => self.net.wrong.damage.push(wrong),
                    false => self.net.wrong.damage.retain(|other| *other != wrong),
                }
            }
            Trouble::HangsUp { client, .. } if begins => self.wants_token(*client),
            Trouble::HangsUp { client, dc, node } => self.hang_up(*client, *dc, *node),
            _ => {}
        }
    }

    /// Cuts the ways from one region to another, or those that a partition needs, or heals them.
    fn cut(&mut self, from: DcId, to: DcId, partition: Option<PartitionId>, begins: bool) {
        let concerned = |process: &super::process::Process| {
            partition.is_none_or(|partition| process.partitions.contains(&partition))
        };
        for here in 0..self.processes.len() {
            for there in 0..self.processes.len() {
                let (one, other) = self.pair(here, there);
                // What sessions say to a partition, and hear of it, passes on the same ways.
                let session = one.partitions.is_empty() || other.partitions.is_empty();
                if one.dc == from && other.dc == to && (concerned(one) || session && concerned(other)) {
                    let way = self.net.way(here, there);
                    step(&mut self.net.cut[way], begins, true);
                }
            }
        }
    }

    /// Cuts the ways from one server to another.
    fn cut_servers(&mut self, from: ServerId, to: ServerId, begins: bool) {
        for here in 0..self.servers {
            for there in 0..self.servers {
                let (one, other) = self.pair(here, there);
                let holds = |process: &super::process::Process, server: ServerId| {
                    process.dc == server.dc && process.partitions.contains(&server.partition)
                };
                if holds(one, from) && holds(other, to) && self.group_of(here) != self.group_of(there) {
                    let way = self.net.way(here, there);
                    step(&mut self.net.cut[way], begins, true);
                }
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
        for process in 0..self.processes.len() {
            // A failure that has not come up by now must not fell the process after it has settled.
            self.processes[process].disk.mend();
            self.boot(process);
        }
        self.heal_cuts();
        self.heal_edge();
        self.begin_settling();
        self.queue.push(self.now, Event::Settle);
    }
}

fn step(count: &mut u32, up: bool, counts: bool) {
    if counts {
        *count = if up { *count + 1 } else { count.saturating_sub(1) };
    }
}

fn shift(sum: &mut u64, by: u64, up: bool) {
    *sum = if up { *sum + by } else { sum.saturating_sub(by) };
}
