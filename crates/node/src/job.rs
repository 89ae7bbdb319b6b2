//! What blocks, and so runs on threads of the driver: syncs and snapshots of the log, reading and sealing of copies.

use crate::node::LinkId;
use bytes::Bytes;
use tidemark_group::{CopyOut, RecallJob, Recalled, SyncTask};
use tidemark_replica::{OpenError, SealDone, SealJob, UpkeepDone, UpkeepJob};
use tidemark_store::log::{BallastDone, BallastJob, SpareDone, SpareJob, SyncDone, SyncJob};

/// How much one frame of a copy holds, about, in bytes.
const PIECE_BYTES: usize = 256 << 10;

/// In which order jobs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// One after the other: syncs of the log, for which clients and other nodes wait.
    Log,
    /// At any time, beside others.
    Any,
}

/// Something that blocks.
pub struct Job(pub(crate) Work);

pub(crate) enum Work {
    Sync(SyncJob),
    MemberSync(SyncTask),
    /// With how often the member that it is for has begun anew.
    Upkeep(u64, UpkeepJob),
    Spare(u64, SpareJob),
    Ballast(u64, BallastJob),
    Recall(RecallJob),
    Piece(LinkId, Box<CopyOut>),
    Seal(LinkId, SealJob),
}

/// What a job did.
pub struct Done(pub(crate) Result);

pub(crate) enum Result {
    Sync(SyncDone),
    MemberSync((u64, SyncDone)),
    Upkeep(u64, UpkeepDone),
    Spare(u64, SpareDone),
    Ballast(u64, BallastDone),
    Recall(Recalled),
    Piece(LinkId, Box<CopyOut>, std::result::Result<Option<Bytes>, OpenError>),
    Seal(LinkId, SealDone),
}

impl Job {
    /// Where it runs.
    pub fn lane(&self) -> Lane {
        match &self.0 {
            Work::Sync(_) | Work::MemberSync(_) => Lane::Log,
            _ => Lane::Any,
        }
    }

    /// Whether it makes the log durable.
    pub(crate) fn is_sync(&self) -> bool {
        matches!(self.0, Work::Sync(_) | Work::MemberSync(_))
    }

    /// Does it; blocks for as long as the disk takes.
    pub fn run(self) -> Done {
        Done(match self.0 {
            Work::Sync(job) => Result::Sync(job.run()),
            Work::MemberSync(task) => Result::MemberSync(task.run()),
            Work::Upkeep(opened, job) => Result::Upkeep(opened, job.run()),
            Work::Spare(opened, job) => Result::Spare(opened, job.run()),
            Work::Ballast(opened, job) => Result::Ballast(opened, job.run()),
            Work::Recall(job) => Result::Recall(job.run()),
            Work::Piece(link, mut copy) => {
                let piece = copy.next_piece(PIECE_BYTES);
                Result::Piece(link, copy, piece)
            }
            Work::Seal(link, job) => Result::Seal(link, job.run()),
        })
    }
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match &self.0 {
            Work::Sync(_) | Work::MemberSync(_) => "sync",
            Work::Upkeep(_, job) if job.ends() => "end of a snapshot",
            Work::Upkeep(..) => "upkeep",
            Work::Spare(..) => "next segment",
            Work::Ballast(..) => "ballast",
            Work::Recall(_) => "recall",
            Work::Piece(..) => "piece of a copy",
            Work::Seal(..) => "seal a copy",
        })
    }
}
