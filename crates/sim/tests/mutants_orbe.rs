//! Orbe with one rule broken at a time.

mod mutants;

use mutants::{convicted, convicted_under, few};
use tidemark_protocols::orbe::{Rules, Server};
use tidemark_sim::Options;

mutants! {
    ReadsForgotten breaks READS_ARE_DEPENDENCIES;
    PutUnderDm breaks PUT_ABOVE_DM;
    OwnRowUnchecked breaks CHECKS_OWN_ROW;
    OtherRowsUnchecked breaks CHECKS_OTHER_ROWS;
    OutOfOrder breaks IN_ORDER;
    StForgetsDt breaks ST_COVERS_DT;
    SliceForgetsPeers breaks SLICE_WAITS_FOR_PEERS;
    InstalledForgotten breaks INSTALLED_SURVIVES;
    ReceivedIsInstalled breaks RECEIVED_WAITS_AGAIN;
    ArrivesAtOnce breaks ARRIVAL_WAITS;
    CollectsAtClock breaks COLLECTS_AT_SAFE;
}

#[test]
fn orbe_with_a_rule_of_the_matrix_broken_is_convicted() {
    convicted::<Server<ReadsForgotten>>(20_000);
    convicted::<Server<PutUnderDm>>(20_000);
    convicted::<Server<OtherRowsUnchecked>>(20_000);
    convicted::<Server<OutOfOrder>>(20_000);
    convicted::<Server<ArrivesAtOnce>>(20_000);
}

/// Between two data centres the order of installation says what the own row says: its checks take a third.
#[test]
fn orbe_that_does_not_check_the_row_of_its_own_partition_is_convicted() {
    convicted_under::<Server<OwnRowUnchecked>>(Options { dcs: 3, ..few() }, 20_000);
}

/// Two rules have step tests only: 20,000 schedules clear an Orbe whose slices do not wait for the clock, or do not lift it.
#[test]
fn orbe_with_a_rule_of_its_transactions_broken_is_convicted() {
    convicted::<Server<StForgetsDt>>(20_000);
    convicted::<Server<SliceForgetsPeers>>(20_000);
    convicted::<Server<CollectsAtClock>>(20_000);
}

#[test]
fn orbe_that_forgets_in_a_crash_what_was_installed_is_convicted() {
    convicted::<Server<InstalledForgotten>>(20_000);
    convicted::<Server<ReceivedIsInstalled>>(20_000);
}
