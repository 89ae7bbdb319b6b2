//! POCC with one rule broken at a time.

mod mutants;

use mutants::{convicted, convicted_over};
use tidemark_protocols::pocc::{Rules, Server};

mutants! {
    GET_WAITS,
    SLICE_WAITS,
    SLICE_LIFTS_CLOCK,
    SV_COVERS_DV,
    PUT_ABOVE_DV,
    GSS_SURVIVES,
    MOVED_READS_WAIT,
}

#[test]
fn pocc_with_a_rule_broken_is_convicted() {
    convicted::<Server<Mutant>>(&GET_WAITS, 20_000);
    convicted::<Server<Mutant>>(&SLICE_WAITS, 20_000);
    convicted::<Server<Mutant>>(&SV_COVERS_DV, 20_000);
    convicted::<Server<Mutant>>(&PUT_ABOVE_DV, 20_000);
    convicted::<Server<Mutant>>(&GSS_SURVIVES, 20_000);
    convicted::<Server<Mutant>>(&MOVED_READS_WAIT, 20_000);
}

#[test]
fn pocc_without_a_fence_is_convicted() {
    convicted_over::<Server<Mutant>>(&SLICE_LIFTS_CLOCK, 3, 20_000);
}
