//! What stands on the connection of a replication stream, in both directions.

use serde::{Deserialize, Serialize};
use tidemark_contract::Protocol;
use tidemark_core::PartitionId;
use tidemark_replica::{Resume, StreamItem, StreamRefusal};

/// From the receiver of records.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Request {
    /// It wants the records of a partition from here on.
    Open {
        /// Of which.
        partition: PartitionId,
        /// From where.
        resume: Resume,
    },
    /// It wants none for now.
    Close {
        /// Of which.
        partition: PartitionId,
    },
    /// It has durably received the records up to this one.
    Confirm {
        /// Of which.
        partition: PartitionId,
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
        /// Of which.
        partition: PartitionId,
        /// The name of the log that it is read from.
        incarnation: u64,
    },
    /// It cannot, or cannot go on.
    Refused {
        /// Of which.
        partition: PartitionId,
        /// Why.
        refusal: StreamRefusal,
    },
    /// What comes next.
    Items {
        /// Of which.
        partition: PartitionId,
        /// In their order.
        items: Vec<StreamItem<P>>,
    },
}
