//! The durable log of one server thread: the write-ahead log, the replication log, and what a restart replays.
//!
//! One idea: *a batch is appended in memory, written with one write, and counts as written only with the commit frame
//! that closes it*. The commit frame also says up to where the log was durable when it was written. Reading the log
//! back therefore needs no second file to tell a crash from damage:
//!
//! - What follows the last commit frame is a torn tail and is cut. A batch comes back whole or not at all.
//! - A bad record *before* a position that some later commit frame calls durable is damage: the log does not open.
//! - What cannot be told apart: damage to records that no surviving commit frame calls durable, that is, to what was
//!   synced after the last flush. That looks like a torn tail. [`Log::close`] shrinks this window to nothing.
//!
//! The log never looks at a clock, a thread or a socket. The driver calls [`Log::flush`] once a turn, runs the
//! [`SyncJob`] where it likes, and hands what it returned to [`Log::synced`].
//!
//! **Invariants.**
//! - **I1** A position names the same bytes for ever. Every opening begins a new segment above all positions that were
//!   ever handed out, so a position that a power failure took back is never given to another record.
//! - **I2** A frame is written only into a durable segment with reserved space: a full disk is found in
//!   [`Log::append`], before anything changed, and leaves the log usable.
//! - **I3** After a failed write or sync nothing is appended, written or called durable any more.
//! - **I4** A cursor returns only committed frames, in order, each checked.
//! - **I5** Recovery makes durable what it returns, by writing again what no commit frame calls durable, before the
//!   log opens: what a failed sync left only in the page cache is not trusted.

use std::fmt;

mod ballast;
mod cursor;
mod error;
mod frame;
mod fsync;
pub mod manifest;
mod reader;
mod recover;
mod report;
mod segment;
pub mod snapshot;
mod sync;
mod writer;

pub use ballast::{BALLAST, BallastDone, BallastJob, make_ballast};
pub use cursor::{Frame, LogCursor, LogView};
pub use error::{LogError, LogResult};
pub use fsync::{Fsync, UnknownFsync};
pub use report::{Cut, RecoveryReport};
pub use segment::LOG_FORMAT_VERSION;
pub use sync::{SpareDone, SpareJob, SyncDone, SyncJob};
pub use writer::Log;

/// The largest kind that a caller may give to a record; those above are the log's own.
pub const MAX_KIND: u8 = frame::FIRST_INTERNAL_KIND - 1;

/// A place in the log: bytes since its beginning, over all segments, gaps included. Only grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position(pub u64);

impl Position {
    /// Before the first record that the log ever had.
    pub const START: Self = Self(0);
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How a log is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogConfig {
    /// Tells this log from every other: a random number that the manifest keeps.
    pub incarnation: u64,
    /// The usual size of new segments, in bytes. A larger record gets a segment of its own.
    pub segment_bytes: u64,
    /// Where the newest snapshot says that replay begins; [`Position::START`] without one. REQUIRES: it was durable.
    pub replay_from: Position,
    /// Whether a directory without a log is a first start. False: it is a loss, and refused.
    pub may_create: bool,
    /// What the opening before this one has used up, if that was in this process: one of its jobs may be running still.
    pub used: Used,
}

/// Numbers and positions of segments that a log has planned, made or not: see [`Log::used`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Used {
    /// The first number that is free.
    number: u64,
    /// The first position that is free.
    first: u64,
}

impl LogConfig {
    /// The default size of a segment.
    pub const SEGMENT_BYTES: u64 = 64 << 20;

    /// A log that may be created, replayed from its start.
    #[must_use]
    pub fn new(incarnation: u64) -> Self {
        Self {
            incarnation,
            segment_bytes: Self::SEGMENT_BYTES,
            replay_from: Position::START,
            may_create: true,
            used: Used::default(),
        }
    }
}
