//! `tidemark bench`

use crate::Usage;
use crate::output::print;
use crate::running::Which;
use anyhow::Context;
use clap::Args;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tidemark_bench::{BenchError, Plan, Region, Report};
use tidemark_experiments::{Row, Store, default_path, machine, version};

/// Load servers that speak the Redis protocol, and measure what clients see.
#[derive(Args)]
#[group(skip)]
pub(crate) struct Bench {
    #[command(flatten)]
    bench: tidemark_bench::Bench,
    /// Keep the result, in `results.sqlite` in this directory, where `tidemark results` finds it. Without this, --db and
    /// TIDEMARK_RESULTS it is only printed.
    #[arg(long)]
    save: bool,
    /// Keep the result in this file, rather than in the one that TIDEMARK_RESULTS names.
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
    /// Do not keep the result, even if TIDEMARK_RESULTS is set.
    #[arg(long, conflicts_with_all = ["db", "save"])]
    no_db: bool,
    #[command(flatten)]
    which: Which,
}

impl Bench {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let Self { bench, save, db, no_db, which } = self;
        let asked = save || std::env::var_os("TIDEMARK_RESULTS").is_some();
        let kept = db.or_else(|| asked.then(default_path)).filter(|_| !no_db);
        let output =
            bench.run(|| regions(&which)).map_err(|error| match error.downcast_ref::<BenchError>() {
                Some(wrong) if wrong.is_usage() => Usage(wrong.to_string()).into(),
                _ => error,
            })?;
        print(&output.text);
        if let (Some(report), Some(path)) = (output.report, kept) {
            keep(&report, &path)?;
        }
        Ok(if output.whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Stores what was measured where `tidemark results` finds it.
fn keep(report: &Report, path: &Path) -> anyhow::Result<()> {
    let run = Store::open(path)?.add_bench(&row(report), &version(env!("CARGO_PKG_VERSION")), &machine())?;
    eprintln!("kept in {} as run {run}; `tidemark results` queries it", path.display());
    Ok(())
}

/// The report as one row: the workload with its settings, how it was played, what clients saw, and when half of the writes
/// of each region showed in each other one.
fn row(report: &Report) -> Row {
    let settings = report.workload.settings().into_iter().filter(|(_, value)| !value.is_null());
    let mut row: Row = settings.map(|(name, value)| (column(&name), value)).collect();
    row.remove("name");
    row.extend(report.summary.row());
    let how: [(&str, Value); 8] = [
        ("workload", report.workload.name.clone().into()),
        ("clients", report.connections.into()),
        ("partitions", report.partitions.into()),
        ("threads", report.threads.into()),
        ("pipeline", report.pipeline.into()),
        ("rate", report.arrivals_per_second.into()),
        ("regions", report.regions.keys().cloned().collect::<Vec<_>>().join(" ").into()),
        ("seed", report.seed.into()),
    ];
    row.extend(how.map(|(name, value)| (name.to_string(), value)));
    for pair in &report.visibility {
        let name = format!("visible_{}_{}_p50_us", column(&pair.from), column(&pair.to));
        row.insert(name, pair.times.p50_us.into());
    }
    row
}

/// A name of a column: small letters, digits, `-`, `_` and `.`.
fn column(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    name.chars().map(letter).collect()
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
