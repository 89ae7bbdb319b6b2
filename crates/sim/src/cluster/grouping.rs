//! Checking groups while a run is played: the operator changes them, and clients name some. Under load they may follow what
//! clients do: nodes watch and choose, and somebody decides now and then which groups there are.

use super::clients::Role;
use super::driving::{Happening, Phase};
use super::operator::{Asked, Errand, TRIES};
use super::{Cluster, Stage};
use crate::grouping::{self, Adapting, GroupsChange};
use crate::plan::Trouble;
use crate::trace;
use tidemark_adapt::{Account, Controller, Observation};
use tidemark_contract::grouping::GroupStage;
use tidemark_contract::order::Order as ProtocolOrder;
use tidemark_core::{Micros, ServerId};
use tidemark_node::follow::Choice;
use tidemark_node::{Order, OrderAnswer, OrderId};
use tidemark_workload::Workload;

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
            self.input(to, |node, now| {
                node.order(now, id, Order::Protocol(ProtocolOrder::Regrouping(order)))
            });
            self.turn(to);
        }
        self.happens(next, Happening::Phase(Phase::Adapt));
    }

    /// Which checking groups are to answer the step of a client that begins at `at`, of those that its node knows.
    pub(super) fn groups_for(&mut self, number: usize, process: usize, at: Micros) -> Choice {
        if let Some(load) = &self.load {
            let drives = self.clients[number].role == Role::Driver;
            let driver = drives.then(|| load.drivers.get((number - load.first) / load.seats)).flatten();
            return driver.map_or(Choice::Server, |driver| driver.checking.clone());
        }
        if self.gauge.is_some() {
            return Choice::Server; // what is measured is what comes of naming none
        }
        let seed = self.plan.seed;
        let choice = |groups: &_| grouping::of_step(seed, number, at, groups);
        let known = self.input(process, |node, now| choice(node.checking_groups(now)));
        known.unwrap_or(Choice::Server)
    }

    /// Which checking groups are to answer the clients of a workload, in a run under load.
    pub(super) fn groups_of(&mut self, workload: &Workload) -> Choice {
        let adapts = self.load.as_ref().is_some_and(|load| load.adapt.is_some());
        let known = self.input(0, |node, now| node.checking_groups(now).to_vec()).unwrap_or_default();
        grouping::of_workload(workload, &known, adapts).expect("the workload was looked at")
    }

    /// Whether groups are not what they were at first, or are about to change.
    pub(super) fn groups_change(&self) -> bool {
        self.plan.faults.iter().any(|fault| matches!(fault.what, Trouble::Regroups { .. }))
    }

    /// A checking group that is not used yet, if there is one: once it is, it may show less than others for a while.
    pub(super) fn forming_group(&mut self) -> Option<String> {
        if !self.groups_change() {
            return None;
        }
        (0..self.servers).find_map(|at| {
            let status = self.input(at, |node, now| node.status(now))?;
            let groupings = status.host.partitions.into_iter().filter_map(|partition| partition.groupings);
            let mut groups = groupings.flat_map(|groupings| groupings.checking);
            let group = groups.find(|group| group.stage == GroupStage::Forming)?;
            Some(format!("checking group {} is forming at {}", group.name, self.name_of(at)))
        })
    }

    /// An order to change groups arrives at whoever leads its group; if nobody does, it is sent again a while later.
    pub(super) fn regroup(&mut self, fault: usize, tries: u32) {
        let Trouble::Regroups(GroupsChange { node, order }) = &self.plan.faults[fault].what else { return };
        match self.some_leader(*node, fault as u64) {
            Some(at) => {
                let order = ProtocolOrder::Regrouping(order.clone());
                self.order(at, Order::Protocol(order), Asked::Regroups { fault, tries });
            }
            None => self.regroup_again(fault, tries),
        }
    }

    pub(super) fn regroup_again(&mut self, fault: usize, tries: u32) {
        if tries < TRIES && self.stage == Stage::Work {
            let again = self.now + self.plan.config.farthest_us();
            self.send_errand(again, Errand::Regroups { fault, tries: tries + 1 });
        }
    }

    /// The operator wants groups to change.
    pub(super) fn want_regrouped(&mut self, fault: usize) {
        self.send_errand(self.now, Errand::Regroups { fault, tries: 0 });
    }

    /// A node says what became of an order to change groups.
    pub(super) fn regrouped(&mut self, answer: OrderAnswer) {
        match answer {
            Ok(_) => self.stats.regroupings += 1,
            Err(why) => self.trace(|| trace::Happening::Trouble(format!("groups do not change: {why}"))),
        }
    }
}
