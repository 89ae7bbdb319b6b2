//! Checking groups that follow what clients do, in a run under load: nodes watch, and somebody decides now and then.

use super::driving::Phase;
use super::{Event, World};
use crate::load::Adapting;
use std::collections::BTreeMap;
use tidemark_adapt::{Account, Choices, Controller, Footprint, Observation, Watch};
use tidemark_contract::Protocol;
use tidemark_contract::order::Order;
use tidemark_contract::session::Checking;
use tidemark_core::{Micros, Op, ServerId};

/// How long a node goes by the groups that it knew of, as servers do.
const KNOWN_FOR_US: Micros = 10_000;

/// What nodes have seen, and who decides.
pub(super) struct Adapt {
    what: Adapting,
    controller: Controller,
    /// By node.
    nodes: BTreeMap<usize, Watcher>,
    /// By client.
    footprints: BTreeMap<usize, Footprint>,
}

#[derive(Default)]
struct Watcher {
    watch: Watch,
    choices: Choices,
    until: Micros,
}

impl Adapt {
    pub(super) fn new(what: Adapting) -> Self {
        let controller = Controller::new(what.settings);
        Self { what, controller, nodes: BTreeMap::new(), footprints: BTreeMap::new() }
    }

    pub(super) fn account(&self) -> Account {
        self.controller.account()
    }
}

impl<P: Protocol> World<'_, P> {
    /// Whether anybody watches.
    fn adapts(&self) -> bool {
        self.load.as_ref().is_some_and(|load| load.adapt.is_some())
    }

    /// The group that fits what client `number` has read lately, if groups follow that.
    pub(super) fn fitting_group(&mut self, number: usize) -> Checking {
        let (gateway, now) = (self.gateway(number), self.now);
        let Some(adapt) = self.load.as_mut().and_then(|load| load.adapt.as_mut()) else {
            return Checking::default();
        };
        let Some(op) = self.clients[number].op() else { return Checking::default() };
        let node = adapt.nodes.entry(gateway).or_default();
        if now >= node.until {
            node.until = now + KNOWN_FOR_US;
            let known = self.nodes[gateway].host().map(|host| host.checking_groups());
            node.choices.update(known.unwrap_or_default());
        }
        let footprint = adapt.footprints.entry(number).or_default();
        footprint.begins(op, (self.clients[number].dc, &self.layout.topology), now, &mut node.watch);
        footprint.fitting(&node.choices)
    }

    /// Client `number` asks `to` for what it does now: reads count.
    pub(super) fn watch_question(&mut self, number: usize, to: ServerId) {
        if !self.adapts() {
            return;
        }
        let reads = self.clients[number].op().is_some_and(|op| Op::writes(op).is_none());
        let (gateway, now) = (self.gateway(number), self.now);
        let Some(adapt) = self.load.as_mut().and_then(|load| load.adapt.as_mut()) else { return };
        if let (true, Some(footprint)) = (reads, adapt.footprints.get_mut(&number)) {
            footprint.asks(to, now, &mut adapt.nodes.entry(gateway).or_default().watch);
        }
    }

    /// It was answered.
    pub(super) fn watch_answer(&mut self, number: usize, reply: &P::Reply) {
        if !self.adapts() {
            return;
        }
        let gateway = self.gateway(number);
        let Some(adapt) = self.load.as_mut().and_then(|load| load.adapt.as_mut()) else { return };
        if let (Some(footprint), Some(node)) =
            (adapt.footprints.get_mut(&number), adapt.nodes.get_mut(&gateway))
        {
            footprint.waited(P::EXTENSIONS.waited(reply), &mut node.watch);
        }
    }

    /// The controller is told what was seen, and what it wants is done.
    pub(super) fn adapt(&mut self) {
        let mut seen = Observation { at: self.now, ..Observation::default() };
        for node in &self.nodes {
            for partition in node.host().map(|host| host.status().partitions).unwrap_or_default() {
                let server = ServerId::new(node.dc, partition.partition);
                partition.groupings.iter().for_each(|says| seen.hear(server, says));
            }
        }
        let Some(adapt) = self.load.as_mut().and_then(|load| load.adapt.as_mut()) else { return };
        let reports = adapt.nodes.iter().map(|(node, watcher)| (node.to_string(), watcher.watch.report()));
        seen.nodes = reports.collect();
        let orders = adapt.controller.observe(&seen);
        let next = self.now + adapt.what.every_us;
        let to = self.layout.topology.servers().next().expect("there is a server");
        for order in orders {
            self.queue.push(self.now, Event::Order { to, number: 0, order: Order::Regrouping(order) });
        }
        self.queue.push(next, Event::Phase(Phase::Adapt));
    }
}
