//! `tidemark demo` on real clusters: the anomalies happen under `eventual`, and cannot under `causal`.

use crate::harness::{said, tidemark};

/// The protocol, the act, and whether the anomaly was seen, of a line of the conclusion.
fn verdict(line: &str) -> Option<(&str, &str, bool)> {
    let (what, sight) = line.split_at(line.find("effect was seen without its cause")?);
    let (what, seen) = match what.strip_suffix("no ") {
        Some(what) => (what, false),
        None => (what.strip_suffix("an ")?, true),
    };
    let (protocol, act) = what.trim().split_once(' ')?;
    sight.ends_with("cause").then_some((protocol, act.trim(), seen))
}

#[test]
fn the_anomalies_happen_under_eventual_and_not_under_causal() {
    let output = tidemark(&["demo", "--base-port", "0"]);
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    let verdicts: Vec<_> = text.lines().filter_map(verdict).collect();
    let expected = [
        ("eventual", "the photo album", true),
        ("eventual", "the profile picture", true),
        ("causal", "the photo album", false),
        ("causal", "the profile picture", false),
    ];
    assert_eq!(verdicts, expected, "{text}");
}
