//! What can be wrong with a log, a snapshot or a data directory: each with what to do about it.

use super::Position;
use crate::disk::DiskError;

/// A failure of the log. Every message says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The disk is full; nothing was appended and the log still works.
    #[error(
        "the disk is full: {0}; nothing was written. Free space: writes are accepted again as soon as a segment fits"
    )]
    Full(DiskError),
    /// An operation of the disk failed.
    #[error("{0}. Check the disk and the permissions, then start again")]
    Disk(#[from] DiskError),
    /// A write or a sync failed earlier: what is on disk is not known any more.
    #[error(
        "the log stopped after a failure: {reason}. What reached the disk is unknown, so nothing more is written. Check the disk, then restart this server: it recovers what is whole"
    )]
    Poisoned {
        /// The first failure.
        reason: String,
    },
    /// A record is larger than any segment can be.
    #[error(
        "a record of {bytes} bytes does not fit a log segment, which holds {limit} at most. Write smaller values"
    )]
    TooLarge {
        /// The size of the encoded payload.
        bytes: usize,
        /// The largest payload.
        limit: usize,
    },
    /// The directory has no log, and none may be created.
    #[error("there is no log here, though this server had one. Restore the data directory from a copy")]
    NoLog,
    /// A file with a segment's name is something else.
    #[error("{file} is not a Tidemark log segment (wrong magic). Move it out of the data directory")]
    NotALog {
        /// The file.
        file: String,
    },
    /// A segment of another version of the format.
    #[error(
        "{file} has log format {found}; this program reads format {expected}. Use the version of Tidemark that wrote it"
    )]
    WrongVersion {
        /// The file.
        file: String,
        /// Its format.
        found: u32,
        /// Ours.
        expected: u32,
    },
    /// A segment's header is damaged.
    #[error("the header of {file} is damaged: {detail}. Restore it from a copy")]
    HeaderDamaged {
        /// The file.
        file: String,
        /// What is wrong with it.
        detail: &'static str,
    },
    /// A segment of another log.
    #[error(
        "{file} belongs to another log (incarnation {found:016x}, this one is {expected:016x}). Two data directories were mixed: put the files back where they came from"
    )]
    Foreign {
        /// The file.
        file: String,
        /// Its incarnation.
        found: u64,
        /// The one asked for.
        expected: u64,
    },
    /// A segment that must be there is not.
    #[error("log segment {file} is missing: {detail}. Restore it from a copy")]
    MissingSegment {
        /// The file.
        file: String,
        /// Who says that it must exist.
        detail: String,
    },
    /// A record that was durable cannot be read.
    #[error(
        "{file} is corrupt at offset {offset}: {detail}, and the log says that everything before position {synced} was durable. Restore the file from a copy; do not edit it"
    )]
    Corrupt {
        /// The file.
        file: String,
        /// Where in the file.
        offset: u64,
        /// What is wrong there.
        detail: &'static str,
        /// What had been durable.
        synced: Position,
    },
    /// The snapshot continues where this log does not reach.
    #[error(
        "the log ends at position {end}, before {replay_from} where the snapshot continues. Log and snapshot are of different times: restore both from one copy"
    )]
    EndsBeforeSnapshot {
        /// Where the log ends.
        end: Position,
        /// Where the snapshot continues.
        replay_from: Position,
    },
    /// The position is older than what is kept.
    #[error(
        "log position {position} was dropped; the oldest kept is {oldest}. What the reader lacks is gone from this log"
    )]
    Dropped {
        /// The position asked for.
        position: Position,
        /// The oldest that is kept.
        oldest: Position,
    },
    /// The position is beyond what was ever written here.
    #[error(
        "log position {position} is beyond the end of this log, {end}: the reader holds more than this server, which lost its end or was rolled back. Restore the newest copy of its data directory"
    )]
    BeyondEnd {
        /// The position asked for.
        position: Position,
        /// The end of what is flushed.
        end: Position,
    },
    /// No record begins at the position.
    #[error(
        "no record begins at log position {position} ({file}, offset {offset}: {detail}): either the reader holds records that this server lost in a power failure, or the file is damaged. Restore the newest copy of this server's data directory"
    )]
    NoRecordAt {
        /// The position asked for.
        position: Position,
        /// The file.
        file: String,
        /// Where in the file.
        offset: u64,
        /// What is there.
        detail: &'static str,
    },
}

/// The result of a log operation.
pub type LogResult<T> = Result<T, LogError>;
