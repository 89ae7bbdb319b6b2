//! Wren with one rule broken at a time. Two have step tests only: `DEPENDS_ON_RDT` matters after a restart whose region
//! hears nothing of another one, and without `RDT_IS_COVERED` nothing is unsafe.

mod mutants;

use mutants::{convicted, convicted_over};
use tidemark_protocols::wren::{Rules, Server};

mutants! {
    START_COVERS_SESSION,
    REMOTE_BELOW_LOCAL,
    READS_OWN_WRITES,
    OTHERS_WAIT_FOR_OWN,
    COMMIT_ABOVE_HWT,
    ANNOUNCE_BELOW_PENDING,
    TIMES_ARRIVE_WHOLE,
    PREPARED_SURVIVES,
    DECIDED_SURVIVES,
    STABLE_STAYS_HOME,
}

#[test]
fn wren_with_a_rule_broken_is_convicted() {
    convicted::<Server<Mutant>>(&START_COVERS_SESSION, 20_000);
    convicted::<Server<Mutant>>(&REMOTE_BELOW_LOCAL, 20_000);
    convicted::<Server<Mutant>>(&ANNOUNCE_BELOW_PENDING, 20_000);
    convicted::<Server<Mutant>>(&TIMES_ARRIVE_WHOLE, 20_000);
    convicted::<Server<Mutant>>(&STABLE_STAYS_HOME, 20_000);
}

/// What a session has written itself.
#[test]
fn wren_whose_sessions_forget_their_own_writes_is_convicted() {
    convicted::<Server<Mutant>>(&READS_OWN_WRITES, 20_000);
    convicted::<Server<Mutant>>(&OTHERS_WAIT_FOR_OWN, 20_000);
    convicted_over::<Server<Mutant>>(&COMMIT_ABOVE_HWT, 3, 20_000);
}

/// Both halves of what makes two-phase commit survive crashes: without either, a transaction is torn.
#[test]
fn wren_whose_transactions_do_not_survive_is_convicted() {
    convicted::<Server<Mutant>>(&PREPARED_SURVIVES, 20_000);
    convicted::<Server<Mutant>>(&DECIDED_SURVIVES, 20_000);
}
