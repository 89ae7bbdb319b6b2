//! Before Redis's units one of our own is run, whose results are known: a harness that loses tests, or that calls them
//! passed, is found before its results are believed.

use super::client;
use crate::foreign::servers::Kind;
use crate::foreign::{Ended, Played};
use anyhow::{Context, Result, bail};
use std::path::Path;

const UNIT: &str = "tidemark-self-check";

const RESULTS: [(&str, Ended); 16] = [
    ("passes", Ended::Passed),
    ("returns something else", Ended::Failed),
    ("fails an assertion", Ended::Failed),
    ("gets an error", Ended::Failed),
    ("runs after errors between tests", Ended::Passed),
    ("waits for a reply", Ended::Failed),
    ("has had no reply for long", Ended::Failed),
    ("goes on while it is answered", Ended::Passed),
    ("breaks its connection", Ended::Failed),
    ("has a new connection", Ended::Passed),
    ("occurs twice", Ended::Passed),
    ("occurs twice #2", Ended::Failed),
    ("has a tag that is left out", Ended::Skipped),
    ("is in a loop with errors", Ended::Passed),
    ("is in a loop with errors #2", Ended::Passed),
    ("is the last one: 180°", Ended::Passed),
];

/// Runs that unit; an error if one of its tests does not end as it has to.
pub(super) fn run(source: &Path, kind: &Kind) -> Result<()> {
    // Other runs may read it at the same time: it appears as a whole.
    let unit = source.join(format!("tests/unit/{UNIT}.tcl"));
    let part = unit.with_extension(format!("part-{}", std::process::id()));
    std::fs::write(&part, include_str!("self_check.tcl"))?;
    std::fs::rename(&part, &unit)?;
    let server = kind.start()?;
    let played = client::play(source, server.port, UNIT)?;
    judge(&played).context("the harness does not see how tests end")
}

fn judge(played: &Played) -> Result<()> {
    let found: Vec<(&str, Ended)> =
        played.outcomes.iter().map(|outcome| (&outcome.name[..], outcome.ended)).collect();
    if found != RESULTS {
        bail!("expected {RESULTS:?}\nfound {:?}\nnotes {:?}", played.outcomes, played.notes);
    }
    if !played.notes.iter().any(|note| note == "between tests") {
        bail!("an error between tests is not noted: {:?}", played.notes);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foreign::Outcome;

    #[test]
    fn a_harness_that_loses_or_passes_a_test_is_found() {
        let outcome = |(name, ended): &(&str, Ended)| Outcome {
            name: (*name).to_string(),
            ended: *ended,
            details: String::new(),
        };
        let whole = || Played {
            outcomes: RESULTS.iter().map(outcome).collect(),
            notes: vec!["between tests".into()],
            seconds: 1.0,
        };
        assert!(judge(&whole()).is_ok());
        for (at, (_, ended)) in RESULTS.iter().enumerate() {
            let (mut lost, mut passed) = (whole(), whole());
            lost.outcomes.remove(at);
            passed.outcomes[at].ended = Ended::Passed;
            assert!(judge(&lost).is_err());
            assert_eq!(judge(&passed).is_ok(), *ended == Ended::Passed);
        }
        assert!(judge(&Played { notes: Vec::new(), ..whole() }).is_err());
    }
}
