//! Tests that others wrote, run against Tidemark with a ratchet: units of Redis's own tests, suites of client libraries.
//!
//! - `servers`: a server for each unit.
//! - `list`: which tests have to pass.
//! - `report`: results for people and for programs.

mod list;
mod report;
pub(crate) mod servers;

use crate::fetch::programs::{REDIS_SERVER, check_redis};
use crate::run::{command, output, tidemark};
use anyhow::{Context, Result, bail};
use list::{Finding, List};
use serde_json::Value;
use servers::{Kind, Server};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// How often redis-server has to pass a test that is to be on a list.
const REFERENCE_RUNS: usize = 3;

/// A command of `./x` that runs tests, and the units that it runs.
pub(crate) struct Family {
    /// Its name, which is also that of the folder of its lists.
    pub(crate) command: &'static str,
    /// Owner of a unit, for the header of a list.
    pub(crate) owner: &'static str,
    /// All its tests, for the report.
    pub(crate) title: &'static str,
    /// The units, the longest first.
    pub(crate) units: &'static [&'static str],
    /// How many units run at the same time: most wait more than they compute.
    pub(crate) lanes: usize,
    pub(crate) help: &'static str,
}

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Passed,
    Failed,
    Skipped,
}

/// A test, how it ended, and what the runner said if it failed.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// Its name; of those that occur again, the second is `name #2`.
    pub(crate) name: String,
    pub(crate) ended: Ended,
    pub(crate) details: String,
}

/// The name of a test by how often it has occurred.
pub(crate) fn numbered(name: &str, occurrence: usize) -> String {
    if occurrence == 1 { name.to_string() } else { format!("{name} #{occurrence}") }
}

/// A unit that was run.
pub(crate) struct Played {
    pub(crate) outcomes: Vec<Outcome>,
    /// Errors between tests, and why the unit did not come to its end if it did not.
    pub(crate) notes: Vec<String>,
    pub(crate) seconds: f64,
}

/// Runs a unit against a server that was started for it.
pub(crate) trait Runner: Sync {
    fn play(&self, unit: &str, server: &Server) -> Result<Played>;
}

struct Options {
    units: Vec<String>,
    reference: bool,
    update: bool,
    json: bool,
    details: bool,
}

/// A unit, how it went, and in what way that is not as expected.
struct Unit {
    name: String,
    list: List,
    played: Played,
    findings: Vec<Finding>,
}

/// What stays the same for all units.
struct Bench<'a, R> {
    family: &'a Family,
    kind: Kind,
    options: Options,
    runner: R,
}

impl Family {
    /// The list of a unit, from the root of the repository.
    fn path(&self, unit: &str) -> String {
        format!("xtask/{}/{}.txt", self.command, unit.replace('/', "-"))
    }

    /// Runs units as `args` say; `prepare` installs what they need.
    pub(crate) fn run<R: Runner>(
        &self,
        args: &[String],
        prepare: impl FnOnce(&Kind, &[String]) -> Result<R>,
    ) -> Result<()> {
        if args.iter().any(|arg| arg == "--help" || arg == "-h") {
            print!("{}", self.help);
            return Ok(());
        }
        let options = self.parse(args)?;
        let kind = if options.reference {
            check_redis(REDIS_SERVER)?;
            Kind::Redis
        } else {
            Kind::Tidemark(tidemark()?)
        };
        self.play(kind, options, prepare).map(drop)
    }

    /// Runs all units against this binary. Returns how many tests have passed.
    pub(crate) fn run_all<R: Runner>(
        &self,
        binary: &Path,
        units: &[String],
        prepare: impl FnOnce(&Kind, &[String]) -> Result<R>,
    ) -> Result<String> {
        self.play(Kind::Tidemark(binary.to_path_buf()), self.parse(units)?, prepare)
    }

    fn play<R: Runner>(
        &self,
        kind: Kind,
        options: Options,
        prepare: impl FnOnce(&Kind, &[String]) -> Result<R>,
    ) -> Result<String> {
        let runner = prepare(&kind, &options.units)?;
        let bench = Bench { family: self, kind, options, runner };
        let units = bench.play_all()?;
        if bench.options.json {
            println!("{}", report::json(bench.kind.name(), &units));
        } else {
            print!("{}", report::text(self, bench.kind.name(), &units, bench.options.details));
        }
        if !bench.options.update {
            self.judge(&units, bench.options.reference)?;
        }
        let passed: usize = units.iter().map(report::passed).sum();
        Ok(format!("{passed} {}", self.title))
    }

    fn judge(&self, units: &[Unit], reference: bool) -> Result<()> {
        let command = self.command;
        let findings = || units.iter().flat_map(|unit| &unit.findings);
        let broken = findings().filter(|finding| matches!(finding, Finding::Broken(_))).count();
        if broken > 0 && reference {
            bail!("{broken} tests are not as listed; `./x {command} --reference --update` makes new lists");
        }
        if broken > 0 {
            bail!("{broken} tests have to pass and do not; if that is meant: `./x {command} --update`");
        }
        // Whoever mends a test need not know all lists: that it has to pass from now on is for the next `--update` to say.
        if findings().next().is_some() {
            eprintln!("Tests pass that the lists excuse; `./x {command} --update` makes them have to pass.");
        }
        Ok(())
    }

    fn parse(&self, args: &[String]) -> Result<Options> {
        let mut options =
            Options { units: Vec::new(), reference: false, update: false, json: false, details: false };
        for arg in args {
            match arg.as_str() {
                "--reference" => options.reference = true,
                "--update" => options.update = true,
                "--json" => options.json = true,
                "--details" => options.details = true,
                unit if self.units.contains(&unit) => options.units.push(unit.to_string()),
                other => {
                    bail!("{other}: no such unit or option\n\n{}units: {}", self.help, self.units.join(" "))
                }
            }
        }
        if options.units.is_empty() {
            options.units = self.units.iter().map(|unit| (*unit).to_string()).collect();
        }
        Ok(options)
    }
}

impl<R: Runner> Bench<'_, R> {
    fn play_all(&self) -> Result<Vec<Unit>> {
        let queue: Mutex<VecDeque<&str>> =
            Mutex::new(self.options.units.iter().map(String::as_str).collect());
        let done = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..self.family.lanes {
                scope.spawn(|| {
                    loop {
                        let Some(unit) = queue.lock().expect("no lane panics").pop_front() else { return };
                        let result = self.unit(unit).with_context(|| unit.to_string());
                        if let Ok(unit) = &result {
                            eprintln!("{}", report::line(unit));
                        }
                        done.lock().expect("no lane panics").push(result);
                    }
                });
            }
        });
        let mut units = done.into_inner()?.into_iter().collect::<Result<Vec<Unit>>>()?;
        units.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(units)
    }

    /// Runs a unit, and compares it with its list.
    fn unit(&self, name: &str) -> Result<Unit> {
        let mut list = List::read(self.family, name)?;
        let played = self.play(name)?;
        if self.options.update && self.options.reference {
            let mut runs = vec![played.outcomes.clone()];
            for _ in 1..REFERENCE_RUNS {
                runs.push(self.play(name)?.outcomes);
            }
            list = list.with_reference(&runs);
            list.write(self.family, name)?;
        }
        let findings = self.findings(&list, &played);
        if self.options.update && !self.options.reference {
            list = list.updated(&findings);
            list.write(self.family, name)?;
        }
        Ok(Unit { name: name.to_string(), list, played, findings })
    }

    fn findings(&self, list: &List, played: &Played) -> Vec<Finding> {
        if self.options.reference {
            list.all_pass().findings(&played.outcomes)
        } else {
            list.findings(&played.outcomes)
        }
    }

    fn play(&self, unit: &str) -> Result<Played> {
        let server = self.kind.start()?;
        let mut played = self.runner.play(unit, &server)?;
        let errors = server.errors();
        if errors.contains("panicked") {
            played.notes.push(errors);
        }
        Ok(played)
    }
}

/// The directory that cargo builds in.
pub(crate) fn target() -> Result<PathBuf> {
    let metadata = ["metadata", "--format-version", "1", "--no-deps", "--offline"];
    let metadata: Value = serde_json::from_str(&output(&mut command(env!("CARGO"), &metadata))?)?;
    Ok(Path::new(metadata["target_directory"].as_str().context("cargo names no directory")?).to_path_buf())
}
