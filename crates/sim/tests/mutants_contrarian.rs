//! Contrarian with one rule broken at a time.

mod mutants;

use mutants::{convicted, convicted_over};
use tidemark_protocols::contrarian::{Rules, Server};

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
