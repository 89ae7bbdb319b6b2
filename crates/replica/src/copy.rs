//! A copy of everything, for a member of the group that lacks more than the log can give it.
//!
//! It is the newest snapshot, and before it the records that another data centre may still ask for: whoever holds the copy
//! may be the next to lead, and has to stream the others. It is read on any thread, a piece at a time, while the host goes on.

use crate::entry::{Entries, push_record};
use crate::group::{Span, is_within};
use crate::host::Host;
use crate::record::{CEILING, GROUP, START, WRITTEN};
use crate::recover::{Item, OpenError};
use crate::replay::Replay;
use bytes::Bytes;
use tidemark_contract::Protocol;
use tidemark_store::log::snapshot::{SnapshotFile, SnapshotReader, SnapshotRecord};
use tidemark_store::log::{LogCursor, LogView, Position};

/// What copies are made from, as it was at one moment: cheap to clone, and not changed by what happens later.
#[derive(Clone, Debug)]
pub struct CopySource {
    /// None if there is none yet: then the entries in the log are all that there ever were.
    snapshot: Option<SnapshotFile>,
    log: LogView,
    /// Where in the log the snapshot was begun.
    replay_from: Position,
    /// From where on the log has what other data centres may ask for.
    fed_from: Position,
    /// What of the log is to be passed over.
    retracted: Vec<Span>,
}

impl<P: Protocol> Host<P> {
    /// What a copy can be made from now. REQUIRES: no snapshot is being taken.
    ///
    /// # Errors
    /// The newest snapshot cannot be opened.
    pub fn copy_source(&self) -> Result<CopySource, OpenError> {
        let replay_from = self.upkeep.replay_from;
        let open = || SnapshotFile::open(&*self.disk, self.directory.manifest().incarnation, replay_from);
        let group = self.group.as_ref().expect("it is one of a group");
        Ok(CopySource {
            snapshot: (replay_from > Position::START).then(open).transpose()?,
            log: self.log.view(),
            replay_from,
            fed_from: self.fed_from().min(replay_from),
            retracted: group.retracted.clone(),
        })
    }

    /// From where on the log has what other data centres may ask for.
    fn fed_from(&self) -> Position {
        let others = || self.config.topology.all_dcs().filter(|dc| *dc != self.config.dc);
        let needed =
            (0..self.places.len()).flat_map(|at| others().filter_map(move |dc| self.needed_by(at, dc)));
        needed.min().unwrap_or(self.log.flushed())
    }
}

impl CopySource {
    /// The entries since the snapshot, or all if there is none. Reads the log, and the snapshot to check it.
    ///
    /// # Errors
    /// The snapshot or the log cannot be read.
    pub fn entries(&self) -> Result<Entries, OpenError> {
        let mut replay = Replay::default();
        if let Some(file) = &self.snapshot
            && let Some(SnapshotRecord { kind, partition, seq, payload }) = file.read()?.read()?
        {
            // It is the first thing that a snapshot says.
            replay.takes_of_snapshot(&Item { at: self.replay_from, kind, partition, seq, payload })?;
        }
        let mut cursor = self.log.cursor(self.replay_from)?;
        while let Some(frame) = self.log.read(&mut cursor)? {
            replay.take(&Item {
                at: frame.position,
                kind: frame.kind,
                partition: frame.partition,
                seq: frame.seq,
                payload: frame.payload,
            })?;
        }
        Ok(replay.finish(self.log.end())?.1)
    }

    /// A reader of the copy, up to the entries that [`Self::entries`] begins with.
    #[must_use]
    pub fn reader(&self) -> CopyReader {
        CopyReader { source: self.clone(), stage: Stage::Begin }
    }
}

/// Reads a copy.
#[derive(Debug)]
pub struct CopyReader {
    source: CopySource,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Begin,
    Log(LogCursor),
    Snapshot(SnapshotReader),
    End,
}

impl CopyReader {
    /// The next piece: records in the form in which they travel, about `max_bytes` of them. None after the last. Blocks for as
    /// long as the disk takes.
    ///
    /// # Errors
    /// The snapshot or the log cannot be read.
    pub fn next_piece(&mut self, max_bytes: usize) -> Result<Option<Bytes>, OpenError> {
        let mut piece = Vec::new();
        while piece.is_empty() {
            match &mut self.stage {
                Stage::Begin => self.stage = Stage::Log(self.source.log.cursor(self.source.fed_from)?),
                Stage::Log(cursor) => {
                    self.source.read_log(cursor, max_bytes, &mut piece)?;
                    if piece.is_empty() {
                        let snapshot = self.source.snapshot.as_ref().map(SnapshotFile::read).transpose()?;
                        self.stage = snapshot.map_or(Stage::End, Stage::Snapshot);
                    }
                }
                Stage::Snapshot(reader) => {
                    while piece.len() < max_bytes
                        && let Some(item) = reader.read()?
                    {
                        // What is kept of the group goes with the message that says that there is a copy; how this host
                        // started is nothing to others.
                        if ![GROUP, START, CEILING].contains(&item.kind) {
                            let header = (item.kind, item.partition, item.seq);
                            push_record(&mut piece, header, |buffer| buffer.extend_from_slice(item.payload));
                        }
                    }
                    if piece.is_empty() {
                        self.stage = Stage::End;
                    }
                }
                Stage::End => return Ok(None),
            }
        }
        Ok(Some(piece.into()))
    }
}

impl CopySource {
    fn read_log(
        &self,
        cursor: &mut LogCursor,
        max_bytes: usize,
        piece: &mut Vec<u8>,
    ) -> Result<(), OpenError> {
        while piece.len() < max_bytes
            && let Some(frame) = self.log.read_before(cursor, self.replay_from)?
        {
            if frame.kind == WRITTEN && !is_within(&self.retracted, frame.position) {
                let header = (frame.kind, frame.partition, frame.seq);
                push_record(piece, header, |buffer| buffer.extend_from_slice(frame.payload));
            }
        }
        Ok(())
    }
}
