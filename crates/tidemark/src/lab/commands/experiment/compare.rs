//! `tidemark experiment compare`

use super::{Measuring, PUBLISHED, loaded};
use crate::Usage;
use crate::output::{print, print_json};
use anyhow::Context;
use clap::Args;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tidemark_experiments::{
    Compared, Comparison, Experiment as File, Finding, Options, Published, Runners, Store, compare, conclude,
    default_path, library, machine, published, ready, run_repeatable, version,
};

/// The time that each experiment took when it was measured again last, in seconds, by id.
const SECONDS: &str = "experiments/seconds.json";

const EXAMPLES: &str = "\
Examples:
  tidemark experiment compare dkvf-table8.1
  tidemark experiment compare --at-most 5m              all that took no longer

Exit codes: 0 every verdict is as published, 1 one is not or points failed, 2 there is no such experiment.";

/// Measure again what does not depend on the machine, and compare it with the published results.
///
/// Repeated are the parts that are simulated or counted; of real processes nothing is. The rows are stored as those of
/// `run`. Numbers that have moved are listed, and figures that look different; only a verdict that has moved is a failure.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Compare {
    /// Experiments of the repository; all if none is named.
    #[arg(value_name = "ID")]
    names: Vec<String>,
    /// Leave out experiments that took longer when they were measured again last.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    at_most: Option<Duration>,
    /// Where published results are.
    #[arg(long, value_name = "DIR", default_value = PUBLISHED)]
    from: PathBuf,
    /// The times that experiments took.
    #[arg(long, value_name = "FILE", default_value = SECONDS)]
    seconds: PathBuf,
    /// Write down in that file how long they took now.
    #[arg(long)]
    record: bool,
    /// The results: `results.sqlite` in this directory, or what TIDEMARK_RESULTS names, if nothing is said.
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
    /// The number of points that are measured at once; by default one for each processor.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Seconds by id.
type Seconds = BTreeMap<String, u64>;

/// The outcome of all experiments that were meant.
#[derive(Default, Serialize)]
struct Compiled {
    compared: Vec<Comparison>,
    /// Experiments that took longer than was wanted, and how long.
    too_long: Seconds,
    /// Experiments of which nothing can be repeated.
    not_repeatable: Vec<String>,
    /// Experiments that are not published.
    not_published: Vec<String>,
}

impl Compare {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let measuring = Measuring::new(None)?;
        let runners = measuring.runners();
        let files = match self.names.is_empty() {
            true => library()?,
            false => self.names.iter().map(|name| loaded(name)).collect::<Result<Vec<_>, _>>()?,
        };
        for file in &files {
            ready(file, &runners, None).map_err(|error| Usage(format!("{error:#}")))?;
        }
        let results = published(&self.from)?;
        let mut seconds = read(&self.seconds)?;
        let db = self.db.clone().unwrap_or_else(default_path);
        let mut store = Store::open(&db)?;
        let mut all = Compiled::default();
        for file in &files {
            let Some(old) = results.iter().find(|result| result.id == file.id) else {
                all.not_published.push(file.id.clone());
                continue;
            };
            let took = seconds.get(&file.id).copied();
            if let Some(took) = took.filter(|took| self.at_most.is_some_and(|most| *took > most.as_secs())) {
                all.too_long.insert(file.id.clone(), took);
                continue;
            }
            match self.repeat(file, old, &runners, &mut store)? {
                None => all.not_repeatable.push(file.id.clone()),
                Some(comparison) => {
                    if self.record {
                        seconds.insert(file.id.clone(), comparison.seconds);
                        write(&self.seconds, &seconds)?;
                    }
                    if !self.json {
                        print(&told(&comparison));
                    }
                    all.compared.push(comparison);
                }
            }
        }
        if self.json {
            print_json(&all)?
        } else {
            print(&all.told())
        }
        let ok = all.compared.iter().all(Comparison::ok);
        Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Measures an experiment again, as far as that is possible.
    fn repeat(
        &self,
        file: &File,
        old: &Published,
        runners: &Runners,
        store: &mut Store,
    ) -> anyhow::Result<Option<Comparison>> {
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        let options = Options {
            full: true,
            only: None,
            jobs: self.jobs.map_or_else(processors, usize::from),
            version: version(env!("CARGO_PKG_VERSION")),
            machine: machine(),
        };
        let Some(batch) = run_repeatable(file, runners, store, &options)? else { return Ok(None) };
        let outcome = conclude(file, store.path(), batch)?;
        Ok(Some(compare(file, &outcome, old, &self.from)))
    }
}

/// Reads how long experiments took; nothing is known if there is no such file.
fn read(path: &Path) -> anyhow::Result<Seconds> {
    let Ok(text) = std::fs::read_to_string(path) else { return Ok(Seconds::new()) };
    let shown = path.display();
    Ok(serde_json::from_str(&text).map_err(|error| Usage(format!("{shown}: {error}")))?)
}

fn write(path: &Path, seconds: &Seconds) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(seconds)? + "\n";
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// A comparison, for people: a line for each statement, and one for each figure that looks different.
fn told(comparison: &Comparison) -> String {
    let Comparison { experiment, statements, figures, left_out, failed, seconds } = comparison;
    let moved = statements.iter().filter(|one| one.moved()).count();
    let mut text = format!("{experiment}, {seconds} s: {moved} of {} statements moved\n", statements.len());
    for one in statements {
        let _ = writeln!(text, "  {} {}: {}", mark(one), one.says, change(one));
    }
    for (file, _) in figures.iter().filter(|(_, same)| !same) {
        let _ = writeln!(text, "  moved   figure {file}");
    }
    if *left_out > 0 {
        let _ = writeln!(text, "  left out: {left_out} about real processes");
    }
    if *failed > 0 {
        let _ = writeln!(text, "  FAILED  {failed} points");
    }
    text
}

fn mark(one: &Compared) -> &'static str {
    match (one.verdict_moved(), one.moved()) {
        (true, _) => "VERDICT",
        (false, true) => "moved  ",
        (false, false) => "same   ",
    }
}

/// The published number and the one of now, with their verdicts where these are not the same.
fn change(one: &Compared) -> String {
    let verdict =
        |finding: &Finding| finding.verdict.map(|verdict| format!(" ({verdict})")).unwrap_or_default();
    let value = |finding: &Finding| finding.value.map_or_else(|| "none".into(), |value| value.to_string());
    let shown = |finding: &Finding| match one.verdict_moved() {
        true => value(finding) + &verdict(finding),
        false => value(finding),
    };
    match &one.published {
        None => format!("new, {}", shown(&one.now)),
        Some(_) if !one.moved() => value(&one.now),
        Some(published) => format!("{} → {}", shown(published), shown(&one.now)),
    }
}

impl Compiled {
    /// Writes what became of all, for people.
    fn told(&self) -> String {
        let statements: Vec<&Compared> = self.compared.iter().flat_map(|one| &one.statements).collect();
        let moved = statements.iter().filter(|one| one.moved()).count();
        let verdicts = statements.iter().filter(|one| one.verdict_moved()).count();
        let figures = self.compared.iter().flat_map(|one| &one.figures).filter(|(_, same)| !same).count();
        let mut text = format!(
            "\n{} experiments measured again: {} statements, {moved} moved, {verdicts} verdicts moved, {figures} figures moved\n",
            self.compared.len(),
            statements.len(),
        );
        let long: Vec<String> = self.too_long.iter().map(|(id, took)| format!("{id} ({took} s)")).collect();
        let others = [
            ("took longer", &long),
            ("cannot be repeated", &self.not_repeatable),
            ("not published", &self.not_published),
        ];
        for (what, which) in others.iter().filter(|(_, which)| !which.is_empty()) {
            let _ = writeln!(text, "{what}: {}", which.join(", "));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// `--at-most` would measure an experiment of hours if its time were not known.
    #[test]
    fn the_times_of_all_that_can_be_repeated_are_known() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let known: BTreeSet<String> = read(&root.join(SECONDS)).expect("a table").into_keys().collect();
        let results = published(&root.join(PUBLISHED)).expect("published results");
        let measuring = Measuring::new(None).expect("built-in costs");
        let runners = measuring.runners();
        let repeatable = library().expect("files that are valid").into_iter().filter(|file| {
            let is_published = results.iter().any(|result| result.id == file.id);
            is_published && file.runs.iter().any(|run| runners[run.runner.as_str()].repeatable())
        });
        let repeatable: BTreeSet<String> = repeatable.map(|file| file.id).collect();
        assert_eq!(known, repeatable, "{SECONDS}: `tidemark experiment compare ID --record` adds to it");
    }
}
