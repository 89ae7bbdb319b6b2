//! Power fails: when, of whom, and what the history says of it.

use super::process::Process;
use super::{Cluster, Event};
use crate::options::VARIED;
use crate::plan::{Moment, Trouble};
use crate::rng::mix;
use crate::typed::ledger::Told;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use tidemark_core::history::{Action, Lost};
use tidemark_core::{DcId, Key, Micros};
use tidemark_store::log::Fsync;

/// What a process waits for, to lose its power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Armed {
    fault: usize,
    moment: Moment,
    /// How many such moments pass before.
    skip: u32,
}

/// Up to a change of its disk, a process has written everything by then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wrote {
    change: u64,
    at: Micros,
    /// It had told clients of it, or could, before it was synced.
    told: bool,
}

/// What a process may have lost.
pub(super) struct Loss {
    process: usize,
    from_us: Micros,
    to_us: Micros,
}

impl Process {
    /// Notes what has been written by now; whether that is more than before.
    pub(super) fn note_written(&mut self, now: Micros, replicas: usize) -> bool {
        let (change, durable) = (self.disk.changes(), self.disk.durable_changes());
        while self.wrote.front().is_some_and(|wrote| wrote.change <= durable) {
            self.wrote.pop_front();
        }
        let more = change > self.noted;
        self.noted = change;
        if change > durable && self.wrote.back().is_none_or(|last| last.change < change) {
            // What a group has not synced no client was told of.
            let told = self.fsync != Fsync::Always && replicas == 1;
            self.wrote.push_back(Wrote { change, at: now, told });
        }
        more
    }

    /// Whether this is the moment that the process waits for.
    fn is_moment(&mut self, is_it: impl Fn(Moment) -> bool) -> Option<usize> {
        let armed = self.armed.as_mut().filter(|armed| is_it(armed.moment))?;
        if armed.skip > 0 {
            armed.skip -= 1;
            return None;
        }
        self.armed.take().map(|armed| armed.fault)
    }
}

impl Cluster<'_> {
    /// A fault begins: power fails now, or when its moment has come.
    pub(super) fn power_is_to_fail(&mut self, fault: usize) {
        let Trouble::LosesPower { processes, moment, skip, .. } = &self.plan.faults[fault].what else {
            return;
        };
        match moment {
            Moment::Now => self.power_fails(fault),
            Moment::Opened => {
                self.power_fails(fault);
                for process in processes {
                    self.processes[*process].armed = Some(Armed { fault, moment: *moment, skip: 0 });
                }
            }
            moment => {
                self.processes[processes[0]].armed = Some(Armed { fault, moment: *moment, skip: *skip });
            }
        }
    }

    /// A fault ends: if its moment has not come, it does not any more.
    pub(super) fn power_holds(&mut self, fault: usize) {
        for process in &mut self.processes {
            process.armed = process.armed.filter(|armed| armed.fault != fault);
        }
    }

    /// Power fails of all processes of a fault.
    pub(super) fn power_fails(&mut self, fault: usize) {
        let Trouble::LosesPower { processes, .. } = &self.plan.faults[fault].what else { return };
        for process in processes {
            self.power_fails_of(*process, fault);
        }
    }

    /// Power fails of one of them, whether or not it runs.
    fn power_fails_of(&mut self, at: usize, fault: usize) {
        let Trouble::LosesPower { chance, .. } = &self.plan.faults[fault].what else { return };
        let down = mix(chance ^ self.now, at as u64) % (2 * self.plan.config.farthest_us());
        if self.processes[at].node.is_some() {
            self.crash(at, true);
        } else {
            // What was written by a process that has died is lost with the machine all the same.
            self.note_loss(at);
            self.processes[at].disk.crash(&mut self.disk_rng);
        }
        self.queue.push(self.now + down, Event::Boot(at));
    }

    /// Whether power fails because this is the moment that the process waits for.
    pub(super) fn power_fails_if(&mut self, at: usize, is_it: impl Fn(Moment) -> bool) -> bool {
        let fault = self.processes[at].is_moment(is_it);
        fault.inspect(|fault| self.power_fails(*fault)).is_some()
    }

    /// Whether power fails of a process that was opened, of which nothing has left, or what its first batch had to say.
    pub(super) fn power_fails_again(&mut self, at: usize, before: bool) -> bool {
        let armed = self.processes[at].armed.filter(|armed| armed.moment == Moment::Opened);
        let Some(armed) = armed else { return false };
        if before && mix(self.now, at as u64).is_multiple_of(2) {
            return false;
        }
        self.processes[at].armed = None;
        self.power_fails_of(at, armed.fault);
        true
    }

    /// How long a sync that begins now takes. If power is to fail meanwhile, that is planned.
    pub(super) fn sync_takes(&mut self, at: usize) -> Micros {
        let config = &self.plan.config;
        let (mean, chance) = (config.sync_us, mix(self.plan.seed ^ self.now, at as u64));
        if !config.loses {
            return mean;
        }
        let takes = match chance % 64 {
            0 => config.farthest_us() * 4,
            1..8 => (mean + config.lan_us) * 8,
            8..32 => (mean + config.lan_us) * (chance >> 8 & 7) / 8,
            _ => mean,
        };
        if let Some(Armed { moment: Moment::Syncing(percent), .. }) = self.processes[at].armed
            && let Some(fault) = self.processes[at].is_moment(|_| true)
        {
            self.queue.push(self.now + takes * percent / 100, Event::PowerFails(fault));
        }
        takes
    }

    /// Syncs of a process do not end, or do again.
    pub(super) fn stall_syncs(&mut self, at: usize, begins: bool) {
        let process = &mut self.processes[at];
        process.stalls = if begins { process.stalls + 1 } else { process.stalls - 1 };
        if process.stalls == 0 && !process.log_jobs.is_empty() {
            self.queue.push(self.now, Event::Logged(at, process.boots));
        }
    }

    /// When logs of a process that starts now are synced.
    pub(super) fn policy(&self, at: usize) -> Fsync {
        let config = &self.plan.config;
        let boots = self.processes[at].boots;
        match config.varies && boots > 1 {
            true => VARIED[mix(self.plan.seed ^ boots, at as u64) as usize % VARIED.len()],
            false => config.fsync,
        }
    }

    /// Power fails of a process: what it had told clients of, and not synced, may be lost. REQUIRES: its disk has not lost it yet.
    pub(super) fn note_loss(&mut self, at: usize) {
        let process = &mut self.processes[at];
        process.powers += 1;
        let durable = process.disk.durable_changes();
        let first = process.wrote.drain(..).find(|wrote| wrote.change > durable && wrote.told);
        self.stats.power_losses += 1;
        if let Some(first) = first.filter(|_| at < self.servers) {
            self.stats.tails_lost += 1;
            self.losses.push(Loss { process: at, from_us: first.at, to_us: self.now });
        }
    }

    /// The history says what was lost, by the keys that it has.
    pub(super) fn tell_losses(&mut self) {
        let mut keys: BTreeSet<&Key> = BTreeSet::new();
        for event in &self.history.events {
            match &event.action {
                Action::Write { key, .. } => _ = keys.insert(key),
                Action::Read { reads, .. } => keys.extend(reads.iter().map(|read| &read.key)),
                Action::Adopt { .. } => {}
            }
        }
        let told = self.losses.iter().map(|loss| Lost {
            dc: self.processes[loss.process].dc,
            node: Some(self.name_of(loss.process)),
            from_us: loss.from_us,
            to_us: loss.to_us,
            keys: keys.iter().filter(|key| self.holds(loss.process, key)).map(|key| (*key).clone()).collect(),
        });
        // A node of whose keys the history has none would be one of all keys.
        self.history.lost = told.filter(|lost| !lost.keys.is_empty()).collect();
    }

    fn holds(&self, at: usize, key: &Key) -> bool {
        let (process, topology) = (&self.processes[at], &self.layout.topology);
        process.partitions.contains(&topology.partition_of(key)) && topology.holders(key).contains(process.dc)
    }

    /// Of which regions nodes may have lost what they wrote at which times.
    pub(super) fn times_lost(&self) -> Vec<(DcId, RangeInclusive<Micros>)> {
        let dc = |loss: &Loss| self.processes[loss.process].dc;
        self.losses.iter().map(|loss| (dc(loss), loss.from_us..=loss.to_us)).collect()
    }

    /// Whether what a client was told of a key may be lost.
    pub(super) fn may_be_lost(&self, key: &Key, told: &Told) -> bool {
        self.losses.iter().any(|loss| {
            let during = told.start_us <= loss.to_us && told.end_us >= loss.from_us;
            during && told.dc == self.processes[loss.process].dc && self.holds(loss.process, key)
        })
    }
}
