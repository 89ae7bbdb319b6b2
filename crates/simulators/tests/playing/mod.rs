//! Campaigns by the name of a protocol.

use std::ops::Range;
use tidemark_sim::{Campaign, Options, Summary};
use tidemark_simulators::simulator;

/// Plays a campaign.
pub(crate) fn search(name: &str, what: &Campaign) -> Summary {
    simulator(name).expect("its simulator").campaign(what, &mut |_| ())
}

/// Plays some schedules, and explains the first violation.
pub(crate) fn play(name: &str, options: Options, seeds: Range<u64>) -> Summary {
    search(name, &Campaign { jobs: 2, ..Campaign::new(options, seeds) })
}

/// Requires that some schedules violate nothing.
#[track_caller]
pub(crate) fn cleared(name: &str, options: Options, seeds: Range<u64>) {
    let summary = play(name, options, seeds);
    let told: Vec<String> = summary.counterexamples.iter().map(ToString::to_string).collect();
    assert!(summary.violations == 0, "{}", told.join("\n"));
}
