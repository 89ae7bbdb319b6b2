//! CausalSpartanX with one rule broken at a time.

mod mutants;

use mutants::{convicted, convicted_over};
use tidemark_protocols::causal_spartan_x::{Rules, Server};

mutants! {
    UtUnstable breaks UT_MUST_BE_STABLE;
    DsvLost breaks DSV_SURVIVES;
    StableTravels breaks STABLE_STAYS_HOME;
    PutForgetsDs breaks PUT_MERGES_DS;
    PutBelowFence breaks PUT_ABOVE_DSV;
    SliceUnfenced breaks SLICE_LIFTS;
}

#[test]
fn causal_spartan_x_with_a_rule_broken_is_convicted() {
    convicted::<Server<UtUnstable>>(20_000);
    convicted::<Server<PutForgetsDs>>(20_000);
    convicted::<Server<StableTravels>>(20_000);
}

/// The fence of a transaction lies above a server's clock only where another server of the data centre put it.
/// The transaction must then meet two servers that are behind it, so this takes three.
#[test]
fn causal_spartan_x_without_a_fence_is_convicted() {
    convicted_over::<Server<PutBelowFence>>(3, 20_000);
    convicted_over::<Server<SliceUnfenced>>(3, 20_000);
}

#[test]
fn causal_spartan_x_that_forgets_its_stable_vector_is_convicted() {
    convicted::<Server<DsvLost>>(20_000);
}
