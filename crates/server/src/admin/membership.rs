//! Orders about a region that is to be done without, or taken back: one step, for all partitions of this node (see
//! [`tidemark_contract::Absence`]). Whoever gives them knows all nodes: `tidemark exclude`, or an operator's script.

use crate::shard::Shard;
use serde::Serialize;
use tidemark_contract::{Exclusion, Order, Protocol, Standing};
use tidemark_core::PartitionId;
use tokio::sync::oneshot;

/// Where one partition stands.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Told {
    partition: PartitionId,
    #[serde(flatten)]
    standing: Standing,
}

/// What every partition of a node answers, or the first refusal.
pub(crate) type Answer = Result<Vec<Told>, String>;

impl<P: Protocol> Shard<P> {
    /// Gives an order to every partition of this node; what they answer is durable when it comes.
    pub(crate) fn order(&self, order: &Exclusion) -> impl Future<Output = Answer> + use<P> {
        let mut core = self.core.borrow_mut();
        let engine = &mut core.engine;
        let exists = order.dc.index() < engine.topology.dcs;
        let partitions: Vec<PartitionId> =
            engine.topology.all_partitions().filter(|id| exists && engine.holds(*id)).collect();
        let asked: Vec<_> = partitions
            .into_iter()
            .map(|id| (id, engine.order(id, &Order::Exclusion(order.clone()))))
            .collect();
        drop(core);
        tracing::warn!("region {}: {:?} ordered by the operator", order.dc, order.step);
        self.want_turn();
        async move {
            let mut told = Vec::with_capacity(asked.len());
            for (partition, answer) in asked {
                let stopping = |_| "the node is stopping".to_string();
                told.push(Told { partition, standing: answer.await.map_err(stopping)?? });
            }
            if exists { Ok(told) } else { Err("there is no such region".to_string()) }
        }
    }
}

/// Answers `answer` with what the partitions say, when they have.
pub(super) async fn tell(asked: impl Future<Output = Answer>, answer: oneshot::Sender<Answer>) {
    let _ = answer.send(asked.await);
}
