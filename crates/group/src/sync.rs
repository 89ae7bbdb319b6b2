//! Syncs, which run wherever the driver likes.

use raft::eraftpb::Message;
use tidemark_store::log::{Position, SyncDone, SyncJob};

/// A sync that a member wants.
#[derive(Debug)]
pub struct SyncTask {
    /// The member may have begun anew meanwhile; then what this did does not matter.
    pub(crate) opened: u64,
    pub(crate) job: SyncJob,
}

impl SyncTask {
    /// Does it; blocks for as long as the disk takes. The result is for [`Member::synced`].
    pub fn run(self) -> (u64, SyncDone) {
        (self.opened, self.job.run())
    }
}

/// What waits for the log to be durable up to a position.
pub(crate) struct Unsaved {
    pub(crate) position: Position,
    pub(crate) ready: u64,
    pub(crate) messages: Vec<Message>,
}
