//! The core of each server, in runs whose work takes time: what arrives waits until the turn before it has ended.
//!
//! A turn takes everything that has arrived. The protocol handles it when the turn begins; what it causes leaves when
//! the turn ends, after as much time as its parts cost.

use super::gateways::Seat;
use super::generator::Generator;
use super::groups::Within;
use super::{Event, World};
use crate::load::{Costs, Fed, Load, Messages};
use crate::meter::{Size, heading, size};
use std::collections::{BTreeMap, VecDeque};
use tidemark_contract::Protocol;
use tidemark_core::{Micros, Op, ServerId};
use tidemark_group::Message;
use tidemark_replica::{FeedItem, Output};

/// The most that one turn takes: the server looks at its sockets again then.
const TURN_EVENTS: usize = 512;

/// The core of one server.
pub(super) struct Cpu<P: Protocol> {
    inbox: VecDeque<Event<P>>,
    /// A turn is running.
    pub(super) busy: bool,
    /// It takes what has arrived. What a group has to agree on is one entry a turn.
    pub(super) takes: bool,
    /// What the turn has caused, and whether a session asked for it.
    leaving: Vec<(Output<P>, bool)>,
    /// What sessions of this gateway have said in the turn, and how long it is under way.
    pub(super) said: Vec<(Micros, Event<P>)>,
    /// The log has grown, or a heartbeat is due: feeds go on when the turn ends.
    feeds: bool,
    /// The other processes that this turn has heard, or tells something.
    heard: Vec<usize>,
    pub(super) told: Vec<usize>,
    /// The cost of what has happened since the last turn was reckoned up.
    pub(super) cost_ns: f64,
    /// How long the core was busy while it counted.
    pub(super) busy_us: Micros,
}

impl<P: Protocol> Cpu<P> {
    fn new() -> Self {
        Self {
            inbox: VecDeque::new(),
            busy: false,
            takes: false,
            leaving: Vec::new(),
            said: Vec::new(),
            feeds: false,
            heard: Vec::new(),
            told: Vec::new(),
            cost_ns: 0.0,
            busy_us: 0,
        }
    }
}

/// All cores, and what passes between servers while it counts.
pub(super) struct Cpus<P: Protocol> {
    pub(super) costs: Costs,
    /// Sessions are at nodes of their data centres, and what they do keeps those busy.
    pub(super) gateways: bool,
    pub(super) all: Vec<Cpu<P>>,
    /// What clients share, if they take time.
    pub(super) generator: Option<Generator>,
    /// Only what happens then counts.
    pub(super) counted: std::ops::Range<Micros>,
    /// By the first byte of a message, which tells its variant.
    sent: BTreeMap<u8, (String, Messages)>,
    pub(super) fed: Fed,
}

impl<P: Protocol> Cpus<P> {
    pub(super) fn new(what: &Load, nodes: usize, counted: std::ops::Range<Micros>) -> Self {
        let (costs, gateways) = (what.costs, what.gateways);
        let all = (0..nodes).map(|_| Cpu::new()).collect();
        let generator = what.generator.then(Generator::default);
        Self { costs, gateways, all, generator, counted, sent: BTreeMap::new(), fed: Fed::default() }
    }

    fn count_message(&mut self, now: Micros, near: bool, size: Size, message: &P::Peer) {
        if !self.counted.contains(&now) {
            return;
        }
        let new = || (heading(message).0, Messages::default());
        let (_, sent) = self.sent.entry(size.first.unwrap_or_default()).or_insert_with(new);
        if near {
            sent.near += 1
        } else {
            sent.far += 1
        }
        sent.bytes += size.bytes;
    }

    /// The cost of what one member of a group says to another, which sends it or has received it.
    fn word_ns(&mut self, process: usize, other: usize, message: &Message, sends: bool) -> f64 {
        let (cpu, costs) = (&mut self.all[process], &self.costs);
        let bytes =
            message.entries.iter().map(|entry| entry.data.len()).sum::<usize>() as f64 * costs.byte_ns;
        if sends {
            cpu.told.push(other);
            return costs.send_ns + bytes;
        }
        cpu.heard.push(other);
        // An entry is written like a version from elsewhere.
        costs.receive_ns + bytes + message.entries.len() as f64 * costs.apply_ns
    }

    /// What an answer costs, by where it goes.
    fn answer_ns(&mut self, node: usize, seat: Seat) -> f64 {
        match seat {
            Seat::At(gateway) => {
                self.all[node].told.push(gateway);
                self.costs.send_ns
            }
            _ => self.costs.reply_ns,
        }
    }

    /// Messages that passed between servers, by the name of their variant.
    pub(super) fn sent(&self) -> BTreeMap<String, Messages> {
        let mut named: BTreeMap<String, Messages> = BTreeMap::new();
        for (name, messages) in self.sent.values() {
            named.entry(name.clone()).or_default().include(messages);
        }
        named
    }
}

impl<P: Protocol> World<'_, P> {
    /// Which node's core an event keeps busy, if any.
    fn worker(&self, event: &Event<P>) -> Option<usize> {
        match event {
            Event::Request { at, .. } => Some(*at),
            Event::Message { to, .. } => Some(self.node_of(*to)),
            Event::Group(Within::Word { to, .. }) => Some(*to),
            Event::Feed(stream, ..) => Some(self.node_of(self.links.ends(*stream).1)),
            Event::Timer(node) => Some(*node),
            Event::Wake(client) => self.busy_gateway(*client),
            Event::Reply { ticket, .. } => self.busy_gateway(Self::number_of(*ticket)),
            _ => None,
        }
    }

    /// An event is due: it happens, or it waits for the core that it needs.
    #[inline]
    pub(super) fn due(&mut self, event: Event<P>) {
        if self.cpus.is_none() {
            return self.handle(event);
        }
        let Some(node) = self.worker(&event) else { return self.handle(event) };
        if matches!(event, Event::Timer(_)) && !self.nodes[node].timer_is_due(self.now) {
            return;
        }
        let Some(cpus) = &mut self.cpus else { return };
        cpus.all[node].inbox.push_back(event);
        if !cpus.all[node].busy {
            cpus.all[node].cost_ns += cpus.costs.wake_ns;
            self.begin_turn(node);
        }
    }

    fn begin_turn(&mut self, node: usize) {
        let Some(cpus) = &mut self.cpus else { return };
        let cpu = &mut cpus.all[node];
        (cpu.busy, cpu.takes) = (true, true);
        cpu.cost_ns += cpus.costs.turn_ns;
        let events = cpu.inbox.len().min(TURN_EVENTS);
        for _ in 0..events {
            let Some(event) = self.cpus.as_mut().and_then(|cpus| cpus.all[node].inbox.pop_front()) else {
                break;
            };
            self.charge(node, &event);
            self.handle(event);
        }
        if let Some(cpus) = &mut self.cpus {
            cpus.all[node].takes = false;
        }
        if self.plan.replicas > 1 {
            self.end_member_turn(node, true);
            self.feed_on(node);
        }
        let Some(cpus) = &mut self.cpus else { return };
        let (cpu, costs) = (&mut cpus.all[node], &cpus.costs);
        for (servers, each_ns) in [(&mut cpu.heard, costs.arrival_ns), (&mut cpu.told, costs.link_ns)] {
            servers.sort_unstable();
            servers.dedup();
            cpu.cost_ns += servers.len() as f64 * each_ns;
            servers.clear();
        }
        let takes = (cpu.cost_ns / 1_000.0) as Micros;
        cpu.cost_ns -= takes as f64 * 1_000.0;
        if cpus.counted.contains(&self.now) {
            cpu.busy_us += takes;
        }
        self.queue.push(self.now + takes, Event::TurnEnds(node));
    }

    /// A turn ends: what it has caused leaves, and what arrived meanwhile makes the next one.
    pub(super) fn turn_ends(&mut self, node: usize) {
        let Some(cpus) = &mut self.cpus else { return };
        let cpu = &mut cpus.all[node];
        cpu.busy = false;
        let feeds = std::mem::take(&mut cpu.feeds);
        let mut leaving = std::mem::take(&mut cpu.leaving);
        for (delay, event) in cpu.said.drain(..) {
            self.queue.push(self.now + delay, event);
        }
        for (output, asked) in leaving.drain(..) {
            self.leave(node, output, asked);
        }
        if feeds {
            self.poll_feeds(node);
        }
        let Some(cpus) = &mut self.cpus else { return };
        let cpu = &mut cpus.all[node];
        cpu.leaving = leaving;
        if !cpu.inbox.is_empty() {
            self.begin_turn(node);
        }
    }

    /// What arrives costs something.
    pub(super) fn charge(&mut self, node: usize, event: &Event<P>) {
        let seat = match event {
            Event::Request { ticket, .. } => self.seat(*ticket, node),
            _ => Seat::Outside,
        };
        let says = match event {
            Event::Reply { from, .. } | Event::Message { from, .. } => self.node_of(*from),
            Event::Feed(stream, ..) => self.node_of(self.links.ends(*stream).0),
            _ => node,
        };
        let Some(cpus) = &mut self.cpus else { return };
        if let Event::Group(Within::Word { from, message, .. }) = event {
            let cost = cpus.word_ns(node, *from, message, false);
            cpus.all[node].cost_ns += cost;
            return;
        }
        let (cpu, costs) = (&mut cpus.all[node], &cpus.costs);
        cpu.cost_ns += match event {
            Event::Request { request, ticket, .. } => {
                let writes = match self.clients[Self::number_of(*ticket)].op() {
                    Some(Op::Put { .. } | Op::PutAll { .. }) => costs.write_ns,
                    _ => 0.0,
                };
                let asked = match seat {
                    Seat::Outside => costs.request_ns + costs.bytes(size(request)),
                    Seat::Here => 0.0,
                    Seat::At(gateway) => {
                        cpu.heard.push(gateway);
                        costs.receive_ns + costs.bytes(size(request))
                    }
                };
                asked + writes
            }
            Event::Wake(client) => {
                let bytes = self.clients[*client].op().and_then(Op::writes).unwrap_or_default();
                costs.request_ns + bytes as f64 * costs.byte_ns
            }
            Event::Reply { reply, .. } => {
                cpu.heard.push(says);
                costs.receive_ns + reply.as_ref().map_or(0.0, |reply| costs.bytes(size(reply)))
            }
            Event::Message { message, .. } => {
                cpu.heard.push(says);
                costs.receive_ns + costs.bytes(size(message))
            }
            Event::Feed(_, _, items) => {
                cpu.heard.push(says);
                let items = items.iter().map(|item| match item {
                    FeedItem::Record { .. } => costs.apply_ns + costs.bytes(size(item)),
                    _ => costs.receive_ns,
                });
                items.sum()
            }
            _ => costs.timer_ns,
        };
    }

    /// What leaves costs something, and waits for the turn to end. False if no turn is running: it leaves at once.
    pub(super) fn holds_back(&mut self, node: usize, outputs: &mut Vec<Output<P>>, asked: bool) -> bool {
        if self.cpus.as_ref().is_none_or(|cpus| !cpus.all[node].busy) {
            return false;
        }
        let mut here = Vec::new();
        for output in outputs.drain(..) {
            let seat = match &output {
                Output::Reply { ticket, .. } | Output::Refused { ticket, .. } => self.seat(*ticket, node),
                _ => Seat::Outside,
            };
            let other = match &output {
                Output::Send { to, .. } => self.node_of(*to),
                _ => node,
            };
            let Some(cpus) = &mut self.cpus else { return false };
            let cost = match &output {
                Output::Reply { .. } | Output::Refused { .. } if seat == Seat::Here => {
                    here.push(output);
                    continue;
                }
                Output::Reply { reply, .. } => {
                    let bytes = cpus.costs.bytes(size(reply));
                    bytes + cpus.answer_ns(node, seat)
                }
                Output::Refused { .. } | Output::Ordered { .. } => cpus.answer_ns(node, seat),
                Output::Send { from, to, message, .. } => {
                    let weight = size(message);
                    cpus.count_message(self.now, from.dc == to.dc, weight, message);
                    cpus.all[node].told.push(other);
                    cpus.costs.send_ns + cpus.costs.bytes(weight)
                }
            };
            cpus.all[node].cost_ns += cost;
            cpus.all[node].leaving.push((output, asked));
        }
        // A session that is here goes on in the same turn.
        for output in here {
            match output {
                Output::Reply { ticket, from, reply, .. } => self.reply(ticket, from, Ok(reply)),
                Output::Refused { ticket, from, failure } => self.reply(ticket, from, Err(failure)),
                _ => {}
            }
        }
        true
    }

    /// Whether a process still takes what has arrived: what it writes becomes an entry when it has all.
    pub(super) fn takes_more(&self, process: usize) -> bool {
        self.cpus.as_ref().is_some_and(|cpus| cpus.all[process].takes)
    }

    /// A member of a group says something to another, for whom it is under way for `delay`. In a turn it waits for the end of that.
    pub(super) fn say_word(&mut self, delay: Micros, word: Within) {
        let turning = self.cpus.as_mut().zip(match &word {
            Within::Word { from, to, message } => Some((*from, *to, message)),
            _ => None,
        });
        if let Some((cpus, (from, to, message))) = turning
            && cpus.all[from].busy
        {
            let cost = cpus.word_ns(from, to, message, true);
            cpus.all[from].cost_ns += cost;
            return cpus.all[from].said.push((delay, Event::Group(word)));
        }
        self.queue.push(self.now + delay, Event::Group(word));
    }

    /// Feeds of a node may go on: at once, or when its turn ends.
    pub(super) fn go_on_feeding(&mut self, node: usize) {
        match self.cpus.as_mut().map(|cpus| &mut cpus.all[node]).filter(|cpu| cpu.busy) {
            Some(cpu) => cpu.feeds = true,
            None => self.poll_feeds(node),
        }
    }

    /// Items leave on a feed: the next turn of their sender is the longer for it.
    pub(super) fn charge_fed(&mut self, from: ServerId, items: &[FeedItem<P>]) {
        let node = self.node_of(from);
        let Some(cpus) = &mut self.cpus else { return };
        let counts = cpus.counted.contains(&self.now);
        let mut cost = cpus.costs.link_ns;
        for item in items {
            let size = size(item);
            cost += match item {
                FeedItem::Record { .. } => cpus.costs.feed_ns + cpus.costs.bytes(size),
                _ => cpus.costs.send_ns,
            };
            if counts {
                match item {
                    FeedItem::Record { .. } => {
                        cpus.fed.versions += 1;
                        cpus.fed.version_bytes += size.bytes;
                    }
                    _ => cpus.fed.heartbeats += 1,
                }
                cpus.fed.bytes += size.bytes;
            }
        }
        cpus.all[node].cost_ns += cost;
    }
}
