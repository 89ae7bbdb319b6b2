//! What a node knows beside its partitions and its sessions: nothing here depends on the protocol.

use crate::config::Config;
use crate::cuts::Cuts;
use crate::dialer::Dialer;
use crate::findings::Findings;
use crate::follow::Follow;
use crate::founding::Place;
use crate::gate::Gate;
use crate::layout::{GroupId, Groups, NodeId};
use crate::link::frame::FrameBuffer;
use crate::link::hello::Epoch;
use crate::link::relays::Relays;
use crate::link::table::Links;
use crate::node::{About, Batch, Fatal, LinkId, OrderAnswer, OrderId, Output, Released, SessionId};
use crate::notice::{Level, Notice};
use crate::observe::{Passing, Way, What};
use crate::status::Counters;
use crate::syncs::Syncs;
use fastrand::Rng;
use std::collections::VecDeque;
use tidemark_contract::Topology;
use tidemark_contract::removal::Standing;
use tidemark_core::{DcId, Micros, PartitionId, ServerId};
use tidemark_replica::Now;
use tidemark_store::log::Position;

/// The node that serves the partitions of a group, as far as this node knows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Serving {
    /// None while a leader is looked for.
    pub(crate) node: Option<NodeId>,
    /// In which epoch that was, or whoever served before.
    pub(crate) epoch: Option<Epoch>,
}

/// What is on its way to another node.
#[derive(Default)]
pub(crate) struct Outgoing {
    /// Of the batch that is being gathered: it depends on what is not durable yet.
    pub(crate) held: FrameBuffer,
    /// May leave at any time.
    pub(crate) free: FrameBuffer,
    /// The link for messages, while there is one.
    pub(crate) link: Option<LinkId>,
    /// On how many links the other node is heard, so that its replies arrive: a new one may be there before the old one
    /// has ended.
    pub(crate) heard_on: u32,
}

/// An operation that waits, in the order of their deadlines.
pub(crate) struct Deadline {
    pub(crate) at: Micros,
    pub(crate) session: SessionId,
    pub(crate) operation: u64,
}

/// An operator's order that is not durable everywhere yet.
pub(crate) struct OpenOrder {
    pub(crate) id: OrderId,
    /// The partitions that have not answered, and under which number each will.
    pub(crate) waits: Vec<(PartitionId, u64)>,
    pub(crate) answered: Vec<(PartitionId, Standing)>,
}

/// What is known of one other node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peer {
    /// The start of the process that was met last; 0 before that.
    pub(crate) start: u64,
    /// Why it cannot be reached.
    pub(crate) trouble: Option<String>,
}

/// See the module.
pub(crate) struct Core {
    pub(crate) config: Config,
    pub(crate) topology: Topology,
    pub(crate) groups: Groups,
    pub(crate) me: NodeId,
    pub(crate) dc: DcId,
    /// The protocol's name and how what it stores is to be read: nodes and tokens of one cluster have the same.
    pub(crate) identity: String,
    pub(crate) about: About,
    pub(crate) rng: Rng,
    /// This start of the process: a random number.
    pub(crate) start: u64,
    /// The time of the last call.
    pub(crate) now: Now,
    /// Its place in its Raft group; none if it holds its partitions alone.
    pub(crate) place: Option<Place>,
    /// With which starts of the others this node founded the group, if it did.
    pub(crate) founded_with: Vec<(NodeId, u64)>,
    /// In which epoch it leads its group, if it does.
    pub(crate) leads: Option<Epoch>,
    /// How often that has changed.
    pub(crate) roles: u64,
    /// By group.
    pub(crate) serving: Vec<Serving>,
    /// Nodes that led a group and did not take a request: when each is called again, if nobody is known to lead by then.
    pub(crate) doubts: Vec<(Micros, NodeId)>,
    /// By node.
    pub(crate) outgoing: Vec<Outgoing>,
    /// Something was added to it since it was looked through.
    pub(crate) speaks: bool,
    /// By node.
    pub(crate) peers: Vec<Peer>,
    pub(crate) links: Links,
    pub(crate) relays: Relays,
    pub(crate) dialers: Vec<Dialer>,
    pub(crate) cuts: Cuts,
    pub(crate) follow: Follow,
    pub(crate) counters: Counters,
    pub(crate) outputs: VecDeque<Output>,
    pub(crate) deadlines: VecDeque<Deadline>,
    pub(crate) orders: Vec<OpenOrder>,
    pub(crate) ordered: u64,
    /// Copies that did not arrive: when the leader hears of it, for which member, of which opening.
    pub(crate) lost_copies: Vec<(Micros, u64, u64)>,
    /// The last batch that was committed, and the last that may leave.
    pub(crate) batch: Batch,
    pub(crate) released: Released,
    pub(crate) unreleased: VecDeque<(Batch, Position)>,
    /// Messages to nodes of this region, and of others, by the end of the log that they wait for.
    pub(crate) near: Gate<(NodeId, FrameBuffer), Position>,
    pub(crate) far: Gate<(NodeId, FrameBuffer), Position>,
    /// What an operator should know.
    pub(crate) findings: Findings,
    pub(crate) upkeep_at: Micros,
    pub(crate) syncs: Syncs,
    /// When to look whether there is room for ballast.
    pub(crate) ballast_at: Micros,
    /// When streams were looked at last, and whether they have to be again.
    pub(crate) streams_at: Micros,
    pub(crate) streams_due: bool,
    pub(crate) wants_commit: bool,
    pub(crate) fatal: Option<Fatal>,
}

impl Core {
    /// Tells the observer, if there is one; returns what it says.
    #[inline]
    pub(crate) fn sees(&self, way: Way, peer: NodeId, cause: u64, what: What<'_>) -> u64 {
        match &self.config.observer {
            Some(observer) => observer.see(Passing { at: self.me, peer, way, cause, what }),
            None => 0,
        }
    }

    /// Something for the log of whoever runs the node.
    pub(crate) fn notice(&mut self, level: Level, what: impl Into<String>) {
        self.outputs.push_back(Output::Notice(Notice { level, what: what.into() }));
    }

    /// The node cannot go on.
    pub(crate) fn fail(&mut self, why: impl std::fmt::Display) -> Fatal {
        self.wants_commit = true;
        self.fatal.get_or_insert_with(|| Fatal(why.to_string())).clone()
    }

    pub(crate) fn name_of(&self, node: NodeId) -> &str {
        &self.config.cluster.nodes[node.index()].name
    }

    /// The data centre of a node.
    pub(crate) fn dc_of(&self, node: NodeId) -> DcId {
        self.config.cluster.nodes[node.index()].dc
    }

    /// Whether there is such a server.
    #[inline]
    pub(crate) fn exists(&self, server: ServerId) -> bool {
        server.dc.index() < self.topology.dcs && server.partition.index() < self.topology.partitions
    }

    /// The node that serves `server`; none if there is no such server, or its group has no leader.
    #[inline]
    pub(crate) fn home(&self, server: ServerId) -> Option<NodeId> {
        if !self.exists(server) {
            return None;
        }
        self.serving[self.groups.of_server(server).index()].node
    }

    /// Whether `partition` is one of this node's, whether it serves it or not.
    pub(crate) fn holds(&self, partition: PartitionId) -> bool {
        self.config.layout().partitions.contains(&partition)
    }

    /// Whether messages to `node` leave this one, and replies come back.
    #[inline]
    pub(crate) fn reaches(&self, node: NodeId) -> bool {
        let outgoing = &self.outgoing[node.index()];
        outgoing.link.is_some() && outgoing.heard_on > 0
    }

    /// Whether the server of a group that says it is in `epoch` has started anew since it was heard of last.
    pub(crate) fn is_new(&self, group: GroupId, epoch: Epoch) -> bool {
        // A late handshake tells of an older epoch.
        let known = self.serving[group.index()].epoch;
        known.is_none_or(|known| known.incarnation != epoch.incarnation || known.number < epoch.number)
    }

    /// Ends an order.
    pub(crate) fn end_order(&mut self, id: OrderId, answer: OrderAnswer) {
        self.outputs.push_back(Output::Ordered { id, answer });
    }
}
