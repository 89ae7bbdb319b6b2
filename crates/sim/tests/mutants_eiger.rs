//! Eiger with one rule broken at a time.

mod mutants;

use mutants::{convicted, convicted_over, convicted_under, few};
use tidemark_protocols::eiger::{Rules, Server};
use tidemark_sim::Options;

mutants! {
    OneRound breaks SECOND_ROUND;
    AsksDoNotLift breaks ASKS_LIFT;
    LateAsksDoNotLift breaks LATE_ASKS_LIFT;
    SiblingsDoNotLift breaks SIBLINGS_LIFT;
    PeersDoNotLift breaks PEERS_LIFT;
    EvtIsStamp breaks EVT_IS_LOCAL;
    AnswersDropped breaks REFUSES_DROPPED;
    FloorLost breaks FLOOR_SURVIVES;
    ChecksNothing breaks CHECKS;
    AppliedLost breaks APPLIED_SURVIVES;
    MoversRush breaks MOVERS_WAIT;
}

#[test]
fn eiger_with_a_rule_broken_is_convicted() {
    convicted::<Server<OneRound>>(20_000);
    convicted_over::<Server<AsksDoNotLift>>(3, 20_000);
    convicted_over::<Server<LateAsksDoNotLift>>(3, 20_000);
    convicted::<Server<SiblingsDoNotLift>>(20_000);
    convicted_over::<Server<PeersDoNotLift>>(3, 20_000);
    convicted::<Server<EvtIsStamp>>(20_000);
    convicted::<Server<FloorLost>>(20_000);
    convicted::<Server<ChecksNothing>>(20_000);
    convicted::<Server<AppliedLost>>(20_000);
    convicted::<Server<MoversRush>>(20_000);
}

/// What is overwritten is dropped at once, and what was dropped is answered with nothing.
#[test]
fn eiger_that_answers_for_what_it_has_dropped_is_convicted() {
    let params = [("trans_time_us".to_string(), 0.into())].into();
    convicted_under::<Server<AnswersDropped>>(Options { params, ..few() }, 20_000);
}
