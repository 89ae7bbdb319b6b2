//! The second half of every run: after everything has healed, what was promised for then has to come true.
//! Every operation has ended; every feed is received to its end; every stable vector passes the last write; work
//! that was parked is done; and every replica returns the same.

use super::sessions::Role;
use super::{Event, Stage, World};
use crate::outcome::ProblemKind;
use crate::plan::{Act, Step};
use crate::trace::Happening;
use std::borrow::Cow;
use std::fmt::Arguments;
use tidemark_contract::{Protocol, Status};
use tidemark_core::history::{Action, Final};
use tidemark_core::{Key, Micros, Op, Outcome, ServerId, Vector};

/// Collection follows what servers have made durable, which they do in steps of this length.
const COLLECTION_STEP_US: Micros = 400_000;

/// How many sessions of each data centre read the last words.
const READERS: usize = 4;

impl<P: Protocol> World<'_, P> {
    pub(super) fn begin_settling(&mut self) {
        self.note_agreed();
        let config = &self.plan.config;
        let interval = config.theta_us.iter().chain(&config.delta_us).max().copied().unwrap_or_default();
        let offsets = config.clocks.iter().map(|clock| clock.offset_us.unsigned_abs()).max().unwrap_or(0);
        let jumps = self.nodes.iter().map(|node| node.clocks.jumped_us.unsigned_abs()).max().unwrap_or(0);
        let drift = config.clocks.iter().map(|clock| clock.drift_ppm.unsigned_abs()).max().unwrap_or(0);
        let apart = 2 * (offsets + jumps + drift * self.now / 1_000_000);
        let patience = 40 * (config.slowest_us() + interval)
            + 4 * apart
            + 20 * COLLECTION_STEP_US
            + 10 * self.election_us();
        self.stage = Stage::Settle(self.now + patience);
    }

    /// Looks whether everything has been exchanged; in the end, or when patience is, reads the last words.
    pub(super) fn settle(&mut self) {
        let Stage::Settle(until) = self.stage else { return };
        self.compare_members();
        self.count_what_one_holds();
        self.wait_for_beliefs();
        if self.now < until && self.unsettled(|_| ()).is_some() {
            return self.queue.push(self.now + self.plan.config.farthest_us() / 2, Event::Settle);
        }
        if let Some(what) = self.unsettled(|what| what.to_string()) {
            self.problem(ProblemKind::Liveness, format!("long after everything healed, {what}"));
        }
        self.stage = Stage::Finals;
        self.trace_servers();
        let keys = self.keys();
        if keys.is_empty() {
            self.stage = Stage::Over;
        }
        for dc in 0..self.layout.topology.dcs {
            for keys in keys.chunks(keys.len().div_ceil(READERS).max(1)) {
                let steps = keys.iter().map(|key| Step::new(0, Act::Op(Op::Get { key: key.clone() })));
                self.add_client(dc, Cow::Owned(steps.collect()), Role::LastWords);
            }
        }
    }

    /// What was written where no other data centre holds it, and never answered, nobody has been told of; it is to show all the
    /// same, to whoever asks from elsewhere.
    fn count_what_one_holds(&mut self) {
        if self.layout.topology.placement.rules.is_empty() {
            return;
        }
        for server in self.servers().collect::<Vec<_>>() {
            if let Some(host) = self.nodes[self.node_of(server)].host() {
                host.store(server.partition)
                    .versions()
                    .for_each(|version| self.written.include(version.stamp));
            }
        }
    }

    /// Once all is exchanged: a write transaction may name the snapshot that it began in, which is what somebody believed
    /// to be stable. So that has to be stable everywhere too, like a last write.
    fn wait_for_beliefs(&mut self) {
        if !self.layout.transactions || self.beliefs_counted || self.unsettled(|_| ()).is_some() {
            return;
        }
        self.beliefs_counted = true;
        let host = |server: ServerId| self.nodes[self.node_of(server)].host();
        let stable = |server: ServerId| Some(host(server)?.partition(server.partition).status().stable);
        let beliefs: Vec<Vector> = self.servers().filter_map(stable).collect();
        beliefs.iter().for_each(|stable| self.written.merge(stable));
    }

    /// Every key that somebody wrote.
    fn keys(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = Vec::new();
        for event in &self.history.events {
            if let Action::Write { key, .. } = &event.action
                && !keys.contains(key)
            {
                keys.push(key.clone());
            }
        }
        keys.sort();
        keys
    }

    /// What is not as it has to be in the end, if anything is not, in the form that `say` makes of it.
    fn unsettled<T>(&self, say: impl Fn(Arguments<'_>) -> T) -> Option<T> {
        let down = |node: &usize| self.nodes[self.leader[*node]].host().is_none();
        if let Some(node) = (0..self.groups()).find(down) {
            return Some(say(format_args!("node n{node} is down")));
        }
        if let Some(what) = self.members_differ() {
            return Some(say(format_args!("{what}")));
        }
        if self.now <= self.asked_until {
            return Some(say(format_args!("a question is on its way to another data centre")));
        }
        if let Some(what) = self.operator_busy() {
            return Some(say(format_args!("{what}")));
        }
        let last = &self.written;
        for server in self.servers() {
            let host = self.nodes[self.node_of(server)].host()?;
            for peer in self.layout.topology.peers(server) {
                let sender = self.nodes[self.node_of(peer)].host()?;
                let (has, of) = (host.received(peer, server.partition), sender.written(peer.partition));
                if has < of {
                    return Some(say(format_args!(
                        "{server} has durably received {has} of {of} records of {peer}"
                    )));
                }
            }
            let Status { stable, blocked, away, .. } = host.partition(server.partition).status();
            let passed = match stable.entries().len() {
                0 => true,
                1 => last.max() <= stable.max(),
                // A server that has not heard of a change may hold what was written by groups that it does not know.
                _ if self.groups_change() => last.max() <= stable.min(),
                _ => last.le(&stable),
            };
            if !passed {
                return Some(say(format_args!(
                    "{server} believes {stable} to be stable; the last writes are {last}"
                )));
            }
            if let Some(away) = away {
                return Some(say(format_args!("{server} does without {}: {:?}", away.dc, away.stage)));
            }
            // A write that waits for something (CC-LO's readers check) is yet to be made.
            if blocked > 0 {
                return Some(say(format_args!("{server} has {blocked} blocked requests or versions")));
            }
            if self.plan.config.deep
                && let Some(what) = self.uncollected(server, &say)
            {
                return Some(what);
            }
        }
        None
    }

    /// A last word: tried again if it failed, for everything has healed.
    pub(super) fn end_last_word(&mut self, number: usize, outcome: &Outcome) {
        let client = &mut self.clients[number];
        let Act::Op(Op::Get { key }) = &client.script[client.step].act else { return };
        client.tries += 1;
        // Who comes back from a data centre with a fast clock may have to wait until the slowest one has got there.
        let tries = if self.layout.topology.placement.rules.is_empty() { 5 } else { 25 };
        match outcome {
            Outcome::Found(found) => {
                let last = Final { dc: client.dc, key: key.clone(), found: found.clone() };
                self.history.finals.push(last);
            }
            other if client.tries >= tries => {
                let text =
                    format!("after everything healed, GET {key} in {} still fails: {other:?}", client.dc);
                self.problem(ProblemKind::Liveness, text);
            }
            _ => return self.queue.push(self.now + self.plan.config.farthest_us(), Event::Wake(number)),
        }
        let client = &mut self.clients[number];
        client.tries = 0;
        self.advance(number);
    }

    /// For the timeline: what each server holds.
    fn trace_servers(&mut self) {
        if self.trace.is_none() {
            return;
        }
        let servers: Vec<ServerId> = self.servers().collect();
        for server in servers {
            let Some(host) = self.nodes[self.node_of(server)].host() else { continue };
            let stable = host.partition(server.partition).status().stable;
            let versions = host.store(server.partition).versions().count();
            self.trace(|| Happening::Trouble(format!("{server} holds {versions} versions, stable {stable}")));
        }
    }

    fn uncollected<T>(&self, server: ServerId, say: impl Fn(Arguments<'_>) -> T) -> Option<T> {
        let host = self.nodes[self.node_of(server)].host()?;
        let totals = host.store(server.partition).totals();
        if totals.versions > totals.keys {
            let (versions, keys) = (totals.versions, totals.keys);
            return Some(say(format_args!("{server} keeps {versions} versions of {keys} keys")));
        }
        None
    }

    fn servers(&self) -> impl Iterator<Item = ServerId> + use<'_, P> {
        self.nodes.iter().step_by(self.plan.replicas).flat_map(|node| node.servers())
    }
}
