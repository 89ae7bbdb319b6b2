//! Relays: while no stream comes from a region, its records come through a third one.
//!
//! A region may be unreachable from here and not from elsewhere, or lost after others have received more of it. Then a region that is
//! linked with both has what is missing here. It is asked after a while, and the next one if it does not answer; when the region's own
//! stream is open again, it goes on where the relay has come to.

use super::frame::frame;
use super::stream::Request;
use super::table::{Role, Stage, Up};
use crate::layout::NodeId;
use crate::node::LinkId;
use crate::of::NodeOf;
use std::collections::BTreeMap;
use tidemark_contract::Protocol;
use tidemark_core::{Micros, ServerId};

/// What comes through others: the servers from which no stream comes.
#[derive(Default)]
pub(crate) struct Relays(BTreeMap<ServerId, Missing>);

struct Missing {
    /// Since when, or when a node was asked last.
    since: Micros,
    /// The node that is asked for the records.
    asked: Option<NodeId>,
    /// The node that was asked last: another one is next.
    last: Option<NodeId>,
    /// What had come when somebody was asked.
    had: u64,
}

impl Relays {
    /// Of which servers this node is asked.
    pub(crate) fn asked_of(&self, node: NodeId) -> impl Iterator<Item = ServerId> {
        self.0.iter().filter(move |(_, missing)| missing.asked == Some(node)).map(|(server, _)| *server)
    }

    /// Whether this node is asked for the records of a server.
    pub(crate) fn asks(&self, node: NodeId, server: ServerId) -> bool {
        self.0.get(&server).is_some_and(|missing| missing.asked == Some(node))
    }

    /// A node that was asked cannot help.
    pub(crate) fn refused(&mut self, node: NodeId, server: ServerId) {
        if let Some(missing) = self.0.get_mut(&server) {
            missing.asked.take_if(|asked| *asked == node);
        }
    }
}

impl<P: Protocol> NodeOf<P> {
    /// Asks others for records that do not come, and ends what is not needed any more.
    pub(crate) fn look_for_relays(&mut self) {
        let (now, after) = (self.core.now.mono, self.core.config.pace.relay_after_us);
        let Some(host) = self.hold.host().filter(|_| after > 0) else { return };
        let others = self.core.topology.all_dcs().filter(|dc| *dc != self.core.dc);
        let held = || self.core.topology.all_partitions().filter(|partition| host.holds(*partition));
        let of = |dc, at| {
            let server = ServerId::new(dc, at);
            (server, host.resume_point(server, at).received, host.lacks_some_of(server, at))
        };
        let servers: Vec<(ServerId, u64, bool)> =
            others.flat_map(|dc| held().map(move |partition| of(dc, partition))).collect();
        for (server, has, lacks) in servers {
            let open: Vec<(LinkId, NodeId)> = self.streams_in(|open, _| open.contains(&server));
            if open.iter().any(|(_, node)| self.core.dc_of(*node) == server.dc) {
                let node = self.core.relays.0.remove(&server).and_then(|missing| missing.asked);
                let through = open.iter().filter(|(_, by)| Some(*by) == node);
                through.for_each(|(id, _)| self.close_relay(*id, server));
                continue;
            }
            let fresh = Missing { since: now, asked: None, last: None, had: has };
            let missing = self.core.relays.0.entry(server).or_insert(fresh);
            if now < missing.since + after {
                continue;
            }
            // Somebody has more of a region that is to be excluded. If nothing comes, it is not the one that was asked.
            let idle = lacks && missing.had == has;
            if lacks && !idle {
                (missing.had, missing.since) = (has, now);
            }
            if idle {
                open.iter().for_each(|(id, _)| self.close_relay(*id, server));
            }
            if open.is_empty() || idle {
                self.ask_somebody(server);
            }
        }
    }

    /// Asks the next region that may have them for the records of a server.
    fn ask_somebody(&mut self, server: ServerId) {
        let core = &self.core;
        let to = ServerId::new(core.dc, server.partition);
        let may_have = |node: NodeId| {
            let at = ServerId::new(core.dc_of(node), server.partition);
            at.dc != server.dc && core.home(at) == Some(node) && !core.cuts.is_cut(at, to)
        };
        let mut candidates = self.streams_in(|_, node| may_have(node));
        candidates.sort_by_key(|(_, node)| *node);
        let Some(missing) = self.core.relays.0.get_mut(&server) else { return };
        missing.since = self.core.now.mono;
        let next = candidates.iter().find(|(_, node)| Some(*node) > missing.last).or(candidates.first());
        missing.asked = next.map(|(_, node)| *node);
        missing.last = missing.asked;
        if let Some((id, _)) = next {
            self.ask_for_streams(*id);
        }
    }

    fn close_relay(&mut self, id: LinkId, server: ServerId) {
        if let Some(Up { role: Role::StreamIn(stream), .. }) = self.core.links.up(id) {
            stream.open.retain(|(open, _)| *open != server);
        }
        self.core.say_frame(id, &frame(&Request::Close { server }));
    }

    /// The links on which records come, and from whom, for which this holds of the servers whose records come on them.
    fn streams_in(&self, which: impl Fn(&[ServerId], NodeId) -> bool) -> Vec<(LinkId, NodeId)> {
        let links = self.core.links.iter().filter_map(|link| match &link.stage {
            Stage::Up(Up { role: Role::StreamIn(stream), node, .. }) => Some((link.id, *node, stream)),
            _ => None,
        });
        let open = links.map(|(id, node, stream)| {
            (id, node, stream.open.iter().map(|(server, _)| *server).collect::<Vec<_>>())
        });
        open.filter(|(_, node, open)| which(open, *node)).map(|(id, node, _)| (id, node)).collect()
    }
}
