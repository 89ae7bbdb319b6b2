//! Schedules over whole nodes: protocols keep their promises on the code that serves users, under all faults.

use tidemark_protocols::{CausalSpartanX, Cops, Eventual, GentleRain, Protocol, Tidemark};
use tidemark_sim::{Campaign, Faults, Options, Summary, World, campaign};

/// Two regions of two partitions.
fn few() -> Options {
    Options { world: World::Node, dcs: 2, partitions: 2, sessions: 4, ops: 40, ..Options::default() }
}

/// Three regions of four partitions.
fn wide() -> Options {
    Options { world: World::Node, ..Options::default() }
}

/// Each node a group of three.
fn groups() -> Options {
    Options { replicas: 3, ..few() }
}

fn play<P: Protocol>(options: Options, seeds: std::ops::Range<u64>) -> Summary {
    campaign::<P>(&Campaign { jobs: 2, ..Campaign::new(options, seeds) }, |_| ())
}

#[track_caller]
fn cleared<P: Protocol>(options: Options, seeds: std::ops::Range<u64>) -> Summary {
    let summary = play::<P>(options, seeds);
    let told: Vec<String> = summary.convictions.iter().map(ToString::to_string).collect();
    assert!(summary.violations == 0, "{}", told.join("\n"));
    summary
}

#[track_caller]
fn kept<P: Protocol>() {
    let stats = cleared::<P>(few(), 0..100).stats;
    assert!(stats.failed < stats.ops / 4, "{stats:?}: most of it works");
    cleared::<P>(wide(), 0..20);
    cleared::<P>(Options { faults: Faults::NONE, ..few() }, 0..40);
}

#[test]
fn tidemark_keeps_its_promise_over_nodes() {
    kept::<Tidemark>();
    // A write that was never answered had not become stable when the last words were read.
    cleared::<Tidemark>(few(), 1066..1067);
}

#[test]
fn eventual_keeps_its_promise_over_nodes() {
    kept::<Eventual>();
}

#[test]
fn cops_keeps_its_promise_over_nodes() {
    kept::<Cops>();
}

#[test]
fn gentlerain_keeps_its_promise_over_nodes() {
    kept::<GentleRain>();
}

#[test]
fn causal_spartan_x_keeps_its_promise_over_nodes() {
    kept::<CausalSpartanX>();
}

#[test]
fn groups_of_nodes_keep_it_while_leaders_are_replaced() {
    let stats = cleared::<Tidemark>(groups(), 0..60).stats;
    assert!(stats.elections > 4 * 60, "{stats:?}: leaders were replaced");
    assert!(stats.crashes > 60 && stats.handed_over > 10, "{stats:?}");
    // What a leader had said before it was elected came late: nobody believed any more that it leads.
    cleared::<Tidemark>(groups(), 94..95);
    // What a node had said before it had a name came late: it was not taken into its group.
    cleared::<Eventual>(groups(), 60..61);
}

#[test]
fn the_same_seed_gives_the_same_run_over_nodes() {
    for options in [few(), groups()] {
        let run = || {
            let summary = play::<Eventual>(options.clone(), 0..10);
            (summary.digest, summary.stats)
        };
        assert_eq!(run(), run());
    }
}
