//! `tidemark experiment`

mod compare;

use crate::Usage;
use crate::lab::runners::{
    Capacity, Costs, Edge, EdgeCapacity, EdgeLatency, EdgeResponses, EdgeStorage, Live, LiveVisibility,
    Schedules, Simulated, SimulatedLatency, SimulatedVisibility,
};
use crate::output::{print, print_json, row, table};
use anyhow::Context;
use clap::{Args, Subcommand};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tidemark_experiments::{
    Experiment as File, Lines, Options, Outcome, Runner, Runners, Store, conclude, default_path, describe,
    document, latest, library, load, machine, publish, published, ready, results_of_the_library, run,
    version,
};

/// Where the repository keeps published results.
const PUBLISHED: &str = "experiments/published";

const EXAMPLES: &str = "\
Examples:
  tidemark experiment list
  tidemark experiment run dkvf-table8.1
  tidemark experiment run gentlerain-fig3 --quick
  tidemark experiment compare --at-most 5m              is it still what is published?
  tidemark experiment run mine.toml --db mine.sqlite    one of your own: docs/experiments.md

Exit codes: 0 every number is within its bound, 1 one is not or points failed, 2 there is no such experiment or its file is wrong.";

/// Test the claims of papers: measure, store, draw, and say whether they hold.
///
/// Every experiment is a file that defines measurements, figures, and statements of a paper. A statement is about the
/// shape, a ratio or an order, never an absolute time.
#[derive(Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Experiment {
    List(List),
    Run(Run),
    Show(Show),
    Compare(compare::Compare),
    Docs(Docs),
}

/// List the experiments, and whether the published results bear them out.
#[derive(Args)]
pub(crate) struct List {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Run experiments: tables, figures, and a verdict.
///
/// Rows are stored as they are measured: rows measured before Ctrl-C are kept. Figures and tables are written to
/// OUT/ID.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Run {
    /// Experiments: ids, or paths of files.
    #[arg(value_name = "ID", required = true)]
    names: Vec<String>,
    /// A smaller sweep, for development: its numbers are no evidence, and cannot be published.
    #[arg(long, conflicts_with = "publish")]
    quick: bool,
    /// Only this part, such as `simulated` or `live`.
    #[arg(long, value_name = "PART")]
    only: Option<String>,
    /// Where figures and tables are written.
    #[arg(long, value_name = "DIR", default_value = "experiment-results")]
    out: PathBuf,
    /// The results: `results.sqlite` in this directory, or what TIDEMARK_RESULTS names, if nothing is said.
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
    /// The costs of events in the simulator, as `tidemark sim calibrate --out` writes them.
    #[arg(long, value_name = "FILE")]
    costs: Option<PathBuf>,
    /// How many points are measured at once where they do not disturb each other; by default one for each processor.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Also publish the result and its figures, for `tidemark experiment docs`.
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = PUBLISHED)]
    publish: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Show an experiment: its measurements, statements and last result.
#[derive(Args)]
pub(crate) struct Show {
    /// An id, or the path of a file.
    #[arg(value_name = "ID")]
    name: String,
    /// The results: `results.sqlite` in this directory, or what TIDEMARK_RESULTS names, if nothing is said.
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Write the document of all claims from published results.
#[derive(Args)]
pub(crate) struct Docs {
    /// Publish the latest results of this file first.
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
    /// Where published results are.
    #[arg(long, value_name = "DIR", default_value = PUBLISHED)]
    from: PathBuf,
    /// The document.
    #[arg(long, value_name = "FILE", default_value = "docs/claims.md")]
    to: PathBuf,
}

/// What measures: every runner that experiment files can name.
struct Measuring {
    simulated: Simulated,
    simulated_latency: SimulatedLatency,
    simulated_visibility: SimulatedVisibility,
    edge_capacity: EdgeCapacity,
}

impl Measuring {
    /// With what events cost in the simulator: of `file`, or what this binary was built with.
    fn new(file: Option<&Path>) -> anyhow::Result<Self> {
        let calibration = match file {
            None => crate::lab::calibrate::kept(),
            Some(path) => {
                let shown = path.display();
                let text =
                    std::fs::read_to_string(path).map_err(|error| Usage(format!("{shown}: {error}")))?;
                serde_json::from_str(&text).map_err(|error| Usage(format!("{shown}: {error}")))?
            }
        };
        Ok(Self {
            simulated: Simulated { calibration: calibration.clone() },
            simulated_latency: SimulatedLatency { calibration: calibration.clone() },
            simulated_visibility: SimulatedVisibility { calibration: calibration.clone() },
            edge_capacity: EdgeCapacity { calibration },
        })
    }

    fn runners(&self) -> Runners<'_> {
        let all: [(&str, &dyn Runner); 14] = [
            ("lines", &Lines),
            ("costs", &Costs),
            ("schedules", &Schedules),
            ("sim", &self.simulated),
            ("sim-latency", &self.simulated_latency),
            ("sim-visibility", &self.simulated_visibility),
            ("edge", &Edge),
            ("edge-capacity", &self.edge_capacity),
            ("edge-latency", &EdgeLatency),
            ("edge-storage", &EdgeStorage),
            ("edge-responses", &EdgeResponses),
            ("live", &Live),
            ("visibility", &LiveVisibility),
            ("capacity", &Capacity),
        ];
        all.into()
    }
}

impl Experiment {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::List(list) => list.run(),
            Self::Run(run) => run.run(),
            Self::Show(show) => show.run(),
            Self::Compare(compare) => compare.run(),
            Self::Docs(docs) => docs.run(),
        }
    }
}

/// Loads an experiment; that there is none of the name, or that it is wrong, is the user's affair.
fn loaded(name: &str) -> Result<File, Usage> {
    load(name).map_err(|error| Usage(format!("{error:#}")))
}

impl List {
    fn run(self) -> anyhow::Result<ExitCode> {
        let results = results_of_the_library()?;
        let verdict = |id: &str| results.iter().find(|result| result.id == id).map(|result| result.verdict);
        let all = library()?;
        if self.json {
            let one = |file: &File| {
                let runners: Vec<&str> = file.runs.iter().map(|run| run.runner.as_str()).collect();
                json!({"id": file.id, "source": file.source, "title": file.title, "runners": runners,
                       "published": verdict(&file.id)})
            };
            print_json(&all.iter().map(one).collect::<Vec<_>>())?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut rows = vec![row(["ID", "SOURCE", "RUNNERS", "PUBLISHED", "TITLE"])];
        for file in &all {
            let mut runners: Vec<&str> = file.runs.iter().map(|run| run.runner.as_str()).collect();
            runners.dedup();
            let verdict = verdict(&file.id).map_or_else(|| "–".into(), |verdict| verdict.to_string());
            rows.push(row([&file.id, &file.source, &runners.join(", "), &verdict, &file.title]));
        }
        print(&table(&rows));
        Ok(ExitCode::SUCCESS)
    }
}

impl Run {
    fn run(self) -> anyhow::Result<ExitCode> {
        let measuring = Measuring::new(self.costs.as_deref())?;
        let runners = measuring.runners();
        let files = self.names.iter().map(|name| loaded(name)).collect::<Result<Vec<_>, _>>()?;
        for file in &files {
            // Nothing is measured if something is wrong with the last of them.
            ready(file, &runners, self.only.as_deref()).map_err(|error| Usage(format!("{error:#}")))?;
        }
        let jobs = self
            .jobs
            .map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
        let results = self.db.clone().unwrap_or_else(default_path);
        let mut store = Store::open(&results)?;
        let version = version(env!("CARGO_PKG_VERSION"));
        let options =
            Options { full: !self.quick, only: self.only.clone(), jobs, version, machine: machine() };
        let mut outcomes: Vec<Outcome> = Vec::new();
        for file in &files {
            let batch = run(file, &runners, &mut store, &options)?;
            let mut outcome = conclude(file, &results, batch)?;
            outcome.write(&self.out)?;
            if !self.json {
                let gap = if outcomes.is_empty() { "" } else { "\n" };
                print(&format!("{gap}{}", outcome.text()));
            }
            if let Some(folder) = &self.publish {
                // With parts that were measured before, if only one was measured now.
                publish(file, &latest(file, &results)?.unwrap_or_else(|| outcome.clone()), folder)?;
            }
            outcomes.push(outcome);
        }
        if self.json {
            print_json(&outcomes)?;
        }
        let ok = outcomes.iter().all(Outcome::ok);
        Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

impl Show {
    fn run(self) -> anyhow::Result<ExitCode> {
        let file = loaded(&self.name)?;
        let results = self.db.clone().unwrap_or_else(default_path);
        let measured = self.db.is_some() || results.is_file();
        let last = if measured { latest(&file, &results)? } else { None };
        let published = results_of_the_library()?.into_iter().find(|result| result.id == file.id);
        if self.json {
            let last = last.map(|last| {
                json!({"verdict": last.verdict, "statements": last.statements, "runs":
                last.parts.iter().map(|part| part.run).collect::<Vec<_>>()})
            });
            print_json(&json!({"experiment": file, "last": last, "published": published}))?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut text = describe(&file);
        if let Some(last) = last {
            text.push_str(&format!("\nlast result, in {}\n", results.display()));
            text.push_str(&last.told());
        }
        if let Some(published) = published {
            text.push_str("\npublished result\n");
            text.push_str(&published.told(PUBLISHED));
        }
        print(&text);
        Ok(ExitCode::SUCCESS)
    }
}

impl Docs {
    fn run(self) -> anyhow::Result<ExitCode> {
        let library = library()?;
        if let Some(results) = &self.db {
            for file in &library {
                if let Some(outcome) = latest(file, results)? {
                    publish(file, &outcome, &self.from)?;
                }
            }
        }
        let folder = relative(&self.from, &self.to)?;
        let text = document(&published(&self.from)?, &library, &folder);
        std::fs::write(&self.to, text).with_context(|| format!("cannot write {}", self.to.display()))?;
        print(&format!("{}\n", self.to.display()));
        Ok(ExitCode::SUCCESS)
    }
}

/// The path of a folder as the document at `to` links to it.
fn relative(folder: &Path, to: &Path) -> anyhow::Result<String> {
    let (folder, to) = (std::path::absolute(folder)?, std::path::absolute(to)?);
    let beside = to.parent().unwrap_or(&to);
    let shared = folder.components().zip(beside.components()).take_while(|(one, other)| one == other).count();
    let up = beside.components().skip(shared).map(|_| "..".into());
    let down = folder.components().skip(shared).map(|part| part.as_os_str().to_string_lossy());
    Ok(up.chain(down).collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_experiment_that_ships_finds_its_runners_and_what_they_return() {
        for file in library().expect("files that are valid") {
            ready(&file, &Measuring::new(None).expect("built-in costs").runners(), None)
                .expect("a runner for every part");
        }
    }

    #[test]
    fn figures_are_linked_from_where_the_document_is() {
        let link = |folder: &str, to: &str| relative(Path::new(folder), Path::new(to)).expect("paths");
        assert_eq!(link(PUBLISHED, "docs/claims.md"), "../experiments/published");
        assert_eq!(link("docs/figures", "./docs/claims.md"), "figures");
        assert_eq!(link("/a/b", "/a/c/d/e.md"), "../../b");
    }
}
