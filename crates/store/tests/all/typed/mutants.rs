//! The oracle convicts whatever breaks a rule: how many schedules that may take at most is said of each.

use super::schedule::play;
use super::world::Slip;
use tidemark_core::{Rule, without};
use tidemark_crdt::rule::*;

/// Rules of data types, and within how many schedules the oracle notices that one is not kept.
const OF_TYPES: &[(Rule, u64)] = &[
    (READERS_DEPEND, 100),
    (ONLY_OBSERVED_DIES, 100),
    (LOSERS_ARE_NAMED, 100),
    (SETTLED_DIES, 100),
    (PENDING_HOLD_SETTLING, 1_000),
    (LOSERS_WAIT, 200),
    (BOUNDS_STAY, 200),
    (INCREMENTS_DIE, 100),
    (CUTS_END, 100),
    (CUTS_RISE, 200),
    (UNLISTED_BY_END, 500),
    (CUTS_STAY, 1_500),
    (SEGMENTS_ROTATE, 500),
    (SEGMENTS_END, 3_000),
    (PLAIN_WRITES_END, 1_000),
    (REPLAY_BY_MARK, 3_000),
    (SHADOWED_DIE, 200),
    (TYPES_WAIT, 200),
    (CREATION_KILLS, 20_000),
    (CREATION_LIFTS, 100),
    (EXPIRY_SURVIVES, 20_000),
    (EXPIRED_AT_SETTLED, 3_000),
    (NEWER_OUTLIVES, 8_000),
    (DEADLINE_STAYS, 3_000),
    (EMPTY_WAITS, 3_000),
    (COMPACTION_IS_COVERED, 500),
    (TOKENS_END_AT_FLOORS, 500),
    (TOTALS_NAME_COUNTERS, 2_000),
    (OWN_RIGHTS_LIMIT, 500),
    (GIVEN_RIGHTS_GO, 500),
    (DELETIONS_COUNT, 500),
    (PURGE_LEAVES_DEADLINE, 1_000),
];

/// The same of rules that the protocol keeps.
const OF_PROTOCOLS: &[(Slip, u64)] = &[
    (Slip::WallClock, 1_000),
    (Slip::FloorWithoutOwn, 4_000),
    (Slip::FloorTooHigh, 100),
    (Slip::OwnFloor, 500),
    (Slip::OpenSnapshots, 100),
    (Slip::OwnStable, 100),
    (Slip::Prefix, 200),
];

/// The first schedule that the oracle finds wrong, and why.
fn convicted(rules: &[Rule], slip: Option<Slip>, within: u64) -> Option<(u64, String)> {
    let wrong = |seed| without(rules, || play(seed, slip, false)).err().map(|why| (seed, why));
    (1..=within).find_map(wrong)
}

#[test]
fn every_rule_of_data_types_is_missed() {
    assert_eq!(OF_TYPES.iter().map(|(rule, _)| *rule).collect::<Vec<_>>(), RULES);
    for (rule, within) in OF_TYPES {
        let convicted = convicted(&[*rule], None, *within);
        println!("{rule}: {convicted:?}");
        assert!(convicted.is_some(), "nobody misses {rule} in {within} schedules");
    }
}

#[test]
fn every_rule_of_the_protocol_is_missed() {
    for (slip, within) in OF_PROTOCOLS {
        let convicted = convicted(&[], Some(*slip), *within);
        println!("{slip:?}: {convicted:?}");
        assert!(convicted.is_some(), "nobody misses {slip:?} in {within} schedules");
    }
}
