//! `tidemark results`

use crate::Usage;
use crate::output::{print, print_json};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use tidemark_experiments::{Reader, default_path};

const EXAMPLES: &str = "\
Examples:
  tidemark results                                              the runs, and the views for queries
  tidemark results \"SELECT * FROM throughput WHERE clients = 32\"
  tidemark results \"SELECT protocol, median(latency_us) FROM latency GROUP BY protocol\" --csv
  tidemark results \"SELECT * FROM compare WHERE a = 3 AND b = 7\"  two runs, number by number

Exit codes: 0 all is well, 1 there are no results, 2 the query is wrong.";

/// Query what experiments and benchmarks have measured, in SQL.
///
/// Results are in one SQLite file, which docs/experiments.md describes; queries only read it. Without a query, the
/// runs are listed, and the views with their columns.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Results {
    /// A query; beside SQLite's own functions there are median(x), percentile(x, share), slope(x, y), r_squared(x, y).
    #[arg(value_name = "SELECT …")]
    query: Option<String>,
    /// The results: `results.sqlite` in this directory, or what TIDEMARK_RESULTS names, if nothing is said.
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
    /// Print comma-separated values.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Results {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let reader = Reader::open(&self.db.unwrap_or_else(default_path))?;
        let table = match &self.query {
            Some(query) => reader.query(query).map_err(|error| Usage(format!("{error:#}")))?,
            None => reader.runs()?,
        };
        let views = if self.query.is_none() { reader.views()? } else { Vec::new() };
        match (self.csv, self.json) {
            (true, _) => print(&table.csv()?),
            (_, true) if self.query.is_some() => print_json(&table.json())?,
            (_, true) => print_json(&json!({"runs": table.json(), "views": views}))?,
            _ => print(&table.text()),
        }
        if !self.csv && !self.json && self.query.is_none() {
            let lines = views.iter().map(|view| format!("{}: {}\n", view.name, view.columns.join(", ")));
            print(&format!("\nWhat can be queried, and its columns:\n\n{}", lines.collect::<String>()));
        }
        Ok(ExitCode::SUCCESS)
    }
}
