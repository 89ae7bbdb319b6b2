//! Experiments and their results, from the command line.

use crate::harness::{binary, said, tidemark};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Runs `tidemark` in a directory, where results are then.
fn inside(folder: &Path, args: &[&str]) -> Output {
    Command::new(binary()).args(args).env_remove("TIDEMARK_RESULTS").current_dir(folder).output().unwrap()
}

#[test]
fn a_claim_is_run_stored_drawn_and_queried() {
    let folder = tempfile::tempdir().unwrap();
    let nothing = inside(folder.path(), &["results"]);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(said(&nothing).contains("there are no results in results.sqlite"), "{}", said(&nothing));
    let run = inside(folder.path(), &["experiment", "run", "dkvf-table8.1"]);
    // One of the paper's protocols is shorter than ours: not every statement holds, and the exit code says so.
    assert_eq!(run.status.code(), Some(1), "{}", said(&run));
    let text = said(&run);
    assert!(
        text.contains("ok   COPS takes at most as many") && text.contains("verdict: partly holds"),
        "{text}"
    );
    let svg =
        std::fs::read_to_string(folder.path().join("experiment-results/dkvf-table8.1/dkvf-table8.1.svg"));
    assert!(svg.unwrap().contains("causal-"));
    let csv =
        std::fs::read_to_string(folder.path().join("experiment-results/dkvf-table8.1/counted.csv")).unwrap();
    assert!(csv.starts_with("lines,paper_lines,protocol\n") && csv.lines().count() == 5, "{csv}");

    let list = said(&inside(folder.path(), &["results"]));
    assert!(
        list.contains("dkvf-table8.1") && list.contains("dkvf_table8_1: run, part, started, full"),
        "{list}"
    );
    let query = "SELECT lines FROM dkvf_table8_1 WHERE protocol = 'cops'";
    let json: Value =
        serde_json::from_slice(&inside(folder.path(), &["results", query, "--json"]).stdout).unwrap();
    assert!(json[0]["lines"].as_i64().unwrap() > 100, "{json}");
    let csv = said(&inside(folder.path(), &["results", query, "--csv"]));
    assert_eq!(csv, format!("lines\n{}\n", json[0]["lines"]));
    let write = inside(folder.path(), &["results", "DELETE FROM runs"]);
    assert_eq!(write.status.code(), Some(2));
    assert!(said(&write).contains("queries only read"), "{}", said(&write));
    let show = said(&inside(folder.path(), &["experiment", "show", "dkvf-table8.1"]));
    assert!(show.contains("last result, in results.sqlite") && show.contains("4 points"), "{show}");
}

#[test]
fn experiments_are_listed_and_shown_and_unknown_ones_are_the_user_s_mistake() {
    let json: Value = serde_json::from_slice(&tidemark(&["experiment", "list", "--json"]).stdout).unwrap();
    let one = json.as_array().unwrap().iter().find(|one| one["id"] == "dkvf-table8.1").unwrap();
    assert_eq!((&one["runners"][0], &one["published"]), (&"lines".into(), &"partly-holds".into()));
    let text = said(&tidemark(&["experiment", "list"]));
    assert!(text.contains("000, table 8.1") && text.contains("partly holds"), "{text}");
    for (args, words) in [
        (&["experiment", "run", "dkvf-table9"][..], "there is no experiment \"dkvf-table9\"; there is dkvf-"),
        (&["experiment", "run", "dkvf-table8.1", "--only", "live"], "has no part \"live\", but counted"),
        (&["experiment", "show", "none.toml"], "cannot read none.toml"),
        (&["experiment", "run"], "<ID>"),
    ] {
        let output = tidemark(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", said(&output));
        assert!(said(&output).contains(words), "{args:?}: {}", said(&output));
    }
}

#[test]
fn an_experiment_of_one_s_own_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let text = "id = \"mine\"\ntitle = \"Ours is short\"\nsource = \"me\"\npaper = \"nothing\"\n\
                [[run]]\nname = \"counted\"\nrunner = \"lines\"\nvary.protocol = [\"eventual\", \"no-such\"]\n\
                [[statement]]\nsays = \"short\"\nsql = \"SELECT max(lines) FROM counted\"\nat_most = 400\nours = true\n";
    std::fs::write(folder.path().join("mine.toml"), text).unwrap();
    let run = inside(folder.path(), &["experiment", "run", "mine.toml", "--json", "--db", "own.sqlite"]);
    let json: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    // The point that fails is told, and keeps the claim from holding; the other one was measured.
    assert_eq!((run.status.code(), &json[0]["verdict"]), (Some(1), &"not-measured".into()), "{json}");
    assert_eq!(json[0]["statements"][0]["within"], true);
    let failed = json[0]["parts"][0]["failed"][0].to_string();
    assert!(failed.contains("there is no protocol"), "{failed}");
    std::fs::write(folder.path().join("mine.toml"), text.replace("at_most", "atmost")).unwrap();
    let wrong = inside(folder.path(), &["experiment", "run", "mine.toml"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        said(&wrong).contains("mine.toml: ") && said(&wrong).contains("unknown field `atmost`"),
        "{}",
        said(&wrong)
    );
}

/// What `sim calibrate` measures on real nodes is what a simulated experiment is reckoned with, and real servers are measured
/// beside it.
#[test]
fn a_load_is_calibrated_simulated_and_measured() {
    let folder = tempfile::tempdir().unwrap();
    let calibrated = inside(folder.path(), &["sim", "calibrate", "--brief", "--out", "costs.json"]);
    assert!(calibrated.status.success(), "{}", said(&calibrated));
    let costs = std::fs::read_to_string(folder.path().join("costs.json")).unwrap();
    let mut costs: Value = serde_json::from_str(&costs).unwrap();
    assert!(costs["costs"]["request_ns"].as_f64().unwrap() > 100.0, "{costs}");
    let run = |name: &str| {
        let output = inside(folder.path(), &["experiment", "run", "mine.toml", "--costs", name, "--json"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        serde_json::from_str::<Value>(&text).unwrap_or_else(|_| panic!("{}", said(&output)))
    };
    std::fs::write(folder.path().join("mine.toml"), MINE).unwrap();
    let value = |outcome: &Value, check: usize| outcome[0]["statements"][check]["value"].as_f64().unwrap();
    let as_measured = run("costs.json");
    assert_eq!(as_measured[0]["verdict"], "holds", "{as_measured}");
    // A server for which everything is ten times as much work does a good deal less.
    for (_, ns) in costs["costs"].as_object_mut().unwrap() {
        *ns = (10.0 * ns.as_f64().unwrap()).into();
    }
    std::fs::write(folder.path().join("slow.json"), costs.to_string()).unwrap();
    let slow = run("slow.json");
    assert!(value(&slow, 0) < value(&as_measured, 0) / 5.0, "{slow}");

    std::fs::write(folder.path().join("wrong.json"), "{}").unwrap();
    let wrong = inside(folder.path(), &["experiment", "run", "mine.toml", "--costs", "wrong.json"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(said(&wrong).contains("wrong.json"), "{}", said(&wrong));
    let stranger = MINE.replace("clients = 64", "clients = 64\npoint.colour = 3");
    std::fs::write(folder.path().join("mine.toml"), stranger).unwrap();
    let stranger = inside(folder.path(), &["experiment", "run", "mine.toml", "--only", "simulated"]);
    assert!(said(&stranger).contains("unknown name colour"), "{}", said(&stranger));
}

const MINE: &str = r#"
id = "mine"
title = "Ours, twice"
source = "an example"
paper = "Nothing: this is an example."

[[run]]
name = "simulated"
runner = "sim"
point.protocol = "tidemark"
point.workload = "ycsb-a"
point.value_bytes = 64
point.clients = 64
point.warm_up_ms = 20
point.measure_ms = 20

[[run]]
name = "live"
runner = "live"
point.protocol = "tidemark"
point.workload = "ycsb-a"
point.value_bytes = 64
point.keys = 100
point.dcs = 1
point.clients = 4
point.warm_up_ms = 200
point.seconds = 3

[[run]]
name = "shown"
runner = "visibility"
point.protocol = "tidemark"
point.dcs = 2
point.rtt_ms = 60
point.warm_up_ms = 200
point.seconds = 4

[[statement]]
says = "the simulator serves"
sql = "SELECT throughput FROM simulated"
at_least = 1
ours = true

[[statement]]
says = "real servers do"
sql = "SELECT get_count FROM live"
at_least = 1
ours = true

[[statement]]
says = "what is written shows after the way that it has to go"
sql = "SELECT median(visible_us) FROM shown"
at_least = 30000
ours = true
"#;
