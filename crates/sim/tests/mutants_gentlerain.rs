//! GentleRain with one rule broken at a time.

mod mutants;

use mutants::{convicted, convicted_over, convicted_under, few};
use std::collections::BTreeMap;
use tidemark_contract::Protocol;
use tidemark_protocols::gentlerain::{Rules, Server};
use tidemark_sim::Options;

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
