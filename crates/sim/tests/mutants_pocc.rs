//! POCC with one rule broken at a time.

mod mutants;

use mutants::{convicted, convicted_over};
use tidemark_protocols::pocc::{Rules, Server};

mutants! {
    GetsAtOnce breaks GET_WAITS;
    SlicesAtOnce breaks SLICE_WAITS;
    SliceLiftsNothing breaks SLICE_LIFTS_CLOCK;
    SvForgetsDv breaks SV_COVERS_DV;
    PutUnderDv breaks PUT_ABOVE_DV;
    GssLost breaks GSS_SURVIVES;
    MovesFree breaks MOVED_READS_WAIT;
}

#[test]
fn pocc_with_a_rule_broken_is_convicted() {
    convicted::<Server<GetsAtOnce>>(20_000);
    convicted::<Server<SlicesAtOnce>>(20_000);
    convicted::<Server<SvForgetsDv>>(20_000);
    convicted::<Server<PutUnderDv>>(20_000);
    convicted::<Server<GssLost>>(20_000);
    convicted::<Server<MovesFree>>(20_000);
}

#[test]
fn pocc_without_a_fence_is_convicted() {
    convicted_over::<Server<SliceLiftsNothing>>(3, 20_000);
}
