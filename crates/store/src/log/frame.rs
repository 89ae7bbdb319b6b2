//! Frames: the unit of the log and of snapshots. `docs/on-disk-format.md` has the byte tables.
//!
//! ```text
//! 0  u32  CRC-32 of bytes 4..length, continued from a seed
//! 4  u32  length of the whole frame, this header included; 0 means "no frame: the data ends here"
//! 8  u64  sequence
//! 16 u16  partition
//! 18 u8   kind
//! 19 u8   flags, 0
//! 20 …    payload
//! ```
//!
//! **Invariants.**
//! - **I1** The seed mixes the log's incarnation and the frame's position, so bytes of another log, or of another place
//!   of this one, do not pass for a frame.

use std::ops::Range;

/// Bytes before the payload.
pub(crate) const HEADER: usize = 20;

/// Kinds from here on belong to the log itself.
pub(crate) const FIRST_INTERNAL_KIND: u8 = 0xF0;
/// The segment ends; the sequence is the number of the segment that follows.
pub(crate) const KIND_SEAL: u8 = 0xFE;
/// A batch ends; the sequence is the position up to which the log is known to be durable. Footer of a snapshot.
pub(crate) const KIND_COMMIT: u8 = 0xFF;
/// The partition that internal frames name.
const INTERNAL_PARTITION: u16 = 0xFFFF;

/// A frame's header, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) length: usize,
    pub(crate) seq: u64,
    pub(crate) partition: u16,
    pub(crate) kind: u8,
}

/// What stands at some place of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Parsed {
    Frame(Header),
    /// A zero length: nothing was written here.
    End,
    /// More bytes are needed to tell: this many in all.
    Short(usize),
    Bad(&'static str),
}

fn seed(incarnation: u64, position: u64) -> u32 {
    let mixed = (incarnation ^ position.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 32) as u32
}

/// The checksum of a whole frame whose first four bytes are ignored.
fn checksum(incarnation: u64, position: u64, frame: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(seed(incarnation, position));
    hasher.update(&frame[4..]);
    hasher.finalize()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Writes the header of the frame that fills `frame`, payload already in place.
pub(crate) fn finish(frame: &mut [u8], incarnation: u64, position: u64, kind: u8, partition: u16, seq: u64) {
    let length = u32::try_from(frame.len()).expect("a frame is shorter than a segment");
    frame[4..8].copy_from_slice(&length.to_le_bytes());
    frame[8..16].copy_from_slice(&seq.to_le_bytes());
    frame[16..18].copy_from_slice(&partition.to_le_bytes());
    frame[18] = kind;
    frame[19] = 0;
    let crc = checksum(incarnation, position, frame);
    frame[..4].copy_from_slice(&crc.to_le_bytes());
}

/// Appends an internal frame without payload.
pub(crate) fn push_internal(buffer: &mut Vec<u8>, incarnation: u64, position: u64, kind: u8, seq: u64) {
    let at = buffer.len();
    buffer.resize(at + HEADER, 0);
    finish(&mut buffer[at..], incarnation, position, kind, INTERNAL_PARTITION, seq);
}

/// Reads the frame at the start of `bytes`; `room` is how long it may be at most.
pub(crate) fn parse(bytes: &[u8], room: u64, incarnation: u64, position: u64) -> Parsed {
    if room < HEADER as u64 {
        return Parsed::End;
    }
    if bytes.len() < HEADER {
        return Parsed::Short(HEADER);
    }
    let length = u32_at(bytes, 4) as usize;
    if length == 0 {
        return Parsed::End;
    }
    if length < HEADER || length as u64 > room {
        return Parsed::Bad("a record has an impossible length");
    }
    if bytes.len() < length {
        return Parsed::Short(length);
    }
    let frame = &bytes[..length];
    if u32_at(frame, 0) != checksum(incarnation, position, frame) {
        return Parsed::Bad("a record's checksum does not match");
    }
    Parsed::Frame(Header {
        length,
        seq: u64::from_le_bytes(frame[8..16].try_into().expect("eight bytes")),
        partition: u16::from_le_bytes(frame[16..18].try_into().expect("two bytes")),
        kind: frame[18],
    })
}

/// The places in `bytes` where a commit frame may begin: found without knowing where frames begin.
pub(crate) fn commit_candidates(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let length = (HEADER as u32).to_le_bytes();
    (0..bytes.len().saturating_sub(HEADER - 1)).filter_map(move |at| {
        let here = &bytes[at..at + HEADER];
        (here[18] == KIND_COMMIT && here[4..8] == length).then_some(at..at + HEADER)
    })
}

/// Where the last byte stands that is not zero. Most of a segment is empty, so whole blocks are looked at.
pub(crate) fn last_used(bytes: &[u8]) -> Option<usize> {
    const BLOCK: usize = 256;
    let empty = bytes.rchunks(BLOCK).take_while(|block| block.iter().fold(0, |any, byte| any | byte) == 0);
    let end = bytes.len().saturating_sub(empty.count() * BLOCK);
    bytes[..end].iter().rposition(|&byte| byte != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_byte_in_use_is_found_in_any_block() {
        for length in [0, 1, 255, 256, 257, 1000] {
            let mut bytes = vec![0; length];
            assert_eq!(last_used(&bytes), None);
            for at in 0..length {
                bytes[at] = 1;
                assert_eq!(last_used(&bytes), Some(at));
            }
        }
    }

    fn frame(incarnation: u64, position: u64) -> Vec<u8> {
        let mut bytes = vec![0; HEADER];
        bytes.extend_from_slice(b"payload");
        finish(&mut bytes, incarnation, position, 5, 6, 7);
        bytes
    }

    #[test]
    fn a_frame_is_one_only_where_it_was_written() {
        let bytes = frame(11, 4096);
        let header = Header { length: 27, seq: 7, partition: 6, kind: 5 };
        assert_eq!(parse(&bytes, 100, 11, 4096), Parsed::Frame(header));
        assert!(matches!(parse(&bytes, 100, 11, 4097), Parsed::Bad(_)));
        assert!(matches!(parse(&bytes, 100, 12, 4096), Parsed::Bad(_)));
    }

    #[test]
    fn what_is_not_whole_says_how_much_is_missing() {
        let bytes = frame(1, 2);
        assert_eq!(parse(&bytes[..10], 100, 1, 2), Parsed::Short(HEADER));
        assert_eq!(parse(&bytes[..22], 100, 1, 2), Parsed::Short(27));
        assert!(matches!(parse(&bytes, 26, 1, 2), Parsed::Bad(_)));
        assert_eq!(parse(&bytes, 19, 1, 2), Parsed::End);
        assert_eq!(parse(&[0; 32], 100, 1, 2), Parsed::End);
        assert!(matches!(parse(&[1; 32], 100, 1, 2), Parsed::Bad(_)));
    }

    /// The document's words for the checksum, in another implementation.
    #[test]
    fn the_checksum_is_the_documented_one() {
        let (incarnation, position) = (0x0123_4567_89AB_CDEF_u64, 64_u64);
        let bytes = frame(incarnation, position);
        let seed =
            ((incarnation ^ position.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32;
        let mut crc = !seed;
        for &byte in &bytes[4..] {
            crc ^= u32::from(byte);
            for _ in 0..8 {
                crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
            }
        }
        assert_eq!(bytes[..4], (!crc).to_le_bytes());
    }
}
