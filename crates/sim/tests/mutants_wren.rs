//! Wren with one rule broken at a time. Two have step tests only: `DEPENDS_ON_RDT` matters after a restart whose region
//! hears nothing of another one, and without `RDT_IS_COVERED` nothing is unsafe.

mod mutants;

use mutants::{convicted, convicted_over};
use tidemark_protocols::wren::{Rules, Server};

mutants! {
    StartForgetsSession breaks START_COVERS_SESSION;
    RemoteRunsAhead breaks REMOTE_BELOW_LOCAL;
    NoCache breaks READS_OWN_WRITES;
    OthersHurry breaks OTHERS_WAIT_FOR_OWN;
    CommitsBelowHwt breaks COMMIT_ABOVE_HWT;
    AnnouncesPending breaks ANNOUNCE_BELOW_PENDING;
    FirstIsAll breaks TIMES_ARRIVE_WHOLE;
    PreparedLost breaks PREPARED_SURVIVES;
    DecidedLost breaks DECIDED_SURVIVES;
    WrenTravels breaks STABLE_STAYS_HOME;
}

#[test]
fn wren_with_a_rule_broken_is_convicted() {
    convicted::<Server<StartForgetsSession>>(20_000);
    convicted::<Server<RemoteRunsAhead>>(20_000);
    convicted::<Server<AnnouncesPending>>(20_000);
    convicted::<Server<FirstIsAll>>(20_000);
    convicted::<Server<WrenTravels>>(20_000);
}

/// What a session has written itself.
#[test]
fn wren_whose_sessions_forget_their_own_writes_is_convicted() {
    convicted::<Server<NoCache>>(20_000);
    convicted::<Server<OthersHurry>>(20_000);
    convicted_over::<Server<CommitsBelowHwt>>(3, 20_000);
}

/// Both halves of what makes two-phase commit survive crashes: without either, a transaction is torn.
#[test]
fn wren_whose_transactions_do_not_survive_is_convicted() {
    convicted::<Server<PreparedLost>>(20_000);
    convicted::<Server<DecidedLost>>(20_000);
}
