//! GentleRain with one rule broken at a time.

mod mutants;

use mutants::{convicted, convicted_over};
use tidemark_protocols::gentlerain::{Rules, Server};

mutants! {
    StampsRepeat breaks STAMPS_INCREASE;
    PutForgetsGst breaks PUT_CARRIES_GST;
    GstFalls breaks GST_NEVER_FALLS;
    GstLost breaks GST_SURVIVES;
    GstTravels breaks STABLE_STAYS_HOME;
    PutHurries breaks PUT_WAITS;
    RotxHurries breaks ROTX_WAITS;
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
