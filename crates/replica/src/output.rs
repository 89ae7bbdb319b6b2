//! What leaves a host.

use crate::host::Host;
use derive_where::derive_where;
use tidemark_contract::removal::Standing;
use tidemark_contract::{Protocol, Ticket};
use tidemark_core::{Failure, ServerId};
use tidemark_store::log::Position;

/// Something that leaves a server.
#[derive_where(Clone, Debug)]
pub enum Output<P: Protocol> {
    /// An answer to a session.
    Reply {
        /// Where it goes.
        ticket: Ticket,
        /// Who answers.
        from: ServerId,
        /// The answer, or why the server did not take the question: always definite.
        reply: Result<P::Reply, Failure>,
        /// On whose behalf: see [`crate::Host::on_behalf_of`].
        cause: u64,
    },
    /// Something that one server says to another.
    Send {
        /// Who says it.
        from: ServerId,
        /// To whom.
        to: ServerId,
        /// What.
        message: P::Peer,
        /// On whose behalf: see [`crate::Host::on_behalf_of`].
        cause: u64,
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

impl<P: Protocol> Host<P> {
    /// On whose behalf the next event happens, in the words of whoever observes the node; 0 is nobody. What the event causes
    /// says so.
    #[inline]
    pub fn on_behalf_of(&mut self, cause: u64) {
        self.cause = cause;
    }

    /// The end of what is written.
    pub fn flushed(&self) -> Position {
        self.log.flushed()
    }
}
