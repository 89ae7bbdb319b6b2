//! COPS-GT with one rule broken at a time.

mod mutants;

use mutants::{convicted, convicted_over, convicted_under, few};
use tidemark_protocols::cops_gt::{Rules, Server};
use tidemark_sim::Options;

mutants! {
    CHECKS,
    LISTS_ALL,
    SECOND_ROUND,
    MINDS_FLOORS,
    STABLE_IN_ALL,
    APPLIED_SURVIVES,
    MOVERS_WAIT,
    REFUSES_DROPPED,
}

#[test]
fn cops_gt_with_a_rule_broken_is_convicted() {
    convicted::<Server<Mutant>>(&CHECKS, 20_000);
    convicted_over::<Server<Mutant>>(&LISTS_ALL, 3, 20_000);
    convicted::<Server<Mutant>>(&SECOND_ROUND, 20_000);
    convicted::<Server<Mutant>>(&MINDS_FLOORS, 20_000);
    convicted_over::<Server<Mutant>>(&STABLE_IN_ALL, 3, 20_000);
    convicted::<Server<Mutant>>(&APPLIED_SURVIVES, 20_000);
    convicted::<Server<Mutant>>(&MOVERS_WAIT, 20_000);
}

/// What is overwritten is dropped at once, and what was dropped is answered with nothing.
#[test]
fn cops_gt_that_answers_for_what_it_has_dropped_is_convicted() {
    let params = [("trans_time_us".to_string(), 0.into())].into();
    convicted_under::<Server<Mutant>>(&REFUSES_DROPPED, Options { params, ..few() }, 20_000);
}
