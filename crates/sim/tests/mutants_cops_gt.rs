//! COPS-GT with one rule broken at a time.

mod mutants;

use mutants::{convicted, convicted_over, convicted_under, few};
use tidemark_protocols::cops_gt::{Rules, Server};
use tidemark_sim::Options;

mutants! {
    ChecksNothing breaks CHECKS;
    ListsOwnReads breaks LISTS_ALL;
    OneRound breaks SECOND_ROUND;
    OverlooksFloors breaks MINDS_FLOORS;
    StableInOne breaks STABLE_IN_ALL;
    AppliedLost breaks APPLIED_SURVIVES;
    MoversRush breaks MOVERS_WAIT;
    AnswersDropped breaks REFUSES_DROPPED;
}

#[test]
fn cops_gt_with_a_rule_broken_is_convicted() {
    convicted::<Server<ChecksNothing>>(20_000);
    convicted_over::<Server<ListsOwnReads>>(3, 20_000);
    convicted::<Server<OneRound>>(20_000);
    convicted::<Server<OverlooksFloors>>(20_000);
    convicted_over::<Server<StableInOne>>(3, 20_000);
    convicted::<Server<AppliedLost>>(20_000);
    convicted::<Server<MoversRush>>(20_000);
}

/// What is overwritten is dropped at once, and what was dropped is answered with nothing.
#[test]
fn cops_gt_that_answers_for_what_it_has_dropped_is_convicted() {
    let params = [("trans_time_us".to_string(), 0.into())].into();
    convicted_under::<Server<AnswersDropped>>(Options { params, ..few() }, 20_000);
}
