//! The tests of redis-py. Its source distribution has them; they run against the installed package, as in its own CI.

use super::Run;
use crate::fetch;
use crate::foreign::{Ended, Outcome, numbered};
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) const SYNC: &str = "redis-py";
pub(super) const ASYNCIO: &str = "redis-py-asyncio";

/// Files of tests that need one server and no more.
const FILES: [&str; 13] = [
    "test_commands.py",
    "test_pipeline.py",
    "test_pubsub.py",
    "test_lock.py",
    "test_scripting.py",
    "test_monitor.py",
    "test_connection_pool.py",
    "test_encoding.py",
    "test_function.py",
    "test_hash.py",
    "test_cache.py",
    "test_client.py",
    "test_keyspace_notifications.py",
];

/// Marks of tests that need something else than one server: a cluster, modules, certificates, another port.
const LEFT_OUT: [&str; 8] = [
    "onlycluster",
    "redismod",
    "ssl",
    "graph",
    "replica",
    "cp_integration",
    "auth_integration",
    "fixed_client",
];

/// A test that hangs is ended, so that those after it run. Nothing is printed while a test runs, so this is a limit to silence, as of other
/// runners. No test of these takes longer than 4 s with redis-server.
const HANGS_AFTER_S: &str = "600";

/// A virtual environment with the library, and the tests.
pub(super) struct Installed {
    python: PathBuf,
    source: PathBuf,
}

/// Both; they are installed if they are not there.
pub(super) fn installed() -> Result<Installed> {
    let home = fetch::redis_py_tests()?;
    Ok(Installed { python: home.join("bin/python3"), source: home.join("source") })
}

impl Installed {
    pub(super) fn run(&self, unit: &str, port: u16, results: &Path) -> Result<Run> {
        let plugin = results.with_file_name("client_tests_outcomes.py");
        let part = results.with_extension("part");
        fs::write(&part, include_str!("outcomes.py"))?;
        fs::rename(&part, &plugin)?;
        let mut command = Command::new(&self.python);
        command.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "-p", "client_tests_outcomes"]);
        // Without tracebacks an error is its message. To write one takes seconds, as the tests trace all memory.
        command.args(["--timeout", HANGS_AFTER_S, "--tb", "no", "-W", "ignore", "--no-summary"]);
        command.args(["-m", &format!("not {}", LEFT_OUT.join(" and not "))]);
        command.args(["--redis-url", &format!("redis://127.0.0.1:{port}/0")]);
        let folder = if unit == ASYNCIO { "tests/test_asyncio" } else { "tests" };
        let files = FILES.map(|file| format!("{folder}/{file}"));
        command.args(files.iter().filter(|file| self.source.join(file).exists()));
        command.env("PYTHONPATH", plugin.parent().expect("it lies in a folder"));
        command.env("CLIENT_TESTS_RESULTS", results).current_dir(&self.source);
        // A dot for each test is written when it has ended: a runner that says nothing hangs.
        command.env("PYTHONUNBUFFERED", "1");
        // 0: all tests passed; 1: some failed.
        Ok(Run { command, complete: &[0, 1], read })
    }
}

/// A test has passed if its call did, and neither what is before nor what is after failed.
fn read(text: &str) -> Result<Vec<Outcome>> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut occurred: BTreeMap<String, usize> = BTreeMap::new();
    // The last line of a runner that was killed may not be whole.
    for line in text.lines().map_while(|line| serde_json::from_str::<Value>(line).ok()) {
        let word = |name: &str| line[name].as_str().with_context(|| format!("{name} in {line}"));
        let name = word("name")?.trim_start_matches("tests/").replace(['\n', '\r', '\t'], " ");
        if word("step")? == "begin" {
            let occurrence = occurred.entry(name.clone()).or_default();
            *occurrence += 1;
            let name = numbered(&name, *occurrence);
            outcomes.push(Outcome { name, ended: Ended::Failed, details: "no result".to_string() });
            continue;
        }
        let outcome = outcomes.last_mut().with_context(|| format!("{name} has a result and never began"))?;
        let ended = match (word("ended")?, word("step")?) {
            ("passed", "call") => Ended::Passed,
            ("passed", _) => continue,
            ("skipped", _) => Ended::Skipped,
            _ => Ended::Failed,
        };
        let failed_before = outcome.ended == Ended::Failed && outcome.details != "no result";
        if !failed_before {
            (outcome.ended, outcome.details) = (ended, word("details")?.to_string());
        }
    }
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_passes_if_all_its_steps_do() {
        let steps = [
            ("a", "begin", "passed"),
            ("a", "setup", "passed"),
            ("a", "call", "passed"),
            ("a", "teardown", "passed"),
            ("b", "begin", "passed"),
            ("b", "setup", "failed"),
            ("b", "teardown", "passed"),
            ("c", "begin", "passed"),
            ("c", "call", "passed"),
            ("c", "teardown", "failed"),
            ("d", "begin", "passed"),
            ("d", "setup", "skipped"),
            ("e", "begin", "passed"),
            ("e", "setup", "passed"),
        ];
        let line = |(name, step, ended): &(&str, &str, &str)| {
            serde_json::json!({"name": format!("tests/{name}"), "step": step, "ended": ended, "details": step}).to_string()
        };
        let text = steps.iter().map(line).collect::<Vec<_>>().join("\n") + "\n{\"name\": \"tests/e\", \"st";
        let outcomes = read(&text).unwrap();
        let ended: Vec<_> = outcomes.iter().map(|outcome| (&outcome.name[..], outcome.ended)).collect();
        let (passed, failed, skipped) = (Ended::Passed, Ended::Failed, Ended::Skipped);
        assert_eq!(ended, [("a", passed), ("b", failed), ("c", failed), ("d", skipped), ("e", failed)]);
        assert_eq!(outcomes[2].details, "teardown");
        assert_eq!(outcomes[4].details, "no result");
    }
}
