//! Orders about who belongs to this node's group, given to the node that leads it.

use crate::shard::Shard;
use crate::shard::seat::Seat;
use serde::Deserialize;
use tidemark_contract::Protocol;
use tidemark_group::{Change, ChangeRefused};

/// The body of a request: `{"remove": "a-2"}`. Who is to come starts with an empty directory, and is taken in by itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroupOrder {
    remove: String,
}

impl<P: Protocol> Shard<P> {
    /// Begins what is ordered; it is done when the status says so.
    pub(crate) fn change_group(&self, order: &GroupOrder) -> Result<(), String> {
        let mut core = self.core.borrow_mut();
        let engine = &mut core.engine;
        let name = &order.remove;
        let nodes = &engine.config.cluster.nodes;
        let node = nodes.iter().position(|node| node.name == *name);
        let Some(place) = &engine.place else {
            return Err("this node holds its partitions alone: it is of no group".to_string());
        };
        let node = node.and_then(|at| place.nodes.iter().copied().find(|node| node.index() == at));
        let Some(node) = node else {
            return Err(format!("no node called {name:?} is of this node's group"));
        };
        let Seat::Member(member) = &mut engine.seat else {
            return Err(ChangeRefused::NotLeading.to_string());
        };
        let state = member.state();
        let mut members = state.voters.iter().chain(&state.learners).copied();
        let Some(id) = members.find(|id| place.node(*id) == Some(node)) else {
            return Err(format!("{name} does not belong to the group"));
        };
        member.change(Change::Remove(id)).map_err(|refused| refused.to_string())?;
        tracing::warn!("{name} is removed from the group, ordered by the operator");
        drop(core);
        self.want_turn();
        Ok(())
    }
}
