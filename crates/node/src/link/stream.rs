//! What stands on the connection of a replication stream, in both directions.

use serde::{Deserialize, Serialize};
use tidemark_contract::Protocol;
use tidemark_core::ServerId;
use tidemark_replica::{Resume, StreamError, StreamItem, StreamRefusal};

/// From the receiver of records.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Request {
    /// It wants the records of a server from here on.
    Open {
        /// Of which server: the sender itself, or one in another region, whose records it relays.
        server: ServerId,
        /// From where.
        resume: Resume,
        /// The largest record that it takes, in bytes.
        takes: u64,
    },
    /// It wants none for now.
    Close {
        /// Of which server: the sender itself, or one in another region, whose records it relays.
        server: ServerId,
    },
    /// It has durably received the records up to this one.
    Confirm {
        /// Of which server: the sender itself, or one in another region, whose records it relays.
        server: ServerId,
        /// Its number.
        seq: u64,
    },
    /// It does not take what comes next, though it has it, or takes it again: so that both sides can tell what stands still, and why.
    Held {
        /// Of which server.
        server: ServerId,
        /// Why; none once it takes records again.
        why: Option<Reason>,
    },
}

/// Why a receiver does not take the next record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// What it is about.
    pub cause: Cause,
    /// In words.
    pub what: String,
}

/// What the reason is about. Encoded by position: the order is part of the wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// The record's time lies too far ahead of the receiver's clock.
    Clock,
    /// The receiver has no room for it.
    Room,
    /// The receiver does not understand it.
    Meaning,
}

impl Reason {
    /// Why a record was not taken that will be offered again; none if it will not.
    pub fn of(error: &StreamError) -> Option<Self> {
        let cause = match error {
            StreamError::Ahead { .. } => Cause::Clock,
            StreamError::NoRoom(_) => Cause::Room,
            StreamError::Meaning { .. } => Cause::Meaning,
            StreamError::Gap { .. } | StreamError::Ended(_) | StreamError::NotAccepted(_) => return None,
        };
        Some(Self { cause, what: error.to_string() })
    }
}

/// From the sender.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub enum Supply<P: Protocol> {
    /// The stream begins.
    Opened {
        /// Of which server: the sender itself, or one in another region, whose records it relays.
        server: ServerId,
        /// The name of the log that it is read from.
        incarnation: u64,
    },
    /// It cannot, or cannot go on.
    Refused {
        /// Of which server: the sender itself, or one in another region, whose records it relays.
        server: ServerId,
        /// Why.
        refusal: StreamRefusal,
    },
    /// What comes next.
    Items {
        /// Of which server: the sender itself, or one in another region, whose records it relays.
        server: ServerId,
        /// In their order.
        items: Vec<StreamItem<P>>,
    },
}
