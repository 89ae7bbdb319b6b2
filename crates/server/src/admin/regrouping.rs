//! Orders about the groups of a protocol that has some. They are for any node: its first partition tells all others.

use crate::shard::Shard;
use tidemark_contract::{Order, Protocol, Regrouping};
use tokio::sync::oneshot;

/// Whether it is done, or why not.
pub(crate) type Answer = Result<(), String>;

impl<P: Protocol> Shard<P> {
    /// Has a partition of this node know it; that is durable when the answer comes.
    pub(crate) fn regroup(&self, order: Regrouping) -> impl Future<Output = Answer> + use<P> {
        let mut core = self.core.borrow_mut();
        let engine = &mut core.engine;
        let first =
            engine.topology.all_partitions().find(|id| engine.holds(*id)).expect("a node holds something");
        tracing::warn!("groups: {order:?} ordered by the operator");
        let asked = engine.order(first, &Order::Regrouping(order));
        drop(core);
        self.want_turn();
        async move { asked.await.map_err(|_| "the node is stopping".to_string())?.map(drop) }
    }
}

/// Answers `answer` once it is done.
pub(super) async fn tell(asked: impl Future<Output = Answer>, answer: oneshot::Sender<Answer>) {
    let _ = answer.send(asked.await);
}
