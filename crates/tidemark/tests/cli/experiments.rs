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
    // One of the paper's protocols is shorter than ours: the claim does not hold, and the exit code says so.
    assert_eq!(run.status.code(), Some(1), "{}", said(&run));
    let text = said(&run);
    assert!(
        text.contains("ok   COPS takes at most as many") && text.contains("verdict: does not hold"),
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
    assert_eq!((&one["runners"][0], &one["published"]), (&"lines".into(), &"does-not-hold".into()));
    let text = said(&tidemark(&["experiment", "list"]));
    assert!(text.contains("000, table 8.1") && text.contains("does not hold"), "{text}");
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
                [[check]]\nsays = \"short\"\nsql = \"SELECT max(lines) FROM counted\"\nat_most = 400\n";
    std::fs::write(folder.path().join("mine.toml"), text).unwrap();
    let run = inside(folder.path(), &["experiment", "run", "mine.toml", "--json", "--db", "own.sqlite"]);
    let json: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    // The point that fails is told, and keeps the claim from holding; the other one was measured.
    assert_eq!((run.status.code(), &json[0]["verdict"]), (Some(1), &"incomplete".into()), "{json}");
    assert_eq!(json[0]["checks"][0]["holds"], true);
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
