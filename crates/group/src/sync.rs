//! Syncs, which run wherever the driver likes.

use tidemark_store::log::{SyncDone, SyncJob};

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
