//! Orders that the node carries out: about a region that is to be done without, about groups of servers, about the members
//! of its Raft group. Whoever gives them knows all nodes: `tidemark exclude`, or an operator's script.

use crate::run::shard::Shard;
use serde::Deserialize;
use tidemark_node::{NodeId, Order, OrderAnswer, OrderId};
use tokio::sync::oneshot;

/// Orders that the node has not answered.
#[derive(Default)]
pub(crate) struct Orders {
    last: u64,
    open: Vec<(OrderId, oneshot::Sender<OrderAnswer>)>,
}

impl Orders {
    /// A name for an order. Nobody waits for its answer.
    pub(super) fn next(&mut self) -> OrderId {
        self.last += 1;
        OrderId(self.last)
    }

    /// The node answers.
    pub(crate) fn answer(&mut self, id: OrderId, answer: OrderAnswer) {
        if let Some(place) = self.open.iter().position(|(of, _)| *of == id) {
            // Whoever asked may have gone.
            let _ = self.open.swap_remove(place).1.send(answer);
        }
    }
}

/// The body of a request: `{"remove": "a-2"}`. A node that is to join starts with an empty directory, and is taken in by
/// itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GroupOrder {
    remove: String,
}

impl Shard {
    /// Has the node carry out an order; what it changes is durable when the answer comes.
    pub(super) fn order(&self, order: Order, answer: oneshot::Sender<OrderAnswer>) {
        let mut core = self.core.borrow_mut();
        if let Some(mute) = &core.engine.mute {
            return drop(answer.send(Err(mute.why.clone())));
        }
        match &order {
            Order::Protocol(order) => tracing::warn!("{order} ordered by the operator"),
            Order::RemoveMember(node) => {
                let name = &core.engine.config.cluster.nodes[node.index()].name;
                tracing::warn!("{name} is removed from the group, ordered by the operator");
            }
            Order::Cut(order) => tracing::warn!("{order:?} ordered by the operator"),
            Order::Known(_) => {}
        }
        let id = core.orders.next();
        core.orders.open.push((id, answer));
        let engine = &mut core.engine;
        engine.node.order(engine.clock.now(), id, order);
        self.want_batch();
    }

    /// Begins a change of this node's Raft group; it is done when the status says so.
    pub(super) fn change_group(&self, order: &GroupOrder, answer: oneshot::Sender<OrderAnswer>) {
        let name = &order.remove;
        let cluster = self.core.borrow().engine.config.cluster.clone();
        match cluster.nodes.iter().position(|node| node.name == *name) {
            Some(at) => self.order(Order::RemoveMember(NodeId(at as u16)), answer),
            None => drop(answer.send(Err(format!("no node called {name:?} is of this node's group")))),
        }
    }
}
