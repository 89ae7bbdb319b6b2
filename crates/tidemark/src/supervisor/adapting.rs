//! Checking groups that follow what clients do: nodes tell what they have seen, and a controller decides.

use super::{Event, Supervisor};
use serde::Deserialize;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tidemark_adapt::{Account, Observation, UseReport};
use tidemark_contract::grouping::{Groupings, Regrouping};
use tidemark_core::{PartitionId, ServerId};

impl Supervisor {
    /// Looks now and then, for as long as the cluster runs.
    pub(crate) async fn adapt(self: Arc<Self>, every: Duration) {
        loop {
            tokio::time::sleep(every).await;
            let seen = self.observe().await;
            let orders = {
                let mut controller = self.controller.lock().unwrap_or_else(PoisonError::into_inner);
                let Some(controller) = controller.as_mut() else { return };
                let orders = controller.observe(&seen);
                let changes = controller.account().changes;
                let said = changes[changes.len() - orders.len().min(changes.len())..].iter();
                said.for_each(|change| drop(self.events.send(Event::Done(change.what.clone()))));
                orders
            };
            for order in &orders {
                if let Err(error) = self.order_groups(order).await {
                    // It looks again whether the group is there.
                    let what = match order {
                        Regrouping::Add { name, .. } | Regrouping::Remove { name } => name.as_str(),
                        Regrouping::Track { .. } => "the tracking",
                    };
                    let _ = self.events.send(Event::Done(format!("{what} was not changed: {error}")));
                }
            }
        }
    }

    /// What its controller has decided.
    pub(super) fn account(&self) -> Option<Account> {
        let controller = self.controller.lock().unwrap_or_else(PoisonError::into_inner);
        controller.as_ref().map(|controller| controller.account())
    }

    /// What nodes say of their sessions, groups and delays.
    async fn observe(&self) -> Observation {
        let mut seen = Observation { at: self.began.elapsed().as_micros() as u64, ..Observation::default() };
        for node in self.status().await.nodes {
            let Some(detail) = node.detail else { continue };
            if let Ok(uses) = Vec::<UseReport>::deserialize(&detail["uses"]) {
                seen.nodes.insert(node.name.clone(), uses);
            }
            let region = self.cluster.find_region(&node.region);
            for partition in detail["host"]["partitions"].as_array().into_iter().flatten() {
                let says = Groupings::deserialize(&partition["groupings"]);
                let number = PartitionId::deserialize(&partition["partition"]);
                if let (Ok(says), Ok(number), Some(region)) = (says, number, region) {
                    seen.hear(ServerId::new(region, number), &says);
                }
            }
        }
        seen
    }
}
