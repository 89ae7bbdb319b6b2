//! Schedules over whole nodes: protocols keep their promises on the code that serves users, under all faults.

use crate::playing::{self, Search, play, violating};
use std::ops::Range;
use tidemark_contract::Rule;
use tidemark_node::rule::{
    HEADERS_ARE_CHECKED, HEARSAY_IS_CHECKED, PAYLOADS_ARE_CHECKED, POOLS_KEEP, POOLS_TAKE,
};
use tidemark_protocols::*;
use tidemark_replica::rule::{BEATS_COME_LAST, REPEATS_ARE_DROPPED};
use tidemark_sim::{Faults, Options, Placed, Summary};

/// Two regions of two partitions.
fn few() -> Options {
    Options { dcs: 2, partitions: 2, sessions: 4, ops: 40, ..Options::default() }
}

/// Three regions of four partitions.
fn wide() -> Options {
    Options::default()
}

/// Each node a group of three.
fn groups() -> Options {
    Options { replicas: 3, ..few() }
}

/// With these faults alone.
fn only(faults: &str) -> Options {
    Options { faults: faults.parse().expect("a list of faults"), ..few() }
}

/// With the faults that there were when a seed was found: with more, it plays something else.
fn as_found(replicas: usize) -> Options {
    Options { replicas, ..only("cuts,one-way,slow,drift,jumps,crashes,power,disk") }
}

/// Where an operator excludes a region that is cut off, and readmits it.
fn away() -> Options {
    Options { exclusions: true, ..few() }
}

/// Requires that some schedules violate nothing.
#[track_caller]
fn cleared<P: Protocol>(options: Options, seeds: Range<u64>) -> Summary {
    playing::cleared(P::INFO.name, options, seeds)
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
    cleared::<Tidemark>(as_found(1), 1066..1067);
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
    cleared::<Tidemark>(as_found(3), 94..95);
    // And it came between a request for a stream and the answer: the stream was open at the sender, and nobody asked for it again.
    cleared::<Tidemark>(groups(), 1_164..1_165);
    cleared::<Tidemark>(groups(), 1_376..1_377);
    // A leader's refusal of a request, from before it was elected, came after it had said that it leads.
    cleared::<GentleRain>(groups(), 17_354..17_355);
    // A leader wrote and changed the members in one batch, and lost the write when it ceased to lead.
    cleared::<NuKv>(groups(), 6_185..6_186);
    // A node that had failed for good, in a batch that had not ended, was told the end of a sync: it panicked.
    cleared::<Orbe>(groups(), 11_377..11_378);
    // What a node had said before it had a name came late: it was not taken into its group.
    cleared::<Eventual>(as_found(3), 60..61);
}

#[test]
fn the_same_seed_gives_the_same_run_over_nodes() {
    for options in [few(), groups()] {
        let run = || {
            let summary = play(Eventual::INFO.name, options.clone(), 0..10);
            (summary.digest, summary.stats)
        };
        assert_eq!(run(), run());
    }
}

/// Requires that schedules find something without a rule, and nothing in the same schedule with it.
#[track_caller]
fn needed<P: Protocol>(rule: Rule, options: Options) {
    let careless = Options { without: vec![rule], ..options.clone() };
    let found = violating(P::INFO.name, careless, Search::Within(4_000), 0);
    let Some(seed) = found.violating_seeds.first() else { panic!("without {rule} nothing was found") };
    println!("without {rule}: {seed}, {:?}", found.by_verdict);
    cleared::<P>(options, *seed..seed + 1);
}

#[test]
fn an_operator_excludes_and_readmits_regions_of_nodes() {
    let Summary { stats, schedules, .. } = cleared::<GentleRain>(away(), 0..200);
    assert!(stats.exclusions > schedules / 5 && stats.readmissions == stats.exclusions, "{stats:?}");
    let stats = cleared::<GentleRain>(Options { replicas: 3, ..away() }, 0..40).stats;
    assert!(stats.exclusions > 4, "{stats:?}");
}

/// D21: a region is lost, and the operator excludes it for good.
#[test]
fn an_operator_excludes_regions_that_are_lost() {
    let lost = |dcs: usize| Options { dcs, sessions: 2 * dcs, ops: 60, ..away() };
    let Summary { stats, schedules, .. } = cleared::<Tidemark>(lost(3), 0..1_000);
    assert!(stats.exclusions > schedules * 9 / 10, "{stats:?}");
    let params = [("base_regions".to_string(), 3.into())].into();
    cleared::<Tidemark>(Options { typed: 60, interactive: 20, params, ..lost(3) }, 0..500);
    cleared::<Tidemark>(lost(2), 0..200);
    cleared::<Tidemark>(lost(4), 0..200);
    cleared::<Tidemark>(Options { replicas: 3, ..lost(3) }, 0..20);
}

#[test]
fn groups_change_while_nodes_serve() {
    let Summary { stats, schedules, .. } = cleared::<Accf>(few(), 0..200);
    assert!(stats.regroupings > schedules, "{stats:?}");
    let stats = cleared::<Accf>(groups(), 0..30).stats;
    assert!(stats.regroupings > 30, "{stats:?}");
}

/// The last words were read before the replicas had exchanged everything: a write was under way that a cut had held, and a checking group
/// was forming, which shows less than others at first.
#[test]
fn last_words_are_read_once_everything_was_exchanged() {
    cleared::<Occult>(few(), 52_423..52_424);
    cleared::<Accf>(few(), 33_300..33_301);
}

#[test]
fn links_that_an_operator_has_cut_are_as_before_once_they_are_healed() {
    let Summary { stats, schedules, .. } = cleared::<Tidemark>(only("operator-cuts"), 0..400);
    assert!(stats.operator_cuts > 2 * schedules, "{stats:?}");
}

/// A record that does not arrive for long is told by the node that wrote it; once everything is exchanged nothing is told any more, in all
/// other schedules too.
#[test]
fn streams_that_stand_still_are_told() {
    let faults = || only("cuts,one-way,crashes,operator-cuts");
    let Summary { stats, schedules, .. } = cleared::<Tidemark>(faults(), 0..10_000);
    assert!(stats.standing > schedules / 1_000, "{stats:?}");
    cleared::<Tidemark>(Options { replicas: 3, ..faults() }, 0..100);
}

#[test]
fn handshakes_may_be_lost_and_late_and_arrive_again() {
    let Summary { stats, schedules, .. } = cleared::<Tidemark>(only("handshakes,crashes"), 0..300);
    assert!(stats.handshakes > schedules, "{stats:?}");
    let members = Options { replicas: 3, ..only("handshakes,crashes") };
    cleared::<Tidemark>(members.clone(), 0..40);
    needed::<Tidemark>(HEARSAY_IS_CHECKED, members.clone());
    // A founder started again before the others had heard of the group; a stream was asked for in a moment of doubt.
    [263, 178].iter().for_each(|seed| drop(cleared::<Tidemark>(members.clone(), *seed..seed + 1)));
}

#[test]
fn damaged_frames_are_refused() {
    let Summary { stats, schedules, .. } = cleared::<Tidemark>(only("damage"), 0..300);
    assert!(stats.damaged > schedules && stats.refused > schedules / 3, "{stats:?}");
    // The byte that a frame had lost was the first byte of the next frame.
    cleared::<Tidemark>(few(), 229_398..229_399);
    needed::<Tidemark>(HEADERS_ARE_CHECKED, only("damage"));
    needed::<Tidemark>(PAYLOADS_ARE_CHECKED, only("damage"));
}

#[test]
fn clients_come_back_with_the_past_that_they_had() {
    let Summary { stats, schedules, .. } = cleared::<Tidemark>(only("clients"), 0..300);
    assert!(stats.returned > schedules / 8, "{stats:?}");
    cleared::<Cops>(only("clients"), 0..200);
    cleared::<Tidemark>(Options { replicas: 3, ..only("clients,crashes") }, 0..40);
}

/// With sessions that share one past at each node.
fn pools(options: Options) -> Options {
    Options { pools: true, sessions: 8, ops: 80, ..options }
}

/// The history holds each operation to everything that was answered to any session of its pool.
#[test]
fn sessions_that_share_their_past_are_one() {
    cleared::<Tidemark>(pools(few()), 0..200);
    cleared::<Tidemark>(pools(groups()), 0..40);
    cleared::<Tidemark>(Options { placement: Placed::Random, dcs: 3, ..pools(few()) }, 0..100);
    cleared::<GentleRain>(pools(few()), 0..100);
    cleared::<Cops>(pools(few()), 0..100);
    cleared::<CopsGt>(pools(few()), 0..60);
    cleared::<Eiger>(pools(few()), 0..60);
    cleared::<CcLo>(pools(few()), 0..60);
    cleared::<Wren>(pools(few()), 0..100);
    cleared::<NuKv>(pools(few()), 0..100);
    cleared::<Occult>(pools(few()), 0..60);
    cleared::<Accf>(pools(few()), 0..60);
    needed::<Tidemark>(POOLS_TAKE, pools(few()));
    needed::<Tidemark>(POOLS_KEEP, pools(few()));
}

#[test]
fn followers_of_nodes_answer_sessions() {
    let stats = cleared::<NuKv>(groups(), 0..40).stats;
    assert!(stats.follower_reads > 100, "{stats:?}");
}

/// Most records have a log segment of their own, and what nodes say to each other comes in parts, between which other things pass.
#[test]
fn large_records_are_logged_sent_and_copied_as_small_ones() {
    let large = Options { large: true, typed: 40, interactive: 20, ..few() };
    cleared::<Tidemark>(large.clone(), 0..120);
    cleared::<Tidemark>(Options { large: true, dcs: 3, relays: true, ..few() }, 0..60);
    let stats = cleared::<Tidemark>(Options { replicas: 3, ..large }, 0..60).stats;
    assert!(stats.copies > 0 && stats.elections > 0, "{stats:?}");
    cleared::<GentleRain>(Options { large: true, replicas: 3, ..few() }, 0..60);
    cleared::<Cops>(Options { large: true, ..few() }, 0..60);
}

/// Three regions; what one of them cannot send to another comes over the third.
fn relays() -> Options {
    Options { relays: true, dcs: 3, ..few() }
}

#[test]
fn records_come_over_a_third_region() {
    cleared::<Tidemark>(relays(), 0..200);
    cleared::<Cops>(relays(), 0..100);
    cleared::<GentleRain>(relays(), 0..100);
    cleared::<Tidemark>(Options { replicas: 3, ..relays() }, 0..30);
    cleared::<Tidemark>(Options { placement: Placed::Random, ..relays() }, 0..60);
    needed::<Tidemark>(BEATS_COME_LAST, relays());
    needed::<Tidemark>(REPEATS_ARE_DROPPED, relays());
}
