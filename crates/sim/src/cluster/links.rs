//! Links: how long a message takes.
//!
//! A delay is a function of the seed, the channel and the moment of sending. So a schedule from which something
//! was taken out goes on as before wherever that something does not matter.

use crate::plan::{Config, Held, Layout, Plan};
use crate::rng::{Stream, mix};
use tidemark_core::{DcId, Micros, PartitionId, ServerId};

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
    held_streams: Vec<(usize, Spans)>,
    held_siblings: Vec<(usize, Spans)>,
    held_asked: Vec<(usize, Spans)>,
}

impl Links {
    pub(crate) fn new(plan: &Plan, layout: &Layout) -> Self {
        let (dcs, partitions) = (layout.topology.dcs, layout.topology.partitions);
        let config: &Config = &plan.config;
        let mut links = Self {
            seed: mix(plan.seed, Stream::Delays as u64),
            lan_us: config.lan_us,
            lan_jitter_us: config.lan_jitter_us,
            wan_us: config.wan_us.clone(),
            wan_jitter_percent: config.wan_jitter_percent,
            late_percent: config.late_percent,
            late_factor: config.late_factor,
            held_streams: Vec::new(),
            held_siblings: Vec::new(),
            held_asked: Vec::new(),
            dcs,
            partitions,
        };
        for hold in &plan.holds {
            let (spans, channel) = match hold.what {
                Held::Stream(from, to) => (0, links.stream(from, to)),
                Held::Siblings(from, to) => (1, links.pair(from, to)),
                Held::Asked(from, to) => (2, links.pair(from, to)),
            };
            let all = [&mut links.held_streams, &mut links.held_siblings, &mut links.held_asked];
            let all = all.into_iter().nth(spans).expect("there are three");
            match all.iter_mut().find(|(of, _)| *of == channel) {
                Some((_, spans)) => spans.push((hold.at, hold.until)),
                None => all.push((channel, vec![(hold.at, hold.until)])),
            }
        }
        links
    }

    /// The stream from `from` to its peer in `to`.
    fn stream(&self, from: ServerId, to: DcId) -> usize {
        (from.dc.index() * self.partitions + from.partition.index()) * self.dcs + to.index()
    }

    fn pair(&self, from: ServerId, to: ServerId) -> usize {
        (from.dc.index() * self.partitions + from.partition.index()) * self.partitions + to.partition.index()
    }

    /// Until when the questions that anybody asks `to` are held, if one asker's are.
    fn held_for_all(&self, to: ServerId, now: Micros) -> Micros {
        if self.held_asked.is_empty() {
            return 0;
        }
        let askers = (0..self.partitions).map(|p| ServerId::new(to.dc, PartitionId(p as u16)));
        askers.map(|from| held(&self.held_asked, self.pair(from, to), now)).max().unwrap_or(0)
    }

    /// Until when what is sent now from a node with the partitions `from` to one with the partitions `to` is held.
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
        }
        until
    }

    /// Until when the requests of an operation that asks several servers are held on their way to a node with the partitions `to`.
    pub(crate) fn held_requests_until(&self, now: Micros, (dc, to): (DcId, &[PartitionId])) -> Micros {
        let held = to.iter().map(|to| self.held_for_all(ServerId::new(dc, *to), now));
        held.max().unwrap_or(0)
    }

    /// Whether such requests are held at any time.
    pub(crate) fn holds_requests(&self) -> bool {
        !self.held_asked.is_empty()
    }

    /// Until when what is fed now from a node with the partitions `from` is held.
    pub(crate) fn stream_held_until(
        &self,
        now: Micros,
        (dc, from): (DcId, &[PartitionId]),
        to: DcId,
    ) -> Micros {
        let streams = from.iter().map(|partition| self.stream(ServerId::new(dc, *partition), to));
        if self.held_streams.is_empty() {
            0
        } else {
            streams.map(|stream| held(&self.held_streams, stream, now)).max().unwrap_or(0)
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
