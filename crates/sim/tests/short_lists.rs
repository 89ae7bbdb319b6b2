//! Dependencies beyond a number that are named no longer one by one. Schedules are too small to have so many: the number is
//! two here.

use tidemark_contract::Protocol;
use tidemark_protocols::{cops, hybrid};
use tidemark_sim::{Campaign, Options, campaign};

#[track_caller]
fn cleared<P: Protocol>(partitions: usize) {
    let options = Options { dcs: 2, partitions, sessions: 4, ops: 40, ..Options::default() };
    let summary = campaign::<P>(&Campaign { jobs: 2, ..Campaign::new(options, 0..2_000) }, |_| ());
    let told: Vec<String> = summary.convictions.iter().map(ToString::to_string).collect();
    assert!(summary.violations == 0, "{}", told.join("\n"));
}

/// Two causes are named one by one.
struct ListsTwo;

impl hybrid::Rules for ListsTwo {
    const NAME: &'static str = "hybrid-lists-two";
    const ABOUT: &'static str = "Hybrid with a short list";
    const MOST_DEPS: usize = 2;
}

#[test]
fn hybrid_keeps_its_promise_with_causes_in_short() {
    cleared::<hybrid::Server<ListsTwo>>(2);
    cleared::<hybrid::Server<ListsTwo>>(3);
}

/// Two dependencies are named one by one; more become dependencies on all that a server wrote up to a time.
struct NamesTwo;

impl cops::Rules for NamesTwo {
    const NAME: &'static str = "cops-names-two";
    const ABOUT: &'static str = "COPS with a short list";
    const MOST_DEPS: usize = 2;
}

#[test]
fn cops_keeps_its_promise_with_dependencies_in_short() {
    cleared::<cops::Server<NamesTwo>>(2);
    cleared::<cops::Server<NamesTwo>>(3);
}
