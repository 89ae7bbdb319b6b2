//! The report of an opening of a log.

use super::Position;

/// A tail that was cut: batches that were not written whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The file.
    pub file: String,
    /// Where in the file the log ends now.
    pub offset: u64,
    /// The number of bytes after it that were not empty.
    pub bytes: u64,
    /// The reason why the reading ended.
    pub detail: &'static str,
}

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { file, offset, bytes, detail } = self;
        write!(
            f,
            "the log's tail was torn: {file} is cut at offset {offset}, where {bytes} bytes were not a whole batch \
             ({detail}), and that no mark calls synced. Peers that hold more of this log will say so"
        )
    }
}

/// The result of opening a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveryReport {
    /// There was no log: this is the first start.
    pub created: bool,
    /// The oldest position that is kept.
    pub oldest: Position,
    /// The end of the last whole batch.
    pub end: Position,
    /// The highest position that the log itself calls durable.
    pub marked: Position,
    /// Records and bytes read, from the beginning of the segment that holds `replay_from`.
    pub records: u64,
    /// The batches they came in.
    pub batches: u64,
    /// The tail that was cut, if there was one.
    pub cut: Option<Cut>,
    /// Segments that were no part of the log any more and were removed.
    pub orphans: usize,
}
