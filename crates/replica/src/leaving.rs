//! The gates of a host, and the syncs that they wait for.

use crate::config::Now;
use crate::group::Membership;
use crate::host::{Fatal, Host};
use crate::output::Output;
use crate::rule::CONFIRMATIONS_ARE_SYNCED;
use tidemark_contract::Protocol;
use tidemark_store::log::{BallastDone, BallastJob, Fsync, Position, SpareDone, SpareJob, SyncDone, SyncJob};

/// For what a sync of the log is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Somebody waits for an answer, or for the other side of what was said.
    ForAnswer,
    /// Records are to leave, or to be confirmed.
    ForStream,
}

impl<P: Protocol> Host<P> {
    /// Everything at or below may leave for other nodes. What concerns a client of this region may leave earlier:
    /// [`Self::for_clients`].
    #[inline]
    pub fn durable(&self) -> Position {
        self.group.as_ref().map_or_else(|| self.saved(), Membership::committed)
    }

    pub(crate) fn settle(&mut self) {
        let durable = self.durable();
        if std::mem::replace(&mut self.settled, durable) != durable {
            self.lineage.settle(durable);
            let confirmed = if CONFIRMATIONS_ARE_SYNCED.kept() { durable } else { self.log.flushed() };
            self.places.iter_mut().for_each(|place| place.durable(durable, confirmed));
        }
    }

    /// Returns all that may leave now: first on behalf of clients, then the rest, each in the order in which it was caused.
    pub fn take_outputs(&mut self) -> Vec<Output<P>> {
        let near = self.for_siblings();
        let durable = self.durable();
        let mut outputs = Vec::new();
        for (held, upto) in [(&mut self.held_near, near), (&mut self.held, durable)] {
            while held.front().is_some_and(|(position, _)| *position <= upto) {
                let (_, mut batch) = held.pop_front().expect("just seen");
                if outputs.is_empty() {
                    outputs = batch;
                } else {
                    outputs.append(&mut batch);
                }
            }
        }
        outputs
    }

    /// Everything at or below is in this log as the policy says, whoever else has it.
    pub fn saved(&self) -> Position {
        match self.config.fsync {
            Fsync::Always | Fsync::EverySec => self.log.durable(),
            Fsync::No => self.log.flushed(),
        }
    }

    /// Whether something waits for a sync that may run now: with `linked`, records may be waiting, too, and with `wanted` what the
    /// caller holds back.
    pub fn waits_for_sync(&self, linked: bool, wanted: bool) -> Option<Waits> {
        if self.config.fsync == Fsync::No || !self.log.can_sync() {
            return None;
        }
        let over = self.config.fsync == Fsync::EverySec && self.is_over_ceiling();
        let said = !(self.held.is_empty() && self.arrivals.is_empty() && self.held_near.is_empty());
        if wanted || over || said || self.group.is_some() || self.config.fsync == Fsync::Always {
            return Some(Waits::ForAnswer);
        }
        linked.then_some(Waits::ForStream)
    }

    /// The making of the log's next segment, when it will soon need it: to be run anywhere, its result to be given to
    /// [`Self::spared`].
    pub fn spare_job(&mut self) -> Option<SpareJob> {
        self.log.spare_job()
    }

    /// A segment was made.
    pub fn spared(&mut self, done: SpareDone) {
        self.log.spared(done);
    }

    /// A job that makes the log's ballast, if it is missing: a driver asks each second. Its result is given to [`Self::ballast_made`].
    pub fn ballast_job(&mut self) -> Option<BallastJob> {
        self.log.ballast_job()
    }

    /// Such a job has ended.
    pub fn ballast_made(&mut self, done: BallastDone) {
        self.log.ballast_made(done);
    }

    /// A sync of what is written, if there is something to sync and none is running: to be run anywhere, its
    /// result to be given to [`Self::synced`].
    pub fn sync_job(&mut self) -> Option<SyncJob> {
        // With each sync, so that nothing has to be synced for it alone. A turn that is open is not divided.
        if self.log.batch_bytes() == 0 && self.log.can_sync() {
            self.raise_ceiling(self.config.ceiling_us / 6 * 5);
            // A failure is kept by the log, and comes back from the next commit.
            let _ = self.log.flush();
        }
        self.log.sync_job()
    }

    /// A sync has ended.
    ///
    /// # Errors
    /// It failed: what is on disk is unknown, and the process must stop.
    pub fn synced(&mut self, now: Now, done: SyncDone) -> Result<(), Fatal> {
        if let Err(error) = self.log.synced(done) {
            return Err(self.fatal.insert(Fatal(error)).clone());
        }
        self.settle();
        self.give_synced(now);
        self.wall(now);
        if !self.is_over_ceiling() {
            for (to, ticket, request, bytes) in std::mem::take(&mut self.delayed) {
                self.request(now, to, ticket, request, Some(bytes));
            }
        }
        Ok(())
    }

    /// Ends well: everything is written, synced, and marked as such.
    ///
    /// # Errors
    /// The log failed.
    pub fn close(mut self) -> Result<(), Fatal> {
        self.commit()?;
        self.log.close().map(drop).map_err(Fatal)
    }
}
