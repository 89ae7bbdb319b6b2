//! Links: how long a message takes, and whether it arrives.
//!
//! A delay is a function of the seed, the channel and the moment of sending. So a schedule from which something
//! was taken out goes on as before wherever that something does not matter.

use crate::plan::{Config, Held, Layout, Plan};
use crate::rng::{Stream, mix};
use tidemark_core::{DcId, Micros, PartitionId, ServerId};

/// The feed from a server to its peer in another data centre.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamId(pub(super) usize);

/// How far a feed is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing flows.
    Closed,
    /// The receiver has asked for it.
    Asked,
    /// Items flow.
    Open,
    /// It was refused for good.
    Refused,
}

/// One feed.
#[derive(Clone, Copy, Debug)]
pub(super) struct FeedLink {
    pub(super) state: State,
    /// Counts connections: what belongs to an earlier one is lost.
    pub(super) epoch: u32,
    /// When the last item sent so far arrives: nothing overtakes it.
    pub(super) arrival: Micros,
    /// The last record that the receiver has confirmed.
    pub(super) confirmed: u64,
    /// How many faults cut it.
    pub(super) cut: u32,
    /// The receiver cannot take what has arrived; it will be offered again.
    pub(super) waits: bool,
    /// What everything on it takes longer.
    pub(super) slow_us: Micros,
}

/// Spans of time in which messages are held.
type Spans = Vec<(Micros, Micros)>;

/// All links.
pub(crate) struct Links {
    seed: u64,
    dcs: usize,
    partitions: usize,
    lan_us: Micros,
    lan_jitter_us: Micros,
    wan_us: Vec<Micros>,
    wan_jitter_percent: u64,
    late_percent: u64,
    late_factor: u64,
    pub(super) streams: Vec<FeedLink>,
    /// The sender and the receiver of each feed.
    ends: Vec<(ServerId, ServerId)>,
    /// How many faults cut two siblings, by `(dc * partitions + from) * partitions + to`.
    pub(super) siblings_cut: Vec<u32>,
    held_feeds: Vec<(usize, Spans)>,
    held_siblings: Vec<(usize, Spans)>,
    held_asked: Vec<(usize, Spans)>,
}

impl Links {
    pub(crate) fn new(plan: &Plan, layout: &Layout) -> Self {
        let (dcs, partitions) = (layout.topology.dcs, layout.topology.partitions);
        let config: &Config = &plan.config;
        let fresh = FeedLink {
            state: State::Closed,
            epoch: 0,
            arrival: 0,
            confirmed: 0,
            cut: 0,
            waits: false,
            slow_us: 0,
        };
        let mut links = Self {
            seed: mix(plan.seed, Stream::Delays as u64),
            lan_us: config.lan_us,
            lan_jitter_us: config.lan_jitter_us,
            wan_us: config.wan_us.clone(),
            wan_jitter_percent: config.wan_jitter_percent,
            late_percent: config.late_percent,
            late_factor: config.late_factor,
            streams: vec![fresh; dcs * partitions * dcs],
            ends: Vec::with_capacity(dcs * partitions * dcs),
            siblings_cut: vec![0; dcs * partitions * partitions],
            held_feeds: Vec::new(),
            held_siblings: Vec::new(),
            held_asked: Vec::new(),
            dcs,
            partitions,
        };
        for from in layout.topology.all_dcs() {
            for partition in layout.topology.all_partitions() {
                let ends = |to| (ServerId::new(from, partition), ServerId::new(to, partition));
                links.ends.extend(layout.topology.all_dcs().map(ends));
            }
        }
        for hold in &plan.holds {
            let (spans, channel) = match hold.what {
                Held::Feed(from, to) => (0, links.stream(from, to).0),
                Held::Siblings(from, to) => (1, links.pair(from, to)),
                Held::Asked(from, to) => (2, links.pair(from, to)),
            };
            let all = [&mut links.held_feeds, &mut links.held_siblings, &mut links.held_asked];
            let all = all.into_iter().nth(spans).expect("there are three");
            match all.iter_mut().find(|(of, _)| *of == channel) {
                Some((_, spans)) => spans.push((hold.at, hold.until)),
                None => all.push((channel, vec![(hold.at, hold.until)])),
            }
        }
        links
    }

    /// The feed from `from` to its peer in `to`.
    #[inline]
    pub(super) fn stream(&self, from: ServerId, to: DcId) -> StreamId {
        StreamId((from.dc.index() * self.partitions + from.partition.index()) * self.dcs + to.index())
    }

    /// The sender and the receiver of a feed.
    #[inline]
    pub(super) fn ends(&self, stream: StreamId) -> (ServerId, ServerId) {
        self.ends[stream.0]
    }

    #[inline]
    pub(super) fn pair(&self, from: ServerId, to: ServerId) -> usize {
        (from.dc.index() * self.partitions + from.partition.index()) * self.partitions + to.partition.index()
    }

    /// Whether nothing passes from `from` to `to`.
    #[inline]
    pub(super) fn is_cut(&self, from: ServerId, to: ServerId) -> bool {
        if from.dc == to.dc {
            self.siblings_cut[self.pair(from, to)] > 0
        } else {
            self.streams[self.stream(from, to.dc).0].cut > 0
        }
    }

    /// How long a message from one server to another takes; none if it is lost.
    #[inline]
    pub(super) fn delay(&self, now: Micros, from: ServerId, to: ServerId, asked: bool) -> Option<Micros> {
        if self.is_cut(from, to) {
            return None;
        }
        let channel = self.pair(from, to);
        if from.dc != to.dc {
            let slow = self.streams[self.stream(from, to.dc).0].slow_us;
            return Some(self.far(now, channel as u64 | 1 << 32, from.dc, to.dc) + slow);
        }
        let delay = self.near(now, channel as u64 | 2 << 32);
        let mut until = held(&self.held_siblings, channel, now);
        if asked {
            until = until.max(held(&self.held_asked, channel, now));
        }
        Some(delay + until.saturating_sub(now))
    }

    /// How long an answer takes to the gateway of a data centre; none if it is lost.
    pub(super) fn answer_delay(
        &self,
        now: Micros,
        from: ServerId,
        gateway: DcId,
        session: u64,
    ) -> Option<Micros> {
        let channel = session << 8 | 3 << 32;
        if from.dc == gateway {
            return Some(self.near(now, channel));
        }
        let cut = self.streams[self.stream(from, gateway).0].cut > 0;
        (!cut).then(|| self.far(now, channel, from.dc, gateway))
    }

    /// How long a question takes from a session at a gateway to a server; none if it is lost. One of the many questions of
    /// an operation is held like those that servers ask each other.
    pub(super) fn question_delay(
        &self,
        now: Micros,
        (gateway, session): (DcId, u64),
        to: ServerId,
        one_of_many: bool,
    ) -> Option<Micros> {
        let channel = session << 8 | 4 << 32 | u64::from(to.partition.0);
        if to.dc == gateway {
            let until = if one_of_many { self.held_for_all(to, now) } else { 0 };
            return Some(self.near(now, channel) + until.saturating_sub(now));
        }
        let cut = self.streams[self.stream(ServerId::new(gateway, to.partition), to.dc).0].cut > 0;
        (!cut).then(|| self.far(now, channel, gateway, to.dc))
    }

    /// Until when the questions that anybody asks `to` are held, if one asker's are.
    fn held_for_all(&self, to: ServerId, now: Micros) -> Micros {
        if self.held_asked.is_empty() {
            return 0;
        }
        let askers = (0..self.partitions).map(|p| ServerId::new(to.dc, PartitionId(p as u16)));
        askers.map(|from| held(&self.held_asked, self.pair(from, to), now)).max().unwrap_or(0)
    }

    /// How long a request of a client takes to its gateway, or an answer back.
    pub(super) fn client_delay(&self, now: Micros, session: u64) -> Micros {
        self.near(now, session << 8 | 6 << 32)
    }

    /// How long what one member of a group says to another is under way.
    pub(super) fn member_delay(
        &self,
        now: Micros,
        group: usize,
        from: PartitionId,
        to: PartitionId,
    ) -> Micros {
        let pair = u64::from(from.0) << 8 | u64::from(to.0);
        self.near(now, (group as u64) << 40 | pair << 8 | 8 << 32)
    }

    /// When items that leave a feed's sender `lag_us` from now on arrive: after everything sent before.
    pub(super) fn feed_arrival(&mut self, now: Micros, stream: StreamId, lag_us: Micros) -> Micros {
        let (from, to) = self.ends(stream);
        let delay = self.far(now, stream.0 as u64 | 5 << 32, from.dc, to.dc);
        let until = held(&self.held_feeds, stream.0, now);
        let stream = &mut self.streams[stream.0];
        stream.arrival = stream.arrival.max(now.max(until) + lag_us + delay + stream.slow_us);
        stream.arrival
    }

    /// Until when what is sent now from a node with the partitions `from` to one with the partitions `to` is held. A node without
    /// partitions asks on behalf of sessions.
    pub(crate) fn held_until(
        &self,
        now: Micros,
        (dc, from): (DcId, &[PartitionId]),
        to: (DcId, &[PartitionId]),
    ) -> Micros {
        if to.0 != dc || self.held_siblings.is_empty() && self.held_asked.is_empty() {
            return 0;
        }
        let mut until = 0;
        for there in to.1.iter().map(|to| ServerId::new(dc, *to)) {
            for here in from.iter().map(|from| ServerId::new(dc, *from)) {
                let channel = self.pair(here, there);
                until = until.max(held(&self.held_siblings, channel, now)).max(held(
                    &self.held_asked,
                    channel,
                    now,
                ));
            }
            if from.is_empty() {
                until = until.max(self.held_for_all(there, now));
            }
        }
        until
    }

    /// Until when what is fed now from a node with the partitions `from` is held.
    pub(crate) fn feed_held_until(
        &self,
        now: Micros,
        (dc, from): (DcId, &[PartitionId]),
        to: DcId,
    ) -> Micros {
        let streams = from.iter().map(|partition| self.stream(ServerId::new(dc, *partition), to).0);
        if self.held_feeds.is_empty() {
            0
        } else {
            streams.map(|stream| held(&self.held_feeds, stream, now)).max().unwrap_or(0)
        }
    }

    #[inline]
    pub(crate) fn near(&self, now: Micros, channel: u64) -> Micros {
        self.vary(now, channel, self.lan_us, self.lan_jitter_us)
    }

    #[inline]
    pub(crate) fn far(&self, now: Micros, channel: u64, from: DcId, to: DcId) -> Micros {
        let base = self.wan_us[from.index() * self.dcs + to.index()];
        self.vary(now, channel, base, base * self.wan_jitter_percent / 100)
    }

    #[inline]
    fn vary(&self, now: Micros, channel: u64, base: Micros, jitter: Micros) -> Micros {
        let chance = mix(self.seed ^ channel, now);
        let delay = base + (((chance & 0xffff) * jitter) >> 16);
        if (chance >> 16) % 100 < self.late_percent {
            delay + ((((chance >> 40) & 0xffff) * base * self.late_factor) >> 16)
        } else {
            delay
        }
    }
}

/// Until when what is sent now on a channel is held; 0 if it is not.
#[inline]
fn held(all: &[(usize, Spans)], channel: usize, now: Micros) -> Micros {
    let Some((_, spans)) = all.iter().find(|(of, _)| *of == channel) else { return 0 };
    let holding = spans.iter().filter(|(at, until)| (*at..*until).contains(&now));
    holding.map(|(_, until)| *until).max().unwrap_or(0)
}
