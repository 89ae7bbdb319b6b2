//! What stands on a feed connection, in both directions.

use serde::{Deserialize, Serialize};
use tidemark_contract::Protocol;
use tidemark_core::PartitionId;
use tidemark_replica::{FeedItem, FeedRefusal, Resume};

/// From the receiver of records.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// It wants the records of a partition from here on.
    Open { partition: PartitionId, resume: Resume },
    /// It wants none for now.
    Close { partition: PartitionId },
    /// It has durably received the records up to this one.
    Confirm { partition: PartitionId, seq: u64 },
}

/// From the sender.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) enum Supply<P: Protocol> {
    /// The feed begins.
    Opened { partition: PartitionId, incarnation: u64 },
    /// It cannot, or cannot go on.
    Refused { partition: PartitionId, refusal: FeedRefusal },
    /// What comes next.
    Items { partition: PartitionId, items: Vec<FeedItem<P>> },
}
