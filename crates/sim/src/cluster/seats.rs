//! Where clients sit in runs under load, and how far that is.
//!
//! Clients that know partitions are nodes without any of their own, one in each region. Those that know none have their sessions
//! at the servers of their region. A client that leaves its region for a request now and then has a seat in every region: a session
//! there. What it asks elsewhere is as far away as that is, and the session there first adopts what the client has seen and done
//! since. Both are said at once, as `tidemark bench` does.

use super::clients::{Client, Role};
use super::driving::Happening;
use super::{Cluster, Event};
use crate::plan::{Act, Step};
use std::borrow::Cow;
use tidemark_core::{Micros, Op, Outcome};

impl<'a> Client<'a> {
    /// From now on it does this.
    pub(super) fn begins(&mut self, script: Cow<'a, [Step]>) {
        (self.script, self.step) = (script, 0);
    }

    /// Whether its script goes on after this step.
    pub(super) fn has_more(&self) -> bool {
        self.step + 1 < self.script.len()
    }

    /// Goes to the next step of its script; false if there is none.
    pub(super) fn next_step(&mut self) -> bool {
        self.step += 1;
        self.step < self.script.len()
    }

    /// The operation that its script stands at, if it is one.
    pub(super) fn op(&self) -> Option<&Op> {
        match &self.script.get(self.step)?.act {
            Act::Op(op) => Some(op),
            Act::Begin { .. } | Act::Commit { .. } | Act::Adopt(_) | Act::Move(_) => None,
        }
    }
}

impl Cluster<'_> {
    /// The server at which a client's session is, where clients know no partitions: of several in a group, the one that leads.
    pub(super) fn gateway(&self, number: usize) -> usize {
        let (dcs, partitions) = (self.layout.topology.dcs, self.layout.topology.partitions);
        let group = self.clients[number].dc.index() * partitions + number / dcs % partitions;
        self.leader(group).unwrap_or(group * self.plan.replicas)
    }

    /// What of the cluster is not up yet, if anything is not.
    pub(super) fn not_up(&mut self) -> Option<String> {
        let groups = self.servers / self.plan.replicas;
        if let Some(group) = (0..groups).find(|group| self.leader(*group).is_none()) {
            return Some(format!("nobody leads group {group}"));
        }
        (0..self.processes.len()).find_map(|at| {
            let status = self.input(at, |node, now| node.status(now))?;
            let holds = |at: usize| at < self.servers;
            let meet = |peer: &usize| *peer != at && (holds(at) || holds(*peer));
            let missing = (0..self.processes.len()).filter(meet).find(|peer| !status.peers[*peer].up)?;
            let trouble = status.peers[missing].trouble.clone().unwrap_or_default();
            Some(format!("{} does not reach {}: {trouble}", self.name_of(at), self.name_of(missing)))
        })
    }

    /// How long what a client says now is under way to its session, or an answer back; 0 if it keeps that itself.
    pub(super) fn client_delay(&self, number: usize) -> Micros {
        let near = || self.links.near(self.now, (number as u64) << 8 | 6 << 32);
        self.distance(number) + if self.has_gateways() { near() } else { 0 }
    }

    /// How far a client is from its seat.
    fn distance(&self, number: usize) -> Micros {
        let Some(load) = self.load.as_ref().filter(|_| self.clients[number].role == Role::Driver) else {
            return 0;
        };
        let seat = (number - load.first) % load.seats;
        if seat == 0 {
            return 0;
        }
        if let Some(rtt_us) = load.what.client_rtt_us {
            return rtt_us / 2;
        }
        let (home, dc) = (self.clients[number - seat].dc.index(), self.clients[number].dc.index());
        self.plan.config.wan_us[home * self.layout.topology.dcs + dc]
    }

    /// Has a driver take the seat from which it does its next operation, at `at`: the number of that client.
    pub(super) fn sit(&mut self, driver: usize, at: Micros) -> usize {
        let load = self.load.as_ref().expect("somebody drives");
        let first = load.first + driver * load.seats;
        let driver = &load.drivers[driver];
        let seat = driver.request.remote.map_or(0, |other| 1 + other as usize % (load.seats - 1));
        let op = Act::Op(driver.request.ops[driver.at].clone());
        let adopts = (seat != driver.last).then(|| Step::new(at, Act::Adopt(first + driver.last)));
        let op = Step { asks: driver.asks, ..Step::new(at, op) };
        let client = &mut self.clients[first + seat];
        client.begins(Cow::Owned(adopts.into_iter().chain([op]).collect()));
        first + seat
    }

    /// A driver's step has ended. If it was to adopt its past, it has its seat now, and goes on.
    pub(super) fn takes_its_seat(&mut self, number: usize, outcome: &Outcome) -> bool {
        let Some(load) = &mut self.load else { return false };
        let place = number - load.first;
        if matches!(outcome, Outcome::Failed(_)) && self.clients[number].op().is_none() {
            return false;
        }
        load.drivers[place / load.seats].last = place % load.seats;
        let goes_on = *outcome == Outcome::Adopted && self.clients[number].next_step();
        if goes_on {
            self.queue.push(self.now, Event::Wake(number));
        }
        goes_on
    }

    /// Whether a client has asked the next thing together with what it asks now: what it says at once is done without asking
    /// it in between.
    pub(super) fn is_asked_at_once(&self, number: usize) -> bool {
        self.clients[number].role == Role::Driver && self.clients[number].has_more()
    }

    /// A client hears how its operation ended: at once, or as far away as it is.
    pub(super) fn tells_client(&mut self, number: usize, outcome: Outcome) {
        let delay = match &self.load {
            Some(_) if !self.is_asked_at_once(number) => self.reading(number) + self.client_delay(number),
            _ => 0,
        };
        match delay {
            0 => self.end_step(number, &outcome),
            delay => self.happens(self.now + delay, Happening::Hears(number, Box::new(outcome))),
        }
    }
}
