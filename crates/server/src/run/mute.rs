//! A node whose disk is so full that its log does not open: it is *mute*. It reads the log into memory as always, on a disk whose
//! changes stay in memory, and answers what only reads. Nothing else leaves it, and nothing reaches it from other nodes: what it counted
//! or promised would be forgotten. It looks each second whether there is room, and then opens its log anew.
//!
//! A client that comes has no past but what it reads here, which is on the disk: all of it is at or below what the node shows.

use super::shard::Shard;
use crate::ServeError;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tidemark_core::Micros;
use tidemark_node::{Config, Factory, Node, OpenError};
use tidemark_replica::Now;
use tidemark_store::disk::{Disk, Overlay};
use tidemark_store::log::make_ballast;
use tokio::task::spawn_blocking;

/// Between two looks whether there is room.
const LOOK: Duration = Duration::from_secs(1);

/// Why a node is mute.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Mute {
    /// The cause, and thereby the end.
    pub(crate) why: String,
    /// Since when, in microseconds since 1970.
    pub(crate) since_us: Micros,
}

/// Opens a node; mute if its disk is full.
pub(super) fn open(
    factory: &dyn Factory,
    config: Config,
    disk: &Arc<dyn Disk>,
    now: Now,
) -> Result<(Box<dyn Node>, Option<Mute>), ServeError> {
    let failed = |error| match error {
        OpenError::Config(why) => ServeError::Config(why),
        OpenError::Failed(why) | OpenError::Full(why) => ServeError::Failed(why),
    };
    match factory.open(config.clone(), disk.clone(), now) {
        Ok(node) => Ok((node, None)),
        Err(OpenError::Full(why)) => {
            let read_only = Arc::new(Overlay::new(disk.clone(), config.log_segment_bytes));
            let node = factory.open(config, read_only, now).map_err(failed)?;
            tracing::error!("{why}. Until then this node answers only reads");
            Ok((node, Some(Mute { why, since_us: now.wall })))
        }
        Err(error) => Err(failed(error)),
    }
}

/// Returns when a mute node can open its log.
pub(super) async fn room(shard: &Rc<Shard>, disk: Arc<dyn Disk>) {
    let bytes = {
        let engine = &shard.core.borrow().engine;
        engine.mute.as_ref().map(|_| engine.config.log_segment_bytes)
    };
    let Some(bytes) = bytes else { return std::future::pending().await };
    loop {
        tokio::time::sleep(LOOK).await;
        let disk = disk.clone();
        if matches!(spawn_blocking(move || make_ballast(&*disk, bytes)).await, Ok(Ok(()))) {
            return;
        }
    }
}
