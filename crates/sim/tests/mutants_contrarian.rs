//! Contrarian with one rule broken at a time.

mod mutants;

use mutants::{convicted, convicted_over, convicted_under, few};
use tidemark_protocols::contrarian::{Rules, Server};
use tidemark_sim::Options;

mutants! {
    SV_COVERS_DV,
    READ_LIFTS_CLOCK,
    PUT_ABOVE_DV,
    REFUSES_COLLECTED,
    STABLE_STAYS_HOME,
}

#[test]
fn contrarian_with_a_rule_broken_is_convicted() {
    convicted::<Server<Mutant>>(&SV_COVERS_DV, 20_000);
    convicted_over::<Server<Mutant>>(&READ_LIFTS_CLOCK, 3, 20_000);
    convicted::<Server<Mutant>>(&PUT_ABOVE_DV, 20_000);
    convicted::<Server<Mutant>>(&REFUSES_COLLECTED, 20_000);
    convicted::<Server<Mutant>>(&STABLE_STAYS_HOME, 20_000);
}

/// What a transaction rests on is the same when its coordinator asks for it.
#[test]
fn contrarian_of_one_and_a_half_rounds_with_a_rule_broken_is_convicted() {
    let through = |partitions| {
        let rounds = [("rounds".into(), "one-and-a-half".into())];
        Options { partitions, params: rounds.into(), ..few() }
    };
    convicted_under::<Server<Mutant>>(&READ_LIFTS_CLOCK, through(3), 20_000);
    convicted_under::<Server<Mutant>>(&SV_COVERS_DV, through(2), 20_000);
    convicted_under::<Server<Mutant>>(&REFUSES_COLLECTED, through(2), 20_000);
}
