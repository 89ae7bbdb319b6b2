//! `./x redis-tests`: the tests of Redis itself, run against Tidemark by Redis's own runner, with a ratchet.
//!
//! - `source`: the source of Redis, downloaded and checked.
//! - `client`: one unit, run to its end whatever happens.
//! - `self_check`: a unit whose results are known.

mod client;
mod self_check;
mod source;

use crate::fetch::programs::{REDIS_TOOLS, check_redis};
use crate::foreign::servers::{Kind, Server};
use crate::foreign::{Family, Played, Runner, target};
use anyhow::Result;
use std::path::{Path, PathBuf};

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

/// Those that the gate leaves to `--full`: half of the time of all, for 31 tests.
const LONG: &[&str] = &["hyperloglog", "type/list-2", "type/list-3"];

const FAMILY: Family = Family {
    command: "redis-tests",
    owner: "Redis's unit",
    title: "tests of Redis 7.0.15",
    units: UNITS,
    lanes: 2,
    help: HELP,
};

/// The unpacked source.
struct Units(PathBuf);

impl Runner for Units {
    fn play(&self, unit: &str, server: &Server) -> Result<Played> {
        client::play(&self.0, server.port, unit)
    }
}

/// The source of Redis, unpacked; it is downloaded if it is not there.
pub(crate) fn fetch() -> Result<PathBuf> {
    source::unpacked(&target()?)
}

/// Runs units as `args` say.
pub(crate) fn run(args: &[String]) -> Result<()> {
    FAMILY.run(args, prepare)
}

/// Runs the long units against this binary, or all others. Returns how many tests have passed.
pub(crate) fn run_all(binary: &Path, long: bool) -> Result<String> {
    let units = UNITS.iter().filter(|unit| LONG.contains(unit) == long).map(|unit| unit.to_string());
    FAMILY.run_all(binary, &units.collect::<Vec<_>>(), prepare)
}

fn prepare(kind: &Kind, _: &[String]) -> Result<Units> {
    check_redis(REDIS_TOOLS)?;
    let source = fetch()?;
    self_check::run(&source, kind)?;
    Ok(Units(source))
}
