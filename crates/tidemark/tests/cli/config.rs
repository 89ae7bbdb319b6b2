//! `config` and `serve` say what is wrong, where, and what to do.

use crate::harness::{said, tidemark};
use std::path::PathBuf;
use tempfile::TempDir;

fn file(text: &str) -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("cluster.toml");
    std::fs::write(&path, text).unwrap();
    (dir, path)
}

fn example() -> String {
    let output = tidemark(&["config", "example"]);
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_example_is_sound() {
    let (_dir, path) = file(&example());
    let check = tidemark(&["config", "check", path.to_str().unwrap()]);
    assert_eq!(check.status.code(), Some(0), "{}", said(&check));
    assert!(said(&check).contains("The file is sound."));
    let json = tidemark(&["config", "check", "--json", path.to_str().unwrap()]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["ok"], true);
    assert_eq!(json["nodes"][1]["partitions"], serde_json::json!([2, 3]));
}

#[test]
fn every_problem_is_listed_with_its_line() {
    let wrong = example()
        .replacen("region = \"oregon\"", "region = \"oregano\"", 1)
        .replacen("\"2-3\"", "\"1-3\"", 1);
    let (_dir, path) = file(&wrong);
    let check = tidemark(&["config", "check", path.to_str().unwrap()]);
    assert_eq!(check.status.code(), Some(1));
    let words = said(&check);
    let line = |of: &str| 1 + wrong.lines().position(|line| line.contains(of)).unwrap();
    assert!(
        words.contains(&format!(":{}: node[2].region: there is no region \"oregano\"", line("oregano"))),
        "{words}"
    );
    assert!(words.contains("did you mean \"oregon\"?"), "{words}");
    assert!(words.contains(&format!(":{}: node[1].partitions:", line("\"1-3\""))), "{words}");
    let json = tidemark(&["config", "check", "--json", path.to_str().unwrap()]);
    assert_eq!(json.status.code(), Some(1));
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["problems"].as_array().unwrap().len(), 3, "{json}");
}

#[test]
fn files_that_cannot_be_read_are_the_users_affair() {
    assert_eq!(tidemark(&["config", "check", "/no/such/file"]).status.code(), Some(2));
    let (_dir, path) = file("[cluster\n");
    let broken = tidemark(&["config", "check", path.to_str().unwrap()]);
    assert_eq!(broken.status.code(), Some(1));
    assert!(said(&broken).contains("cluster.toml:1:"), "{}", said(&broken));
}

#[test]
fn the_schema_is_one() {
    let schema: serde_json::Value = serde_json::from_slice(&tidemark(&["config", "schema"]).stdout).unwrap();
    assert!(schema["$schema"].as_str().unwrap().contains("json-schema.org"));
    assert_eq!(schema["properties"]["node"]["type"], "array");
}

#[test]
fn serve_refuses_what_is_not_sound_and_nodes_that_are_not_there() {
    let (_dir, path) = file(&example());
    let path = path.to_str().unwrap();
    let nobody = tidemark(&["serve", "--config", path, "--node", "virginia-3"]);
    assert_eq!(nobody.status.code(), Some(2));
    assert!(
        said(&nobody).contains("did you mean \"virginia-1\"?") || said(&nobody).contains("the nodes are"),
        "{}",
        said(&nobody)
    );
    let filter = tidemark(&["serve", "--config", path, "--node", "oregon-1", "--log", "a=b=c"]);
    assert_eq!(filter.status.code(), Some(2));
    assert_eq!(tidemark(&["serve"]).status.code(), Some(2));
}
