//! Who serves what: this node or another, and what follows when that changes.

use super::client::Clients;
use super::engine::Engine;
use super::seat::{Broken, Seat};
use tidemark_contract::Protocol;
use tidemark_core::{DcId, PartitionId, ServerId};
use tidemark_node::link::frame::FrameBuffer;
use tidemark_node::link::hello::Epoch;
use tidemark_node::{GroupId, NodeId};
use tidemark_replica::Now;

/// Who serves the partitions of a group, as far as this node knows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Serving {
    /// None while a leader is looked for.
    pub(crate) node: Option<NodeId>,
    /// In which life that was, or who did before.
    pub(crate) life: Option<Epoch>,
}

impl<P: Protocol> Engine<P> {
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
        self.servers[self.groups.of_server(server).index()].node
    }

    /// The data centre of a node.
    pub(crate) fn dc_of(&self, node: NodeId) -> DcId {
        self.config.cluster.nodes[node.index()].dc
    }

    /// Whether `partition` is one of this node's, whether it serves it or not.
    pub(crate) fn holds(&self, partition: PartitionId) -> bool {
        self.config.layout().partitions.contains(&partition)
    }

    /// Whether this node wants records of `node`, and may ask for them.
    pub(crate) fn may_be_fed_by(&self, node: NodeId) -> bool {
        self.seat.host().is_some() && self.servers[self.groups.of_node(node).index()].node == Some(node)
    }

    /// In which life this node serves its partitions, if it does.
    pub(crate) fn life(&self) -> Option<Epoch> {
        self.seat.host().map(|host| Epoch { incarnation: host.incarnation(), number: host.life() })
    }

    /// Whether who serves a group in `life` is another start than the last that was heard of.
    pub(crate) fn is_new(&self, group: GroupId, life: Epoch) -> bool {
        let known = self.servers[group.index()].life;
        match self.groups.members(group).len() {
            1 => known != Some(life),
            // Who led before may not know yet that it leads no more.
            _ => {
                known.is_none_or(|known| known.incarnation != life.incarnation || known.number < life.number)
            }
        }
    }

    /// Its name in its group; 0 if it has none, or does not know it yet.
    pub(crate) fn member(&self) -> u64 {
        match &self.seat {
            Seat::Member(member) => member.id(),
            Seat::Alone(_) | Seat::Founding(_) => 0,
        }
    }

    /// Becomes the member of its group that is called `name`.
    pub(crate) fn take_seat(&mut self, name: u64, now: Now) -> Result<(), Broken> {
        if let Seat::Founding(founding) = &self.seat {
            self.seat = Seat::Member(Box::new(founding.open(name, now).map_err(Broken)?));
        }
        Ok(())
    }

    /// Notices that this node has begun to lead its group, or ceased to; what it did and nobody agreed on is undone. Whether
    /// that is so.
    pub(crate) fn see_who_leads(&mut self, clients: &mut Clients<P>) -> bool {
        let leads = self.life().filter(|_| self.place.is_some());
        if std::mem::replace(&mut self.leads, leads) == leads {
            return false;
        }
        self.era += 1;
        let group = self.groups.of_node(self.me);
        let serving = &mut self.servers[group.index()];
        match leads {
            Some(life) => {
                tracing::info!("this node leads its group, life {}", life.number);
                *serving = Serving { node: Some(self.me), life: Some(life) };
                self.deliver(group, clients);
            }
            None => {
                tracing::info!("this node leads its group no more");
                if serving.node == Some(self.me) {
                    serving.node = None;
                }
                self.strays.clear();
                self.orders.clear();
                self.outgoing.iter_mut().for_each(|outgoing| outgoing.held = FrameBuffer::default());
            }
        }
        true
    }
}
