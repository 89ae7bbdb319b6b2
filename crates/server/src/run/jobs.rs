//! Jobs that block: those of the log on one thread that waits for the disk, so that the data thread does not; the others
//! on threads of the runtime.

use super::shard::Shard;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::mpsc;
use tidemark_node::{Done, Job, Lane};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::{spawn_blocking, spawn_local};

/// The thread's end on the data thread. It ends when this is dropped.
#[derive(Default)]
pub(crate) struct DiskThread {
    jobs: RefCell<Option<mpsc::Sender<Job>>>,
    /// Jobs whose results have not come back.
    open: Cell<usize>,
}

impl DiskThread {
    /// Starts the thread; what its jobs did comes out of the receiver.
    pub(super) fn start(&self) -> std::io::Result<UnboundedReceiver<Done>> {
        let (jobs, todo) = mpsc::channel::<Job>();
        let (done, results) = unbounded_channel();
        std::thread::Builder::new().name("disk".to_string()).spawn(move || {
            for job in todo {
                if done.send(job.run()).is_err() {
                    return;
                }
            }
        })?;
        self.jobs.replace(Some(jobs));
        Ok(results)
    }

    /// Runs `job` after those before it. REQUIRES: it was started, and is not closed.
    fn run(&self, job: Job) {
        let jobs = self.jobs.borrow();
        let sent = jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        assert!(sent, "the disk's thread runs from its start until it is closed");
        self.open.set(self.open.get() + 1);
    }

    /// Whether all that it was given is done, and known to be.
    pub(super) fn is_idle(&self) -> bool {
        self.open.get() == 0
    }

    /// It ends when it has done what it was given.
    pub(super) fn close(&self) {
        self.jobs.take();
    }
}

/// Takes what the disk thread did until it ends.
pub(super) async fn take_from_disk(shard: Rc<Shard>, mut results: UnboundedReceiver<Done>) {
    while let Some(done) = results.recv().await {
        shard.disk.open.set(shard.disk.open.get() - 1);
        shard.done(done);
    }
}

impl Shard {
    /// Runs a job where it may block.
    pub(super) fn run_job(self: &Rc<Self>, job: Job) {
        match job.lane() {
            Lane::Log => self.disk.run(job),
            Lane::Any => {
                let shard = self.clone();
                spawn_local(async move {
                    // It is aborted with the node alone.
                    if let Ok(done) = spawn_blocking(move || job.run()).await {
                        shard.done(done);
                    }
                });
            }
        }
    }

    fn done(&self, done: Done) {
        let engine = &mut self.core.borrow_mut().engine;
        engine.node.done(engine.clock.now(), done);
        self.want_batch();
    }
}
