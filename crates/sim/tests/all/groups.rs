//! Nodes that are groups: a protocol keeps its promise while leaders are replaced, and rules of groups are needed for it. (Those
//! that chance seldom needs are broken by hand in the tests of `crates/group`.)

use tidemark_contract::Rule;
use tidemark_group::rule::{AGREEMENT_FIRST, ALL_APPLIED, BEGIN_ANEW, COLLECTION};
use tidemark_protocols::nukv::FOLLOWERS_LOOK;
use tidemark_protocols::{Cops, Cure, GentleRain, NuKv, Protocol};
use tidemark_registry::factory_of;
use tidemark_sim::{Campaign, Options, Summary, campaign};

/// Two data centres of two partitions, three processes each.
fn few() -> Options {
    Options { dcs: 2, partitions: 2, replicas: 3, sessions: 4, ops: 40, ..Options::default() }
}

/// Three data centres of one partition, and more to do.
fn wide() -> Options {
    Options { dcs: 3, partitions: 1, sessions: 12, ops: 200, ..few() }
}

/// Plays schedules; of those that break the promise, `explain` are shrunk, which takes time.
fn play<P: Protocol>(options: Options, seeds: std::ops::Range<u64>, explain: usize) -> Summary {
    campaign(factory_of::<P>(), &Campaign { jobs: 2, explain, ..Campaign::new(options, seeds) }, |_| ())
}

#[track_caller]
fn cleared(options: Options, seeds: std::ops::Range<u64>) -> Summary {
    cleared_of::<GentleRain>(options, seeds)
}

#[track_caller]
fn cleared_of<P: Protocol>(options: Options, seeds: std::ops::Range<u64>) -> Summary {
    let summary = play::<P>(options, seeds, 1);
    let told: Vec<String> = summary.counterexamples.iter().map(ToString::to_string).collect();
    assert!(summary.violations == 0, "{}", told.join("\n"));
    summary
}

/// Without these rules a schedule violates the promise, and with them the same schedule does not.
#[track_caller]
fn convicted(without: &[Rule]) {
    let summary = play::<GentleRain>(Options { without: without.to_vec(), ..few() }, 0..2_000, 0);
    let seed =
        summary.violating_seeds.first().unwrap_or_else(|| panic!("nothing was found without {without:?}"));
    cleared(few(), *seed..seed + 1);
}

#[test]
fn a_protocol_keeps_its_promise_in_groups_under_all_faults() {
    let summary = cleared(few(), 0..200);
    let stats = summary.stats;
    assert!(stats.elections > 4 * 220, "{stats:?}: leaders were replaced");
    assert!(stats.crashes > 200 && stats.snapshots > 20, "{stats:?}");
    assert!(stats.copies > 20 && stats.handed_over > 20, "{stats:?}");
    assert!(stats.failed < stats.ops / 5, "{stats:?}: most of it works");
}

/// Seeds that showed mistakes: a snapshot that failed was not tried again while a new member waited for it; who was the
/// first to lead, in its second life, was asked for no feeds; what was deleted came back on a copy, or stayed there though it
/// was collected; a snapshot that waited for the group kept waiting who needed a copy to agree on anything; and a sync that was
/// still running when a leader was replaced made a segment of the log where there was one.
#[test]
fn what_was_found_once_is_not_found_again() {
    for seed in [1803, 6147, 9791, 14606, 423, 4124] {
        cleared(few(), seed..seed + 1);
    }
    for seed in [1052, 1274] {
        cleared_of::<Cops>(few(), seed..seed + 1);
    }
    cleared_of::<Cure>(few(), 1721..1722);
    // Who had installed a copy, which its leader did not hear, was sent copies for ever.
    cleared_of::<Cure>(few(), 3045..3046);
    cleared(wide(), 339..340);
    // What a founder had said when it had no name came late, and was believed.
    cleared(few(), 306..307);
}

#[test]
fn groups_of_five_and_of_two_keep_it_too() {
    cleared(Options { replicas: 5, ..few() }, 0..40);
    cleared(Options { replicas: 2, ..few() }, 0..60);
    cleared(wide(), 0..20);
}

#[test]
fn what_is_not_agreed_on_does_not_leave() {
    convicted(&[AGREEMENT_FIRST]);
}

#[test]
fn who_is_elected_applies_everything_first() {
    convicted(&[ALL_APPLIED]);
}

#[test]
fn who_leads_no_more_forgets() {
    convicted(&[BEGIN_ANEW]);
}

#[test]
fn who_follows_drops_what_its_leader_has_dropped() {
    convicted(&[COLLECTION]);
}

#[test]
fn the_same_seed_gives_the_same_run_in_groups() {
    let digest = || play::<GentleRain>(few(), 0..20, 0).digest;
    assert_eq!(digest(), digest());
}

#[test]
fn followers_answer_sessions_that_have_seen_no_more_than_they() {
    let sound = play::<NuKv>(few(), 0..200, 0);
    assert_eq!(sound.violations, 0);
    assert!(sound.stats.follower_reads > 200, "{:?}: followers answered", sound.stats);
    let careless = Options { without: vec![FOLLOWERS_LOOK], ..few() };
    assert!(play::<NuKv>(careless, 0..200, 0).violations > 0, "nobody needs followers to look");
}

/// A snapshot is written while its store goes on, and said in its end how far that was: after a restart a follower, which does not know
/// what of its log was agreed on, answered with what it had had in the beginning.
#[test]
fn followers_that_were_restarted_know_how_far_they_are() {
    cleared_of::<NuKv>(few(), 534..535);
}
