//! Load for any server that speaks the Redis protocol.
//!
//! A [`Plan`] says which servers get which workload, how fast and for how long; [`run`] plays it over real sockets
//! and returns a [`Report`]. Many connections share few threads. [`Bench`] is the same as arguments of a command.

mod args;
mod commands;
mod connection;
mod error;
mod fill;
pub mod format;
mod live;
mod pace;
mod plan;
mod progress;
mod report;
mod run;
mod travel;
mod visibility;
mod worker;

pub use args::{Bench, Output};
pub use error::BenchError;
pub use live::{Phase, Tick};
pub use plan::{Arrivals, Limit, Pace, Plan, Region, Visibility};
pub use report::{Lost, Pair, Report};
pub use run::{Stop, run};
