//! Segment files: their names, their 64-byte header, and how one comes into being.
//!
//! **Invariants.**
//! - **I1** A file has a segment's name only after its header and its reserved space are durable: it is made under
//!   another name, synced, renamed, and the directory synced. So a segment with a bad header is damage, never a crash.
//! - **I2** A segment covers the positions `first .. first + capacity`. Numbers and positions only grow, and no two
//!   segments of a log ever cover the same position, the removed ones included.

use std::sync::Arc;

use super::{LogError, LogResult, Position};
use crate::disk::{Disk, DiskFile, DiskResult};

/// Bytes before the first frame.
pub(crate) const HEADER: u64 = 64;
/// The version of the format that this code writes and reads.
pub const LOG_FORMAT_VERSION: u32 = 1;

const MAGIC: [u8; 8] = *b"TIDELOG\0";
const SUFFIX: &str = ".log";
const TEMPORARY_SUFFIX: &str = ".log.tmp";

/// What a segment's header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) incarnation: u64,
    pub(crate) number: u64,
    /// The position of the file's first byte.
    pub(crate) first: u64,
    /// The size of the file as it was made.
    pub(crate) capacity: u64,
    /// The number of the segment that this one follows; 0 for none.
    pub(crate) previous: u64,
}

/// A segment that is part of the log.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub(crate) header: SegmentHeader,
    pub(crate) file: Arc<dyn DiskFile>,
}

impl SegmentHeader {
    pub(crate) fn end(&self) -> u64 {
        self.first + self.capacity
    }

    pub(crate) fn data_start(&self) -> Position {
        Position(self.first + HEADER)
    }

    pub(crate) fn covers(&self, position: Position) -> bool {
        (self.first..self.end()).contains(&position.0)
    }

    pub(crate) fn encode(&self) -> [u8; HEADER as usize] {
        let mut bytes = [0; HEADER as usize];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&LOG_FORMAT_VERSION.to_le_bytes());
        let fields = [self.incarnation, self.number, self.first, self.capacity, self.previous];
        for (field, place) in fields.iter().zip(bytes[16..].chunks_exact_mut(8)) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        let crc = header_checksum(&bytes);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads and checks the header of the file `name`.
    pub(crate) fn read(file: &dyn DiskFile, name: &str, incarnation: u64) -> LogResult<Self> {
        let name_of = || name.to_owned();
        let mut bytes = [0; HEADER as usize];
        let n = file.read_at(0, &mut bytes)?;
        if n < bytes.len() {
            return Err(LogError::HeaderDamaged { file: name_of(), detail: "the file is too short" });
        }
        if bytes[..8] != MAGIC {
            return Err(LogError::NotALog { file: name_of() });
        }
        let version = u32::from_le_bytes(bytes[8..12].try_into().expect("four bytes"));
        if version != LOG_FORMAT_VERSION {
            return Err(LogError::WrongVersion {
                file: name_of(),
                found: version,
                expected: LOG_FORMAT_VERSION,
            });
        }
        if bytes[12..16] != header_checksum(&bytes).to_le_bytes() {
            return Err(LogError::HeaderDamaged { file: name_of(), detail: "its checksum does not match" });
        }
        let field =
            |i: usize| u64::from_le_bytes(bytes[16 + i * 8..24 + i * 8].try_into().expect("eight bytes"));
        let header = Self {
            incarnation: field(0),
            number: field(1),
            first: field(2),
            capacity: field(3),
            previous: field(4),
        };
        if header.incarnation != incarnation {
            return Err(LogError::Foreign {
                file: name_of(),
                found: header.incarnation,
                expected: incarnation,
            });
        }
        if number_of(name) != Some(header.number) {
            return Err(LogError::HeaderDamaged {
                file: name_of(),
                detail: "it is another segment under this name",
            });
        }
        Ok(header)
    }
}

fn header_checksum(bytes: &[u8; HEADER as usize]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[..12]);
    hasher.update(&bytes[16..]);
    hasher.finalize()
}

/// The file name of a segment.
pub(crate) fn name_of(number: u64) -> String {
    format!("{number:08}{SUFFIX}")
}

/// The number in a segment's file name.
pub(crate) fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(SUFFIX)?;
    (digits.len() >= 8 && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok())?
}

/// True for what is left of a segment whose making was interrupted.
pub(crate) fn is_temporary(name: &str) -> bool {
    name.ends_with(TEMPORARY_SUFFIX)
}

/// Makes a segment, durable when this returns (I1).
pub(crate) fn create(disk: &dyn Disk, header: SegmentHeader) -> DiskResult<Segment> {
    let name = name_of(header.number);
    let temporary = format!("{:08}{TEMPORARY_SUFFIX}", header.number);
    let file = disk.create(&temporary, header.capacity)?;
    let made = file
        .write_at(0, &header.encode())
        .and_then(|()| file.sync())
        .and_then(|()| disk.rename(&temporary, &name))
        .and_then(|()| disk.sync_dir());
    match made {
        Ok(()) => Ok(Segment { header, file }),
        Err(error) => {
            // Best effort: a leftover is removed when the log is opened.
            let _ = disk.remove(&temporary);
            Err(error)
        }
    }
}
