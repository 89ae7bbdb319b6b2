//! Okapi with one rule broken at a time.

mod mutants;

use mutants::{convicted, convicted_over, convicted_under, few};
use tidemark_protocols::okapi::{Rules, Server};
use tidemark_sim::Options;

mutants! {
    EVERY_DC_HAS_IT,
    UT_IS_STABLE,
    USV_COVERS_DS,
    SNAPSHOT_HOLDS_DS,
    SLICE_LIFTS_CLOCK,
    PUT_ABOVE_DS,
    USV_SURVIVES,
    HOME_MUST_BE_STABLE,
}

#[test]
fn okapi_with_a_rule_broken_is_convicted() {
    convicted::<Server<Mutant>>(&UT_IS_STABLE, 20_000);
    convicted::<Server<Mutant>>(&USV_COVERS_DS, 20_000);
    convicted::<Server<Mutant>>(&SNAPSHOT_HOLDS_DS, 20_000);
    convicted::<Server<Mutant>>(&PUT_ABOVE_DS, 20_000);
    convicted::<Server<Mutant>>(&USV_SURVIVES, 20_000);
    convicted::<Server<Mutant>>(&HOME_MUST_BE_STABLE, 20_000);
}

/// That a version's own time says all takes that its causes are everywhere: in a third data centre too.
#[test]
fn okapi_that_asks_one_data_centre_only_is_convicted() {
    convicted_under::<Server<Mutant>>(&EVERY_DC_HAS_IT, Options { dcs: 3, ..few() }, 20_000);
}

#[test]
fn okapi_without_a_fence_is_convicted() {
    convicted_over::<Server<Mutant>>(&SLICE_LIFTS_CLOCK, 3, 20_000);
}
