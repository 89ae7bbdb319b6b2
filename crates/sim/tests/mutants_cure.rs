//! Cure with one rule broken at a time; `GSS_SURVIVES`, without which nothing is unsafe, has a step test only.

mod mutants;

use mutants::{convicted, convicted_over};
use tidemark_protocols::cure::{Rules, Server};

mutants! {
    SNAP_COVERS_SC,
    READ_WAITS_FOR_CLOCK,
    READ_WAITS_FOR_PENDING,
    READ_IS_FENCE,
    PREPARE_ABOVE_SNAP,
    ANNOUNCE_BELOW_PENDING,
    TIMES_ARRIVE_WHOLE,
    PREPARED_SURVIVES,
    DECIDED_SURVIVES,
    STABLE_STAYS_HOME,
}

#[test]
fn cure_with_a_rule_broken_is_convicted() {
    convicted::<Server<Mutant>>(&SNAP_COVERS_SC, 20_000);
    convicted::<Server<Mutant>>(&READ_WAITS_FOR_CLOCK, 20_000);
    convicted::<Server<Mutant>>(&READ_WAITS_FOR_PENDING, 20_000);
    convicted::<Server<Mutant>>(&PREPARE_ABOVE_SNAP, 20_000);
    convicted::<Server<Mutant>>(&ANNOUNCE_BELOW_PENDING, 20_000);
    convicted::<Server<Mutant>>(&TIMES_ARRIVE_WHOLE, 20_000);
    convicted::<Server<Mutant>>(&STABLE_STAYS_HOME, 20_000);
}

/// Both halves of what makes two-phase commit survive crashes: without either, a transaction is torn.
#[test]
fn cure_whose_transactions_do_not_survive_is_convicted() {
    convicted::<Server<Mutant>>(&PREPARED_SURVIVES, 20_000);
    convicted::<Server<Mutant>>(&DECIDED_SURVIVES, 20_000);
}

#[test]
fn cure_without_a_fence_is_convicted() {
    convicted_over::<Server<Mutant>>(&READ_IS_FENCE, 3, 20_000);
}
