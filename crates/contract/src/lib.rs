//! What a consistency protocol is.
//!
//! A protocol is a pure event handler: it never sees a clock, a random number, a socket, a task, a thread or
//! a disk. [`Protocol`] is the server's half, [`Session`] the client's half; each answers events by appending
//! effects to a buffer that its driver owns. The same file runs in the simulator and behind real sockets.
//!
//! Beside the two traits stand the building blocks that several protocols share:
//!
//! - [`OneRound`]: sessions that are their past, [`Arrivals`] from other regions; [`OwnWrites`]: what they wrote themselves
//! - [`Parts`]: reads that a session puts together
//! - [`Slices`]: snapshot reads of one round
//! - [`Gather`]: one question to several siblings, one answer
//! - [`TwoPhase`]: transactions that write at several partitions; [`Timeline`]: the times of who takes part in them
//! - [`Stabilisation`]: the aggregation tree
//! - [`Deps`] and [`Checks`]: dependencies that name operations, and waiting for them; [`Dependant`]: what waits, where
//!   versions are checked one by one; [`Everywhere`]: what nobody waits for any more; [`Causes`]: a whole past as a list; [`Matrix`]: dependencies on servers
//! - [`Grouping`]: which servers belong together; [`Tracked`]: dependencies by group
//! - [`Placement`]: which data centres hold a key; [`Traveller`]: a session that goes where its keys are
//! - [`Waiters`]: waiting is data
//! - [`Ceiling`]: stamps and stable values that survive a restart
//! - [`Collector`]: when to drop old versions; [`Watched`]: versions that will be lighter then
//! - [`Conflicts`]: concurrent versions of a key
//! - [`Rule`]: what its safety rests on, for tests to break
//! - [`Absence`]: a data centre that the others do without
//! - [`Lab`]: a hand-driven cluster for tests

pub mod absence;
pub mod causes;
pub mod ceiling;
pub mod checks;
pub mod collector;
pub mod conflicts;
pub mod cx;
pub mod dependants;
pub mod deps;
pub mod extensions;
pub mod gather;
pub mod grouping;
pub mod info;
pub mod lab;
pub mod matrix;
pub mod one_round;
pub mod order;
pub mod own_writes;
pub mod parts;
pub mod placement;
pub mod protocol;
pub mod reads;
pub mod regrouping;
pub mod rule;
pub mod session;
pub mod slices;
pub mod stabilisation;
pub mod timeline;
pub mod topology;
pub mod tracked;
pub mod traveller;
pub mod two_phase;
pub mod waiters;
pub mod watched;

pub use absence::{Absence, Away, Exclusion, Found, Lacks, Stage, Standing, Step};
pub use causes::Causes;
pub use ceiling::{Ceiling, Hard};
pub use checks::{Check, Checks, Everywhere};
pub use collector::Collector;
pub use conflicts::Conflicts;
pub use cx::{Before, Cx, Effect, Walk, found_of};
pub use dependants::{Applied, Dependant};
pub use deps::{Dep, Deps, Scope};
pub use extensions::{CheckingGroups, Extensions};
pub use gather::{Gather, GatherId};
pub use grouping::{Division, Grouping, Members, Servers};
pub use info::{Clock, Info};
pub use lab::Lab;
pub use matrix::Matrix;
pub use one_round::{Answer, Arrivals, OneRound, OneRoundSession, Own, Past};
pub use order::Order;
pub use own_writes::OwnWrites;
pub use parts::Parts;
pub use placement::{Keys, Placement};
pub use protocol::{Params, Protocol, Recovered, Status, Wire};
pub use reads::Reads;
pub use regrouping::{Behind, GroupStage, GroupStanding, Groupings, Regrouping};
pub use rule::Rule;
pub use session::{
    Ask, AskId, Checking, Reach, Reaches, Session, SessionCx, SessionEffects, Ticket, Token, not_covered,
};
pub use slices::{SliceReply, SliceReq, Slices, SnapshotRead, by_partition, put_in_place, unanswered};
pub use stabilisation::{Report, Stabilisation, Tree};
pub use tidemark_core as core;
pub use tidemark_store::{Store, Version};
pub use timeline::{Lasting, Timeline};
pub use topology::Topology;
pub use tracked::{NEVER, Reached, Tracked, everywhere};
pub use traveller::{Part, Traveller};
pub use two_phase::{Commit, Transaction, Turn, TwoPhase, Tx, Undone, Writes, given_up};
pub use waiters::{Threshold, Waiters};
pub use watched::Watched;
