//! The thread that waits for the disk, so that the data thread does not: syncs of the log, and the end of snapshots.

use super::seat::{Sync, Synced};
use std::cell::RefCell;
use std::sync::mpsc;
use tidemark_replica::{UpkeepDone, UpkeepJob};
use tokio::sync::mpsc as async_mpsc;

/// Something that blocks.
pub(crate) enum Job {
    Sync(Sync),
    /// With how often the member that it is for has begun anew.
    Upkeep(u64, UpkeepJob),
}

/// What it did.
pub(crate) enum Done {
    Sync(Synced),
    Upkeep(u64, UpkeepDone),
}

/// The thread's end on the data thread. It ends when this is dropped.
pub(crate) struct DiskThread {
    jobs: RefCell<Option<mpsc::Sender<Job>>>,
}

impl DiskThread {
    /// Starts the thread; what its jobs did comes out of the receiver.
    pub(crate) fn start() -> std::io::Result<(Self, async_mpsc::UnboundedReceiver<Done>)> {
        let (jobs, todo) = mpsc::channel();
        let (done, results) = async_mpsc::unbounded_channel();
        std::thread::Builder::new().name("disk".to_string()).spawn(move || {
            for job in todo {
                let result = match job {
                    Job::Sync(job) => Done::Sync(job.run()),
                    Job::Upkeep(opened, job) => Done::Upkeep(opened, job.run()),
                };
                if done.send(result).is_err() {
                    return;
                }
            }
        })?;
        Ok((Self { jobs: RefCell::new(Some(jobs)) }, results))
    }

    /// Runs `job` after those before it. REQUIRES: it is not closed.
    pub(crate) fn run(&self, job: Job) {
        let jobs = self.jobs.borrow();
        let sent = jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        assert!(sent, "the disk's thread runs until it is closed");
    }

    /// It ends when it has done what it was given.
    pub(crate) fn close(&self) {
        self.jobs.take();
    }
}
