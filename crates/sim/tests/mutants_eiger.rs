//! Eiger with one rule broken at a time.

mod mutants;

use mutants::{convicted, convicted_over, convicted_under, few};
use tidemark_protocols::eiger::{Rules, Server};
use tidemark_sim::Options;

mutants! {
    OneRound breaks SECOND_ROUND;
    SiblingsDoNotLift breaks SIBLINGS_LIFT;
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
    convicted::<Server<EvtIsStamp>>(20_000);
    convicted::<Server<ChecksNothing>>(20_000);
    convicted::<Server<AppliedLost>>(20_000);
    convicted::<Server<MoversRush>>(20_000);
}

/// Two rules have step tests only, and 100,000 schedules clear an Eiger without: a late slice that does not lift, for which
/// two more servers have to be behind the transaction's time, and be written at between two of its answers; and peers that
/// do not, for which a slice has to be held while a version goes to another data centre and its consequence comes back.
#[test]
fn eiger_whose_siblings_do_not_merge_clocks_is_convicted() {
    convicted::<Server<SiblingsDoNotLift>>(20_000);
}

#[test]
fn eiger_that_answers_for_times_before_a_restart_is_convicted() {
    convicted_over::<Server<FloorLost>>(3, 20_000);
}

/// What is overwritten is dropped at once, and what was dropped is answered with nothing.
#[test]
fn eiger_that_answers_for_what_it_has_dropped_is_convicted() {
    let params = [("trans_time_us".to_string(), 0.into())].into();
    convicted_under::<Server<AnswersDropped>>(Options { params, ..few() }, 20_000);
}
