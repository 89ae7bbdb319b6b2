//! The deterministic simulator: every protocol, on the code that serves users, in virtual time.
//!
//! One thread plays one schedule: servers with their logs on simulated disks, links that are slow or cut, clocks that
//! drift and jump, processes that are killed or lose power, and sessions that read and write meanwhile. Everything is
//! drawn from a seed before it begins ([`Plan`]), so that the same seed gives the same run, a failing run can be
//! shrunk by taking things out of its plan, and every number of a run can be explained.
//!
//! A run has two halves: safety while things fail; then everything heals, and what was promised for then has to come
//! true. The history of what sessions saw goes to the checker, which knows no protocol.

mod bound;
mod campaign;
mod clocks;
mod cluster;
mod crowd;
mod divided;
mod grouping;
mod load;
mod measure;
mod meter;
mod options;
mod outcome;
mod plan;
mod queue;
mod report;
mod rng;
pub mod roaming;
mod run;
mod shrink;
mod trace;
mod typed;
mod updates;

pub use bound::{Bound, Bounded, GivesUp, MOST_READERS, Side, bound};
pub use campaign::{Campaign, Progress, Summary, campaign};
pub use crowd::{Answered, Crowd, Down, Mode, Sample, Watched, Work, crowd};
pub use grouping::{Adapting, GroupsChange};
pub use load::{Calibration, Costs, Fed, Load, Loaded, Messages, Slow, Visibility, load};
pub use measure::{Measurement, TRANSACTION_KEYS, measure};
pub use meter::{Background, Measured, Operation, Updates};
pub use options::{FaultKind, Faults, Options, Placed, Policies};
pub use outcome::{Problem, ProblemKind, RunOutcome, Stats, Verdict};
pub use plan::{
    Act, Damage, EdgeAct, EdgePlan, EdgeStep, Fault, Handshake, Held, Hold, Layout, Moment, Plan, Step,
    Trouble,
};
pub use report::Counterexample;
pub use run::{Simulation, run};
pub use shrink::Shrunk;
pub use tidemark_contract::synced::RULES as SAID_RULES;
/// Rules of edge clients, for [`Options::without`].
pub use tidemark_edge::rule::RULES as EDGE_RULES;
/// Rules of groups, for [`Options::without`].
pub use tidemark_group::rule::RULES as GROUP_RULES;
pub use tidemark_node::rule::RULES as NODE_RULES;
pub use tidemark_replica::rule::RULES as HOST_RULES;
pub use tidemark_store::log::Fsync;
