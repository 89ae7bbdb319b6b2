//! Documents, bounded counters, streams and programs over whole nodes: three regions, cuts, crashes, and leaders that change.

use crate::playing::{Search, cleared, violating};
use tidemark_contract::programs::rule::{PROGRAMS_ARE_WHOLE, VOID_WRITES_NOTHING};
use tidemark_crdt::rule::{GIVEN_RIGHTS_GO, OWN_RIGHTS_LIMIT};
use tidemark_sim::{Options, Placed};

/// Of four seeds one has documents and bounded counters, and one programs and streams.
fn typed(options: Options) -> Options {
    Options { typed: 80, ..options }
}

fn few() -> Options {
    Options { partitions: 2, sessions: 6, ops: 80, ..Options::default() }
}

/// Every answer keeps the bound. In the end each region says the same, an update of a document is there once, a counter is what was
/// acknowledged, and the rights of all regions are what it stands above its bound.
#[test]
fn no_protocol_with_data_types_breaks_a_bound_or_loses_an_update() {
    for name in ["tidemark", "causal-spartan-x", "gentlerain", "okapi"] {
        cleared(name, typed(few()), 0..200);
        cleared(name, typed(Options { replicas: 3, ..few() }), 0..40);
    }
    cleared("tidemark", typed(Options { placement: Placed::Random, ..few() }), 0..200);
}

#[test]
fn a_region_that_takes_what_it_has_no_right_to_is_noticed() {
    for rule in [OWN_RIGHTS_LIMIT, GIVEN_RIGHTS_GO] {
        let mutant = Options { without: vec![rule], ..typed(few()) };
        let summary = violating("tidemark", mutant, Search::Within(1_000), 1);
        let found = summary.counterexamples.first().unwrap_or_else(|| panic!("nobody misses {rule}"));
        println!("without {rule}, seed {}: {}", found.seed, found.verdict);
        assert_eq!(found.verdict, "types");
    }
}

/// A program is seen as a whole or not at all, and nothing of one that is void.
#[test]
fn a_program_that_writes_a_part_or_although_it_is_void_is_noticed() {
    for rule in [PROGRAMS_ARE_WHOLE, VOID_WRITES_NOTHING] {
        let mutant = Options { without: vec![rule], ..typed(few()) };
        let summary = violating("tidemark", mutant, Search::Within(200), 1);
        let found = summary.counterexamples.first().unwrap_or_else(|| panic!("nobody misses {rule}"));
        println!("without {rule}, seed {}: {}", found.seed, found.verdict);
    }
}

/// A transaction had counted on from its snapshot, and added an entry behind the last one that it showed: what others of the region had
/// counted and added since was lost.
#[test]
fn what_transactions_count_and_add_merges_with_what_others_of_the_region_do() {
    for seed in [4_847, 13_323] {
        cleared("tidemark", transacting(), seed..seed + 1);
    }
}

/// A deletion was folded before the transaction that it had seen.
#[test]
fn what_a_transaction_wrote_and_somebody_deleted_does_not_come_back() {
    cleared("tidemark", transacting(), 17_603..17_604);
    cleared("tidemark", transacting(), 0..500);
}

/// A transaction was open for longer than a server was pinned for it: nobody had looked at the limit for a while, and what its pin showed
/// was collected.
#[test]
fn a_pin_that_has_ended_shows_nothing() {
    cleared("tidemark", transacting(), 100_643..100_644);
}

/// A leader that handed its group over had written records that were of no entry: after its restart the next entry took them in, and only
/// those who followed applied them.
#[test]
fn what_a_leader_writes_while_it_hands_over_is_of_an_entry() {
    let groups = Options { replicas: 3, typed: 0, ..transacting() };
    cleared("tidemark", groups.clone(), 67_221..67_222);
    cleared("tidemark", groups, 0..200);
}

/// Sessions transact interactively, with commands of data types.
fn transacting() -> Options {
    Options { partitions: 2, dcs: 2, sessions: 4, ops: 40, typed: 60, interactive: 30, ..Options::default() }
}

/// A node of C had deleted what a session from B could read there. After a restart the deletion was readable and its cause
/// was not, so it was applied to nothing, and what it had deleted came back.
#[test]
fn what_was_deleted_before_a_restart_does_not_come_back_under_okapi() {
    cleared("okapi", typed(few()), 7_822..7_823);
}

/// What a search of a million schedules was played with.
fn searched() -> Options {
    typed(Options { ops: 60, ..few() })
}

/// One session had set a string and another, which had not seen that, deleted it later. The string was there in the end if some key of the
/// partition had had a deadline, and gone otherwise.
#[test]
fn of_a_set_and_a_later_deletion_at_once_the_deletion_counts() {
    for seed in [229_605, 245_716, 345_646] {
        cleared("tidemark", searched(), seed..seed + 1);
    }
}

/// An increment that was never answered had been folded, so that nobody found it when it was asked what has to be stable before last
/// words are read. What depended on it was not shown everywhere yet.
#[test]
fn last_words_wait_for_what_was_folded_and_never_answered() {
    for seed in [20_293, 340_562] {
        cleared("tidemark", searched(), seed..seed + 1);
    }
}

/// A session came from B with a token, and so saw a field that was written there, but not the one of C that its writer had read before.
#[test]
fn a_command_sees_no_field_without_its_cause_under_okapi() {
    cleared("okapi", searched(), 62_830..62_831);
}
