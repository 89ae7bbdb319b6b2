//! Snapshots: what a server held at one position of its log, in one file, so that the log before it can go.
//!
//! A snapshot is written beside the log under a temporary name, in frames like those of the log, closed by a footer with
//! their number and a checksum over all of them, synced, and renamed. What the frames hold is the caller's business.
//!
//! **Invariants.**
//! - **I1** A file has a snapshot's name only when all of it is durable; an older one goes only after that.
//! - **I2** A snapshot gets its name only when the log is durable up to where replay begins: otherwise a power failure
//!   could leave a snapshot of a future that the log has lost.
//! - **I3** A reader has checked the whole file before it returns the first record.

use super::Position;
use crate::disk::DiskError;

mod reader;
mod writer;

pub use reader::{LatestSnapshot, SnapshotFile, SnapshotReader};
pub use writer::{SealedSnapshot, SnapshotWriter};

/// The version of the format that this code writes and reads.
pub const SNAPSHOT_FORMAT_VERSION: u32 = 1;

const MAGIC: [u8; 8] = *b"TIDESNAP";
const HEADER: u64 = 64;
const SUFFIX: &str = ".snapshot";
const TEMPORARY_SUFFIX: &str = ".snapshot.tmp";

/// Why a snapshot was not written, or is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// An operation of the disk failed.
    #[error("{0}. The snapshot was not taken; the log keeps what it would have replaced")]
    Disk(#[from] DiskError),
    /// The log is not durable up to where replay would begin.
    #[error(
        "the snapshot replays from {replay_from}, but the log is durable only up to {durable}: sync the log first"
    )]
    NotDurable {
        /// Where replay begins.
        replay_from: Position,
        /// The end of what is durable.
        durable: Position,
    },
    /// A file with a snapshot's name is something else.
    #[error("{file} is not a Tidemark snapshot (wrong magic). Move it out of the data directory")]
    NotASnapshot {
        /// The file.
        file: String,
    },
    /// A snapshot of another version of the format.
    #[error(
        "{file} has snapshot format {found}; this program reads format {expected}. Use the version of Tidemark that wrote it"
    )]
    WrongVersion {
        /// The file.
        file: String,
        /// Its format.
        found: u32,
        /// Ours.
        expected: u32,
    },
    /// A snapshot of another log.
    #[error(
        "{file} belongs to another log (incarnation {found:016x}, this one is {expected:016x}). Put it back where it came from"
    )]
    Foreign {
        /// The file.
        file: String,
        /// Its incarnation.
        found: u64,
        /// The one asked for.
        expected: u64,
    },
    /// The file ends before its footer.
    #[error(
        "{file} is incomplete: {detail} at offset {offset}. Restore it from a backup, or remove it to use an older one"
    )]
    Incomplete {
        /// The file.
        file: String,
        /// Where it ends.
        offset: u64,
        /// What is missing.
        detail: &'static str,
    },
    /// Some bytes are not those that were written.
    #[error(
        "{file} is corrupt at offset {offset}: {detail}. Restore it from a backup, or remove it to use an older one"
    )]
    Corrupt {
        /// The file.
        file: String,
        /// Where.
        offset: u64,
        /// What is wrong there.
        detail: &'static str,
    },
}

/// The result of a snapshot operation.
pub type SnapshotResult<T> = Result<T, SnapshotError>;

/// What a snapshot is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotInfo {
    /// The file.
    pub file: String,
    /// Where in the log replay begins.
    pub replay_from: Position,
    /// How many records it holds.
    pub records: u64,
    /// Its size.
    pub bytes: u64,
}

/// One record of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotRecord<'a> {
    /// The caller's kind.
    pub kind: u8,
    /// The partition it belongs to.
    pub partition: u16,
    /// The caller's sequence number.
    pub seq: u64,
    /// The caller's bytes.
    pub payload: &'a [u8],
}

/// Stands for the incarnation in the seeds of the frames, so that frames of the log or of another snapshot do not pass.
fn frame_identity(incarnation: u64, replay_from: Position) -> u64 {
    incarnation.rotate_left(1) ^ replay_from.0
}

fn name_of(replay_from: Position) -> String {
    format!("{:020}{SUFFIX}", replay_from.0)
}

fn position_of(name: &str) -> Option<Position> {
    let digits = name.strip_suffix(SUFFIX)?;
    (digits.len() == 20).then(|| digits.parse().ok().map(Position))?
}

fn header_checksum(bytes: &[u8; HEADER as usize]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[..12]);
    hasher.update(&bytes[16..]);
    hasher.finalize()
}
