//! Power fails, and takes what was not synced: of one node, of several, of a quorum, of all, at any moment of a batch, under every policy that
//! the schedules may have, with edge clients, interactive transactions, data types, placement and relays.

use crate::mutants::table::synced::{Synced, synced};
use crate::playing::{cleared, play_through, run, violating};
use std::collections::BTreeSet;
use std::panic::catch_unwind;
use tidemark_sim::{Campaign, Fsync, Options, Placed, Policies};
use tidemark_simulators::simulator;

/// Two regions of two partitions, in which power fails and takes what was not synced.
fn few() -> Options {
    let faults = "crashes,power,cuts,jumps,disk,clients".parse().expect("a list of faults");
    let fsync = Policies::Varied;
    Options { dcs: 2, partitions: 2, sessions: 4, ops: 40, faults, fsync, ..Options::default() }
}

/// Three regions.
fn three() -> Options {
    Options { dcs: 3, sessions: 6, ops: 60, ..few() }
}

/// What is played, by name: a protocol, its options, and how many schedules.
fn rows() -> Vec<(&'static str, &'static str, Options, u64)> {
    let always = |options: Options| Options { fsync: Policies::Of(Fsync::Always), ..options };
    let groups = |options: Options| Options { replicas: 3, ..options };
    vec![
        ("tidemark", "tidemark", few(), 1_000),
        ("tidemark, three regions", "tidemark", three(), 400),
        ("tidemark, three partitions", "tidemark", Options { partitions: 3, ..few() }, 400),
        ("tidemark, always", "tidemark", always(few()), 1_000),
        ("tidemark, groups", "tidemark", groups(few()), 100),
        ("tidemark, groups, always", "tidemark", groups(always(few())), 100),
        ("edge clients", "tidemark", Options { edge: 3, ops: 24, ..few() }, 400),
        ("edge clients, always", "tidemark", Options { edge: 3, ops: 24, ..always(few()) }, 400),
        ("interactive transactions", "tidemark", Options { interactive: 30, ..few() }, 400),
        ("interactive transactions, always", "tidemark", Options { interactive: 30, ..always(few()) }, 400),
        ("data types", "tidemark", Options { typed: 60, ..few() }, 400),
        ("data types, always", "tidemark", Options { typed: 60, ..always(few()) }, 400),
        ("placement", "tidemark", Options { placement: Placed::Random, ..three() }, 400),
        ("placement, always", "tidemark", Options { placement: Placed::Random, ..always(three()) }, 400),
        ("relays", "tidemark", Options { relays: true, ..three() }, 400),
        ("relays, always", "tidemark", Options { relays: true, ..always(three()) }, 400),
        ("gentlerain", "gentlerain", few(), 1_000),
        ("gentlerain, always", "gentlerain", always(few()), 1_000),
        ("gentlerain, groups", "gentlerain", groups(few()), 100),
        ("gentlerain, groups, always", "gentlerain", groups(always(few())), 100),
        ("cops", "cops", few(), 400),
        ("causal-spartan-x", "causal-spartan-x", few(), 400),
        ("eventual", "eventual", few(), 400),
    ]
}

/// Rows that violate something, with a seed: nodes do not wait with what they tell each other until it is synced. Once they do, this list is
/// to be empty, and its seeds are schedules that violate nothing.
const AWAITED: &[(&str, u64)] = &[];

#[test]
fn nothing_that_has_left_is_lost_with_power() {
    let awaited: BTreeSet<&str> = AWAITED.iter().map(|(row, _)| *row).collect();
    for (row, protocol, options, schedules) in rows() {
        if !awaited.contains(row) {
            println!("{row}");
            cleared(protocol, options, 0..schedules);
        }
    }
}

#[test]
fn what_nodes_tell_each_other_before_they_sync_it_is_missed() {
    let rows = rows();
    for (row, seed) in AWAITED {
        let (_, protocol, options, _) = rows.iter().find(|(name, ..)| name == row).expect("a row");
        // A member of a group may panic.
        let played = catch_unwind(|| play_through(protocol, options.clone(), *seed..seed + 1));
        println!("{row}, seed {seed}: {:?}", played.as_ref().map(|found| &found.by_verdict));
        let violates = played.map_or(true, |found| found.violations > 0);
        assert!(violates, "{row}: seed {seed} violates nothing any more, take it off the list");
    }
}

/// Power fails often, and mostly there is something that clients have been told of and that is not synced. Without losses the
/// same schedules lose nothing.
#[test]
fn losses_of_power_have_something_to_lose() {
    let played = |fsync| play_through("eventual", Options { fsync, ..few() }, 0..300);
    let varied = played(Policies::Varied);
    let (stats, schedules) = (varied.stats, varied.schedules);
    assert!(stats.power_losses > schedules && stats.tails_lost > schedules / 10, "{stats:?}");
    for fsync in [Policies::Of(Fsync::Always), Policies::Lossless] {
        let stats = played(fsync).stats;
        assert!(stats.power_losses > schedules / 4 && stats.tails_lost == 0, "{stats:?}");
    }
}

#[test]
fn the_same_seed_loses_the_same() {
    let digest = |jobs| {
        run("tidemark", &Campaign { keep_going: true, explain: 0, jobs, ..Campaign::new(few(), 0..40) })
    };
    let (one, two) = (digest(1), digest(2));
    assert_eq!((one.digest, one.stats), (two.digest, two.stats));
}

/// The rules of the gates are those of the table, once nodes have any.
#[test]
fn each_rule_of_what_is_synced_is_needed() {
    let known = |synced: &Synced| simulator(synced.protocol).expect("a protocol").rule(synced.rule).ok();
    let table = synced();
    let rules = table.iter().filter_map(known).count();
    assert!(rules == 0 || rules == table.len(), "nodes have {rules} of {} rules", table.len());
    for synced in table.into_iter().filter(|_| rules > 0) {
        let without = known(&synced).into_iter().collect();
        let Synced { rule, protocol, options, search } = synced;
        // The library of Raft gives up when a member has lost what it has confirmed.
        let found = catch_unwind(|| violating(protocol, Options { without, ..options }, search, 0));
        assert!(found.is_err() || found.is_ok_and(|found| found.violations > 0), "nobody misses {rule}");
    }
}
