//! The commands that a cluster does without: the simulator, the checker, experiments and benchmarks (feature `lab`).
//!
//! Nothing outside this folder uses it but through what this file offers. Without the feature, `no_lab.rs` offers the same, and says
//! how to get it.

mod calibrate;
mod commands;
mod metering;
mod picture;
mod protocols;
mod roaming;
mod runners;

use clap::Subcommand;
use commands::{bench, check, experiment, results, sim};
use std::process::ExitCode;

pub(crate) use commands::edge_bench::EdgeBench;
pub(crate) use protocols::tables;
pub(crate) use roaming::play as roaming;

/// The verbs of the lab.
#[derive(Subcommand)]
pub(crate) enum Lab {
    Sim(sim::Sim),
    Check(check::Check),
    #[command(subcommand)]
    Experiment(experiment::Experiment),
    Results(results::Results),
    Bench(bench::Bench),
}

impl Lab {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Sim(sim) => sim.run(),
            Self::Check(check) => check.run(),
            Self::Experiment(experiment) => experiment.run(),
            Self::Results(results) => results.run(),
            Self::Bench(bench) => bench.run(),
        }
    }
}
