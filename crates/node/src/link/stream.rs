//! What stands on the connection of a replication stream, in both directions.

use serde::{Deserialize, Serialize};
use tidemark_contract::Protocol;
use tidemark_core::ServerId;
use tidemark_replica::{Resume, StreamItem, StreamRefusal};

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
