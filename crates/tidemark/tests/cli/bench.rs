//! `tidemark bench` against a cluster of `tidemark up`.

use crate::edge::Running;
use crate::harness::{Up, binary, eventually, has, said, tidemark};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{ChildStderr, Command, ExitStatus, Stdio};
use tidemark_patience::until;

const SHORT: &[&str] = &["bench", "-c", "6", "--set", "keys=300", "--set", "value-bytes=32"];

/// What `tidemark bench --json` measured at the running cluster.
#[track_caller]
fn measured(up: &Up, args: &[&str]) -> Value {
    let output = up.tidemark(&[SHORT, args, &["--json", "--quiet"]].concat());
    assert!(output.status.success(), "{}\n{}", said(&output), up.logs());
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The same for two seconds, and for longer and longer, until it was `enough`.
#[track_caller]
fn measured_enough(up: &Up, args: &[&str], enough: impl Fn(&Value) -> bool) -> Value {
    for seconds in [2, 4, 8, 16, 32, 64] {
        let report = measured(up, &[args, &["--duration", &format!("{seconds}s")]].concat());
        if enough(&report) {
            return report;
        }
    }
    let report = measured(up, &[args, &["--duration", "128s"]].concat());
    assert!(enough(&report), "{report}");
    report
}

/// A load that goes on until it is interrupted.
pub(crate) struct Load {
    process: Running,
    told: BufReader<ChildStderr>,
    said: String,
}

impl Load {
    /// Starts one in `directory`, and waits until it counts.
    pub(crate) fn start(directory: &Path, args: &[&str]) -> Self {
        let mut bench = Command::new(binary());
        bench.args(args).args(["--duration", "1h"]).current_dir(directory).env_remove("TIDEMARK_RESULTS");
        let mut process = Running(bench.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        let told = BufReader::new(process.0.stderr.take().unwrap());
        let mut load = Self { process, told, said: String::new() };
        load.tells("measuring, ");
        load
    }

    /// Waits until it has told of this.
    fn tells(&mut self, words: &str) {
        loop {
            let mut line = String::new();
            let length = self.told.read_line(&mut line).unwrap();
            assert!(length > 0, "it has ended and not told of {words:?}: {}", self.said);
            self.said.push_str(&line);
            if line.contains(words) {
                return;
            }
        }
    }

    /// Interrupts it. How it ended, and what it said.
    pub(crate) fn interrupt(mut self) -> (ExitStatus, String) {
        let process = &mut self.process.0;
        assert!(Command::new("kill").args(["-INT", &process.id().to_string()]).status().unwrap().success());
        self.told.read_to_string(&mut self.said).unwrap();
        process.stdout.take().unwrap().read_to_string(&mut self.said).unwrap();
        (process.wait().unwrap(), self.said)
    }
}

#[test]
fn it_finds_the_cluster_loads_it_and_sees_how_far_regions_are_apart() {
    let up = Up::start(&[]);
    measured(&up, &["--load", "-n", "1000", "--warm-up", "0s"]);
    eventually(Some(0), || measured(&up, &["-n", "1000", "--warm-up", "0s"])["keys_absent"].as_u64());
    // So long that no pause of a busy machine between a write and its acknowledgement hides it.
    up.order(&["slow", "a", "b", "--by", "1s", "--one-way"]);
    let report = measured_enough(&up, &["--visibility", "--patience", "120s"], |report| {
        let pairs = report["visibility"].as_array().unwrap();
        pairs.iter().all(|pair| pair["times"]["count"].as_u64() >= Some(5))
    });
    let number = |path: &str| {
        report.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}: {report}"))
    };
    assert_eq!(report["regions"].as_object().unwrap().keys().collect::<Vec<_>>(), ["a", "b", "c"]);
    assert!(number("/summary/operations/get/count") > 0.0 && number("/summary/operations/put/count") > 0.0);
    assert_eq!(report["summary"]["failed"], serde_json::json!({}));
    let pairs = report["visibility"].as_array().unwrap();
    assert_eq!(pairs.len(), 6);
    let pair =
        |from: &str, to: &str| pairs.iter().find(|pair| pair["from"] == from && pair["to"] == to).unwrap();
    for seen in pairs {
        assert_eq!(seen["never"], 0, "{seen}");
    }
    let slow = pair("a", "b")["times"]["p50_us"].as_u64().unwrap();
    let quick = pair("b", "a")["times"]["min_us"].as_u64().unwrap();
    let kept = up.order(&[
        "results",
        "--json",
        "SELECT workload AS mix, clients, throughput, visible_a_b_p50_us AS seen FROM bench",
    ]);
    let kept: Value = serde_json::from_str(&kept).expect("JSON");
    let kept = kept.as_array().unwrap().iter().find(|row| row["seen"] == slow).expect("the last is kept");
    assert_eq!((&kept["mix"], &kept["clients"]), (&"ycsb-a".into(), &6.into()));
    assert_eq!(kept["throughput"], report["summary"]["throughput"]);
    assert!(slow > 500_000 && quick < 500_000, "from a to b {slow} µs, back {quick} µs at best");
    up.stop();
}

#[test]
fn transactions_are_served_and_a_table_is_printed() {
    let up = Up::start(&["--regions", "2", "--protocol", "gentlerain", "--param", "wait_limit=120s"]);
    let said = up
        .order(&[SHORT, &["--workload", "transactions", "-n", "2000", "--load", "--rate", "4000"]].concat());
    for words in [
        "transactions, 6 connections, open loop",
        "rotx",
        "put",
        "a: rotx",
        "b: put",
        "waited to be sent",
        ", 0 failed",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    up.stop();
}

/// Two regions that exchange writes in 300 ms.
pub(crate) fn far_apart() -> Up {
    let up = Up::start(&["--regions", "2", "--protocol", "nukv", "--param", "wait_limit=120s"]);
    for way in [["a", "b"], ["b", "a"]] {
        up.order(&["slow", way[0], way[1], "--by", "300ms", "--one-way"]);
    }
    up
}

/// Measures how long reads took of clients that stay at home or go elsewhere in 20 ms, once there was one of so many microseconds.
pub(crate) fn reads_of_travellers(up: &Up, guarantee: &str, at_least_us: u64) -> Value {
    let asks = format!("read-guarantee={guarantee}");
    let args = ["--set", "remote=0.5", "--set", &asks, "--remote-rtt", "40ms", "--set", "keys=1", "--load"];
    let figure = |report: &Value, name: &str| report["summary"]["operations"]["get"][name].as_u64();
    // Half of them stay at home, and the others go away.
    let report = measured_enough(up, &args, |report| {
        figure(report, "min_us").is_some_and(|least| least < 20_000)
            && figure(report, "max_us") >= Some(at_least_us)
    });
    assert_eq!(report["summary"]["failed"], serde_json::json!({}), "{report}");
    report["summary"]["operations"]["get"].clone()
}

/// Clients that want to find elsewhere what they wrote have to wait; that others do not is a latency, and a test of `rates`.
#[test]
fn clients_go_elsewhere_with_their_sessions() {
    let up = far_apart();
    reads_of_travellers(&up, "eventual", 40_000);
    reads_of_travellers(&up, "read-your-writes", 250_000);
    up.stop();
}

#[test]
fn ctrl_c_ends_it_early_and_what_was_measured_is_printed() {
    if !has("redis-cli") {
        return;
    }
    let up = Up::start(&["--regions", "1"]);
    let region = format!("here=127.0.0.1:{}", up.port("a"));
    let directory = tempfile::tempdir().unwrap();
    let args = [SHORT, &["--region", &region, "--warm-up", "0s"]].concat();
    let load = Load::start(directory.path(), &args);
    until("it reads", || up.redis("a", &["INFO", "commandstats"]).contains("cmdstat_get:"));
    let (status, text) = load.interrupt();
    assert!(status.success() && text.contains("stopped early") && text.contains("get"), "{text}");
    assert!(text.contains("measuring, "), "where there is no terminal, lines say how it goes: {text}");
    assert!(!text.contains("kept in"), "nobody has asked for that: {text}");
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0, "nothing is left behind");
    up.stop();
}

#[test]
fn a_result_is_kept_where_it_is_asked_to_be() {
    let up = Up::start(&["--regions", "1"]);
    let region = format!("here=127.0.0.1:{}", up.port("a"));
    let kept = |asked: &[&str]| {
        let directory = tempfile::tempdir().unwrap();
        let mut bench = Command::new(binary());
        bench.args(SHORT).args(["--region", &region, "-n", "100", "--warm-up", "0s"]).args(asked);
        let output = bench.current_dir(&directory).env_remove("TIDEMARK_RESULTS").output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        ["results.sqlite", "mine.sqlite"].map(|file| directory.path().join(file).is_file())
    };
    assert_eq!(kept(&[]), [false, false]);
    assert_eq!(kept(&["--save"]), [true, false]);
    assert_eq!(kept(&["--db", "mine.sqlite"]), [false, true]);
    assert_eq!(kept(&["--save", "--db", "mine.sqlite"]), [false, true]);
    up.stop();
}

#[test]
fn when_a_region_is_killed_the_figures_of_the_others_are_kept() {
    let up = Up::start(&["--regions", "2"]);
    let regions = ["a", "b"].map(|region| format!("{region}=127.0.0.1:{}", up.port(region)));
    let directory = tempfile::tempdir().unwrap();
    let args = [SHORT, &["--warm-up", "0s", "--region", &regions[0], "--region", &regions[1]]].concat();
    let mut load = Load::start(directory.path(), &args);
    up.order(&["kill", "b"]);
    load.tells(" failed");
    let (status, said) = load.interrupt();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("LOST: 3 connections to region b") && said.contains("a: get"), "{said}");
    up.stop();
}

#[test]
fn what_is_wrong_is_explained() {
    for (args, code, words) in [
        (&["bench"][..], 1, "no cluster runs; start one with `tidemark up`"),
        (&["bench", "--set", "colour=red"], 2, "no setting \"colour\""),
        (&["bench", "--workload", "ycsb-z"], 2, "no workload is called \"ycsb-z\""),
        (&["bench", "--region", "x=127.0.0.1:1"], 1, "region x: 127.0.0.1:1 cannot be reached"),
        (&["bench", "--region", "x"], 2, "NAME=HOST:PORT"),
    ] {
        let output = tidemark(args);
        assert!(said(&output).contains(words), "{args:?}: {}", said(&output));
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", said(&output));
    }
    assert!(said(&tidemark(&["bench", "--list"])).contains("write-share=0.05"));
}
