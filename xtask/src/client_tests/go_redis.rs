//! The tests of go-redis, which are in its module. Those that need one server and no more are Ginkgo's; they take its
//! address from a file of endpoints.

use super::Run;
use crate::fetch;
use crate::foreign::{Ended, Outcome, numbered};
use crate::run::output;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files of tests that need a cluster, sentinels, replicas, certificates or modules.
const FILES_LEFT_OUT: &str =
    "osscluster|cluster|sentinel|ring|universal|search|json_test|timeseries|probabilistic|vectorset|tls";

/// Tests that are not run, by their names: those that need a cluster; those that flush whatever server has Redis's usual
/// port; and one that ends the whole program where there is one database: it fails outside of the test's own goroutine.
const LEFT_OUT: [&str; 5] = [
    "cluster races",
    "withConn should",
    "Client should Stringer",
    "Credentials Provider Priority",
    "should initialize idle connections created by MinIdleConns",
];

/// The folder of the module, and its tests as a program.
pub(super) struct Installed {
    source: PathBuf,
    program: PathBuf,
}

/// Both; the program is built in `folder` if it is not there.
pub(super) fn installed(folder: &Path) -> Result<Installed> {
    let source = fetch::go_redis()?;
    let name = source.file_name().context("a module has a folder")?.to_string_lossy();
    let program = folder.join(format!("go-redis-{name}"));
    if !program.exists() {
        eprintln!("building the tests of go-redis");
        let fresh = folder.join(format!("building-{}", std::process::id()));
        let mut build = Command::new("go");
        build.args(["test", "-c", "-buildvcs=false", "-o"]).arg(&fresh).arg(".").current_dir(&source);
        output(build.env("GOPROXY", "off")).context("the tests of go-redis cannot be built")?;
        std::fs::rename(&fresh, &program)?;
    }
    Ok(Installed { source, program })
}

impl Installed {
    pub(super) fn run(&self, port: u16, results: &Path) -> Result<Run> {
        let endpoints = results.with_extension("endpoints");
        let address = format!("redis://127.0.0.1:{port}");
        std::fs::write(&endpoints, json!({"standalone": {"endpoints": [address]}}).to_string())?;
        let mut command = Command::new(&self.program);
        command.args(["-test.run", "^TestGinkgoSuite$", "-ginkgo.no-color", "-ginkgo.seed", "1"]);
        command.args(["-ginkgo.skip-file", FILES_LEFT_OUT, "-ginkgo.skip", &LEFT_OUT.join("|")]);
        command.arg("-ginkgo.json-report").arg(results);
        // What is there for tests with a database in a cloud: it is the way to name an address and start nothing else.
        command.env("RE_CLUSTER", "true").env("REDIS_ENDPOINTS_CONFIG_PATH", endpoints);
        command.env("REDIS_PORT", port.to_string()).env("REDIS_VERSION", "7.0").current_dir(&self.source);
        // 0: all tests passed; 1: some failed.
        Ok(Run { command, complete: &[0, 1], read })
    }
}

fn read(text: &str) -> Result<Vec<Outcome>> {
    let reports: Value = serde_json::from_str(text)?;
    let tests = reports[0]["SpecReports"].as_array().context("a list of tests")?;
    let mut occurred: BTreeMap<String, usize> = BTreeMap::new();
    let outcome = |test: &Value| {
        let words = test["ContainerHierarchyTexts"].as_array().into_iter().flatten();
        let words = words.chain([&test["LeafNodeText"]]).filter_map(Value::as_str);
        let name = words.collect::<Vec<_>>().join(" ").replace(['\n', '\r', '\t'], " ");
        let occurrence = occurred.entry(name.clone()).or_default();
        *occurrence += 1;
        let ended = match test["State"].as_str() {
            Some("passed") => Ended::Passed,
            Some("skipped" | "pending") => Ended::Skipped,
            _ => Ended::Failed,
        };
        let details = test["Failure"]["Message"].as_str().unwrap_or_default().to_string();
        Outcome { name: numbered(&name, *occurrence), ended, details }
    };
    // Other nodes are what comes before and after the suite.
    Ok(tests.iter().filter(|test| test["LeafNodeType"] == "It").map(outcome).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_of_ginkgo_is_read() {
        let test = |kind: &str, text: &str, state: &str| {
            json!({"ContainerHierarchyTexts": ["Commands", "hashes"], "LeafNodeType": kind, "LeafNodeText": text,
                "State": state, "Failure": {"Message": "Expected 1"}})
        };
        let report = json!([{"SpecReports": [
            test("BeforeSuite", "", "passed"),
            test("It", "should HSet", "passed"),
            test("It", "should HSet", "panicked"),
            test("It", "should HGet", "skipped"),
            test("It", "should HDel", "timedout"),
        ]}]);
        let outcomes = read(&report.to_string()).unwrap();
        let ended: Vec<_> = outcomes.iter().map(|outcome| (&outcome.name[..], outcome.ended)).collect();
        assert_eq!(
            ended,
            [
                ("Commands hashes should HSet", Ended::Passed),
                ("Commands hashes should HSet #2", Ended::Failed),
                ("Commands hashes should HGet", Ended::Skipped),
                ("Commands hashes should HDel", Ended::Failed),
            ]
        );
        assert_eq!(outcomes[1].details, "Expected 1");
        assert!(read("[]").is_err(), "a report without tests");
    }
}
