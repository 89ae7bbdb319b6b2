//! Group commit: the sync is a job that can run on another thread while the log goes on. So is the making of the next
//! segment, which takes longer: nothing that waits for a sync waits for that.

use std::sync::Arc;

use super::segment::{self, Segment, SegmentHeader};
use super::{Log, LogResult, Position, RecoveryReport, frame};
use crate::disk::{Disk, DiskFile, DiskResult};

/// A sync to be run, once, on any thread. One is in flight at a time. REQUIRES: what [`SyncJob::run`] returns is given
/// to [`Log::synced`]; a job that is dropped instead leaves the log without syncs.
#[derive(Debug)]
#[must_use = "nothing is durable before the job has run"]
pub struct SyncJob {
    files: Vec<Arc<dyn DiskFile>>,
    position: Position,
}

/// What a sync did.
#[derive(Debug)]
#[must_use = "hand it to Log::synced"]
pub struct SyncDone {
    position: Position,
    result: DiskResult<()>,
}

/// The next segment, to be made on any thread before the log needs it. The result is for [`Log::spared`].
#[derive(Debug)]
pub struct SpareJob {
    disk: Arc<dyn Disk>,
    header: SegmentHeader,
}

/// The result of a [`SpareJob`].
#[derive(Debug)]
pub struct SpareDone(DiskResult<Segment>);

impl SpareJob {
    /// Makes the segment; blocks for as long as the disk takes.
    pub fn run(self) -> SpareDone {
        SpareDone(segment::create(&*self.disk, self.header))
    }
}

impl SyncJob {
    /// Everything before it will be durable.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }

    /// Syncs; blocks for as long as the disk takes.
    pub fn run(self) -> SyncDone {
        let result = self.files.iter().try_for_each(|file| file.sync());
        SyncDone { position: self.position, result }
    }
}

impl RecoveryReport {
    /// Whether the log was closed: all of it is there.
    #[must_use]
    pub fn closed(&self) -> bool {
        self.end.0 == self.marked.0 + frame::HEADER as u64
    }
}

impl Log {
    /// The sync of everything flushed so far; `None` when that is durable already, or while another is in flight.
    pub fn sync_job(&mut self) -> Option<SyncJob> {
        if self.sync_in_flight || self.flushed <= self.synced {
            return None;
        }
        self.sync_in_flight = true;
        let files = self.unsynced.iter().map(|segment| segment.file.clone()).collect();
        Some(SyncJob { files, position: self.flushed })
    }

    /// Whether something is written that no sync has covered, and none is running.
    #[inline]
    #[must_use]
    pub fn can_sync(&self) -> bool {
        !self.sync_in_flight && self.flushed > self.synced
    }

    /// The making of the next segment, once for each, when the log will soon need it.
    pub fn spare_job(&mut self) -> Option<SpareJob> {
        let active = self.active().header;
        let half_full = self.end().0 - active.first > active.capacity / 2;
        if !half_full || !self.spare_wanted || self.spare.is_some() || self.check().is_err() {
            return None;
        }
        self.spare_wanted = false;
        Some(SpareJob { disk: self.disk.clone(), header: self.plan_segment() })
    }

    /// Takes the segment that was made.
    pub fn spared(&mut self, done: SpareDone) {
        match done.0 {
            Ok(spare) if self.spare.is_none() && spare.header.previous == self.active().header.number => {
                self.spare = Some(spare);
            }
            // The log needed it before it came, and made another. Removing is best effort: opening does it too.
            Ok(late) => drop(self.disk.remove(&segment::name_of(late.header.number))),
            // A full disk, most likely: found again, and reported, by the append that needs the segment.
            Err(_) => {}
        }
    }

    /// Takes the result of a sync. Returns the end of what is durable.
    ///
    /// # Errors
    /// A failed sync poisons the log: what of the unsynced records reached the disk will not be known before a restart.
    pub fn synced(&mut self, done: SyncDone) -> LogResult<Position> {
        self.sync_in_flight = false;
        self.check()?;
        if let Err(error) = done.result {
            return Err(self.poison(&error));
        }
        self.synced = done.position;
        let position = done.position;
        while self.unsynced.len() > 1 && !self.unsynced[0].header.covers(position) {
            self.unsynced.pop_front();
        }
        Ok(position)
    }

    /// Makes everything flushed durable before it returns: for a simulated disk, start-up and shut-down.
    ///
    /// # Errors
    /// As [`Log::synced`].
    ///
    /// # Panics
    /// When a job is in flight.
    pub fn sync(&mut self) -> LogResult<Position> {
        assert!(!self.sync_in_flight, "a sync is in flight on another thread");
        self.check()?;
        match self.sync_job() {
            Some(job) => self.synced(job.run()),
            None => Ok(self.synced),
        }
    }

    /// As [`Self::sync`], also while a job is in flight. REQUIRES: what that returns is not given to this log.
    ///
    /// # Errors
    /// As [`Log::synced`].
    pub fn sync_without_the_job(&mut self) -> LogResult<Position> {
        self.sync_in_flight = false;
        self.sync()
    }

    /// Flushes, syncs, and leaves a mark that all of it is durable, so that damage to any of it will be noticed.
    ///
    /// # Errors
    /// As [`Log::flush`] and [`Log::sync`].
    ///
    /// # Panics
    /// When a job is in flight.
    pub fn close(mut self) -> LogResult<Position> {
        self.flush()?;
        let durable = self.sync()?;
        self.write_commit()?;
        self.sync()?;
        Ok(durable)
    }
}
