//! Why an item of a stream was not taken.

use crate::refusal::WriteRefusal;
use tidemark_core::{DcId, Key, Micros, ServerId};
use tidemark_store::Misunderstood;

/// Why an item was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// A record is missing before it: the link must be opened again.
    #[error("record {expected} was expected, record {got} came")]
    Gap {
        /// The next in order.
        expected: u64,
        /// What came.
        got: u64,
    },
    /// Its time lies too far ahead of this server's clock: the link waits and offers it again.
    #[error("a record's time is {by_us} µs ahead of this server's clock; check the clocks of both")]
    Ahead {
        /// By how much, in microseconds.
        by_us: Micros,
    },
    /// It cannot be logged now: the link waits and offers it again.
    #[error("{0}")]
    NoRoom(String),
    /// It was written by another version of Tidemark: the link waits and offers it again, until this server is of that version too.
    #[error(
        "record {seq} for {key} cannot be applied here: {why}. Its sender runs another version of Tidemark: use that one"
    )]
    Meaning {
        /// Its number.
        seq: u64,
        /// Its key.
        key: Key,
        /// Why.
        why: Misunderstood,
    },
    /// Its data centre is excluded, or about to be, and this comes after what is taken of it: the stream is closed.
    #[error("region {0} is excluded, or about to be")]
    Ended(DcId),
    /// No stream was accepted from this peer.
    #[error("no stream was accepted from {0}")]
    NotAccepted(ServerId),
}

impl From<WriteRefusal> for StreamError {
    fn from(refusal: WriteRefusal) -> Self {
        Self::NoRoom(refusal.to_string())
    }
}
