//! Syncs, which run wherever the driver likes.

use crate::member::Member;
use crate::rule::ENTRIES_ARE_SYNCED;
use raft::eraftpb::Message;
use tidemark_contract::Protocol;
use tidemark_replica::{Fatal, Now};
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

impl<P: Protocol> Member<P> {
    /// What waited for the log may go on, as far as it is durable.
    pub(crate) fn saved(&mut self) {
        let durable = if ENTRIES_ARE_SYNCED.kept() { self.held().saved() } else { self.held().flushed() };
        while self.unsaved.front().is_some_and(|unsaved| unsaved.position <= durable) {
            let unsaved = self.unsaved.pop_front().expect("just seen");
            self.raft.on_persist_ready(unsaved.ready);
            self.messages.extend(unsaved.messages);
        }
    }

    /// A sync of what is written, if there is something to sync and none is running.
    pub fn sync_job(&mut self) -> Option<SyncTask> {
        let job = self.held_mut().sync_job()?;
        Some(SyncTask { opened: self.opened, job })
    }

    /// A sync has ended. REQUIRES: [`Self::commit`] after it.
    ///
    /// # Errors
    /// It failed: the process must stop.
    pub fn synced(&mut self, now: Now, (opened, done): (u64, SyncDone)) -> Result<(), Fatal> {
        if opened == self.opened {
            self.held_mut().synced(now, done)?;
            self.saved();
        }
        Ok(())
    }
}
