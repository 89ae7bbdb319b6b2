//! Edge clients over whole nodes: their disks, connections and processes fail, too, and regions are cut off, crash and lose power meanwhile.

use crate::playing::{Search, cleared, violating};
use tidemark_contract::Rule;
use tidemark_edge::rule::*;
use tidemark_protocols::tidemark::*;
use tidemark_sim::Options;

/// Three regions of two partitions.
fn three() -> Options {
    Options { partitions: 2, sessions: 6, ops: 60, edge: 3, ..Options::default() }
}

/// Two regions, and less that happens.
fn two() -> Options {
    Options { dcs: 2, partitions: 2, sessions: 4, ops: 24, edge: 3, ..Options::default() }
}

/// Two regions of one partition, where clients often write one key at one base.
fn many() -> Options {
    Options { partitions: 1, sessions: 2, ops: 40, edge: 6, ..two() }
}

/// Two regions, one of which is lost for good.
fn lost_region() -> Options {
    Options { edge: 2, ops: 30, exclusions: true, ..two() }
}

/// Some clients see what one region has, and may lose it with that.
fn seen_by_one() -> Options {
    Options { edge_k1: true, ..lost_region() }
}

/// Two regions, and less that happens to clients.
fn fewer() -> Options {
    Options { edge: 2, ops: 30, ..two() }
}

/// All that clients see is causal with what sessions see, each transaction is there as a whole and once, and in the end clients show what regions
/// say.
#[test]
fn edge_clients_see_causes_and_whole_transactions_and_lose_nothing() {
    cleared("tidemark", three(), 0..200);
    cleared("tidemark", two(), 0..200);
    cleared("tidemark", Options { partitions: 3, ..two() }, 0..100);
}

/// Each element that anybody has put into a list is there once, and all have the same order.
#[test]
fn lists_of_edge_clients_are_those_of_sessions() {
    cleared("tidemark", Options { lists: true, ..three() }, 0..100);
    cleared("tidemark", Options { lists: true, ..two() }, 0..200);
    cleared("tidemark", Options { lists: true, ..lost_region() }, 0..50);
}

/// Regions are Raft groups. Their leaders log bases all the time, so that a slow member has never all that its leader has.
#[test]
fn edge_clients_of_raft_groups_lose_nothing() {
    cleared("tidemark", Options { replicas: 3, edge: 2, ops: 30, ..two() }, 0..100);
}

/// A region is lost for good, and excluded. What clients have committed is there in the end, once, and nobody misses what was seen.
#[test]
fn a_lost_region_takes_nothing_of_edge_clients_along() {
    let three = Options { exclusions: true, ops: 40, ..three() };
    for (options, seeds) in [(three, 0..150), (lost_region(), 0..250)] {
        let summary = cleared("tidemark", options, seeds);
        assert!(summary.stats.edge_lost > summary.schedules / 10, "{:?}", summary.stats);
    }
}

/// What only the lost region had is lost for clients that have seen it with K = 1. They are told which of their transactions that are, and all
/// else stays as if they had not seen it: what others have shown, what they commit later, and all of those with a greater K.
#[test]
fn with_k_1_a_lost_region_takes_along_what_it_alone_had_and_nothing_else() {
    let three = Options { edge_k1: true, exclusions: true, ops: 40, ..three() };
    for (options, seeds) in [(seen_by_one(), 200..600), (three, 0..100)] {
        let summary = cleared("tidemark", options, seeds);
        let (stats, least) = (summary.stats, summary.schedules.div_ceil(100));
        assert!(stats.edge_forgotten >= least && stats.edge_unread >= 5 * least, "{stats:?}");
    }
}

/// A client gave up a write that it had seen overwritten by what was lost then: neither is there.
#[test]
fn what_lost_to_something_that_is_lost_does_not_come_back() {
    cleared("tidemark", seen_by_one(), 19721..19722);
}

/// On each connection a client was told to give a new time before it had a new base: it gave one that depended on a base which no region read
/// any more.
#[test]
fn a_client_that_was_away_for_long_waits_for_a_base_before_it_gives_new_times() {
    cleared("tidemark", lost_region(), 654..655);
}

/// Clocks of a region were over a second apart after all had healed: it took no transactions.
#[test]
fn clocks_that_are_set_again_let_transactions_through() {
    for seed in [469, 4678] {
        cleared("tidemark", Options { edge: 2, partitions: 3, ops: 40, ..two() }, seed..seed + 1);
    }
}

/// The server that takes a client's transactions had restarted and knew less than its region had told: the client took it that what it had in
/// its base was lost.
#[test]
fn nothing_is_lost_when_a_server_knows_less_than_its_clients_base() {
    for seed in [1671, 5173] {
        cleared("tidemark", Options { edge: 2, ..two() }, seed..seed + 1);
    }
    cleared("tidemark", Options { edge: 2, partitions: 3, ops: 40, ..two() }, 6318..6319);
}

/// A late frame with an earlier time, what was left out of a key that is no register, and what a client had been before its disk was put back,
/// had misled the judge.
#[test]
fn what_a_client_has_left_out_and_late_frames_are_judged_as_what_they_are() {
    cleared("tidemark", two(), 1920..1921);
    for seed in [175, 2151, 14755] {
        cleared("tidemark", three(), seed..seed + 1);
    }
    // Another number under a new name, and a number that another branch has.
    for seed in [3013592, 3011456] {
        cleared("tidemark", fewer(), seed..seed + 1);
    }
}

/// A copy of a transaction that only a lost region had is another one to those who were there; and a process that started again while its end was
/// still being told had no gateway.
#[test]
fn copies_that_only_a_lost_region_had_are_told_apart() {
    cleared("tidemark", Options { exclusions: true, ops: 40, ..three() }, 15534..15535);
    for seed in [2011663, 13219] {
        cleared("tidemark", lost_region(), seed..seed + 1);
    }
}

/// A client gave a key up whose write it had seen overwritten, before that was delivered with a later time; and another had its disk put back
/// before it sent what it had committed.
#[test]
fn what_was_seen_overwritten_or_sent_from_a_copy_of_the_disk_does_not_count_again() {
    for seed in [1013877, 2002806] {
        cleared("tidemark", fewer(), seed..seed + 1);
    }
}

/// A client was away for so long that the region had forgotten when the write was that had overwritten its own, and its own got a later time.
#[test]
fn what_was_seen_overwritten_does_not_come_back_when_the_region_has_forgotten_the_time() {
    cleared("tidemark", fewer(), 40127729..40127730);
}

/// A client gave a write a later time, with which it won, and left it out when it gave the next one: to the judge it had its first time till then.
#[test]
fn what_is_left_out_counted_with_the_last_time_that_it_had() {
    cleared("tidemark", many(), 10591..10592);
}

/// A session read what was stable where one server was starting again, and the other one was killed soon after: nobody but the session knew how
/// much of the region that was then lost had been shown.
#[test]
fn a_region_may_forget_what_was_shown_while_a_server_was_down() {
    cleared("tidemark", Options { exclusions: true, edge: 2, ops: 30, ..two() }, 50079714..50079715);
    let three = Options { exclusions: true, edge: 2, ops: 40, ..three() };
    cleared("tidemark", three, 60599956..60599957);
}

/// Rules of clients and of regions that schedules show to be needed, with the options of schedules and the seeds among which one violates
/// something.
fn mutants() -> Vec<(Options, Search, &'static [Rule])> {
    const SOON: &[Rule] = &[
        COMMITS_ARE_DURABLE,
        TIMES_RISE,
        HIDDEN_STAYS_HIDDEN,
        ACKS_PRUNE_NOTHING,
        TICKS_ARE_WHOLE,
        EDGE_IS_KEPT_APART,
        CHANGES_ARE_KNOWN,
        BASES_ARE_KEPT,
        GIVEN_UP_BY_ALL,
    ];
    const FEWER: &[Rule] = &[
        COPIES_MAY_HAVE_SENT,
        GUARDS_ARE_ASKED,
        GUARDS_TRAVEL,
        ONE_STAMP_EVERYWHERE,
        BASES_DOMINATE,
        READINGS_ARE_WHOLE,
        LOSSES_ARE_CERTAIN,
        COPIES_ARE_LATER,
    ];
    vec![
        (three(), Search::Within(300), SOON),
        (lost_region(), Search::Within(100), &[ALL_IS_SENT_AGAIN, ONE_CHOICE_FOR_ALL, GONE_IS_NOT_COUNTED]),
        (Options { lists: true, ..two() }, Search::Within(300), &[AUTHORS_DIFFER]),
        (two(), Search::Stored, &[FLOORS_LAG, TIMES_ARE_NEW, BASES_ARE_CLOSED]),
        (fewer(), Search::Stored, FEWER),
        (lost_region(), Search::Stored, &[GUARDS_SHOW, K_IS_KEPT, STABLE_SURVIVES, LOST_IS_HIDDEN]),
        (seen_by_one(), Search::Stored, &[LOGS_GO_ON, LOSSES_ARE_TOLD]),
    ]
}

#[test]
fn what_is_done_without_a_rule_is_noticed() {
    let mut survive = Vec::new();
    for (options, search, rules) in mutants() {
        for rule in rules {
            let summary =
                violating("tidemark", Options { without: vec![*rule], ..options.clone() }, search, 0);
            println!("without {rule}: {:?} {:?}", summary.violating_seeds.first(), summary.by_verdict);
            if summary.violations == 0 {
                survive.push(rule.name);
            }
        }
    }
    assert!(survive.is_empty(), "no violation without {survive:?}");
}
