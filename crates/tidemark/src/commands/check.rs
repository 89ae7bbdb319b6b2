//! `tidemark check`

use crate::Usage;
use crate::output::{print, print_json};
use clap::Args;
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tidemark_check::{History, Report, check, parse};
use tidemark_contract::core::Promise;

const EXAMPLES: &str = "\
Examples:
  tidemark check run.jsonl --promise causal
  tidemark check - --promise session --json < run.jsonl

Exit codes: 0 the history keeps the promise, 1 it does not, 2 it cannot be read.";

/// Hold a recorded history, of any store, to a promise.
///
/// A history is what clients saw: one JSON object a line, as docs/history-format.md describes it, or in the
/// text format of other checkers. What violates the promise is shown as the few operations that matter.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Check {
    /// The history; `-` for standard input.
    file: PathBuf,
    /// What the history is held to.
    #[arg(long, value_name = "NAME", value_parser = promises())]
    promise: Promise,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn promises() -> impl TypedValueParser<Value = Promise> {
    let names = Promise::ALL
        .map(|promise| clap::builder::PossibleValue::new(promise.name()).help(promise.description()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Promise>())
}

impl Check {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let history = read(&self.file).map_err(|what| Usage(format!("{}: {what}", self.file.display())))?;
        let report: Report = check(&history, self.promise);
        if self.json {
            print_json(&report)?
        } else {
            print(&format!("{report}\n"))
        }
        Ok(if report.ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn read(file: &Path) -> Result<History, String> {
    if file == Path::new("-") {
        return parse(io::stdin().lock()).map_err(|error| error.to_string());
    }
    let open = File::open(file).map_err(|error| error.to_string())?;
    parse(BufReader::new(open)).map_err(|error| error.to_string())
}
