//! Torture of real clusters: processes killed, links cut, disks damaged, while clients record what they see.
//!
//! `TORTURE_SEED` chooses the faults, `TORTURE_ROUNDS` how many there are for each cluster (each takes one to two
//! seconds). What fails keeps its directory, with the history and every node's log, and prints where it is.

mod chaos;
mod convict;
mod disk;
mod disowned;
mod every;
mod findings;
mod full;
mod groups;
mod harness;
mod judge;
mod powerloss;
mod regrouping;
mod removed;
mod shared;
mod spread;
mod types;
mod whole;
mod workload;
