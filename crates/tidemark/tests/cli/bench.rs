//! `tidemark bench` against a cluster of `tidemark up`.

use crate::harness::{Up, binary, said, tidemark};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::Duration;

const SHORT: &[&str] = &["bench", "-c", "6", "--set", "keys=300", "--set", "value-bytes=32"];

/// What `tidemark bench --json` measured at the running cluster.
#[track_caller]
fn measured(up: &Up, args: &[&str]) -> Value {
    let output = up.tidemark(&[SHORT, args, &["--json", "--quiet"]].concat());
    assert!(output.status.success(), "{}\n{}", said(&output), up.logs());
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn it_finds_the_cluster_loads_it_and_sees_how_far_regions_are_apart() {
    let up = Up::start(&[]);
    up.order(&["slow", "a", "b", "--by", "300ms", "--one-way"]);
    let report = measured(&up, &["--load", "--warm-up", "1500ms", "--duration", "2s", "--visibility"]);
    let number = |path: &str| {
        report.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}: {report}"))
    };
    assert_eq!(report["regions"].as_object().unwrap().keys().collect::<Vec<_>>(), ["a", "b", "c"]);
    assert!(
        number("/summary/operations/get/count") > 100.0 && number("/summary/operations/put/count") > 100.0
    );
    assert_eq!(report["summary"]["failed"], serde_json::json!({}));
    assert_eq!(number("/keys_absent"), 0.0, "what was filled in has arrived everywhere");
    let pairs = report["visibility"].as_array().unwrap();
    assert_eq!(pairs.len(), 6);
    let pair =
        |from: &str, to: &str| pairs.iter().find(|pair| pair["from"] == from && pair["to"] == to).unwrap();
    for seen in pairs {
        assert!(seen["times"]["count"].as_u64().unwrap() >= 5 && seen["never"] == 0, "{seen}");
    }
    let half = |from, to| pair(from, to)["times"]["p50_us"].as_u64().unwrap();
    let (slow, quick) = (half("a", "b"), half("b", "a"));
    let kept = up.order(&[
        "results",
        "--json",
        "SELECT workload AS mix, clients, throughput, visible_a_b_p50_us AS seen FROM bench",
    ]);
    let kept: Value = serde_json::from_str(&kept).expect("JSON");
    assert_eq!(
        (&kept[0]["mix"], &kept[0]["clients"], &kept[0]["seen"]),
        (&"ycsb-a".into(), &6.into(), &slow.into())
    );
    assert_eq!(kept[0]["throughput"], report["summary"]["throughput"]);
    assert!(slow > 250_000 && quick < slow, "from a to b {slow} µs, back {quick} µs");
    up.stop();
}

#[test]
fn transactions_are_served_and_a_table_is_printed() {
    let up = Up::start(&["--regions", "2", "--protocol", "gentlerain"]);
    let said = up
        .order(&[SHORT, &["--workload", "transactions", "-n", "2000", "--load", "--rate", "4000"]].concat());
    for words in [
        "transactions, 6 connections, open loop",
        "rotx",
        "put",
        "a: rotx",
        "b: put",
        "waited to be sent",
        "0 failed",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    up.stop();
}

/// Servers exchange writes in 300 ms, and clients go elsewhere in 20: who wants to find there what it wrote has to wait.
#[test]
fn clients_go_elsewhere_with_their_sessions() {
    let up = Up::start(&["--regions", "2", "--protocol", "nukv"]);
    for way in [["a", "b"], ["b", "a"]] {
        up.order(&["slow", way[0], way[1], "--by", "300ms", "--one-way"]);
    }
    let slowest = |guarantee: &str| {
        let asks = format!("read-guarantee={guarantee}");
        let args = ["--set", "remote=0.5", "--set", &asks, "--remote-rtt", "40ms", "--set", "keys=1"];
        let report = measured(&up, &[&args[..], &["--load", "--duration", "3s"]].concat());
        assert_eq!(report["summary"]["failed"], serde_json::json!({}), "{report}");
        let get = &report["summary"]["operations"]["get"];
        assert!(get["min_us"].as_u64() < Some(20_000), "half of them stay at home: {get}");
        assert!(get["max_us"].as_u64() >= Some(40_000), "the others go away: {get}");
        get["max_us"].as_u64().unwrap()
    };
    let (eventual, own) = (slowest("eventual"), slowest("read-your-writes"));
    assert!(eventual < 250_000 && own > 250_000, "{eventual} µs, and {own} µs to read what was written");
    up.stop();
}

#[test]
fn ctrl_c_ends_it_early_and_what_was_measured_is_printed() {
    let up = Up::start(&["--regions", "1"]);
    let region = format!("here=127.0.0.1:{}", up.port("a"));
    let args = [SHORT, &["--region", &region, "--duration", "1h", "--warm-up", "100ms"]].concat();
    let directory = tempfile::tempdir().unwrap();
    let mut bench = Command::new(binary());
    bench.args(args).current_dir(&directory).env_remove("TIDEMARK_RESULTS");
    let bench = bench.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    assert!(Command::new("kill").args(["-INT", &bench.id().to_string()]).status().unwrap().success());
    let output = bench.wait_with_output().unwrap();
    let text = said(&output);
    assert!(output.status.success() && text.contains("stopped early") && text.contains("get"), "{text}");
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
    let output = std::thread::scope(|scope| {
        let running = scope.spawn(|| up.tidemark(&[SHORT, &["--duration", "6s"]].concat()));
        std::thread::sleep(Duration::from_millis(2500));
        up.order(&["kill", "b"]);
        running.join().unwrap()
    });
    assert_eq!(output.status.code(), Some(1));
    let said = said(&output);
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
