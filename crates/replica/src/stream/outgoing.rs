//! An open stream to one peer: how far it has come.

use crate::place::Floor;
use crate::refusal::StreamRefusal;
use tidemark_core::Hlc;
use tidemark_store::log::{LogCursor, Position};

/// An open stream to one peer.
pub(crate) struct OutgoingStream {
    pub(super) cursor: LogCursor,
    /// The last record that was handed out.
    pub(super) sent: u64,
    /// The last heartbeat that was handed out.
    pub(super) beat: Hlc,
    /// The last floor that was handed out.
    pub(super) floor: Hlc,
    /// Up to which record it was said that all data centres have it.
    pub(super) everywhere: u64,
    /// The largest record that the receiver takes.
    pub(super) takes: usize,
}

impl OutgoingStream {
    pub(super) fn new(cursor: LogCursor, sent: u64) -> Self {
        Self { cursor, sent, beat: Hlc::ZERO, floor: Hlc::ZERO, everywhere: 0, takes: usize::MAX }
    }

    /// What it reads next.
    pub(crate) fn position(&self) -> Position {
        self.cursor.position()
    }

    /// Whether this floor is to be handed out now: a record that was written before it may lie below.
    pub(super) fn rises_to(&self, floor: Option<Floor>) -> Option<Hlc> {
        floor.filter(|Floor { after, floor }| self.sent >= *after && *floor > self.floor).map(|one| one.floor)
    }
}

/// Whether a receiver that takes `takes` bytes gets a record of so many.
pub(super) fn carried(takes: usize, seq: u64, bytes: usize) -> Result<(), StreamRefusal> {
    match bytes <= takes {
        true => Ok(()),
        false => Err(StreamRefusal::TooLarge { seq, bytes, takes }),
    }
}
