//! How a node stands: copied out of the data thread, made into JSON and metrics elsewhere.

use super::leased::Told;
use crate::run::mute::Mute;
use crate::run::shard::{Core, Shard};
use crate::stats::Stats;
use serde::Serialize;
use std::collections::BTreeMap;
use tidemark_core::Micros;
use tidemark_node::cuts::Place;
use tidemark_node::follow::Uses;
use tidemark_node::{Counters, Finding, Grade, GroupStatus, NodeId, PeerStatus};
use tidemark_replica::HostStatus;

/// Everything that status pages and metrics tell.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) cluster: String,
    pub(crate) node: String,
    pub(crate) region: String,
    pub(crate) protocol: &'static str,
    pub(crate) promise: String,
    pub(crate) version: &'static str,
    /// The wall clock, in microseconds since 1970.
    pub(crate) now_us: Micros,
    pub(crate) uptime_s: u64,
    /// What an operator should know, what needs one first.
    pub(crate) findings: Vec<Finding>,
    /// Why writes are refused, if they are.
    pub(crate) writes_refused: Option<String>,
    /// Why clients are not served, if that is so.
    pub(crate) unready: Option<String>,
    /// Why only reads are answered, if that is so.
    pub(crate) mute: Option<Mute>,
    pub(crate) clients: usize,
    pub(crate) host: HostStatus,
    /// Where sessions read together, if checking groups follow that.
    pub(crate) uses: Option<Uses>,
    /// How the node stands in its group, if it is one of a group.
    pub(crate) group: Option<GroupStatus>,
    pub(crate) regions: Vec<String>,
    pub(crate) links: Vec<Link>,
    pub(crate) faults: Vec<FaultLine>,
    /// Whatever this node says to others leaves so much later, by an operator's order.
    pub(crate) late_us: Micros,
    /// How far its clock was put ahead of the machine's, by an operator's order.
    pub(crate) clock_ahead_us: i64,
    /// The orders of the supervisor, if one has given some.
    pub(crate) ordered: Option<Told>,
    #[serde(skip)]
    pub(crate) stats: Stats,
    #[serde(skip)]
    pub(crate) counters: Counters,
}

impl Report {
    /// How many faults an operator has injected here.
    pub(crate) fn faults_count(&self) -> u64 {
        (self.faults.len() + usize::from(self.late_us > 0) + usize::from(self.clock_ahead_us != 0)) as u64
    }

    /// What does not work and needs an operator, if something does not.
    pub(crate) fn stuck(&self) -> Option<String> {
        let stuck = self.findings.iter().find(|finding| finding.grade == Grade::Stuck);
        self.writes_refused.clone().or(stuck.map(Finding::to_string))
    }
}

/// The links to one other node.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Link {
    pub(crate) node: String,
    pub(crate) region: String,
    pub(crate) address: String,
    pub(crate) messages_out: bool,
    pub(crate) messages_in: bool,
    pub(crate) stream_out: bool,
    pub(crate) stream_in: bool,
    /// Bytes that wait to be sent, those that the emulated network holds included.
    pub(crate) queued_bytes: usize,
    /// The emulated latency from here, one way, faults included.
    pub(crate) delay_us: Micros,
    /// Neither cut nor broken.
    pub(crate) up: bool,
    pub(crate) trouble: Option<String>,
}

/// What is wrong with a link.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Fault {
    /// Nothing passes.
    cut: bool,
    /// It takes so much longer.
    slow_us: Micros,
}

/// One fault.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct FaultLine {
    pub(crate) from: String,
    pub(crate) to: String,
    #[serde(flatten)]
    pub(crate) fault: Fault,
}

fn place(place: Place) -> String {
    match place {
        Place::Region(dc) => dc.to_string(),
        Place::Server(server) => server.to_string(),
    }
}

impl Shard {
    /// How this node stands.
    pub(super) fn report(&self) -> Report {
        let mut core = self.core.borrow_mut();
        let core = &mut *core;
        let now = core.engine.clock.now();
        let status = core.engine.node.status(now);
        let me = core.engine.config.me;
        let peers = status.peers.iter().enumerate().map(|(at, peer)| (NodeId(at as u16), peer));
        let links = peers.filter(|(node, _)| *node != me).map(|(node, peer)| core.link(node, peer)).collect();
        let faults = core.faults(&status.cuts);
        let engine = &core.engine;
        let cluster = &engine.config.cluster;
        Report {
            cluster: cluster.name.clone(),
            node: engine.identity.node.clone(),
            region: engine.identity.region.clone(),
            protocol: engine.about.protocol,
            promise: engine.about.promise.clone(),
            version: env!("CARGO_PKG_VERSION"),
            now_us: now.wall,
            uptime_s: now.wall.saturating_sub(engine.identity.started_at) / 1_000_000,
            findings: status.findings,
            unready: engine.mute.as_ref().map(|mute| mute.why.clone()).or(status.unready),
            writes_refused: engine.mute.as_ref().map(|mute| mute.why.clone()).or(status.writes_refused),
            mute: engine.mute.clone(),
            clients: core.clients.len(),
            host: status.host,
            uses: status.uses,
            group: status.group,
            regions: cluster.regions.clone(),
            links,
            faults,
            late_us: core.links.slowed.late_us,
            clock_ahead_us: engine.clock.ahead_us(),
            ordered: core.ordered.leased.told().cloned(),
            stats: engine.stats.clone(),
            counters: *engine.node.counters(),
        }
    }
}

impl Core {
    /// Links that are cut, slowed, or both.
    fn faults(&self, cuts: &[(Place, Place)]) -> Vec<FaultLine> {
        let mut faults: BTreeMap<(Place, Place), Fault> = BTreeMap::new();
        cuts.iter().for_each(|ends| faults.entry(*ends).or_default().cut = true);
        for (from, to, slow_us) in self.links.slowed.iter() {
            faults.entry((Place::Region(from), Place::Region(to))).or_default().slow_us = slow_us;
        }
        let line = |((from, to), fault)| FaultLine { from: place(from), to: place(to), fault };
        faults.into_iter().map(line).collect()
    }

    fn link(&self, node: NodeId, peer: &PeerStatus) -> Link {
        let cluster = &self.engine.config.cluster;
        let layout = &cluster.nodes[node.index()];
        Link {
            node: layout.name.clone(),
            region: cluster.regions[layout.dc.index()].clone(),
            address: layout.peer_address.clone(),
            messages_out: peer.messages_out,
            messages_in: peer.messages_in,
            stream_out: peer.stream_out,
            stream_in: peer.stream_in,
            queued_bytes: peer.queued_bytes + self.links.queued_bytes(node),
            delay_us: self.wan_to(layout.dc).delay_us,
            up: peer.up,
            trouble: peer.trouble.clone(),
        }
    }
}
