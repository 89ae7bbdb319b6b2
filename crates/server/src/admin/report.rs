//! How a node stands: copied out of the data thread, made into JSON and metrics elsewhere.

use crate::shard::Shard;
use crate::shard::engine::Engine;
use crate::shard::seat::Seat;
use crate::stats::Stats;
use serde::Serialize;
use tidemark_adapt::{UseReport, Watch};
use tidemark_contract::Protocol;
use tidemark_core::Micros;
use tidemark_node::NodeId;
use tidemark_node::faults::{Fault, Place};
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
    /// Why writes are refused, if they are.
    pub(crate) writes_refused: Option<String>,
    pub(crate) clients: usize,
    pub(crate) host: HostStatus,
    /// Where sessions read together, if checking groups follow that.
    pub(crate) uses: Option<Vec<UseReport>>,
    /// How the node stands in its group, if it is one of a group.
    pub(crate) group: Option<GroupReport>,
    pub(crate) regions: Vec<String>,
    pub(crate) links: Vec<Link>,
    pub(crate) faults: Vec<FaultLine>,
    /// Whatever this node says to others leaves so much later, by an operator's order.
    pub(crate) late_us: Micros,
    /// How far its clock was put ahead of the machine's, by an operator's order.
    pub(crate) clock_ahead_us: i64,
    #[serde(skip)]
    pub(crate) stats: Stats,
}

impl Report {
    /// How many faults an operator has injected here.
    pub(crate) fn faults_count(&self) -> u64 {
        (self.faults.len() + usize::from(self.late_us > 0) + usize::from(self.clock_ahead_us != 0)) as u64
    }
}

/// How a node stands in its group.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct GroupReport {
    /// Its name in the group; 0 while it does not know it.
    pub(crate) member: u64,
    /// `leader`, `follower`, `candidate`, `learner`, `elected` (it is to lead, and not all is applied yet), `founding` (it
    /// waits for the others).
    pub(crate) role: &'static str,
    /// The node that leads, as far as this one knows.
    pub(crate) leader: Option<String>,
    pub(crate) term: u64,
    /// The last entry that is applied here.
    pub(crate) applied: u64,
    /// The nodes that vote, as of that entry.
    pub(crate) voters: Vec<String>,
    /// Those that only listen.
    pub(crate) learners: Vec<String>,
    /// For whom it waits before it knows who it is.
    pub(crate) waits_for: Vec<String>,
}

/// The links to one other node.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Link {
    pub(crate) node: String,
    pub(crate) region: String,
    pub(crate) address: String,
    pub(crate) messages_out: bool,
    pub(crate) messages_in: bool,
    pub(crate) feed_out: bool,
    pub(crate) feed_in: bool,
    /// Bytes that wait to be sent, those that an emulated distance holds included.
    pub(crate) queued_bytes: usize,
    /// The emulated distance from here, one way, faults included.
    pub(crate) delay_us: Micros,
    /// Neither cut nor broken.
    pub(crate) up: bool,
    pub(crate) trouble: Option<String>,
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

impl<P: Protocol> Engine<P> {
    fn standing(&self) -> Option<GroupReport> {
        let place = self.place.as_ref()?;
        let name = |node: NodeId| self.config.cluster.nodes[node.index()].name.clone();
        let names = |ids: &[u64]| ids.iter().filter_map(|id| place.node(*id)).map(name).collect();
        let report = match &self.seat {
            Seat::Member(member) => GroupReport {
                member: member.id(),
                role: member.role(),
                leader: place.node(member.leader()).map(name),
                term: member.term(),
                applied: member.state().applied,
                voters: names(&member.state().voters),
                learners: names(&member.state().learners),
                waits_for: Vec::new(),
            },
            Seat::Founding(founding) => GroupReport {
                member: 0,
                role: "founding",
                leader: None,
                term: 0,
                applied: 0,
                voters: Vec::new(),
                learners: Vec::new(),
                waits_for: founding.missing().map(name).collect(),
            },
            Seat::Alone(_) => return None,
        };
        Some(report)
    }
}

impl<P: Protocol> Shard<P> {
    /// How this node stands.
    pub(crate) fn report(&self) -> Report {
        let mut core = self.core.borrow_mut();
        let writes_refused = core.engine.seat.host_mut().and_then(|host| host.can_write().err());
        let links = (0..core.links.peers.len()).filter(|node| *node != core.engine.me.index());
        let links = links.map(|node| self.link(&core, node)).collect();
        let engine = &core.engine;
        let cluster = &engine.config.cluster;
        let faults = engine.faults.iter();
        let faults = faults.map(|(from, to, fault)| FaultLine { from: place(from), to: place(to), fault });
        let now = engine.clock.now();
        Report {
            cluster: cluster.name.clone(),
            node: engine.about.node.clone(),
            region: engine.about.region.clone(),
            protocol: P::INFO.name,
            promise: P::INFO.promise.to_string(),
            version: env!("CARGO_PKG_VERSION"),
            now_us: now.wall,
            uptime_s: now.wall.saturating_sub(engine.about.started_at) / 1_000_000,
            writes_refused,
            clients: core.clients.len(),
            host: engine.seat.status(),
            uses: engine.watch.as_ref().map(Watch::report),
            group: engine.standing(),
            regions: cluster.regions.clone(),
            faults: faults.collect(),
            late_us: engine.faults.late_us,
            clock_ahead_us: engine.clock.ahead_us(),
            links,
            stats: engine.stats.clone(),
        }
    }

    fn link(&self, core: &crate::shard::Core<P>, node: usize) -> Link {
        let engine = &core.engine;
        let (layout, peer) = (&engine.config.cluster.nodes[node], &core.links.peers[node]);
        let feeds = core.links.outs.iter().filter(|out| out.node.index() == node).map(|out| out.outbox.len());
        let messages = engine.outgoing[node].outbox.as_ref().map_or(0, |outbox| outbox.len());
        let wants_feed = layout.dc != engine.dc && layout.partitions.iter().any(|id| engine.holds(*id));
        let leaders = engine.may_be_fed_by(NodeId(node as u16)) || engine.place.is_none();
        let feeds_up = !(wants_feed && leaders) || peer.feed_in && peer.feed_out;
        let together = engine.place.as_ref().is_some_and(|place| place.nodes.contains(&NodeId(node as u16)));
        let group_up = !together || core.links.group.reaches(NodeId(node as u16));
        Link {
            node: layout.name.clone(),
            region: engine.config.cluster.regions[layout.dc.index()].clone(),
            address: layout.peer_address.clone(),
            messages_out: peer.messages_out,
            messages_in: peer.messages_in,
            feed_out: peer.feed_out,
            feed_in: peer.feed_in,
            queued_bytes: messages + feeds.sum::<usize>(),
            delay_us: core.distance(layout.dc).delay_us,
            up: peer.messages_out && peer.messages_in && feeds_up && group_up,
            trouble: peer.trouble.clone(),
        }
    }
}
