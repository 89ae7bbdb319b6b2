//! What a consistency protocol is.
//!
//! A protocol is a pure event handler: it never sees a clock, a random number, a socket, a task, a thread or
//! a disk. [`Protocol`] is the server's half, [`Session`] the client's half; each answers events by appending
//! effects to a buffer that its driver owns. The same file runs in the simulator and behind real sockets.
//!
//! What several protocols share as a whole, with its state and its events, is a [`component`]. Beside the two traits stand the building blocks that several protocols share:
//!
//! - [`OneRound`]: sessions that are their past; [`Request`](request::Request): what they ask; [`OwnWrites`](own_writes::OwnWrites): what they wrote themselves
//! - [`Parts`]: reads that a session puts together; [`TwoRounds`](two_rounds::TwoRounds): in two rounds
//! - [`Slices`]: snapshot reads of one round
//! - [`Gather`](gather::Gather): one question to several siblings, one answer
//! - [`TwoPhase`](two_phase::TwoPhase): transactions that write at several partitions; [`Timeline`](timeline::Timeline): the times of who takes part in them
//! - [`Stabilisation`]: the aggregation tree
//! - [`Deps`] and [`Checks`]: dependencies that name operations, and waiting for them; [`DependencyChecked`](dependency_checked::DependencyChecked), a component: checks of each version, where
//!   versions wait one by one; [`Everywhere`](checks::Everywhere): what nobody waits for any more; [`Causes`](causes::Causes): a whole past as a list; [`Matrix`](matrix::Matrix): dependencies on servers
//! - [`grouping`]: servers that belong together, for tracking dependencies and for checking them (`accf`)
//! - [`Placement`](placement::Placement): which data centres hold a key; [`ForwardedSession`](forwarded::ForwardedSession): a session that goes where its keys are
//! - [`Waiters`]: waiting is data; [`Early`](early::Early): waiting for the clock
//! - [`Ceiling`]: stamps and stable values that survive a restart
//! - [`Collector`]: when to drop old versions; [`Horizon`](horizon::Horizon): which of them are kept for reads at a time; [`Aging`](aging::Aging): what is kept for a while; [`Watched`](watched::Watched): versions that will be lighter then
//! - [`Conflicts`](conflicts::Conflicts): concurrent versions of a key
//! - [`Transaction`](transaction::Transaction): an interactive transaction, at its client's side; [`stabilised::leases`]: the snapshots that servers hold for them
//! - [`programs`]: updates whose commands are computed where their keys live
//! - [`Rule`]: what its safety rests on, for tests to break; [`Variant`]: a protocol without some of its rules, by name
//! - [`Removal`](removal::Removal): a data centre that the others do without
//! - [`Lab`]: a hand-driven cluster for tests

pub mod aging;
pub mod bases;
pub mod causes;
pub mod ceiling;
pub mod checks;
pub mod collector;
pub mod component;
pub mod conflicts;
pub mod cx;
pub mod dependants;
pub mod dependency_checked;
pub mod deps;
pub mod early;
pub mod extensions;
pub mod forwarded;
pub mod gather;
pub mod grouping;
pub mod horizon;
pub mod info;
pub mod lab;
pub mod matrix;
pub mod one_round;
pub mod order;
pub mod own_writes;
pub mod parts;
pub mod placement;
pub mod prelude;
pub mod programs;
pub mod protocol;
pub mod reads;
pub mod removal;
pub mod request;
pub mod session;
pub mod several;
pub mod slices;
pub mod stabilisation;
pub mod stabilised;
pub mod synced;
pub mod timeline;
pub mod topology;
pub mod transaction;
pub mod two_phase;
pub mod two_rounds;
pub mod waiters;
pub mod watched;

pub use ceiling::{Ceiling, Hard};
pub use checks::{Check, Checks};
pub use collector::Collector;
pub use cx::{Cx, Draft, Walk};
pub use deps::{Dep, Deps, Scope};
pub use extensions::Extensions;
pub use info::{Clock, Info};
pub use lab::Lab;
pub use one_round::{Answer, OneRound, OneRoundSession, Past};
pub use parts::Parts;
pub use protocol::{Params, Protocol, Recovered, Status, Wire};
pub use reads::Reads;
pub use session::{AskId, Reach, Reaches, Session, SessionCx, Ticket, Token};
pub use slices::{SliceReply, SliceReq, Slices};
pub use stabilisation::{Report, Stabilisation, Tree};
pub use tidemark_core as core;
pub use tidemark_core::rule::{self, Rule, Variant, without};
pub use tidemark_core::{rules, variants};
pub use tidemark_store::{Store, Version};
pub use topology::Topology;
pub use waiters::Waiters;
