//! The lower bound for latency-optimal reads, run over all protocols.

use crate::harness::{said, tidemark};
use crate::sentences::{Document, thousands};
use serde_json::{Value, json};
use std::collections::BTreeSet;

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

/// `docs/lower-bound.md` shows what the command says, word for word, and its sentences have the numbers of today. With `UPDATE_DOCS=1`
/// it is brought up to date; then read it.
#[test]
fn the_document_shows_the_table() {
    let mut document = Document::open("docs/lower-bound.md");
    let output = said(&tidemark(&["protocols", "--bound"]));
    assert!(output.lines().all(|line| line.chars().count() <= 150), "{output}");
    document.block(1, &output);
    let usual = bound(&["cc-lo", "tidemark"]);
    let number = |row: usize, name: &str| usual["protocols"][row][name].as_u64().expect("a number");
    let readers = usual["bound"]["readers"].as_u64().expect("a number");
    let (sets, distinct) = (number(0, "reader_sets"), number(0, "distinct"));
    document
        .says("Its {} sets of {} readers are {} communications", &[sets, readers, distinct].map(thousands));
    let each = (number(0, "bytes_most") - number(0, "bytes_least")) / readers;
    document.says("Each reader adds {} bytes to the longest one.", &[thousands(each)]);
    document.says("The {} bytes of `tidemark` are its", &[thousands(number(1, "bytes_most"))]);
    let distinct = |arguments: &[&str]| {
        let rows = bound(arguments)["protocols"].as_array().expect("a list").clone();
        let all: BTreeSet<u64> = rows.iter().filter_map(|row| row["distinct"].as_u64()).collect();
        assert_eq!(all.len(), 1, "{rows:?}");
        all.into_iter().map(thousands).collect::<Vec<_>>()
    };
    for rule in ["PUT_CHECKS_READERS", "READERS_GROW_OLD", "HIDDEN_IS_HANDED_ON"] {
        let torn = distinct(&["cc-lo", "--without", rule]);
        document.says("With `--without PUT_CHECKS_READERS` there is {} communication", &torn);
    }
    let ahead = distinct(&["--skew-us", "-1000", "contrarian", "okapi", "pocc"]);
    document.says("`contrarian`, `okapi` and `pocc` have {} communications", &ahead);
    document.check();
}
