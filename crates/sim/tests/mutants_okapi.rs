//! Okapi with one rule broken at a time.

mod mutants;

use mutants::{convicted, convicted_over, convicted_under, few};
use tidemark_protocols::okapi::{Rules, Server};
use tidemark_sim::Options;

mutants! {
    OneDcHasIt breaks EVERY_DC_HAS_IT;
    OnArrival breaks UT_IS_STABLE;
    UsvForgetsDs breaks USV_COVERS_DS;
    EffectsAlone breaks SNAPSHOT_HOLDS_DS;
    SliceLiftsNothing breaks SLICE_LIFTS_CLOCK;
    PutUnderDs breaks PUT_ABOVE_DS;
    UsvLost breaks USV_SURVIVES;
    MovesAtOnce breaks HOME_MUST_BE_STABLE;
}

#[test]
fn okapi_with_a_rule_broken_is_convicted() {
    convicted::<Server<OnArrival>>(20_000);
    convicted::<Server<UsvForgetsDs>>(20_000);
    convicted::<Server<EffectsAlone>>(20_000);
    convicted::<Server<PutUnderDs>>(20_000);
    convicted::<Server<UsvLost>>(20_000);
    convicted::<Server<MovesAtOnce>>(20_000);
}

/// That a version's own time says all takes that its causes are everywhere: in a third data centre too.
#[test]
fn okapi_that_asks_one_data_centre_only_is_convicted() {
    convicted_under::<Server<OneDcHasIt>>(Options { dcs: 3, ..few() }, 20_000);
}

#[test]
fn okapi_without_a_fence_is_convicted() {
    convicted_over::<Server<SliceLiftsNothing>>(3, 20_000);
}
