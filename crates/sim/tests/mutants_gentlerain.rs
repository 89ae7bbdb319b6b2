//! GentleRain with one rule broken at a time.

mod mutants;

use mutants::{convicted, convicted_over, convicted_under, few, play};
use std::collections::BTreeMap;
use tidemark_contract::Protocol;
use tidemark_protocols::gentlerain::{Rules, Server, Sound};
use tidemark_sim::{Faults, Options};

mutants! {
    StampsRepeat breaks STAMPS_INCREASE;
    PutForgetsGst breaks PUT_CARRIES_GST;
    GstFalls breaks GST_NEVER_FALLS;
    GstLost breaks GST_SURVIVES;
    GstTravels breaks STABLE_STAYS_HOME;
    PutHurries breaks PUT_WAITS;
    RotxHurries breaks ROTX_WAITS;
    RotxForgetsDt breaks ROTX_COVERS_DT;
    RotxUnfenced breaks SLICE_FENCES;
    LocalAtOnce breaks LOCAL_NEEDS_GST;
    PutSilent breaks PUT_TELLS_GST;
    EachItsGst breaks ONE_GST;
    CutsOfTheirOwn breaks ONE_CUT;
    HidesNothing breaks HIDES;
    FetchesNothing breaks FETCHES;
    ExcludesAtOnce breaks ALL_HIDE_FIRST;
    KnowsAll breaks ADMITS_IGNORANCE;
    ReturnsAtOnce breaks RETURN_WAITS;
    LetsMoversIn breaks MOVERS_WAIT;
    ForgetsDeletions breaks DELETIONS_LAST;
}

#[test]
fn gentlerain_with_a_rule_broken_is_convicted() {
    convicted_over::<Server<StampsRepeat>>(3, 20_000);
    convicted::<Server<PutForgetsGst>>(20_000);
    convicted::<Server<GstFalls>>(20_000);
    convicted::<Server<PutHurries>>(20_000);
    convicted::<Server<RotxHurries>>(20_000);
}

#[test]
fn gentlerain_that_forgets_its_stable_time_is_convicted() {
    convicted::<Server<GstLost>>(20_000);
}

#[test]
fn gentlerain_whose_stable_time_travels_is_convicted() {
    convicted::<Server<GstTravels>>(20_000);
}

/// With transactions that never wait (α = 0).
#[track_caller]
fn convicted_without_waiting<P: Protocol>(partitions: usize, seeds: u64) {
    let params = BTreeMap::from([("alpha_us".to_string(), 0.into())]);
    convicted_under::<P>(Options { partitions, params, ..few() }, seeds);
}

#[test]
fn gentlerain_whose_transactions_do_not_wait_is_convicted_under_a_rule_of_theirs_broken() {
    convicted_without_waiting::<Server<RotxForgetsDt>>(2, 20_000);
    convicted_without_waiting::<Server<LocalAtOnce>>(2, 20_000);
    convicted_without_waiting::<Server<PutSilent>>(2, 20_000);
    convicted_without_waiting::<Server<EachItsGst>>(2, 20_000);
}

/// As for every fence: three partitions. That it survives a restart has a step test only: 20,000 schedules clear a protocol
/// that forgets it.
#[test]
fn gentlerain_whose_transactions_do_not_wait_is_convicted_without_a_fence() {
    convicted_without_waiting::<Server<RotxUnfenced>>(3, 20_000);
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
    convicted_alone::<Server<CutsOfTheirOwn>>(3, 7_493, 4);
    convicted_alone::<Server<CutsOfTheirOwn>>(3, 4_084, 6);
}

/// Reference: erratum E-11. A data centre that is simply counted again is waited for, and what has arrived of it shows
/// before the rest has.
#[test]
fn gentlerain_that_readmits_at_once_is_convicted_by_a_trace_of_e_11() {
    convicted_alone::<Server<ReturnsAtOnce>>(2, 19, 3);
}

/// A seed without faults, but that links are cut meanwhile, convicts `P` and clears what is corrected.
#[track_caller]
fn convicted_alone<P: Protocol>(dcs: usize, seed: u64, steps: usize) {
    let (quiet, seeds) = (Options { faults: Faults::NONE, ..away(dcs) }, seed..seed + 1);
    let convicted = play::<P>(quiet.clone(), seeds.clone());
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
    convicted_under::<Server<HidesNothing>>(away(2), 20_000);
    convicted_under::<Server<ExcludesAtOnce>>(away(2), 20_000);
    convicted_under::<Server<KnowsAll>>(away(2), 20_000);
    convicted_under::<Server<ReturnsAtOnce>>(away(2), 20_000);
    convicted_under::<Server<LetsMoversIn>>(away(2), 20_000);
    convicted_under::<Server<ForgetsDeletions>>(away(2), 20_000);
    convicted_under::<Server<CutsOfTheirOwn>>(away(3), 20_000);
    convicted_under::<Server<FetchesNothing>>(away(3), 20_000);
}
