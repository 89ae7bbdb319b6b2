//! Feeds between peers, as links carry them: asked for by the receiver, in order, lost when a link is cut, and
//! asked for again.

use super::links::{State, StreamId};
use super::{Event, World};
use crate::outcome::ProblemKind;
use crate::trace::Happening;
use tidemark_contract::Protocol;
use tidemark_core::{Micros, ServerId};
use tidemark_replica::{FeedError, FeedItem, Resume};

/// About how much one message carries, in bytes.
const PIECE_BYTES: usize = 64 << 10;

impl<P: Protocol> World<'_, P> {
    /// The feeds from servers of one node to other data centres.
    fn feeds_from(&self, node: usize) -> impl Iterator<Item = StreamId> + use<P> {
        let place = &self.nodes[node];
        let mut streams = Vec::new();
        for from in place.servers() {
            for to in self.layout.topology.all_dcs().filter(|dc| *dc != from.dc) {
                streams.push(self.links.stream(from, to));
            }
        }
        streams.into_iter()
    }

    /// The feeds to servers of one node.
    fn feeds_to(&self, node: usize) -> impl Iterator<Item = StreamId> + use<P> {
        let mut streams = Vec::new();
        for to in self.nodes[node].servers() {
            for from in self.layout.topology.peers(to) {
                streams.push(self.links.stream(from, to.dc));
            }
        }
        streams.into_iter()
    }

    fn nodes_of(&self, stream: StreamId) -> (usize, usize) {
        let (from, to) = self.links.ends(stream);
        (self.node_of(from), self.node_of(to))
    }

    /// The connection is gone, and with it what was on its way; `again` says when to try to connect.
    pub(super) fn break_feed(&mut self, stream: StreamId, again: Option<Micros>) {
        let link = &mut self.links.streams[stream.0];
        if link.state == State::Refused {
            return;
        }
        link.epoch += 1;
        link.state = State::Closed;
        link.arrival = 0;
        link.waits = false;
        self.waiting[stream.0].clear();
        if let Some(delay) = again {
            self.queue.push(self.now + delay, Event::Connect(stream, link.epoch));
        }
    }

    /// A node died: what was on its way to it is lost. What it had sent still arrives.
    pub(super) fn break_feeds_to(&mut self, node: usize) {
        self.feeds_to(node).for_each(|stream| self.break_feed(stream, None));
    }

    /// A node is up: it asks for its feeds, and whoever hears of it for the first time asks for theirs.
    pub(super) fn open_feeds_of(&mut self, node: usize, first: bool) {
        let delay = self.plan.config.lan_us;
        for stream in self.feeds_to(node) {
            self.break_feed(stream, Some(delay));
        }
        if first {
            self.feeds_from(node).for_each(|stream| self.break_feed(stream, Some(delay)));
        }
    }

    /// `at` has noticed that `of` restarted.
    pub(super) fn reopen_feeds(&mut self, of: usize, at: usize) {
        let delay = self.plan.config.lan_us;
        for stream in self.feeds_from(self.leader[of]) {
            if self.nodes_of(stream).1 == at {
                self.break_feed(stream, Some(delay));
            }
        }
    }

    fn uncut(&self, from: ServerId, to: ServerId) -> bool {
        !self.links.is_cut(from, to) && !self.links.is_cut(to, from)
    }

    pub(super) fn connect(&mut self, stream: StreamId, epoch: u32) {
        let link = self.links.streams[stream.0];
        let (from, to) = self.links.ends(stream);
        if link.epoch != epoch || link.state != State::Closed || !self.uncut(from, to) {
            return; // whoever heals the link, or starts the server, tries again
        }
        let Some(host) = self.nodes[self.node_of(to)].host() else { return };
        let resume = host.resume_point(from, to.partition);
        let delay = self.links.far(self.now, stream.0 as u64 | 6 << 32, to.dc, from.dc);
        self.links.streams[stream.0].state = State::Asked;
        self.queue.push(self.now + delay, Event::Open(stream, epoch, resume));
    }

    pub(super) fn open_feed(&mut self, stream: StreamId, epoch: u32, resume: Resume) {
        if self.links.streams[stream.0].epoch != epoch {
            return;
        }
        let (from, to) = self.links.ends(stream);
        let node = self.node_of(from);
        let cut = self.links.is_cut(to, from);
        let Some(host) = self.nodes[node].host_mut().filter(|_| !cut) else {
            return self.break_feed(stream, None);
        };
        match host.open_feed(from.partition, to.dc, resume) {
            Ok(incarnation) => {
                self.links.streams[stream.0].state = State::Open;
                let arrival = self.links.feed_arrival(self.now, stream, 0);
                self.queue.push(arrival, Event::Opened(stream, epoch, incarnation));
                self.poll_feed(stream);
            }
            Err(refusal) => self.refused(stream, &refusal.to_string()),
        }
    }

    fn refused(&mut self, stream: StreamId, why: &str) {
        let (from, to) = self.links.ends(stream);
        self.links.streams[stream.0].state = State::Refused;
        self.problem(ProblemKind::Feed, format!("{from} does not feed {to}: {why}"));
    }

    pub(super) fn opened(&mut self, stream: StreamId, epoch: u32, incarnation: u64) {
        if self.links.streams[stream.0].epoch != epoch {
            return;
        }
        let (from, to) = self.links.ends(stream);
        let mut accepted = Ok(());
        let node = self.node_of(to);
        self.turn(node, false, |host, _| accepted = host.accept_feed(from, to.partition, incarnation));
        if let Err(refusal) = accepted {
            self.refused(stream, &refusal.to_string());
        }
    }

    /// What a node may feed leaves it.
    pub(super) fn poll_feeds(&mut self, node: usize) {
        let (from_dc, partitions) = (self.nodes[node].dc, self.nodes[node].partitions.len());
        for n in 0..partitions {
            let from = ServerId::new(from_dc, self.nodes[node].partitions[n]);
            for to in self.layout.topology.all_dcs().filter(|dc| *dc != from_dc) {
                let stream = self.links.stream(from, to);
                if self.links.streams[stream.0].state == State::Open {
                    self.poll_feed(stream);
                }
            }
        }
    }

    fn poll_feed(&mut self, stream: StreamId) {
        let (from, to) = self.links.ends(stream);
        let node = self.node_of(from);
        // A node that something slows down loses more time with every item, which is what a schedule is for; one that is simply
        // slow does not.
        let (slow_us, lag_us) = (self.nodes[node].slow_us, self.nodes[node].lag_us);
        // What a transaction wrote is to be seen half arrived: each record travels alone, and some time apart.
        let piece_bytes = if self.layout.transactions { 1 } else { PIECE_BYTES };
        loop {
            let Some(host) = self.nodes[node].host_mut() else { return };
            let mut items = self.spare.pop().unwrap_or_default();
            if let Err(refusal) = host.poll_feed(from.partition, to.dc, piece_bytes, &mut items) {
                return self.refused(stream, &refusal.to_string());
            }
            if items.is_empty() {
                return self.spare.push(items);
            }
            self.meter_fed(from, to.dc, &items);
            self.charge_fed(from, &items);
            let epoch = self.links.streams[stream.0].epoch;
            let arrival = self.links.feed_arrival(self.now, stream, lag_us) + slow_us;
            let apart = if self.layout.transactions && matches!(items[..], [FeedItem::Record { .. }]) {
                self.plan.config.theta_us[self.group_of(node)]
            } else {
                0
            };
            self.links.streams[stream.0].arrival = arrival + apart;
            self.queue.push(arrival, Event::Feed(stream, epoch, items));
        }
    }

    pub(super) fn feed(&mut self, stream: StreamId, epoch: u32, mut items: Vec<FeedItem<P>>) {
        if self.links.streams[stream.0].epoch != epoch {
            return;
        }
        let waiting = &mut self.waiting[stream.0];
        if waiting.is_empty() {
            std::mem::swap(waiting, &mut items);
        } else {
            waiting.append(&mut items);
        }
        self.spare.push(items);
        if !self.links.streams[stream.0].waits {
            self.take_items(stream);
        }
    }

    /// The receiver takes what has arrived, as far as it can.
    fn take_items(&mut self, stream: StreamId) {
        let (from, to) = self.links.ends(stream);
        let mut items = std::mem::take(&mut self.waiting[stream.0]);
        let mut failed = None;
        let mut taken = 0;
        self.meter_received(to, &items);
        let node = self.node_of(to);
        let place = &mut self.nodes[node];
        let now = place.clocks.read(self.now);
        let Some(host) = place.host_mut() else { return };
        for item in &items {
            if let Err(error) = host.feed(now, from, to.partition, item.clone()) {
                failed = Some(error);
                break;
            }
            taken += 1;
        }
        self.end_turn(node, false);
        self.meter_turn_ends();
        if self.trace.is_some() {
            self.trace_items(from, to, &items[..taken]);
        }
        for item in items.drain(..taken) {
            if let FeedItem::Record { version, .. } = item {
                self.written.include(version.stamp);
            }
        }
        let epoch = self.links.streams[stream.0].epoch;
        match failed {
            None => items.clear(),
            // The link waits, and offers it again.
            Some(FeedError::Ahead { .. } | FeedError::NoRoom(_)) => {
                self.stats.feeds_waited += 1;
                self.links.streams[stream.0].waits = true;
                let later = self.now + self.plan.config.farthest_us() / 4;
                self.queue.push(later, Event::Again(stream, epoch));
            }
            Some(error) => {
                items.clear();
                self.problem(ProblemKind::Feed, format!("{to} does not take what {from} feeds: {error}"));
                self.break_feed(stream, Some(self.plan.config.lan_us * 16));
            }
        }
        self.waiting[stream.0] = items;
    }

    pub(super) fn again(&mut self, stream: StreamId, epoch: u32) {
        if self.links.streams[stream.0].epoch == epoch {
            self.links.streams[stream.0].waits = false;
            self.take_items(stream);
        }
    }

    fn trace_items(&mut self, from: ServerId, to: ServerId, items: &[FeedItem<P>]) {
        for item in items {
            if let FeedItem::Record { key, version, .. } = item {
                let (key, write, stamp) = (key.clone(), version.write.clone(), version.stamp);
                self.trace(|| Happening::Received { from, to, key, write, stamp });
            }
        }
    }

    /// A node tells its peers what it has durably received.
    pub(super) fn confirm_feeds(&mut self, node: usize) {
        let Some(host) = self.nodes[node].host().filter(|_| self.leads(node)) else { return };
        let mut confirmations = Vec::new();
        for stream in self.feeds_to(node) {
            let (from, to) = self.links.ends(stream);
            let received = host.received(from, to.partition);
            if received > self.links.streams[stream.0].confirmed && !self.links.is_cut(to, from) {
                confirmations.push((stream, received));
            }
        }
        for (stream, received) in confirmations {
            let (from, to) = self.links.ends(stream);
            let delay = self.links.far(self.now, stream.0 as u64 | 7 << 32, to.dc, from.dc);
            self.queue.push(self.now + delay, Event::Confirm(stream, received));
        }
    }

    pub(super) fn confirmed(&mut self, stream: StreamId, seq: u64) {
        let (from, to) = self.links.ends(stream);
        let node = self.node_of(from);
        if self.links.is_cut(to, from) {
            return;
        }
        if let Some(host) = self.nodes[node].host_mut() {
            host.confirm(from.partition, to.dc, seq);
            let link = &mut self.links.streams[stream.0];
            link.confirmed = link.confirmed.max(seq);
        }
    }

    /// A link may have healed: closed feeds over it are asked for.
    pub(super) fn reconnect(&mut self) {
        for n in 0..self.links.streams.len() {
            let link = self.links.streams[n];
            let (from, to) = self.links.ends(StreamId(n));
            if from.dc != to.dc && link.state == State::Closed && self.uncut(from, to) {
                let delay = self.plan.config.lan_us;
                self.queue.push(self.now + delay, Event::Connect(StreamId(n), link.epoch));
            }
        }
    }
}
