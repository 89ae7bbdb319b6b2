//! Tidemark with one rule broken at a time.

mod mutants;

use mutants::{convicted, convicted_over};
use tidemark_protocols::tidemark::{Rules, Server};

mutants! {
    GetUnfenced breaks GET_FENCES;
    PutForgetsDsv breaks PUT_TAKES_DSV;
    PutForgetsFence breaks PUT_TAKES_FENCE;
    FreshIsStable breaks DS_IS_NOT_STABLE;
    PutUnderFence breaks PUT_ABOVE_FENCE;
    SliceLiftsNothing breaks SLICE_LIFTS;
    AllCausesStable breaks FRESH_CAUSES_MAY_LACK;
    NeedAboveFence breaks NEED_UNDER_FENCE;
    SliceTellsNoFence breaks SLICE_FENCES;
    CollectsAtOwn breaks COLLECTS_AT_SAFE;
    ExceptionsDropped breaks EXCEPTIONS_UNTIL_SAFE;
    OwnDsvLost breaks DSV_SURVIVES;
    FenceLost breaks FENCE_SURVIVES;
    OwnDsvTravels breaks STABLE_STAYS_HOME;
}

#[test]
fn tidemark_with_a_rule_broken_is_convicted() {
    convicted::<Server<PutForgetsDsv>>(20_000);
    convicted::<Server<FreshIsStable>>(20_000);
    convicted::<Server<AllCausesStable>>(20_000);
    convicted::<Server<NeedAboveFence>>(20_000);
    convicted::<Server<CollectsAtOwn>>(20_000);
    convicted::<Server<ExceptionsDropped>>(20_000);
    convicted::<Server<OwnDsvLost>>(20_000);
    convicted::<Server<OwnDsvTravels>>(20_000);
}

/// A fence lies above a server's clock only where another server put it, and a transaction must meet two that are behind: three.
#[test]
fn tidemark_without_a_fence_is_convicted() {
    convicted_over::<Server<GetUnfenced>>(3, 20_000);
    convicted_over::<Server<PutForgetsFence>>(3, 20_000);
    convicted_over::<Server<PutUnderFence>>(3, 20_000);
    convicted_over::<Server<SliceLiftsNothing>>(3, 20_000);
    convicted_over::<Server<SliceTellsNoFence>>(3, 40_000);
    convicted_over::<Server<FenceLost>>(3, 20_000);
}
