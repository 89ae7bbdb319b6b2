//! COPS with one rule broken at a time.

mod mutants;

use mutants::convicted;
use tidemark_protocols::cops::{Rules, Server};

mutants! {
    ForgetsReads breaks READS_ARE_NEAR;
    ForgetsPuts breaks PUT_IS_NEAR;
    AsksNobody breaks ASKS_SIBLINGS;
    LosersShow breaks LOSERS_WAIT;
    AppliedLost breaks APPLIED_SURVIVES;
    WaitingLost breaks WAITING_SURVIVES;
    ForgetsOwn breaks FORGETS_ONLY_EVERYWHERE;
    MoversRush breaks MOVERS_WAIT;
    DropsWaiting breaks SPARES_WAITING;
}

#[test]
fn cops_with_a_rule_broken_is_convicted() {
    convicted::<Server<ForgetsReads>>(20_000);
    convicted::<Server<ForgetsPuts>>(20_000);
    convicted::<Server<AsksNobody>>(20_000);
    convicted::<Server<LosersShow>>(20_000);
    convicted::<Server<AppliedLost>>(20_000);
    convicted::<Server<WaitingLost>>(20_000);
    convicted::<Server<ForgetsOwn>>(20_000);
    convicted::<Server<MoversRush>>(20_000);
    convicted::<Server<DropsWaiting>>(20_000);
}
