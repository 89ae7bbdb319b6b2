//! How long bytes are under way: a function of the seed, the lane and the moment of sending, so that a schedule from which
//! something was taken out goes on as before wherever that does not matter.

use super::net::{Conn, ConnId};
use super::{Cluster, Stage};
use crate::rng::mix;
use tidemark_core::{DcId, Micros};
use tidemark_node::LinkKind;

impl Cluster<'_> {
    /// How long what leaves now from an end of a connection takes to the other end.
    pub(super) fn delay(&self, conn: ConnId, end: usize) -> Micros {
        let Conn { kind, ends, .. } = &self.net.conns[conn.0];
        let (from, to) = (ends[end].process, ends[1 - end].process);
        let (here, there) = self.pair(from, to);
        let lane = (from as u64) << 24 | (to as u64) << 8 | (*kind as u64) << 1 | end as u64 | 9 << 48;
        let delay = match here.dc == there.dc {
            true => self.links.near(self.now, lane) + self.in_another_zone(from.max(to)),
            false => self.links.far(self.now, lane, here.dc, there.dc) + self.slow_between(here.dc, there.dc),
        };
        delay + here.slow_us + here.lag_us + there.slow_us
    }

    /// How much longer a message takes within a data centre if this process is one of clients that are in another zone.
    fn in_another_zone(&self, process: usize) -> Micros {
        let load = self.load.as_ref().filter(|_| process >= self.servers);
        load.and_then(|load| Some(load.what.client_lan_us? - load.what.lan_us)).unwrap_or(0)
    }

    /// How much longer it takes because the schedule holds such messages. Connections are made all the same, and once everything heals
    /// nothing is held any more.
    pub(super) fn held(&self, conn: ConnId, end: usize) -> Micros {
        if self.stage != Stage::Work {
            return 0;
        }
        let Conn { kind, ends, .. } = &self.net.conns[conn.0];
        let (here, there) = self.pair(ends[end].process, ends[1 - end].process);
        let until = match kind {
            LinkKind::Messages if end == 0 => {
                let to = (there.dc, &there.partitions[..]);
                let until = self.links.held_until(self.now, (here.dc, &here.partitions), to);
                let near = here.dc == there.dc && self.links.holds_requests();
                match near && self.asks_several(ends[end].process) {
                    true => until.max(self.links.held_requests_until(self.now, to)),
                    false => until,
                }
            }
            // Records flow to who dials.
            LinkKind::Stream if end == 1 => {
                self.links.stream_held_until(self.now, (here.dc, &here.partitions), there.dc)
            }
            _ => 0,
        };
        until.saturating_sub(self.now)
    }

    fn slow_between(&self, from: DcId, to: DcId) -> Micros {
        let way = from.index() << 8 | to.index();
        let slow = self.net.slow.iter().filter(|(of, _)| *of == way);
        slow.map(|(_, extra)| extra).sum()
    }

    /// How long after what is before it a piece arrives at the earliest, where records arrive one by one.
    pub(super) fn gap(&self, conn: ConnId, end: usize) -> Micros {
        let Conn { kind, flows, .. } = &self.net.conns[conn.0];
        if !self.plan.config.pieces || (*kind, end) != (LinkKind::Stream, 1) || self.stage != Stage::Work {
            return 0;
        }
        let chance = mix(self.plan.seed ^ conn.0 as u64, flows[end].arrival ^ 9 << 52);
        1 + if chance.is_multiple_of(4) { (chance >> 8) % self.plan.config.farthest_us() } else { 0 }
    }
}
