//! ACCF with one rule broken at a time.

mod mutants;

use mutants::{convicted, convicted_over, convicted_under, few};
use serde_json::Value;
use std::collections::BTreeMap;
use tidemark_protocols::accf::{Rules, Server};
use tidemark_sim::Options;

mutants! {
    READS_ARE_DEPENDENCIES,
    GET_WAITS,
    STABLE_IF_COVERED,
    LEAST_OF_GROUP,
    PUT_ABOVE_DS,
    PUT_KEEPS_DS,
    SNAPSHOT_HOLDS_DS,
    SLICE_WAITS,
    SLICE_LEAVES_OUT,
    SLICE_LIFTS_CLOCK,
    LATE_SLICE_IS_REFUSED,
    STAMPS_SURVIVE,
    FORMING_GROUP_IS_SILENT,
    TRACKING_IS_MARKED,
    FLOOR_HOLDS,
}

/// How servers are grouped at first.
fn grouped(tracking: &str, checking: &str) -> BTreeMap<String, Value> {
    [("tracking", tracking), ("checking", checking)].map(|(name, by)| (name.to_string(), by.into())).into()
}

#[test]
fn accf_with_a_rule_broken_is_convicted() {
    convicted::<Server<Mutant>>(&READS_ARE_DEPENDENCIES, 1_000);
    convicted::<Server<Mutant>>(&GET_WAITS, 1_000);
    convicted::<Server<Mutant>>(&PUT_ABOVE_DS, 2_000);
    convicted::<Server<Mutant>>(&PUT_KEEPS_DS, 1_000);
    convicted::<Server<Mutant>>(&SNAPSHOT_HOLDS_DS, 1_000);
    convicted::<Server<Mutant>>(&SLICE_WAITS, 2_000);
    convicted::<Server<Mutant>>(&SLICE_LEAVES_OUT, 2_000);
    convicted::<Server<Mutant>>(&LATE_SLICE_IS_REFUSED, 4_000);
}

/// Erratum E-7, each half on its own.
#[test]
fn accf_with_a_line_as_it_is_printed_is_convicted() {
    convicted::<Server<Mutant>>(&STABLE_IF_COVERED, 1_000);
    convicted::<Server<Mutant>>(&LEAST_OF_GROUP, 2_000);
}

/// A later write has to slip between two slices of one transaction.
#[test]
fn accf_without_a_fence_is_convicted() {
    convicted_over::<Server<Mutant>>(&SLICE_LIFTS_CLOCK, 3, 20_000);
}

/// A server has to restart with a clock that is behind what it announced, and others to have gone on by that: one schedule in
/// some thousands.
#[test]
fn accf_that_stamps_below_what_it_announced_is_convicted() {
    let options = Options { sessions: 8, ops: 80, params: grouped("region", "region"), ..few() };
    convicted_under::<Server<Mutant>>(&STAMPS_SURVIVE, options, 40_000);
}

/// Groups change while the schedule runs.
#[test]
fn accf_that_changes_its_groups_carelessly_is_convicted() {
    convicted::<Server<Mutant>>(&FORMING_GROUP_IS_SILENT, 4_000);
    convicted::<Server<Mutant>>(&TRACKING_IS_MARKED, 2_000);
    // What may be gone goes at once, and each server alone says what may.
    let mut params = grouped("region", "server");
    params.insert("collect_after_us".to_string(), 0.into());
    convicted_under::<Server<Mutant>>(&FLOOR_HOLDS, Options { params, ..few() }, 20_000);
}
