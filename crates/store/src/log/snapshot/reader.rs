//! Finds, checks and reads a snapshot.

use std::sync::Arc;

use super::{
    HEADER, MAGIC, SNAPSHOT_FORMAT_VERSION, SnapshotError, SnapshotInfo, SnapshotRecord, SnapshotResult,
    TEMPORARY_SUFFIX, frame_identity, header_checksum, name_of, position_of,
};
use crate::disk::{Disk, DiskFile};
use crate::log::reader::{FrameReader, Next};
use crate::log::{Position, frame};

/// What was found when looking for a snapshot to start from.
#[derive(Debug)]
pub struct LatestSnapshot {
    /// The newest one that is whole.
    pub reader: Option<SnapshotReader>,
    /// Newer ones that are not, and why. Worth an alarm: a crash does not cause this. The log may not reach back to the
    /// older snapshot; it says so when it is opened.
    pub refused: Vec<SnapshotError>,
}

impl LatestSnapshot {
    /// Looks for the newest whole snapshot of the log `incarnation`, and removes what unfinished ones left.
    ///
    /// # Errors
    /// `Disk`, when the directory cannot be read.
    pub fn find(disk: &dyn Disk, incarnation: u64) -> SnapshotResult<Self> {
        let mut refused = Vec::new();
        // A process may have died between the rename and the sync of the directory: a snapshot that is relied upon, and
        // for which log segments will go, must not lose its name again.
        disk.sync_dir()?;
        let mut names = disk.list()?;
        for name in names.iter().filter(|name| name.ends_with(TEMPORARY_SUFFIX)) {
            disk.remove(name)?;
        }
        names.retain(|name| position_of(name).is_some());
        for name in names.iter().rev() {
            match SnapshotReader::open(disk, name, incarnation) {
                Ok(reader) => return Ok(Self { reader: Some(reader), refused }),
                Err(error) => refused.push(error),
            }
        }
        Ok(Self { reader: None, refused })
    }

    /// Where the log has to be replayed from.
    #[must_use]
    pub fn replay_from(&self) -> Position {
        self.reader.as_ref().map_or(Position::START, |reader| reader.info.replay_from)
    }
}

/// A snapshot's file, held open: it can be read on any thread, even when a newer one has taken its place.
#[derive(Debug, Clone)]
pub struct SnapshotFile {
    file: Arc<dyn DiskFile>,
    name: String,
    incarnation: u64,
}

impl SnapshotFile {
    /// Opens that of the log `incarnation` from which the log is replayed from `replay_from` on.
    ///
    /// # Errors
    /// `Disk`, above all when there is none.
    pub fn open(disk: &dyn Disk, incarnation: u64, replay_from: Position) -> SnapshotResult<Self> {
        let name = name_of(replay_from);
        Ok(Self { file: disk.open(&name)?, name, incarnation })
    }

    /// Checks it (I3): reads all of it.
    ///
    /// # Errors
    /// Any [`SnapshotError`] that says why it cannot be used.
    pub fn read(&self) -> SnapshotResult<SnapshotReader> {
        let Self { file, name, incarnation } = self;
        let bytes = file.size()?;
        let replay_from = check_header(&**file, name, *incarnation)?;
        let identity = frame_identity(*incarnation, replay_from);
        let reader = || FrameReader::new(file.clone(), identity, 0, HEADER);
        let records = check_frames(&mut reader(), name, bytes)?;
        let info = SnapshotInfo { file: name.clone(), replay_from, records, bytes };
        Ok(SnapshotReader { info, reader: reader(), left: records })
    }
}

/// Reads one snapshot that was checked as a whole.
#[derive(Debug)]
pub struct SnapshotReader {
    info: SnapshotInfo,
    reader: FrameReader,
    left: u64,
}

impl SnapshotReader {
    /// Opens and checks the file `name` (I3).
    ///
    /// # Errors
    /// Any [`SnapshotError`] that says why it cannot be used.
    pub fn open(disk: &dyn Disk, name: &str, incarnation: u64) -> SnapshotResult<Self> {
        SnapshotFile { file: disk.open(name)?, name: name.to_owned(), incarnation }.read()
    }

    /// What it is.
    #[must_use]
    pub fn info(&self) -> &SnapshotInfo {
        &self.info
    }

    /// The next record; `None` after the last.
    ///
    /// # Errors
    /// `Disk`, or `Corrupt` when the file changed since it was checked.
    pub fn read(&mut self) -> SnapshotResult<Option<SnapshotRecord<'_>>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let offset = self.reader.offset();
        match self.reader.next(self.info.bytes)? {
            Next::Frame(header, offset) => Ok(Some(SnapshotRecord {
                kind: header.kind,
                partition: header.partition,
                seq: header.seq,
                payload: self.reader.payload(&header, offset),
            })),
            Next::End | Next::Bad(_) => {
                let file = self.info.file.clone();
                Err(SnapshotError::Corrupt { file, offset, detail: "it changed while it was read" })
            }
        }
    }
}

fn check_header(file: &dyn DiskFile, name: &str, incarnation: u64) -> SnapshotResult<Position> {
    let file_name = || name.to_owned();
    let mut header = [0; HEADER as usize];
    let n = file.read_at(0, &mut header)?;
    if n < header.len() {
        let offset = n as u64;
        return Err(SnapshotError::Incomplete { file: file_name(), offset, detail: "the header ends" });
    }
    if header[..8] != MAGIC {
        return Err(SnapshotError::NotASnapshot { file: file_name() });
    }
    let found = u32::from_le_bytes(header[8..12].try_into().expect("four bytes"));
    if found != SNAPSHOT_FORMAT_VERSION {
        let expected = SNAPSHOT_FORMAT_VERSION;
        return Err(SnapshotError::WrongVersion { file: file_name(), found, expected });
    }
    if header[12..16] != header_checksum(&header).to_le_bytes() {
        let detail = "the header's checksum does not match";
        return Err(SnapshotError::Corrupt { file: file_name(), offset: 12, detail });
    }
    let field = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes"));
    if field(16) != incarnation {
        return Err(SnapshotError::Foreign { file: file_name(), found: field(16), expected: incarnation });
    }
    if position_of(name) != Some(Position(field(24))) {
        let detail = "it is another snapshot under this name";
        return Err(SnapshotError::Corrupt { file: file_name(), offset: 24, detail });
    }
    Ok(Position(field(24)))
}

/// Checks every frame and the footer; returns the number of records.
fn check_frames(reader: &mut FrameReader, name: &str, bytes: u64) -> SnapshotResult<u64> {
    let mut total = crc32fast::Hasher::new();
    let mut records = 0;
    loop {
        let offset = reader.offset();
        let corrupt = |detail| SnapshotError::Corrupt { file: name.to_owned(), offset, detail };
        let incomplete = |detail| SnapshotError::Incomplete { file: name.to_owned(), offset, detail };
        let (header, offset) = match reader.next(bytes)? {
            Next::Frame(header, offset) => (header, offset),
            Next::End => return Err(incomplete("the footer is missing")),
            Next::Bad(detail) => return Err(corrupt(detail)),
        };
        if header.kind != frame::KIND_COMMIT {
            total.update(reader.frame(&header, offset));
            records += 1;
            continue;
        }
        if header.seq != records || reader.payload(&header, offset) != total.finalize().to_le_bytes() {
            return Err(corrupt("the footer does not match the records"));
        }
        if reader.offset() != bytes {
            return Err(corrupt("bytes follow the footer"));
        }
        return Ok(records);
    }
}
