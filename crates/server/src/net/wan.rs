//! The emulated wide-area network: latencies between regions, and links that an operator has slowed.

use super::outbox::Wan;
use crate::run::shard::Core;
use std::collections::BTreeMap;
use tidemark_core::{DcId, Micros};
use tidemark_node::LinkKind;

/// Links that an operator has slowed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Slowed {
    links: BTreeMap<(DcId, DcId), Micros>,
    /// Whatever this node sends to any other leaves so much later.
    pub(crate) late_us: Micros,
}

impl Slowed {
    /// From now on bytes from `from` to `to` take so much longer.
    pub(crate) fn slow(&mut self, from: DcId, to: DcId, slow_us: Micros) {
        if slow_us == 0 {
            self.links.remove(&(from, to));
        } else {
            self.links.insert((from, to), slow_us);
        }
    }

    /// Nothing is faster than it is in `other`.
    pub(crate) fn raise(&mut self, other: &Self) {
        for (ends, slow_us) in &other.links {
            let slow = self.links.entry(*ends).or_default();
            *slow = (*slow).max(*slow_us);
        }
        self.late_us = self.late_us.max(other.late_us);
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (DcId, DcId, Micros)> + '_ {
        self.links.iter().map(|((from, to), slow_us)| (*from, *to, *slow_us))
    }

    /// How much longer bytes take from this node, in region `from`, to a node of region `to`.
    fn slow_us(&self, from: DcId, to: DcId) -> Micros {
        self.late_us + self.links.get(&(from, to)).copied().unwrap_or_default()
    }
}

impl Core {
    /// The emulated network to region `dc`, faults included.
    pub(crate) fn wan_to(&self, dc: DcId) -> Wan {
        let config = &self.engine.config;
        let link = config.cluster.wan.iter().find(|link| link.from == config.dc() && link.to == dc);
        let mut wan = link.map_or(Wan::default(), |link| Wan {
            delay_us: link.delay_us,
            jitter_us: link.jitter_us,
            bytes_per_s: link.bytes_per_s,
        });
        wan.delay_us += self.links.slowed.slow_us(config.dc(), dc);
        wan
    }

    /// Latencies have changed, or a link is up.
    pub(crate) fn set_latencies(&self) {
        for link in self.links.links.values() {
            // Members of a Raft group are in one region.
            if let Some((node, LinkKind::Messages | LinkKind::Stream)) = link.peer {
                let dc = self.engine.config.cluster.nodes[node.index()].dc;
                link.pipe.outbox.set_wan(self.wan_to(dc));
            }
        }
    }
}
