//! Eiger with one rule broken at a time.

mod mutants;

use mutants::{convicted, convicted_over, convicted_under, few};
use tidemark_protocols::eiger::{Rules, Server};
use tidemark_sim::Options;

mutants! {
    SECOND_ROUND,
    SIBLINGS_LIFT,
    EVT_IS_LOCAL,
    REFUSES_DROPPED,
    FLOOR_SURVIVES,
    CHECKS,
    APPLIED_SURVIVES,
    MOVERS_WAIT,
}

#[test]
fn eiger_with_a_rule_broken_is_convicted() {
    convicted::<Server<Mutant>>(&SECOND_ROUND, 20_000);
    convicted::<Server<Mutant>>(&EVT_IS_LOCAL, 20_000);
    convicted::<Server<Mutant>>(&CHECKS, 20_000);
    convicted::<Server<Mutant>>(&APPLIED_SURVIVES, 20_000);
    convicted::<Server<Mutant>>(&MOVERS_WAIT, 20_000);
}

/// Two rules have step tests only, and 100,000 schedules clear an Eiger without: a late slice that does not lift, for which
/// two more servers have to be behind the transaction's time, and be written at between two of its answers; and peers that
/// do not, for which a slice has to be held while a version goes to another data centre and its consequence comes back.
#[test]
fn eiger_whose_siblings_do_not_merge_clocks_is_convicted() {
    convicted::<Server<Mutant>>(&SIBLINGS_LIFT, 20_000);
}

#[test]
fn eiger_that_answers_for_times_before_a_restart_is_convicted() {
    convicted_over::<Server<Mutant>>(&FLOOR_SURVIVES, 3, 20_000);
}

/// What is overwritten is dropped at once, and what was dropped is answered with nothing.
#[test]
fn eiger_that_answers_for_what_it_has_dropped_is_convicted() {
    let params = [("trans_time_us".to_string(), 0.into())].into();
    convicted_under::<Server<Mutant>>(&REFUSES_DROPPED, Options { params, ..few() }, 20_000);
}
