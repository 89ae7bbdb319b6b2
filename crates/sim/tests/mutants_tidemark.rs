//! Tidemark with one rule broken at a time.

mod mutants;

use mutants::{convicted, convicted_over, convicted_under, few};
use tidemark_protocols::tidemark::{Rules, Server};
use tidemark_sim::{Options, World};

mutants! {
    GET_FENCES,
    PUT_TAKES_DSV,
    PUT_TAKES_FENCE,
    DS_IS_NOT_STABLE,
    PUT_ABOVE_FENCE,
    SLICE_LIFTS,
    FRESH_CAUSES_MAY_LACK,
    NEED_UNDER_FENCE,
    SLICE_FENCES,
    COLLECTS_AT_SAFE,
    EXCEPTIONS_UNTIL_SAFE,
    DSV_SURVIVES,
    FENCE_SURVIVES,
    STABLE_STAYS_HOME,
}

#[test]
fn tidemark_with_a_rule_broken_is_convicted() {
    convicted::<Server<Mutant>>(&PUT_TAKES_DSV, 20_000);
    convicted::<Server<Mutant>>(&DS_IS_NOT_STABLE, 20_000);
    convicted::<Server<Mutant>>(&FRESH_CAUSES_MAY_LACK, 20_000);
    convicted::<Server<Mutant>>(&NEED_UNDER_FENCE, 20_000);
    convicted::<Server<Mutant>>(&COLLECTS_AT_SAFE, 20_000);
    convicted::<Server<Mutant>>(&EXCEPTIONS_UNTIL_SAFE, 20_000);
    convicted::<Server<Mutant>>(&DSV_SURVIVES, 20_000);
    convicted::<Server<Mutant>>(&STABLE_STAYS_HOME, 20_000);
}

/// A fence lies above a server's clock only where another server put it, and a transaction must meet two that are behind: three.
#[test]
fn tidemark_without_a_fence_is_convicted() {
    convicted_over::<Server<Mutant>>(&GET_FENCES, 3, 20_000);
    convicted_over::<Server<Mutant>>(&PUT_TAKES_FENCE, 3, 20_000);
    convicted_over::<Server<Mutant>>(&PUT_ABOVE_FENCE, 3, 20_000);
    convicted_over::<Server<Mutant>>(&SLICE_LIFTS, 3, 20_000);
    convicted_over::<Server<Mutant>>(&SLICE_FENCES, 3, 40_000);
    convicted_over::<Server<Mutant>>(&FENCE_SURVIVES, 3, 20_000);
}

/// The same over whole nodes.
#[test]
fn tidemark_with_a_rule_broken_is_convicted_over_nodes() {
    let nodes = || Options { world: World::Node, ..few() };
    convicted_under::<Server<Mutant>>(&PUT_TAKES_DSV, nodes(), 20_000);
    convicted_under::<Server<Mutant>>(&DS_IS_NOT_STABLE, nodes(), 20_000);
    convicted_under::<Server<Mutant>>(&FRESH_CAUSES_MAY_LACK, nodes(), 20_000);
    convicted_under::<Server<Mutant>>(&NEED_UNDER_FENCE, nodes(), 20_000);
    convicted_under::<Server<Mutant>>(&COLLECTS_AT_SAFE, nodes(), 20_000);
    convicted_under::<Server<Mutant>>(&EXCEPTIONS_UNTIL_SAFE, nodes(), 20_000);
    convicted_under::<Server<Mutant>>(&DSV_SURVIVES, nodes(), 20_000);
    convicted_under::<Server<Mutant>>(&STABLE_STAYS_HOME, nodes(), 20_000);
}
