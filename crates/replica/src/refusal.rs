//! What a host refuses: writes that cannot be logged, or that no peer would take; and streams, and why.

use crate::host::Host;
use serde::{Deserialize, Serialize};
use tidemark_contract::Protocol;
use tidemark_core::Failure;
use tidemark_store::log::{Log, LogError};

/// What a record takes beside its key and value, generously.
const ORDINARY: usize = 256;

/// The most that a turn of a group may write, unless it is one record: it becomes one entry, which travels as a whole.
const TURN_BYTES_MAX: usize = 1 << 30;

/// Left free for the small records that keep a server going when writes are refused.
fn reserve_bytes(segment_bytes: u64) -> usize {
    (segment_bytes / 16).min(256 << 10) as usize
}

/// Why a sender does not open a stream, or a receiver does not take it. It needs an operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum StreamRefusal {
    /// The receiver has more than the sender.
    #[error(
        "the sender's log ends at record {mine}, but the receiver holds record {theirs}: the log was rolled back, or \
         lost its end in a power failure. Stop the sender, restore the newest copy of its data directory, start it"
    )]
    LostLog {
        /// The last record that the receiver has.
        theirs: u64,
        /// The last record that the sender has.
        mine: u64,
    },
    /// The sender has dropped what the receiver needs.
    #[error(
        "the receiver needs records from {needed} on, but the sender's log begins at record {first_kept}: the receiver \
         was away for too long. What is missing cannot be sent again. Before the next cut, raise log_retain \
         (--log-retain) at every node"
    )]
    Truncated {
        /// The first record that the receiver needs.
        needed: u64,
        /// The first record that the sender has.
        first_kept: u64,
    },
    /// The log is not the one that the receiver knows.
    #[error(
        "the sender's log is {found:016x}, but the receiver knows {known:016x}: the sender's data directory was emptied \
         or replaced. Stop the sender, restore its own data directory, start it"
    )]
    OtherIncarnation {
        /// The one that the receiver knows.
        known: u64,
        /// The one that the sender has.
        found: u64,
    },
    /// A relay lacks something itself.
    #[error("it has not received what it is asked for")]
    NotRelayed,
    /// The sender's log cannot be read.
    #[error("the log cannot be read: {0}")]
    Unreadable(String),
    /// The next record is larger than the receiver takes: the stream stands still until the limit there is raised.
    #[error(
        "record {seq} has {bytes} bytes, and the receiver takes {takes} at most: proto-max-bulk-len is larger at the sender"
    )]
    TooLarge {
        /// Its number.
        seq: u64,
        /// Its size.
        bytes: usize,
        /// The largest that the receiver takes.
        takes: usize,
    },
}

impl StreamRefusal {
    /// If it says that the sender's log is not the one that the receiver knows: what the sender is to tell whoever
    /// wants to write there, and its operator.
    pub(crate) fn disowns(&self) -> Option<String> {
        let what = match self {
            Self::LostLog { theirs, mine } => format!(
                "a peer holds record {theirs} of this node, but the log in its data directory ends at {mine}: it was \
                 rolled back, or lost its end in a power failure"
            ),
            Self::OtherIncarnation { known, found } => format!(
                "a peer knows log {known:016x} of this node, but its data directory holds {found:016x}: it was emptied \
                 or replaced"
            ),
            Self::Truncated { .. } | Self::NotRelayed | Self::TooLarge { .. } | Self::Unreadable(_) => {
                return None;
            }
        };
        Some(format!(
            "this node takes no more writes, which no peer would receive: {what}. Stop it, restore its own data \
             directory, start it; reads go on"
        ))
    }
}

/// Why a host takes no writes, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteRefusal {
    /// See [`Host::disowned`].
    #[error("{0}")]
    Disowned(String),
    /// They cannot be logged.
    #[error(transparent)]
    Log(LogError),
    /// This turn of a group is large enough already.
    #[error("{turn} bytes are being written, and {bytes} more are too many at once")]
    Turn {
        /// Bytes that it writes already.
        turn: usize,
        /// Bytes that it would write in addition.
        bytes: usize,
    },
}

impl WriteRefusal {
    /// Whether there is no room on the disk.
    pub fn is_full_disk(&self) -> bool {
        matches!(self, Self::Log(LogError::Full(_)))
    }
}

impl From<WriteRefusal> for Failure {
    fn from(refusal: WriteRefusal) -> Self {
        match refusal {
            WriteRefusal::Disowned(why) => Self::Misconfigured(why),
            WriteRefusal::Log(error @ LogError::TooLarge { .. }) => Self::Refused(error.to_string()),
            other => Self::Unavailable(other.to_string()),
        }
    }
}

impl<P: Protocol> Host<P> {
    /// Whether writes are accepted.
    ///
    /// # Errors
    /// Why not, and what to do.
    pub fn can_write(&mut self) -> Result<(), WriteRefusal> {
        self.may_write(ORDINARY)
    }

    /// Why this log cannot be the one that a peer knows as this server's, once one has said so. From then on writes
    /// are refused, which that peer would never take. Only another start, with another log, ends it.
    pub fn disowned(&self) -> Option<&str> {
        self.disowned.as_deref()
    }

    pub(crate) fn may_write(&mut self, bytes: usize) -> Result<(), WriteRefusal> {
        match &self.disowned {
            Some(why) => Err(WriteRefusal::Disowned(why.clone())),
            None => self.make_room(bytes),
        }
    }

    /// Makes sure that an event whose records bring about `bytes` of keys and values will find room, before it
    /// changes anything.
    pub(crate) fn make_room(&mut self, bytes: usize) -> Result<(), WriteRefusal> {
        let turn = self.group.as_ref().map_or(0, |group| group.turn.len());
        let room = reserve(&mut self.log, (turn, self.config.log_segment_bytes), bytes);
        self.lacked_room = room.is_err();
        room
    }

    /// Why writes are refused, if some were: it is tried whether they are still. Where none was, nothing is tried.
    pub fn refuses_writes(&mut self) -> Option<WriteRefusal> {
        let refused = self.lacked_room || self.disowned.is_some();
        refused.then(|| self.can_write().err()).flatten()
    }
}

/// The same, of a log, where so much was written in this turn already.
pub(crate) fn reserve(
    log: &mut Log,
    (turn, segment_bytes): (usize, u64),
    bytes: usize,
) -> Result<(), WriteRefusal> {
    if turn > 0 && turn + bytes > TURN_BYTES_MAX {
        return Err(WriteRefusal::Turn { turn, bytes });
    }
    let bytes = bytes + ORDINARY + reserve_bytes(segment_bytes);
    log.reserve(8, bytes).map_err(WriteRefusal::Log)
}
