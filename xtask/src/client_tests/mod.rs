//! `./x client-tests`: the test suites of client libraries, run against Tidemark by their own runners, with a ratchet.
//!
//! - `redis_py`: the tests in the source distribution of redis-py, run by pytest.
//! - `go_redis`: the tests in the module go-redis, run by Ginkgo.

mod go_redis;
mod redis_py;

use crate::foreign::servers::{Kind, Server};
use crate::foreign::{Family, Outcome, Played, Runner, target};
use crate::silence::{self, SILENCE};
use anyhow::{Context, Result};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const HELP: &str = "\
./x client-tests [SUITE…] [--reference] [--update] [--json] [--details]

Runs the test suites of client libraries against one node of Tidemark, and compares with the lists in xtask/client-tests:
a test that passed must pass. One that passes and is listed as failing is named; `--update` makes it have to pass.

  SUITE        redis-py, redis-py-asyncio or go-redis; without any, all
  --reference  against redis-server: are the lists what it passes?
  --update     rewrites the lists: with what Tidemark passes, or, with --reference, with the tests that redis-server passes
  --details    says why each test failed
  --json       writes results as JSON to standard output

TIDEMARK_BIN names a binary to test; otherwise one is built. Libraries and tests are those that xtask/pins pins; what is missing
is installed, as by ./x fetch --full.
";

const GO_REDIS: &str = "go-redis";

const FAMILY: Family = Family {
    command: "client-tests",
    owner: "the suite",
    title: "tests of client libraries",
    units: &[redis_py::SYNC, redis_py::ASYNCIO, GO_REDIS],
    lanes: 2,
    help: HELP,
};

/// How much of what a runner printed is shown if it did not come to its end.
const LINES_SHOWN: usize = 6;

/// What is installed.
struct Suites {
    redis_py: Option<redis_py::Installed>,
    go_redis: Option<go_redis::Installed>,
    /// Results of runs.
    folder: PathBuf,
}

/// A suite to be run.
struct Run {
    command: Command,
    /// Exit codes of runners that came to their end.
    complete: &'static [i32],
    /// Reads the file of results.
    read: fn(&str) -> Result<Vec<Outcome>>,
}

/// Runs suites as `args` say.
pub(crate) fn run(args: &[String]) -> Result<()> {
    FAMILY.run(args, prepare)
}

/// Runs all suites against this binary. Returns how many tests have passed.
pub(crate) fn run_all(binary: &Path) -> Result<String> {
    FAMILY.run_all(binary, &[], prepare)
}

fn prepare(_: &Kind, units: &[String]) -> Result<Suites> {
    let folder = target()?.join("client-tests");
    std::fs::create_dir_all(&folder)?;
    let needs = |suites: &[&str]| units.iter().any(|unit| suites.contains(&&unit[..]));
    let python = needs(&[redis_py::SYNC, redis_py::ASYNCIO]);
    Ok(Suites {
        redis_py: python.then(redis_py::installed).transpose()?,
        go_redis: needs(&[GO_REDIS]).then(|| go_redis::installed(&folder)).transpose()?,
        folder,
    })
}

impl Runner for Suites {
    fn play(&self, unit: &str, server: &Server) -> Result<Played> {
        let began = Instant::now();
        let results = self.folder.join(format!("{unit}-{}.json", server.port));
        let printed = results.with_extension("txt");
        let _ = std::fs::remove_file(&results);
        let mut run = if unit == GO_REDIS {
            self.go_redis.as_ref().context("go-redis is installed")?.run(server.port, &results)?
        } else {
            self.redis_py.as_ref().context("redis-py is installed")?.run(unit, server.port, &results)?
        };
        let how = match silence::run(SILENCE, &mut run.command, &File::create(&printed)?) {
            Ok(status) if status.code().is_some_and(|code| run.complete.contains(&code)) => None,
            Ok(status) => Some(status.to_string()),
            Err(error) => Some(format!("{error:#}")),
        };
        let notes = how
            .map(|how| format!("the suite did not come to its end ({how})\n{}", last_lines(&printed)))
            .into_iter()
            .collect();
        // A runner that did not come to its end may have written nothing: then nothing has passed.
        let text = std::fs::read_to_string(&results).unwrap_or_default();
        let outcomes = if text.is_empty() { Vec::new() } else { (run.read)(&text)? };
        for extension in ["json", "txt", "endpoints"] {
            let _ = std::fs::remove_file(results.with_extension(extension));
        }
        Ok(Played { outcomes, notes, seconds: began.elapsed().as_secs_f64() })
    }
}

fn last_lines(file: &Path) -> String {
    let bytes = std::fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n")
}
