//! How it goes, while it goes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What the connections of one thread have done so far, for whoever watches.
#[derive(Debug, Default)]
pub(crate) struct Live {
    operations: AtomicU64,
    latency_us: AtomicU64,
    failed: AtomicU64,
}

impl Live {
    /// An operation was answered.
    pub(crate) fn operation(&self, latency_us: u64) {
        self.operations.fetch_add(1, Ordering::Relaxed);
        self.latency_us.fetch_add(latency_us, Ordering::Relaxed);
    }

    /// Operations failed.
    pub(crate) fn fail(&self, count: u64) {
        self.failed.fetch_add(count, Ordering::Relaxed);
    }

    /// Operations, the sum of what they took, and failures.
    pub(crate) fn read(&self) -> [u64; 3] {
        [&self.operations, &self.latency_us, &self.failed].map(|counter| counter.load(Ordering::Relaxed))
    }
}

/// What a load does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Every key is written once.
    Fill,
    /// Load that does not count yet.
    WarmUp,
    /// Load that counts.
    Measure,
    /// The load is over; the last answers, and writes that have not shown elsewhere, are waited for.
    End,
}

/// How it goes, told about ten times a second.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    /// What is being done.
    pub phase: Phase,
    /// Since when, in this phase.
    pub elapsed: Duration,
    /// How much of the phase is done, 0 to 1.
    pub done: f64,
    /// Operations so far; of the fill phase, and from the warm-up on.
    pub operations: u64,
    /// What they took together, in microseconds.
    pub latency_us: u64,
    /// How many failed.
    pub failed: u64,
}
