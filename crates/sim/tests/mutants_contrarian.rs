//! Contrarian with one rule broken at a time.

mod mutants;

use mutants::{convicted, convicted_over, convicted_under, few};
use tidemark_protocols::contrarian::{Rules, Server};
use tidemark_sim::Options;

mutants! {
    SvForgetsDv breaks SV_COVERS_DV;
    ReadLiftsNothing breaks READ_LIFTS_CLOCK;
    PutUnderDv breaks PUT_ABOVE_DV;
    AnswersCollected breaks REFUSES_COLLECTED;
    ContrarianTravels breaks STABLE_STAYS_HOME;
}

#[test]
fn contrarian_with_a_rule_broken_is_convicted() {
    convicted::<Server<SvForgetsDv>>(20_000);
    convicted_over::<Server<ReadLiftsNothing>>(3, 20_000);
    convicted::<Server<PutUnderDv>>(20_000);
    convicted::<Server<AnswersCollected>>(20_000);
    convicted::<Server<ContrarianTravels>>(20_000);
}

/// What a transaction rests on is the same when its coordinator asks for it.
#[test]
fn contrarian_of_one_and_a_half_rounds_with_a_rule_broken_is_convicted() {
    let through = |partitions| {
        let rounds = [("rounds".into(), "one-and-a-half".into())];
        Options { partitions, params: rounds.into(), ..few() }
    };
    convicted_under::<Server<ReadLiftsNothing>>(through(3), 20_000);
    convicted_under::<Server<SvForgetsDv>>(through(2), 20_000);
    convicted_under::<Server<AnswersCollected>>(through(2), 20_000);
}
