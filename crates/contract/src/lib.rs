//! What a consistency protocol is.
//!
//! A protocol is a pure event handler: it never sees a clock, a random number, a socket, a task, a thread or
//! a disk. [`Protocol`] is the server's half, [`Session`] the client's half; each answers events by appending
//! effects to a buffer that its driver owns. The same file runs in the simulator and behind real sockets.
//!
//! Beside the two traits stand the building blocks that several protocols share: [`Waiters`] (waiting is
//! data), [`Gather`] (one question to several siblings, one answer), [`Stabilisation`] (the aggregation
//! tree), [`Ceiling`] (stamps that survive a restart) and [`Lab`] (a hand-driven cluster for tests).

pub mod ceiling;
pub mod collector;
pub mod cx;
pub mod gather;
pub mod lab;
pub mod protocol;
pub mod session;
pub mod stabilisation;
pub mod topology;
pub mod waiters;

pub use ceiling::Ceiling;
pub use collector::Collector;
pub use cx::{Before, Cx, Effect, Walk, found_of};
pub use gather::{Gather, GatherId};
pub use lab::Lab;
pub use protocol::{Clock, Params, Protocol, Recovered, Wire};
pub use session::{Ask, AskId, Session, SessionCx, SessionEffects, Ticket, TokenError};
pub use stabilisation::{Pass, Report, Stabilisation};
pub use tidemark_core as core;
pub use tidemark_store::{Store, Version};
pub use topology::Topology;
pub use waiters::{Threshold, Waiters};
