//! When the log is synced: once something waits for it, at most so often; and each second.
//!
//! A sync costs a tenth of a millisecond of processor time or more, and all that is written while one runs, or while the next has
//! to wait, shares the next. So a stream's records wait a little for others; a server's answer to another does not.

use crate::node::{Batch, Fatal, Output};
use crate::of::NodeOf;
use tidemark_contract::Protocol;
use tidemark_core::Micros;
use tidemark_replica::{Now, Waits};
use tidemark_store::log::Fsync;

/// Between two syncs of policy `everysec` that nobody waits for, in microseconds.
const EVERY_US: Micros = 1_000_000;

/// When syncs run.
pub(crate) struct Syncs {
    /// When the last one began.
    began: Micros,
    /// The last batch that it covers, or the one that runs does.
    covers: Batch,
    /// When one is due that somebody waits for.
    due: Micros,
    /// The driver holds back what was said in a batch.
    pub(crate) wanted: bool,
}

impl Syncs {
    /// From `now` on.
    pub(crate) fn new(now: Micros) -> Self {
        Self { began: now, covers: Batch(0), due: Micros::MAX, wanted: false }
    }

    /// The last batch that a sync has covered which has ended.
    pub(crate) fn covered(&self) -> Batch {
        self.covers
    }

    /// When a sync is due.
    pub(crate) fn next(&self, fsync: Fsync) -> Micros {
        let each = if fsync == Fsync::EverySec { self.began + EVERY_US } else { Micros::MAX };
        each.min(self.due)
    }
}

impl<P: Protocol> NodeOf<P> {
    /// Syncs the log, if it is time. REQUIRES: no batch is open of which records are written.
    pub(crate) fn sync_if_due(&mut self) {
        let core = &self.core;
        let (now, fsync, syncs) = (core.now.mono, core.config.fsync, &core.syncs);
        let waits = self.hold.waits_for_sync(core.links.any_up(), syncs.wanted || !core.far.is_empty());
        let pace = |pause: Micros| (syncs.began + pause).max(now);
        let due = match waits {
            Some(Waits::ForAnswer) => now,
            Some(Waits::ForStream) => pace(core.config.pace.sync_us),
            None => Micros::MAX,
        };
        let each = fsync == Fsync::EverySec && syncs.began + EVERY_US <= now;
        self.core.syncs.due = due;
        if due > now && !each {
            return;
        }
        self.core.syncs.began = now;
        if let Some(job) = self.hold.sync_job() {
            let core = &mut self.core;
            (core.syncs.due, core.syncs.wanted, core.syncs.covers) = (Micros::MAX, false, core.batch);
            core.outputs.push_back(Output::Job(job));
        }
    }

    /// Ends the node with all that it has done synced.
    pub(crate) fn end_well(mut self, now: Now) -> Result<(), Fatal> {
        self.core.now = now;
        self.end_batch()?;
        // The driver takes no outputs any more: a sync that the batch has begun runs here.
        while let Some(output) = self.core.outputs.pop_front() {
            if let Output::Job(job) = output
                && job.is_sync()
            {
                self.hold.synced(now, job.run())?;
            }
        }
        if let Some(job) = self.hold.sync_job() {
            self.hold.synced(now, job.run())?;
        }
        self.hold.close()
    }
}
