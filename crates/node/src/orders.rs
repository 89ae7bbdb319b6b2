//! What an operator orders.

use crate::core::OpenOrder;
use crate::cuts::CutOrder;
use crate::node::{Order, OrderAnswer, OrderId};
use crate::of::NodeOf;
use tidemark_contract::Protocol;
use tidemark_contract::order::Order as ProtocolOrder;
use tidemark_core::PartitionId;

impl<P: Protocol> NodeOf<P> {
    pub(crate) fn carry_out(&mut self, id: OrderId, order: Order) {
        self.core.wants_commit = true;
        let answer = match order {
            Order::Protocol(order) => match self.addressees(&order) {
                Ok(partitions) => return self.order_partitions(id, &partitions, &order),
                Err(why) => Err(why),
            },
            Order::RemoveMember(node) => self.remove_member(node),
            Order::Cut(order) => self.cut(order),
            Order::Known(conditions) => {
                self.core.findings.driver = conditions;
                Ok(Vec::new())
            }
        };
        self.core.end_order(id, answer);
    }

    /// The partitions of this node that carry out `order`.
    fn addressees(&self, order: &ProtocolOrder) -> Result<Vec<PartitionId>, String> {
        order.check(&self.core.topology)?;
        let partitions = &self.core.config.layout().partitions;
        match (order.spreads(), &partitions[..]) {
            (false, all) => Ok(all.to_vec()),
            (true, [first, ..]) => Ok(vec![*first]),
            (true, []) => Err("this node holds no partition".to_string()),
        }
    }

    fn cut(&mut self, order: CutOrder) -> OrderAnswer {
        self.core.cuts.change(order);
        self.links_changed();
        self.dial_due();
        Ok(Vec::new())
    }

    /// Gives an order to partitions of this node; the answer is complete, and durable, when each has answered.
    fn order_partitions(&mut self, id: OrderId, partitions: &[PartitionId], order: &ProtocolOrder) {
        let Some(host) = self.hold.host_mut() else {
            let why = "this node does not lead its Raft group: order the one that does".to_string();
            return self.core.end_order(id, Err(why));
        };
        let mut waits = Vec::with_capacity(partitions.len());
        for partition in partitions {
            self.core.ordered += 1;
            waits.push((*partition, self.core.ordered));
            host.order(self.core.now, *partition, self.core.ordered, order);
        }
        self.core.orders.push(OpenOrder { id, waits, answered: Vec::new() });
    }
}
