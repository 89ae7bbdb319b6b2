//! The lower bound for latency-optimal reads, run over all protocols.

use crate::harness::{said, tidemark};
use serde_json::{Value, json};
use std::path::Path;

fn bound(arguments: &[&str]) -> Value {
    let output = tidemark(&[&["protocols", "--bound", "--json"], arguments].concat());
    assert!(output.status.success(), "{}", said(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn only_writes_of_cc_lo_pay_and_every_other_protocol_gives_something_up() {
    let found = bound(&["--readers", "3"]);
    assert_eq!(found["bound"]["readers"], 3);
    let rows = found["protocols"].as_array().expect("a list");
    assert!(rows.len() > 20, "all protocols, and those of the papers to the letter");
    for row in rows {
        let name = row["protocol"].as_str().unwrap();
        let pays = name == "cc-lo" || name == "cc-lo-published";
        assert_eq!(row["side"], if pays { "pays" } else { "gives-up" }, "{row}");
        assert_eq!(row["gives_up"].as_array().unwrap().is_empty(), pays, "{row}");
        assert_eq!((&row["reader_sets"], &row["old_readers"]), (&json!(8), &json!(3)), "{row}");
        assert_eq!(row["distinct"], if pays { 8 } else { 1 }, "{row}");
    }
}

#[test]
fn a_protocol_without_the_rule_that_pays_tears_snapshots() {
    let found = bound(&["cc-lo", "--without", "PUT_CHECKS_READERS", "--readers", "2"]);
    let row = &found["protocols"][0];
    assert_eq!((&row["distinct"], &row["gives_up"]), (&json!(1), &json!(["snapshot"])), "{row}");
    assert_eq!((&row["old_reads"], &row["kept"]), (&json!(["x0 y1"]), &json!(false)), "{row}");
    assert!(row["torn"].as_str().is_some_and(|text| !text.is_empty()), "{row}");
}

#[test]
fn options_of_the_bound_that_cannot_be_are_explained() {
    let refused = |arguments: &[&str], why: &str| {
        let output = tidemark(&[&["protocols"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains(why), "{}", said(&output));
    };
    refused(&["--bound", "--readers", "11"], "--readers is 1 to 10");
    refused(&["--bound", "--skew-us", "-5001"], "--skew-us is 5000 at most");
    refused(&["--bound", "cc-lo", "--without", "NONE"], "PUT_CHECKS_READERS");
    refused(&["--bound", "--table"], "cannot be used with");
    refused(&["--readers", "3"], "--bound");
}

/// `docs/lower-bound.md` shows what the command says, word for word. With `UPDATE_DOCS=1` it is brought up to date; then read it.
#[test]
fn the_document_shows_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lower-bound.md");
    let document = std::fs::read_to_string(&path).unwrap();
    let blocks: Vec<&str> = document.split("```").collect();
    let [before, command, between, table, after] = blocks[..] else { panic!("there are two blocks") };
    let output = said(&tidemark(&["protocols", "--bound"]));
    assert!(output.lines().all(|line| line.chars().count() <= 150), "{output}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let text = format!("{before}```{command}```{between}```text\n{output}```{after}");
        return std::fs::write(&path, text).unwrap();
    }
    let told = "run it again with UPDATE_DOCS=1, and read the difference";
    assert_eq!(table.strip_prefix("text\n"), Some(output.as_str()), "{told}");
}
