//! `tidemark bench`

use crate::Usage;
use crate::output::print;
use crate::running::Which;
use anyhow::Context;
use clap::Args;
use std::process::ExitCode;
use tidemark_bench::{BenchError, Plan, Region};

/// Load servers that speak the Redis protocol, and measure what clients see.
#[derive(Args)]
pub(crate) struct Bench {
    #[command(flatten)]
    bench: tidemark_bench::Bench,
    #[command(flatten)]
    which: Which,
}

impl Bench {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let Self { bench, which } = self;
        let output =
            bench.run(|| regions(&which)).map_err(|error| match error.downcast_ref::<BenchError>() {
                Some(wrong) if wrong.is_usage() => Usage(wrong.to_string()).into(),
                _ => error,
            })?;
        print(&output.text);
        Ok(if output.whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// The regions of the cluster that `tidemark up` runs, with the servers of theirs that run.
fn regions(which: &Which) -> anyhow::Result<Vec<Region>> {
    let status = which
        .find()
        .and_then(|running| running.status())
        .context("without --region NAME=HOST:PORT it is the cluster of `tidemark up` that is measured")?;
    let running = status.nodes.into_iter().filter(|node| node.pid.is_some());
    Ok(Plan::join_regions(running.map(|node| Region { name: node.region, addresses: vec![node.redis] })))
}
