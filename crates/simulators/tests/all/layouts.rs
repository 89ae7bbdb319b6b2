//! Campaigns over how servers are grouped, over which data centres hold which keys, over clocks, and over interactive transactions.

use crate::playing::{cleared, play, play_through};
use tidemark_protocols::*;
use tidemark_sim::{Options, Placed};
use tidemark_simulators::simulator;

/// Few actors, who meet often.
fn small(dcs: usize, partitions: usize) -> Options {
    Options { dcs, partitions, sessions: 2 * dcs, ops: 20 * dcs, ..Options::default() }
}

/// Groupings for tracking and for checking are drawn with the schedule, alike or not.
#[test]
fn accf_keeps_its_promise_in_any_grouping() {
    for (dcs, partitions) in [(2, 2), (2, 3), (3, 2), (4, 1)] {
        cleared(Accf::INFO.name, small(dcs, partitions), 0..2_000);
    }
    cleared(Accf::INFO.name, Options::default(), 0..200);
}

/// What was written by groups that a server has not heard of yet shows there as well, a little later than what it knows to be stable.
#[test]
fn a_version_of_unknown_groups_is_waited_for() {
    cleared(Accf::INFO.name, small(4, 1), 307..308);
}

/// Reference: 000, table 7.1: Orbe, GentleRain, Occult and POCC, Okapi, CausalSpartan.
#[test]
fn accf_keeps_its_promise_in_the_groupings_of_protocols_that_are_known() {
    let points = [
        ("server", "region"),
        ("system", "region"),
        ("server", "server"),
        ("region", "system"),
        ("region", "region"),
    ];
    for (tracking, checking) in points {
        let params = [("tracking".to_string(), tracking.into()), ("checking".to_string(), checking.into())];
        cleared(Accf::INFO.name, Options { params: params.into(), ..small(2, 3) }, 0..500);
    }
}

/// Reference: erratum E-7a. A session does not see what it has just written.
#[test]
fn accf_as_published_is_convicted_by_a_trace_of_e_7() {
    let options = || Options { faults: "none".parse().expect("a list"), ..small(2, 2) };
    let summary = play("accf-published", options(), 0..1);
    let counterexample = summary.counterexamples.first().expect("it is convicted");
    assert_eq!(
        (counterexample.verdict.as_str(), counterexample.shrunk_steps),
        ("causal", 2),
        "{counterexample}"
    );
    cleared(Accf::INFO.name, options(), 0..1);
}

/// Two by two with full replicas is everywhere else; here are four by one (each data centre holds one partition), and keys that are held
/// here and there.
#[test]
fn every_protocol_that_may_keeps_its_promise_wherever_keys_are_held() {
    let mut partial = 0;
    for name in NAMES.iter().filter(|name| with_protocol!(name, P => P::INFO.partial, otherwise false)) {
        for (dcs, placement) in [(4, Placed::ByPartition), (2, Placed::Random), (3, Placed::Random)] {
            cleared(name, Options { placement, ..small(dcs, 2) }, 0..300);
        }
        partial += 1;
    }
    assert!(partial >= 8, "most can");
}

/// Of a transaction's versions on one partition, which have one time, a region that did not hold the first took it that all were there.
#[test]
fn what_is_left_out_of_a_feed_says_nothing_of_others_with_its_time() {
    let options = || Options { placement: Placed::Random, ops: 50, ..small(3, 2) };
    cleared(Cure::INFO.name, options(), 3379..3380);
    cleared(Wren::INFO.name, options(), 3379..3380);
}

#[test]
fn who_looks_for_each_dependency_needs_every_version() {
    let options = Options { placement: Placed::Random, ..Options::default() };
    let refused = simulator(Cops::INFO.name).expect("its simulator").validate(&options);
    assert!(refused.unwrap_err().contains("cannot do without"));
    assert!("everywhere".parse::<Placed>().is_ok() && "nowhere".parse::<Placed>().is_err());
}

/// §5.1: Lamport clocks keep reads causal, and writes may stay invisible elsewhere, where a partition is written to no more.
#[test]
fn gentlerain_on_lamport_clocks_is_causal_and_shows_late() {
    let params = [("clock".to_string(), "logical".into())].into();
    let options = Options { params, ..small(2, 2) };
    let verdicts = play_through(GentleRain::INFO.name, options, 0..1_000).by_verdict;
    assert!(verdicts.contains_key("convergence"), "{verdicts:?}");
    assert!(verdicts.keys().all(|verdict| ["convergence", "liveness"].contains(&&**verdict)), "{verdicts:?}");
}

/// All that one reads is one snapshot, whenever it reads it, and all that it writes is seen at once. None is checked in vain.
#[test]
fn interactive_transactions_read_one_snapshot_and_write_at_once() {
    for name in [Tidemark::INFO.name, Cure::INFO.name, Wren::INFO.name] {
        let interactive = |options: Options| Options { interactive: 30, ..options };
        cleared(name, interactive(small(2, 2)), 0..1_000);
        cleared(name, interactive(Options { partitions: 3, ..small(2, 2) }), 0..300);
        cleared(name, interactive(Options::default()), 0..60);
        cleared(name, interactive(Options { replicas: 3, ..small(2, 2) }), 0..100);
        cleared(name, interactive(Options { placement: Placed::Random, dcs: 3, ..small(2, 2) }), 0..300);
    }
}
