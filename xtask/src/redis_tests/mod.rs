//! `./x redis-tests`: the tests of Redis itself, run against Tidemark by Redis's own runner, with a ratchet.
//!
//! - `source`: the source of Redis, downloaded and checked.
//! - `servers`: a server for each unit.
//! - `client`: one unit, run to its end whatever happens.
//! - `self_check`: a unit whose results are known.
//! - `list`: which tests have to pass.
//! - `report`: results for people and for programs.

mod client;
mod list;
mod report;
mod self_check;
mod servers;
mod source;

use crate::run::{command, output, tidemark};
use anyhow::{Context, Result, bail};
use client::Played;
use list::{Finding, List};
use serde_json::Value;
use servers::Kind;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

const HELP: &str = "\
./x redis-tests [UNIT…] [--reference] [--update] [--json] [--details]

Runs units of Redis's own tests against one node of Tidemark, and compares with the lists in xtask/redis-tests: a test
that passed must pass. One that passes and is listed as failing is named; `--update` makes it have to pass.

  UNIT         such as type/string; without any, all
  --reference  against redis-server: are the lists what it passes?
  --update     rewrites the lists: with what Tidemark passes, or, with --reference, with the tests that redis-server passes
  --details    says why each test failed
  --json       writes results as JSON to standard output

TIDEMARK_BIN names a binary to test; otherwise one is built.
";

/// The units, the longest first; those of which nothing remains under our flags are left out: acl, wait.
const UNITS: &[&str] = &[
    "type/list-3",
    "hyperloglog",
    "type/zset",
    "dump",
    "geo",
    "type/list",
    "type/list-2",
    "type/stream",
    "type/string",
    "scan",
    "expire",
    "introspection-2",
    "sort",
    "type/set",
    "type/hash",
    "multi",
    "type/stream-cgroups",
    "functions",
    "latency-monitor",
    "other",
    "scripting",
    "tracking",
    "bitops",
    "pubsub",
    "bitfield",
    "introspection",
    "pause",
    "protocol",
    "type/incr",
    "keyspace",
    "info-command",
    "slowlog",
    "quit",
];

/// How many units run at the same time: most wait more than they compute.
const LANES: usize = 3;

/// How often redis-server has to pass a test that is to be on a list.
const REFERENCE_RUNS: usize = 3;

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
struct Bench {
    source: PathBuf,
    kind: Kind,
    options: Options,
}

/// Runs units as `args` say.
pub(crate) fn run(args: &[String]) -> Result<()> {
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        print!("{HELP}");
        return Ok(());
    }
    let options = parse(args)?;
    let source = source::unpacked(&target()?)?;
    let kind = if options.reference { Kind::Redis } else { Kind::Tidemark(tidemark()?) };
    self_check::run(&source, &kind)?;
    let bench = Bench { source, kind, options };
    let units = bench.play_all()?;
    if bench.options.json {
        println!("{}", report::json(bench.kind.name(), &units));
    } else {
        print!("{}", report::text(bench.kind.name(), &units, bench.options.details));
    }
    if bench.options.update {
        return Ok(());
    }
    let findings = || units.iter().flat_map(|unit| &unit.findings);
    let broken = findings().filter(|finding| matches!(finding, Finding::Broken(_))).count();
    if broken > 0 && bench.options.reference {
        bail!("{broken} tests are not as listed; `./x redis-tests --reference --update` makes new lists");
    }
    if broken > 0 {
        bail!("{broken} tests have to pass and do not; if that is meant: `./x redis-tests --update`");
    }
    // Whoever mends a test need not know all lists: that it has to pass from now on is for the next `--update` to say.
    if findings().next().is_some() {
        eprintln!("Tests pass that the lists excuse; `./x redis-tests --update` makes them have to pass.");
    }
    Ok(())
}

fn parse(args: &[String]) -> Result<Options> {
    let mut options =
        Options { units: Vec::new(), reference: false, update: false, json: false, details: false };
    for arg in args {
        match arg.as_str() {
            "--reference" => options.reference = true,
            "--update" => options.update = true,
            "--json" => options.json = true,
            "--details" => options.details = true,
            unit if UNITS.contains(&unit) => options.units.push(unit.to_string()),
            other => bail!("{other}: no such unit or option\n\n{HELP}units: {}", UNITS.join(" ")),
        }
    }
    if options.units.is_empty() {
        options.units = UNITS.iter().map(|unit| (*unit).to_string()).collect();
    }
    Ok(options)
}

impl Bench {
    fn play_all(&self) -> Result<Vec<Unit>> {
        let queue: Mutex<VecDeque<&str>> =
            Mutex::new(self.options.units.iter().map(String::as_str).collect());
        let done = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..LANES {
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

    /// Runs a unit, twice if it is not as expected at first: what is found is found in both runs.
    fn unit(&self, name: &str) -> Result<Unit> {
        let mut list = List::read(name)?;
        let mut played = self.play(name)?;
        if self.options.update && self.options.reference {
            let mut runs = vec![played.outcomes.clone()];
            for _ in 1..REFERENCE_RUNS {
                runs.push(self.play(name)?.outcomes);
            }
            list = list.with_reference(&runs);
            list.write(name)?;
        }
        let mut findings = self.findings(&list, &played);
        if !findings.is_empty() {
            played = self.play(name)?;
            let again = self.findings(&list, &played);
            findings.retain(|finding| again.contains(finding));
        }
        if self.options.update && !self.options.reference {
            list = list.updated(&findings);
            list.write(name)?;
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
        let mut played = client::play(&self.source, server.port, unit, &client::LIMITS)?;
        let errors = server.errors();
        if errors.contains("panicked") {
            played.notes.push(errors);
        }
        Ok(played)
    }
}

/// The directory that cargo builds in.
fn target() -> Result<PathBuf> {
    let metadata = ["metadata", "--format-version", "1", "--no-deps", "--offline"];
    let metadata: Value = serde_json::from_str(&output(&mut command(env!("CARGO"), &metadata))?)?;
    Ok(Path::new(metadata["target_directory"].as_str().context("cargo names no directory")?).to_path_buf())
}
