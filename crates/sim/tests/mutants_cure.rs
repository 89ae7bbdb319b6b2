//! Cure with one rule broken at a time; `GSS_SURVIVES`, without which nothing is unsafe, has a step test only.

mod mutants;

use mutants::{convicted, convicted_over};
use tidemark_protocols::cure::{Rules, Server};

mutants! {
    SnapForgetsSc breaks SNAP_COVERS_SC;
    ReadHurries breaks READ_WAITS_FOR_CLOCK;
    ReadPassesPending breaks READ_WAITS_FOR_PENDING;
    ReadLeavesNoFence breaks READ_IS_FENCE;
    PreparesBelow breaks PREPARE_ABOVE_SNAP;
    AnnouncesPending breaks ANNOUNCE_BELOW_PENDING;
    FirstIsAll breaks TIMES_ARRIVE_WHOLE;
    PreparedLost breaks PREPARED_SURVIVES;
    DecidedLost breaks DECIDED_SURVIVES;
    CureTravels breaks STABLE_STAYS_HOME;
}

#[test]
fn cure_with_a_rule_broken_is_convicted() {
    convicted::<Server<SnapForgetsSc>>(20_000);
    convicted::<Server<ReadHurries>>(20_000);
    convicted::<Server<ReadPassesPending>>(20_000);
    convicted::<Server<PreparesBelow>>(20_000);
    convicted::<Server<AnnouncesPending>>(20_000);
    convicted::<Server<FirstIsAll>>(20_000);
    convicted::<Server<CureTravels>>(20_000);
}

/// Both halves of what makes two-phase commit survive crashes: without either, a transaction is torn.
#[test]
fn cure_whose_transactions_do_not_survive_is_convicted() {
    convicted::<Server<PreparedLost>>(20_000);
    convicted::<Server<DecidedLost>>(20_000);
}

#[test]
fn cure_without_a_fence_is_convicted() {
    convicted_over::<Server<ReadLeavesNoFence>>(3, 20_000);
}
