//! GentleRain with one rule broken at a time.

mod mutants;

use mutants::{Switch, convicted, convicted_over, convicted_under, few, play, without};
use std::collections::BTreeMap;
use tidemark_contract::Protocol;
use tidemark_protocols::gentlerain::{Rules, Server, Sound};
use tidemark_sim::{Faults, Options};

mutants! {
    STAMPS_INCREASE,
    PUT_CARRIES_GST,
    GST_NEVER_FALLS,
    GST_SURVIVES,
    STABLE_STAYS_HOME,
    PUT_WAITS,
    ROTX_WAITS,
    ROTX_COVERS_DT,
    SLICE_FENCES,
    LOCAL_NEEDS_GST,
    PUT_TELLS_GST,
    ONE_GST,
    ONE_CUT,
    HIDES,
    FETCHES,
    ALL_HIDE_FIRST,
    ADMITS_IGNORANCE,
    RETURN_WAITS,
    MOVERS_WAIT,
    DELETIONS_LAST,
}

#[test]
fn gentlerain_with_a_rule_broken_is_convicted() {
    convicted_over::<Server<Mutant>>(&STAMPS_INCREASE, 3, 20_000);
    convicted::<Server<Mutant>>(&PUT_CARRIES_GST, 20_000);
    convicted::<Server<Mutant>>(&GST_NEVER_FALLS, 20_000);
    convicted::<Server<Mutant>>(&PUT_WAITS, 20_000);
    convicted::<Server<Mutant>>(&ROTX_WAITS, 20_000);
}

#[test]
fn gentlerain_that_forgets_its_stable_time_is_convicted() {
    convicted::<Server<Mutant>>(&GST_SURVIVES, 20_000);
}

#[test]
fn gentlerain_whose_stable_time_travels_is_convicted() {
    convicted::<Server<Mutant>>(&STABLE_STAYS_HOME, 20_000);
}

/// With transactions that never wait (α = 0).
#[track_caller]
fn convicted_without_waiting<P: Protocol>(rule: &'static Switch, partitions: usize, seeds: u64) {
    let params = BTreeMap::from([("alpha_us".to_string(), 0.into())]);
    convicted_under::<P>(rule, Options { partitions, params, ..few() }, seeds);
}

#[test]
fn gentlerain_whose_transactions_do_not_wait_is_convicted_under_a_rule_of_theirs_broken() {
    convicted_without_waiting::<Server<Mutant>>(&ROTX_COVERS_DT, 2, 20_000);
    convicted_without_waiting::<Server<Mutant>>(&LOCAL_NEEDS_GST, 2, 20_000);
    convicted_without_waiting::<Server<Mutant>>(&PUT_TELLS_GST, 2, 20_000);
    convicted_without_waiting::<Server<Mutant>>(&ONE_GST, 2, 20_000);
}

/// As for every fence: three partitions. That it survives a restart has a step test only: 20,000 schedules clear a protocol
/// that forgets it.
#[test]
fn gentlerain_whose_transactions_do_not_wait_is_convicted_without_a_fence() {
    convicted_without_waiting::<Server<Mutant>>(&SLICE_FENCES, 3, 20_000);
}

/// Where an operator excludes a data centre that is cut off, and readmits it.
fn away(dcs: usize) -> Options {
    Options { dcs, sessions: 2 * dcs, exclusions: true, ..few() }
}

/// Reference: erratum E-11. Of two survivors each hides what the third wrote after its own stable time, as §5.5 has it.
/// A writes, C reads it, and who moves from C to B with that does not find it there; or who reads in B what was
/// written in C by one who had read it.
#[test]
fn gentlerain_as_published_is_convicted_by_traces_of_e_11() {
    convicted_alone(&ONE_CUT, 3, 7_493, 4);
    convicted_alone(&ONE_CUT, 3, 4_084, 6);
}

/// Reference: erratum E-11. A data centre that is simply counted again is waited for, and what has arrived of it shows
/// before the rest has.
#[test]
fn gentlerain_that_readmits_at_once_is_convicted_by_a_trace_of_e_11() {
    convicted_alone(&RETURN_WAITS, 2, 19, 3);
}

/// A seed without faults, but that links are cut meanwhile, convicts what does without `rule` and clears what is corrected.
#[track_caller]
fn convicted_alone(rule: &'static Switch, dcs: usize, seed: u64, steps: usize) {
    let (quiet, seeds) = (Options { faults: Faults::NONE, ..away(dcs) }, seed..seed + 1);
    let convicted = without(rule, || play::<Server<Mutant>>(quiet.clone(), seeds.clone()));
    let conviction = convicted.convictions.first().expect("it was cleared");
    println!("{conviction}");
    assert_eq!(conviction.verdict, "causal");
    assert!(conviction.shrunk_steps <= steps, "{} steps", conviction.shrunk_steps);
    assert_eq!(play::<Server<Sound>>(quiet, seeds).violations, 0);
}

/// With each of its rules broken but two. That a stable time goes to the cut at once, and that who has passed the time of a
/// readmission waits where it was not passed yet, have step tests only: 20,000 schedules clear a protocol without.
#[test]
fn gentlerain_that_does_without_a_data_centre_is_convicted_with_a_rule_of_that_broken() {
    convicted_under::<Server<Mutant>>(&HIDES, away(2), 20_000);
    convicted_under::<Server<Mutant>>(&ALL_HIDE_FIRST, away(2), 20_000);
    convicted_under::<Server<Mutant>>(&ADMITS_IGNORANCE, away(2), 20_000);
    convicted_under::<Server<Mutant>>(&RETURN_WAITS, away(2), 20_000);
    convicted_under::<Server<Mutant>>(&MOVERS_WAIT, away(2), 20_000);
    convicted_under::<Server<Mutant>>(&DELETIONS_LAST, away(2), 20_000);
    convicted_under::<Server<Mutant>>(&ONE_CUT, away(3), 20_000);
    convicted_under::<Server<Mutant>>(&FETCHES, away(3), 20_000);
}
