//! `tidemark demo` on real clusters: the anomalies happen under `eventual`, and cannot under `causal`.

use std::process::Command;

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
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidemark"));
    let output = command.args(["demo", "--base-port", "7371"]).output().unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
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
