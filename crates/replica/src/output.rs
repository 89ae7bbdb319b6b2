//! What leaves a host.

use derive_where::derive_where;
use tidemark_contract::absence::Standing;
use tidemark_contract::{Protocol, Ticket};
use tidemark_core::{Failure, ServerId};

/// Something that leaves a server.
#[derive_where(Clone, Debug)]
pub enum Output<P: Protocol> {
    /// An answer to a session.
    Reply {
        /// Where it goes.
        ticket: Ticket,
        /// Who answers.
        from: ServerId,
        /// The answer.
        reply: P::Reply,
    },
    /// A question that the server did not take.
    Refused {
        /// Where it goes.
        ticket: Ticket,
        /// Who refuses.
        from: ServerId,
        /// Why: always definite.
        failure: Failure,
    },
    /// Something that one server says to another.
    Send {
        /// Who says it.
        from: ServerId,
        /// To whom.
        to: ServerId,
        /// What.
        message: P::Peer,
    },
    /// An answer to an operator's order.
    Ordered {
        /// Which.
        number: u64,
        /// Who answers.
        from: ServerId,
        /// The answer.
        answer: Result<Standing, String>,
    },
}
