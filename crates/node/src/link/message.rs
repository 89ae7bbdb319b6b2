//! What nodes say to each other, beside replication streams: at most once, in any order. Both ways of one region, and between regions.

use serde::{Deserialize, Serialize};
use tidemark_contract::{Protocol, Ticket};
use tidemark_core::{Failure, PartitionId, ServerId};

/// One message.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub enum Message<P: Protocol> {
    /// A session of the sending node asks a server of the receiving one.
    Ask {
        /// Where the answer goes.
        ticket: Ticket,
        /// Who is asked.
        to: PartitionId,
        /// If the question may change something: how many bytes of keys and values it brings.
        writes: Option<usize>,
        /// What is asked.
        request: P::Request,
    },
    /// The answer.
    Answer {
        /// Where it goes.
        ticket: Ticket,
        /// Who answers.
        from: ServerId,
        /// The answer.
        reply: P::Reply,
    },
    /// A question that was not taken.
    Refusal {
        /// Where it goes.
        ticket: Ticket,
        /// Why.
        failure: Failure,
    },
    /// A question that was not taken, for who was asked does not lead its group, or not for long: as it was asked.
    Returned {
        /// Who asks, and what for.
        ticket: Ticket,
        /// Who was asked.
        to: PartitionId,
        /// As it was asked.
        writes: Option<usize>,
        /// What was asked.
        request: P::Request,
    },
    /// One server says something to another.
    Peer {
        /// Who says it.
        from: ServerId,
        /// To whom.
        to: PartitionId,
        /// What.
        message: P::Peer,
    },
    /// One driver says something to all others.
    Broadcast {
        /// What.
        content: Vec<u8>,
    },
}
