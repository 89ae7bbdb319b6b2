//! Groups: the processes of a node that hold the same, their words to each other, and what the rest of the world sees
//! when another of them leads.
//!
//! To everybody else a node is one server that restarts now and then. So a change of leaders is played as a restart:
//! others notice it in the same way, feeds are opened again, and what was asked is lost. What is not as at a restart is
//! that the old leader may still be there for a while, and be asked.

use super::copies::Transfer;
use super::process::Process;
use super::{Event, World};
use crate::outcome::ProblemKind;
use crate::rng::mix;
use crate::trace::Happening;
use std::collections::BTreeMap;
use tidemark_contract::Protocol;
use tidemark_core::{Micros, PartitionId, ServerId, Stamp, Write};
use tidemark_group::{Change, GroupConfig, Member, Message, RecallJob, SyncTask};
use tidemark_store::disk::SimDisk;
use tidemark_store::log::Fsync;

/// Something that happens within a group.
pub(super) enum Within {
    /// A member hears another.
    Word { from: usize, to: usize, message: Box<Message> },
    /// A process has gathered enough for a turn; the number is that of its start.
    TurnEnds(usize, u64),
    /// A sync that a member began ends; the number is that of its start.
    Synced(usize, u64, SyncTask),
    /// A copy arrives, or a piece of it.
    Copy(Box<Transfer>),
    /// A process has read what it wants to remember; the number is that of its start.
    Recalled(usize, u64, RecallJob),
    /// A process that leads hands over, in the start of that number, and ends at that time at the latest.
    HandsOver(usize, u64, Micros),
    /// The operator looks whether a process that lost its disk belongs to its group again.
    Replace(usize),
}

impl Within {
    /// A number for the digest.
    pub(super) fn number(&self) -> u64 {
        match self {
            Self::Word { from, to, .. } => (from << 16 | to) as u64,
            Self::TurnEnds(process, _) => 6 << 40 | *process as u64,
            Self::Synced(process, ..) => 1 << 40 | *process as u64,
            Self::Replace(process) => 2 << 40 | *process as u64,
            Self::Copy(transfer) => 3 << 40 | (transfer.from << 16 | transfer.to) as u64,
            Self::Recalled(process, ..) => 4 << 40 | *process as u64,
            Self::HandsOver(process, ..) => 5 << 40 | *process as u64,
        }
    }
}

/// How long a follower waits for its leader.
pub(crate) const ELECTION_TICKS: usize = 10;

impl<P: Protocol> World<'_, P> {
    /// The node that a process belongs to.
    #[inline]
    pub(super) fn group_of(&self, process: usize) -> usize {
        process / self.plan.replicas
    }

    /// How many nodes there are, each of one process or several.
    pub(super) fn groups(&self) -> usize {
        self.leader.len()
    }

    /// The process that asks `server` something reaches: one that leads its node, or thinks so.
    pub(super) fn process_for(&self, server: ServerId, who: u64) -> usize {
        let leader = self.node_of(server);
        if self.plan.replicas == 1 {
            return leader;
        }
        let first = self.group_of(leader) * self.plan.replicas;
        let leading =
            (first..first + self.plan.replicas).filter(|process| self.nodes[*process].host().is_some());
        let leading: Vec<usize> = leading.collect();
        match leading.len() {
            0 => leader,
            several => leading[mix(who, self.now) as usize % several],
        }
    }

    pub(super) fn group_config(&self, process: usize) -> GroupConfig {
        GroupConfig {
            id: self.nodes[process].member,
            // Who comes later hears from the leader who belongs to the group.
            founders: match self.nodes[process].member {
                founder if founder <= self.plan.replicas as u64 => (1..=self.plan.replicas as u64).collect(),
                _ => Vec::new(),
            },
            tick_us: self.plan.tick_us(),
            election_ticks: ELECTION_TICKS,
            heartbeat_ticks: 2,
            // Little enough, now and then, that who was away gets a copy.
            entries_bytes: if mix(self.plan.seed, 8).is_multiple_of(2) { 512 } else { 1 << 20 },
            pinned_bytes: if mix(self.plan.seed, 9).is_multiple_of(4) { 4 << 10 } else { 1 << 20 },
        }
    }

    /// How long it takes to elect somebody, at most, if nothing is lost.
    pub(super) fn election_us(&self) -> Micros {
        match self.plan.replicas {
            1 => 0,
            _ => 4 * ELECTION_TICKS as Micros * self.plan.tick_us(),
        }
    }

    /// A member's turn ends: what it says leaves, and what its host does if it leads.
    pub(super) fn end_member_turn(&mut self, process: usize, asked: bool) {
        if self.takes_more(process) {
            return;
        }
        loop {
            let place = &mut self.nodes[process];
            let now = place.clocks.read(self.now);
            let Some(Process::Member(member)) = &mut place.process else { return };
            if let Err(error) = member.commit(now) {
                return self.stops(process, &error.to_string());
            }
            if self.plan.config.fsync != Fsync::Always {
                break;
            }
            let Some(task) = member.sync_job() else { break };
            if self.plan.config.sync_us > 0 {
                let at = self.now + self.plan.config.sync_us;
                self.queue.push(at, Event::Group(Within::Synced(process, place.boots, task)));
                break;
            }
            if let Err(fatal) = member.synced(task.run()) {
                return self.stops(process, &fatal.to_string());
            }
        }
        self.see_who_leads(process);
        let place = &mut self.nodes[process];
        let now = place.clocks.read(self.now);
        let Some(Process::Member(member)) = &mut place.process else { return };
        let messages = member.take_messages();
        let mut outputs = member.take_outputs(now);
        messages.into_iter().for_each(|message| self.say_to_member(process, message));
        if !self.holds_back(process, &mut outputs, asked) {
            outputs.into_iter().for_each(|output| self.leave(process, output, asked));
        }
        self.plan_timer(process);
        self.send_copies(process);
    }

    pub(super) fn within(&mut self, event: Within) {
        self.digest = mix(self.digest ^ self.now, 12 << 56 ^ event.number());
        match event {
            Within::Word { from, to, message } => self.word(from, to, *message),
            Within::TurnEnds(process, boots) => self.heard_enough(process, boots),
            Within::Synced(process, boots, task) => self.member_synced(process, boots, task),
            Within::Replace(process) => self.replace(process),
            Within::Copy(transfer) => self.transfer(*transfer),
            Within::Recalled(process, boots, job) => self.recalled(process, boots, job),
            Within::HandsOver(process, boots, until) => self.hands_over(process, boots, until),
        }
    }

    fn member_synced(&mut self, process: usize, boots: u64, task: SyncTask) {
        let place = &mut self.nodes[process];
        if place.boots != boots {
            return;
        }
        let Some(Process::Member(member)) = &mut place.process else { return };
        match member.synced(task.run()) {
            Ok(()) => {
                self.end_member_turn(process, true);
                self.feed_on(process);
            }
            Err(fatal) => self.stops(process, &fatal.to_string()),
        }
    }

    /// A process that has begun to lead is from now on whom everybody hears of.
    fn see_who_leads(&mut self, process: usize) {
        let place = &mut self.nodes[process];
        let life = place.host().map(|host| host.life());
        if std::mem::replace(&mut place.leads, life) == life {
            return;
        }
        let group = self.group_of(process);
        match life {
            Some(life) => {
                let plan = self.plan;
                self.trace(|| Happening::Trouble(format!("{} leads, life {life}", plan.name_of(process))));
                let before = self.nodes[self.leader[group]].life;
                if life <= before {
                    let text = format!("{} leads in life {life}, after {before}", plan.name_of(process));
                    self.problem(ProblemKind::Recovery, text);
                }
                self.stats.elections += 1;
                let first = before == 0;
                self.leader[group] = process;
                self.nodes[process].life = life;
                self.comes_up(process, first);
            }
            None => {
                let plan = self.plan;
                self.trace(|| Happening::Trouble(format!("{} leads no more", plan.name_of(process))));
                if self.leader[group] == process {
                    self.break_feeds_to(process);
                }
            }
        }
    }

    fn say_to_member(&mut self, process: usize, message: Message) {
        let first = self.group_of(process) * self.plan.replicas;
        let members = first..first + self.plan.replicas;
        let Some(to) = members.into_iter().find(|to| self.nodes[*to].member == message.to) else { return };
        if self.nodes[process].mute > 0 || self.nodes[to].deaf > 0 {
            return;
        }
        let delay = self.between_members(process, to);
        self.say_word(delay, Within::Word { from: process, to, message: Box::new(message) });
    }

    /// How long something takes from one member of a group to another.
    pub(super) fn between_members(&self, process: usize, to: usize) -> Micros {
        // They have a channel for each two of them, numbered as no two partitions are.
        let first = self.group_of(process) * self.plan.replicas;
        let (from, there) = ((process % self.plan.replicas) as u16, (to % self.plan.replicas) as u16);
        let delay = self.links.member_delay(self.now, first, PartitionId(from), PartitionId(there));
        delay + self.nodes[process].slow_us + self.nodes[to].slow_us
    }

    /// A process loses its disk for good. It starts with an empty one, as somebody else.
    pub(super) fn lose_disk(&mut self, process: usize) {
        self.crash(process, false);
        let place = &mut self.nodes[process];
        place.disk = SimDisk::new();
        place.member += self.plan.replicas as u64;
        self.boot(process);
        self.queue.push(self.now, Event::Group(Within::Replace(process)));
    }

    /// The operator has the group forget who a process was, and take in who it is.
    fn replace(&mut self, process: usize) {
        let is = self.nodes[process].member;
        let was = is - self.plan.replicas as u64;
        let leader = self.leader[self.group_of(process)];
        let again = self.now + ELECTION_TICKS as Micros * self.plan.tick_us();
        let Some(Process::Member(member)) = &mut self.nodes[leader].process else {
            return self.queue.push(again, Event::Group(Within::Replace(process)));
        };
        let state = member.state();
        if member.host().is_some() && state.voters.contains(&is) {
            return;
        }
        self.queue.push(again, Event::Group(Within::Replace(process)));
        let change = if state.voters.contains(&was) {
            Change::Remove(was)
        } else if !state.voters.contains(&is) && !state.learners.contains(&is) {
            Change::Add(is)
        } else {
            return;
        };
        // Who leads no more, or is busy, is asked again.
        if member.change(change).is_ok() {
            self.end_member_turn(leader, false);
        }
    }

    pub(super) fn member_upkeep(&mut self, process: usize, sync: bool) {
        let place = &mut self.nodes[process];
        let now = place.clocks.read(self.now);
        let Some(Process::Member(member)) = &mut place.process else { return };
        if (sync || member.wants_sync())
            && let Some(task) = member.sync_job()
            && let Err(fatal) = member.synced(task.run())
        {
            return self.stops(process, &fatal.to_string());
        }
        if let Some(job) = member.upkeep(now) {
            member.upkept(job.run());
            self.stats.snapshots += 1;
        }
        self.send_copies(process);
        self.end_member_turn(process, false);
        self.feed_on(process);
    }

    /// What any member has applied by now, all have to apply in the end, and hold the same then.
    pub(super) fn note_agreed(&mut self) {
        self.agreed = vec![0; self.groups()];
        self.differs = vec![Some("was not compared with its leader".into()); self.nodes.len()];
        for process in 0..self.nodes.len() {
            if let Some(member) = self.member(process) {
                let (group, applied) = (self.group_of(process), member.state().applied);
                self.agreed[group] = self.agreed[group].max(applied);
            }
        }
    }

    fn member(&self, process: usize) -> Option<&Member<P>> {
        match &self.nodes[process].process {
            Some(Process::Member(member)) => Some(member),
            _ => None,
        }
    }

    /// Compares what members hold with what their leaders hold, whenever nothing is under way between them.
    pub(super) fn compare_members(&mut self) {
        for process in 0..self.nodes.len() {
            let leader = self.leader[self.group_of(process)];
            let (Some(leads), Some(follows)) = (self.member(leader), self.member(process)) else { continue };
            if leads.host().is_some() && follows.state().applied == leads.last_entry() {
                let partitions = &self.nodes[leader].partitions;
                let found = partitions.iter().find_map(|partition| difference(leads, follows, *partition));
                self.differs[process] = found;
            }
        }
    }

    /// What of the groups is not as it has to be in the end, if anything is not: every member has applied what its
    /// leader has, and holds the same.
    pub(super) fn members_differ(&self) -> Option<String> {
        for group in (0..self.groups()).filter(|_| self.plan.replicas > 1) {
            let leader = self.leader[group];
            let first = group * self.plan.replicas;
            let Some(leads) = self.member(leader) else { return Some(format!("n{group} has no leader")) };
            for process in (first..first + self.plan.replicas).filter(|process| *process != leader) {
                let Some(follows) = self.member(process) else { continue };
                let name = self.plan.name_of(process);
                if !leads.state().voters.contains(&self.nodes[process].member) {
                    return Some(format!("{name} is no member of its group"));
                }
                // Where followers answer reads, what has arrived since has to be there as well.
                let now = if P::EXTENSIONS.follower_read.is_some() { leads.state().applied } else { 0 };
                let (has, of) = (follows.state().applied, self.agreed[group].max(now));
                if has < of {
                    return Some(format!("{name} has applied {has} of {of} entries"));
                }
                if let Some(what) = &self.differs[process] {
                    return Some(format!("{name} {what}"));
                }
            }
        }
        None
    }
}

/// In what a follower's chains are not its leader's, if in anything.
fn difference<P: Protocol>(leads: &Member<P>, follows: &Member<P>, partition: PartitionId) -> Option<String> {
    let (at_leader, here) = (chains(leads, partition), chains(follows, partition));
    let keys = at_leader.keys().chain(here.keys());
    let key = keys.into_iter().find(|key| at_leader.get(*key) != here.get(*key))?;
    let stamps = |chains: &Chains| {
        let versions = chains.get(key).into_iter().flatten();
        versions.map(|(stamp, _)| stamp.to_string()).collect::<Vec<_>>().join(" ")
    };
    let name = String::from_utf8_lossy(key);
    Some(format!("holds {name} = [{}], its leader [{}]", stamps(&here), stamps(&at_leader)))
}

/// Of each key its versions, oldest first. What a protocol keeps beside them may be newer in a leader's memory.
type Chains = BTreeMap<Vec<u8>, Vec<(Stamp, Write)>>;

fn chains<P: Protocol>(member: &Member<P>, partition: PartitionId) -> Chains {
    let mut chains = Chains::new();
    member.store(partition).dump(0, usize::MAX, |key, version| {
        chains.entry(key.to_vec()).or_default().push((version.stamp, version.write.clone()));
    });
    chains
}
