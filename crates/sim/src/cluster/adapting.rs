//! Checking groups that follow what clients do, in a run under load: nodes watch and choose, and somebody decides now and then
//! which groups there are.

use super::Cluster;
use super::driving::{Happening, Phase};
use crate::load::Adapting;
use tidemark_adapt::{Account, Controller, Observation};
use tidemark_core::ServerId;
use tidemark_node::{Order, OrderId};

/// Who decides.
pub(super) struct Adapt {
    what: Adapting,
    controller: Controller,
    orders: u64,
}

impl Adapt {
    pub(super) fn new(what: Adapting) -> Self {
        Self { what, controller: Controller::new(what.settings), orders: 0 }
    }

    pub(super) fn account(&self) -> Account {
        self.controller.account()
    }
}

impl Cluster<'_> {
    /// The controller is told what was seen, and what it wants is done.
    pub(super) fn adapt(&mut self) {
        let mut seen = Observation { at: self.now, ..Observation::default() };
        for at in 0..self.processes.len() {
            let Some(status) = self.input(at, |node, now| node.status(now)) else { continue };
            for partition in &status.host.partitions {
                let server = ServerId::new(self.processes[at].dc, partition.partition);
                partition.groupings.iter().for_each(|says| seen.hear(server, says));
            }
            seen.nodes.extend(status.uses.map(|uses| (self.name_of(at), uses)));
        }
        let Some(adapt) = self.load.as_mut().and_then(|load| load.adapt.as_mut()) else { return };
        let next = self.now + adapt.what.every_us;
        let (orders, given) = (adapt.controller.observe(&seen), adapt.orders);
        adapt.orders += orders.len() as u64;
        for (n, order) in orders.into_iter().enumerate() {
            let (id, to) = (OrderId(given + n as u64), self.leader(0).unwrap_or_default());
            self.input(to, |node, now| node.order(now, id, Order::Regrouping(order)));
            self.turn(to);
        }
        self.happens(next, Happening::Phase(Phase::Adapt));
    }
}
