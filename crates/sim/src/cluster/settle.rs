//! The second half of every run: after everything has healed, what was promised for then has to come true. Every operation
//! has ended; every stream is received to its end; every stable vector passes the last write; nothing is blocked; members of a
//! group hold what their leader holds; and every region returns the same.

use super::clients::Role;
use super::{Cluster, ELECTION_TICKS, Event, Stage};
use crate::outcome::ProblemKind;
use crate::plan::typed::SHORT_MS;
use crate::plan::{Act, Step};
use crate::trace::Happening;
use crate::typed;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Arguments;
use tidemark_contract::info::Transactions;
use tidemark_core::history::{Action, Final};
use tidemark_core::{DcId, Key, Micros, Op, Outcome, ServerId, Stamp, Write};
use tidemark_node::{MemberView, Node};

/// Collection follows what servers have made durable, which they do in steps of this length.
const COLLECTION_STEP_US: Micros = 400_000;

/// How often a last word is tried, a farthest delay apart. A connection that broke silently is noticed after eight of these at most, and made
/// again; who comes back from a region with a fast clock may have to wait until the slowest one has got there.
const TRIES: u32 = 25;

/// How many sessions of each region read the last words.
const READERS: usize = 4;

impl Cluster<'_> {
    pub(super) fn begin_settling(&mut self) {
        self.note_agreed();
        let config = &self.plan.config;
        let interval = config.theta_us.iter().chain(&config.delta_us).max().copied().unwrap_or_default();
        let offsets = config.clocks.iter().map(|clock| clock.offset_us.unsigned_abs()).max().unwrap_or(0);
        let jumps =
            self.processes.iter().map(|process| process.clocks.jumped_us.unsigned_abs()).max().unwrap_or(0);
        let drift = config.clocks.iter().map(|clock| clock.drift_ppm.unsigned_abs()).max().unwrap_or(0);
        let apart = 2 * (offsets + jumps + drift * self.now / 1_000_000);
        self.asked_until = self.last_arrival();
        if !self.ledger.is_empty() {
            // What has little time to live has none any more, by whatever clock.
            self.asked_until = self.asked_until.max(self.now + apart + 4_000 * SHORT_MS);
        }
        let patience = 60 * (config.slowest_us() + interval)
            + 4 * apart
            + 20 * COLLECTION_STEP_US
            + 10 * self.election_us()
            + self.edge_patience();
        self.stage = Stage::Settle(self.now + patience);
    }

    /// How long it takes to elect somebody, at most, if nothing is lost.
    pub(super) fn election_us(&self) -> Micros {
        match self.plan.replicas {
            1 => 0,
            _ => 4 * ELECTION_TICKS as Micros * self.plan.tick_us(),
        }
    }

    /// Looks whether everything has been exchanged; in the end, or when patience is, reads the last words.
    pub(super) fn settle(&mut self) {
        let Stage::Settle(until) = self.stage else { return };
        self.compare_members();
        self.wait_for_the_untold();
        let forming = self.forming_group().or_else(|| self.finding_left());
        if self.now < until && (self.unsettled(|_| ()).is_some() || forming.is_some()) {
            return self.queue.push(self.now + self.plan.config.farthest_us() / 2, Event::Settle);
        }
        if let Some(what) = self.unsettled(|what| what.to_string()).or(forming) {
            self.problem(ProblemKind::Liveness, format!("long after everything healed, {what}"));
        }
        self.stage = Stage::Finals;
        self.trace_servers();
        let mut words: Vec<Op> = self.keys().iter().map(typed::last_word).collect();
        words.extend(self.ledger.questions());
        if words.is_empty() {
            self.stage = Stage::Over;
        }
        for dc in 0..self.layout.topology.dcs {
            if self.is_lost(DcId(dc as u8)) {
                continue;
            }
            for words in words.chunks(words.len().div_ceil(READERS).max(1)) {
                let steps = words.iter().map(|op| Step::new(0, Act::Op(op.clone())));
                self.add_client(dc, Cow::Owned(steps.collect()), Role::LastWords);
            }
        }
    }

    /// What a node still has for an operator though everything is exchanged, if it has something. Protocols that cannot exclude a region
    /// for good go on waiting for one that is lost.
    fn finding_left(&mut self) -> Option<String> {
        if self.operator.lost().is_some() || self.unsettled(|_| ()).is_some() {
            return None;
        }
        (0..self.servers).find_map(|at| {
            let finding = self.input(at, |node, now| node.status(now))?.findings.into_iter().next()?;
            Some(format!("{} says {finding}", self.name_of(at)))
        })
    }

    /// The node that serves `server`: of several that think so, the one of the latest epoch.
    pub(super) fn serving(&self, server: ServerId) -> Option<&dyn Node> {
        let first = self.plan.node_of(&self.layout.topology, server) * self.plan.replicas;
        let nodes = self.processes[first..first + self.plan.replicas].iter();
        let nodes = nodes.filter_map(|process| process.node.as_deref());
        nodes.filter(|node| node.serves().is_some()).max_by_key(|node| node.serves())
    }

    /// Once all is exchanged: what was written and never answered, nobody has been told of, and it is to show everywhere all the
    /// same. And a write transaction may name the snapshot that it began in, which is what somebody believed to be stable. So all
    /// that has to be stable everywhere too, like a last write.
    fn wait_for_the_untold(&mut self) {
        if self.untold_counted || self.unsettled(|_| ()).is_some() {
            return;
        }
        self.untold_counted = true;
        let mut written = self.written.clone();
        for server in self.layout.topology.servers() {
            let Some(node) = self.serving(server) else { continue };
            if self.untold {
                let mut include = |stamp: Stamp| {
                    if stamp.origin != DcId::EDGE {
                        written.include(stamp);
                    }
                };
                node.versions(server.partition, &mut |_, stamp, _| include(stamp));
                node.folded(server.partition, &mut include);
            }
            let view =
                node.partition(server.partition).filter(|_| self.layout.transactions >= Transactions::Writes);
            view.into_iter().for_each(|view| written.merge(&view.stable));
        }
        self.written = written;
    }

    /// Every key that somebody wrote.
    fn keys(&self) -> Vec<Key> {
        let written = self.history.events.iter().filter_map(|event| match &event.action {
            Action::Write { key, .. } => Some(key.clone()),
            _ => None,
        });
        written.collect::<std::collections::BTreeSet<Key>>().into_iter().collect()
    }

    /// What is not as it has to be in the end, if anything is not, in the form that `say` makes of it.
    fn unsettled<T>(&self, say: impl Fn(Arguments<'_>) -> T) -> Option<T> {
        if let Some(what) = self.members_differ() {
            return Some(say(format_args!("{what}")));
        }
        if self.now <= self.asked_until {
            return Some(say(format_args!("something is still under way")));
        }
        if let Some(what) = self.operator_busy().or_else(|| self.edge_unsettled()) {
            return Some(say(format_args!("{what}")));
        }
        for server in self.layout.topology.servers().filter(|server| !self.is_lost(server.dc)) {
            let Some(view) = self.serving(server).and_then(|node| node.partition(server.partition)) else {
                return Some(say(format_args!("nobody serves {server}")));
            };
            for peer in self.layout.topology.peers(server).filter(|peer| !self.is_lost(peer.dc)) {
                let has = self.serving(server).and_then(|node| node.received(peer, server.partition));
                let of = self.serving(peer).and_then(|node| node.partition(peer.partition));
                let (has, of) = (has.unwrap_or_default(), of.map_or(u64::MAX, |view| view.written));
                if has < of {
                    let what = format_args!("{server} has durably received {has} of {of} records of {peer}");
                    return Some(say(what));
                }
            }
            let (stable, last) = (&view.stable, &self.written);
            let passed = match stable.entries().len() {
                0 => true,
                1 => last.max() <= stable.max(),
                // A server that has not heard of a change may hold what was written by groups that it does not know.
                _ if self.groups_change() => last.max() <= stable.min(),
                _ => last.le(stable),
            };
            if !passed {
                let what =
                    format_args!("{server} believes {stable} to be stable; the last writes are {last}");
                return Some(say(what));
            }
            if let Some((dc, stage)) = view.without.as_ref().filter(|(dc, _)| !self.is_lost(*dc)) {
                return Some(say(format_args!("{server} does without {dc}: {stage}")));
            }
            // A write that waits for something (CC-LO's readers check) is yet to be made.
            if view.blocked > 0 {
                return Some(say(format_args!("{} pieces of work are blocked at {server}", view.blocked)));
            }
            // What may depend on something that was lost is kept, and shown to nobody.
            if self.plan.config.deep && view.versions > view.keys && self.operator.lost().is_none() {
                let (versions, keys) = (view.versions, view.keys);
                return Some(say(format_args!("{server} keeps {versions} versions of {keys} keys")));
            }
        }
        None
    }

    /// A last word: tried again if it failed, for everything has healed.
    pub(super) fn end_last_word(&mut self, number: usize, outcome: &Outcome) {
        let client = &mut self.clients[number];
        let Act::Op(op) = &client.script[client.step].act else { return };
        client.tries += 1;
        match (typed::found_last(op, outcome), outcome) {
            (Some((key, found)), _) => self.history.finals.push(Final { dc: client.dc, key, found }),
            _ if self.ledger.answer(client.dc, op, outcome) => {}
            (None, other) if client.tries >= TRIES => {
                let text =
                    format!("after everything healed, {} in {} still fails: {other:?}", said(op), client.dc);
                self.problem(ProblemKind::Liveness, text);
            }
            _ => return self.queue.push(self.now + self.plan.config.farthest_us(), Event::Wake(number)),
        }
        self.clients[number].tries = 0;
        self.advance(number);
    }

    /// Looks what became of keys of data types.
    pub(super) fn judge_types(&mut self) {
        for what in self.ledger.judge(|key, told| self.may_be_lost(key, told)) {
            self.problem(ProblemKind::Types, what);
        }
    }

    /// For the timeline: what each server holds.
    fn trace_servers(&mut self) {
        if self.trace.is_none() {
            return;
        }
        for server in self.layout.topology.servers() {
            let Some(view) = self.serving(server).and_then(|node| node.partition(server.partition)) else {
                continue;
            };
            let (versions, stable) = (view.versions, view.stable);
            self.trace(|| Happening::Trouble(format!("{server} holds {versions} versions, stable {stable}")));
        }
    }

    fn member(&self, process: usize) -> Option<(&dyn Node, MemberView)> {
        let node = self.processes[process].node.as_deref()?;
        Some((node, node.member()?))
    }

    /// The members of each group, and the one of them that leads.
    pub(super) fn leader(&self, group: usize) -> Option<usize> {
        let members = group * self.plan.replicas..(group + 1) * self.plan.replicas;
        let serves = |process: &usize| self.processes[*process].node.as_ref().and_then(|node| node.serves());
        members.filter(|process| serves(process).is_some()).max_by_key(serves)
    }

    /// Whether all members of a process's group have a vote. One that came later than the others founded the group may still have to be
    /// taken in: then the group does not bear that another disk is lost.
    pub(super) fn is_whole(&self, process: usize) -> bool {
        let group = self.group_of(process);
        let leads = self.leader(group).and_then(|leader| self.member(leader));
        let votes = |process| {
            let name = self.member(process).map(|(_, view)| view.name);
            leads.as_ref().is_some_and(|(_, leads)| name.is_some_and(|name| leads.voters.contains(&name)))
        };
        (group * self.plan.replicas..(group + 1) * self.plan.replicas).all(votes)
    }

    /// What any member has applied by now, all have to apply in the end, and hold the same then.
    fn note_agreed(&mut self) {
        let applied = |process: usize| self.member(process).map_or(0, |(_, view)| view.applied);
        let members = |group: usize| group * self.plan.replicas..(group + 1) * self.plan.replicas;
        let groups = self.servers / self.plan.replicas;
        self.agreed = (0..groups).map(|group| members(group).map(applied).max().unwrap_or(0)).collect();
        self.differs = vec![Some("was not compared with its leader".into()); self.servers];
        self.held.clear();
    }

    /// Compares what members hold with what their leaders hold, whenever nothing is under way between them.
    fn compare_members(&mut self) {
        for process in (0..self.servers).filter(|_| self.plan.replicas > 1) {
            let leader = self.leader(self.group_of(process)).and_then(|leader| self.member(leader));
            let (Some((leads, at_leader)), Some((follows, here))) = (leader, self.member(process)) else {
                continue;
            };
            if here.applied == at_leader.last_entry {
                let partitions = self.processes[process].partitions.iter();
                let mut pairs =
                    partitions.map(|partition| (chains(leads, *partition), chains(follows, *partition)));
                self.differs[process] = pairs.find_map(|(leads, follows)| difference(&leads, &follows));
            }
        }
    }

    /// A leader that logs all the time has always something under way to a slow member: what the leader held is kept until that member has
    /// applied as much.
    pub(super) fn compare_at_turn(&mut self, process: usize) {
        if !matches!(self.stage, Stage::Settle(_)) || self.plan.replicas == 1 {
            return;
        }
        let group = self.group_of(process);
        let members = group * self.plan.replicas..(group + 1) * self.plan.replicas;
        let Some((node, here)) = self.member(process) else { return };
        let all =
            || self.processes[process].partitions.iter().map(|partition| chains(node, *partition)).collect();
        if self.leader(group) == Some(process) {
            let waits = |member: usize| self.differs[member].is_some() && member != process;
            let applied = |member: usize| self.member(member).map_or(0, |(_, view)| view.applied);
            let passed = |entry: u64| members.clone().any(|member| waits(member) && applied(member) > entry);
            if members.clone().any(waits) && self.held.get(&group).is_none_or(|(entry, _)| passed(*entry)) {
                let held: Vec<Chains> = all();
                self.held.insert(group, (here.last_entry, held));
            }
        } else if let Some((_, held)) = self.held.get(&group).filter(|(entry, _)| *entry == here.applied) {
            let follows: Vec<Chains> = all();
            let found = held.iter().zip(&follows).find_map(|(leads, follows)| difference(leads, follows));
            self.differs[process] = found;
        }
    }

    /// What of the groups is not as it has to be in the end, if anything is not: every member has applied what its leader has, and
    /// holds the same.
    fn members_differ(&self) -> Option<String> {
        for group in (0..self.servers / self.plan.replicas).filter(|_| self.plan.replicas > 1) {
            if self.is_lost(self.processes[group * self.plan.replicas].dc) {
                continue;
            }
            let leader = self.leader(group);
            let Some((leader, (_, leads))) = leader.and_then(|leader| Some((leader, self.member(leader)?)))
            else {
                return Some(format!("n{group} has no leader"));
            };
            let members = group * self.plan.replicas..(group + 1) * self.plan.replicas;
            for process in members.filter(|process| *process != leader) {
                let name = self.name_of(process);
                let Some((_, follows)) = self.member(process) else { return Some(format!("{name} is down")) };
                if !leads.voters.contains(&follows.name) {
                    return Some(format!("{name} is no member of its group"));
                }
                // Where followers answer reads, what has arrived since has to be there as well.
                let now = if leads.followers_read { leads.applied } else { 0 };
                let (has, of) = (follows.applied, self.agreed[group].max(now));
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

/// An operation that asks for a last word, in words.
fn said(op: &Op) -> String {
    match op {
        Op::Get { key } => format!("GET {key}"),
        other => format!("{other:?}"),
    }
}

/// In what a follower's chains are not its leader's, if in anything.
fn difference(at_leader: &Chains, here: &Chains) -> Option<String> {
    let keys = at_leader.keys().chain(here.keys());
    let key = keys.into_iter().find(|key| at_leader.get(*key) != here.get(*key))?;
    let stamps = |chains: &Chains| {
        let versions = chains.get(key).into_iter().flatten();
        versions.map(|(stamp, _)| stamp.to_string()).collect::<Vec<_>>().join(" ")
    };
    Some(format!("holds {key} = [{}], its leader [{}]", stamps(here), stamps(at_leader)))
}

/// Of each key its versions, oldest first. What a protocol keeps beside them may be newer in a leader's memory.
pub(super) type Chains = BTreeMap<Key, Vec<(Stamp, Write)>>;

fn chains(node: &dyn Node, partition: tidemark_core::PartitionId) -> Chains {
    let mut chains = Chains::new();
    node.versions(partition, &mut |key, stamp, write| {
        chains.entry(key.clone()).or_default().push((stamp, write.clone()));
    });
    chains
}
