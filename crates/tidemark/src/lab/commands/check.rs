//! `tidemark check`

use crate::Usage;
use crate::lab::picture::picture;
use crate::output::{print, print_json};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tidemark_check::{Guarantee, History, Options, Report, Violation, check_each, check_with, parse};
use tidemark_contract::core::Promise;

const EXAMPLES: &str = "\
Examples:
  tidemark check run.jsonl                              every guarantee, each on its own
  tidemark check run.jsonl --guarantee monotonic-reads,session
  tidemark check run.jsonl --promise causal             all properties of a consistency model
  tidemark check run.jsonl --promise causal --svg violation.svg
  tidemark check - --promise session --json < run.jsonl

Exit codes: 0 no violation found, 1 a violation, 2 the history cannot be read.";

/// Check a recorded history, of any store, against guarantees or a consistency model.
///
/// A history records the operations of clients and their outcomes: one JSON object a line, as docs/history-format.md describes it, or in the
/// text format of other checkers. Guarantees are checked each on its own, by the recorded versions or else
/// by values alone; a consistency model (--promise) is all of its properties. A violation is shown as the few operations that matter.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Check {
    /// The history; `-` for standard input.
    file: PathBuf,
    /// The consistency model to check.
    #[arg(long, value_name = "NAME", value_parser = promises(), conflicts_with = "guarantees")]
    promise: Option<Promise>,
    /// The guarantees to check, each on its own; by default all of them.
    #[arg(long = "guarantee", value_name = "NAME,…", value_delimiter = ',', value_parser = guarantees())]
    guarantees: Vec<String>,
    /// Ignore recorded versions, and distinguish writes by their values.
    #[arg(long)]
    values_only: bool,
    /// Draw the first violation as an SVG picture.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// How many violations of each guarantee are shown.
const SHOWN: usize = 3;

fn promises() -> impl TypedValueParser<Value = Promise> {
    let names = Promise::ALL.map(|promise| PossibleValue::new(promise.name()).help(promise.description()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Promise>())
}

fn guarantees() -> PossibleValuesParser {
    let all = PossibleValue::new("all").help("every one of them");
    let names = Guarantee::all().into_iter().map(|one| PossibleValue::new(one.name).help(one.about));
    PossibleValuesParser::new(names.chain([all]))
}

impl Check {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let history = read(&self.file).map_err(|what| Usage(format!("{}: {what}", self.file.display())))?;
        let ok = match self.promise {
            Some(promise) => {
                let options = Options { values_only: self.values_only, ..Options::of(promise) };
                let report = Report { promise: Some(promise), ..check_with(&history, options) };
                self.tell(&report, format!("{report}\n"), report.violations.first())?;
                report.ok()
            }
            None => {
                let verdicts = check_each(&history, &self.asked(), SHOWN, self.values_only);
                self.tell(&verdicts, format!("{verdicts}\n"), verdicts.first())?;
                verdicts.ok()
            }
        };
        Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn tell(&self, found: &impl Serialize, text: String, first: Option<&Violation>) -> anyhow::Result<()> {
        if let Some(path) = &self.svg {
            picture(path, first)?;
        }
        if self.json {
            return print_json(found);
        }
        print(&text);
        Ok(())
    }

    fn asked(&self) -> Vec<Guarantee> {
        let all = self.guarantees.is_empty() || self.guarantees.iter().any(|name| name == "all");
        let asked = |guarantee: &Guarantee| all || self.guarantees.iter().any(|name| name == guarantee.name);
        Guarantee::all().into_iter().filter(asked).collect()
    }
}

fn read(file: &Path) -> Result<History, String> {
    if file == Path::new("-") {
        return parse(io::stdin().lock()).map_err(|error| error.to_string());
    }
    let open = File::open(file).map_err(|error| error.to_string())?;
    parse(BufReader::new(open)).map_err(|error| error.to_string())
}
