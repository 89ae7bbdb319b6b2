//! Entries of a group's log, and the form in which their records travel.

use crate::group::GroupState;
use crate::recover::Item;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tidemark_store::log::Position;

/// What one entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EntryKind {
    /// Records of a turn; none when a leader begins.
    Records,
    /// A change of who belongs to the group, as whoever decides that encodes it.
    Members,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number: 1, 2, 3, …
    pub index: u64,
    /// The term of the leader that made it.
    pub term: u64,
    /// What it is.
    pub kind: EntryKind,
    /// Its records in the form in which they travel, or the change.
    pub data: Bytes,
}

/// What a member's directory holds of the group's log, agreed on or not.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    /// The group when the last entry was applied that is gone, because the snapshot contains it.
    pub after: GroupState,
    /// Those after it.
    pub list: Vec<Entry>,
}

/// The length of what stands before the payload of a record that travels.
const HEADER: usize = 1 + 2 + 8 + 4;

/// Appends a record in the form in which it travels: kind, partition, number, length, payload; numbers are little-endian.
/// Returns where its payload begins.
pub(crate) fn push_record(
    buffer: &mut Vec<u8>,
    (kind, partition, seq): (u8, u16, u64),
    encode: impl FnOnce(&mut Vec<u8>),
) -> usize {
    buffer.push(kind);
    buffer.extend(partition.to_le_bytes());
    buffer.extend(seq.to_le_bytes());
    let length_at = buffer.len();
    buffer.extend([0; 4]);
    let payload = buffer.len();
    encode(buffer);
    let length = (buffer.len() - payload) as u32;
    buffer[length_at..payload].copy_from_slice(&length.to_le_bytes());
    payload
}

/// The records of an entry.
pub(crate) fn records(mut data: &[u8]) -> impl Iterator<Item = Result<Item<'_>, String>> {
    std::iter::from_fn(move || {
        if data.is_empty() {
            return None;
        }
        let Some((header, rest)) = data.split_first_chunk::<HEADER>() else {
            data = &[];
            return Some(Err("its last record is cut off".to_string()));
        };
        let length = u32::from_le_bytes(header[11..].try_into().expect("four bytes")) as usize;
        let Some((payload, rest)) = rest.split_at_checked(length) else {
            data = &[];
            return Some(Err(format!("a record of {length} bytes is cut off")));
        };
        data = rest;
        Some(Ok(Item {
            at: Position::START,
            kind: header[0],
            partition: u16::from_le_bytes([header[1], header[2]]),
            seq: u64::from_le_bytes(header[3..11].try_into().expect("eight bytes")),
            payload,
        }))
    })
}
