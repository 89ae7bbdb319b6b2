//! CausalSpartanX with one rule broken at a time.

mod mutants;

use mutants::{convicted, convicted_over};
use tidemark_protocols::causal_spartan_x::{Rules, Server};

mutants! {
    UT_MUST_BE_STABLE,
    DSV_SURVIVES,
    STABLE_STAYS_HOME,
    PUT_MERGES_DS,
    PUT_ABOVE_DSV,
    SLICE_LIFTS,
}

#[test]
fn causal_spartan_x_with_a_rule_broken_is_convicted() {
    convicted::<Server<Mutant>>(&UT_MUST_BE_STABLE, 20_000);
    convicted::<Server<Mutant>>(&PUT_MERGES_DS, 20_000);
    convicted::<Server<Mutant>>(&STABLE_STAYS_HOME, 20_000);
}

/// The fence of a transaction lies above a server's clock only where another server of the data centre put it.
/// The transaction must then meet two servers that are behind it, so this takes three.
#[test]
fn causal_spartan_x_without_a_fence_is_convicted() {
    convicted_over::<Server<Mutant>>(&PUT_ABOVE_DSV, 3, 20_000);
    convicted_over::<Server<Mutant>>(&SLICE_LIFTS, 3, 20_000);
}

#[test]
fn causal_spartan_x_that_forgets_its_stable_vector_is_convicted() {
    convicted::<Server<Mutant>>(&DSV_SURVIVES, 20_000);
}
