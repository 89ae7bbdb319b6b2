//! Orbe with one rule broken at a time.

mod mutants;

use mutants::{convicted, convicted_under, few};
use tidemark_protocols::orbe::{Rules, Server};
use tidemark_sim::Options;

mutants! {
    READS_ARE_DEPENDENCIES,
    PUT_ABOVE_DM,
    CHECKS_OWN_ROW,
    CHECKS_OTHER_ROWS,
    IN_ORDER,
    ST_COVERS_DT,
    SLICE_WAITS_FOR_PEERS,
    INSTALLED_SURVIVES,
    RECEIVED_WAITS_AGAIN,
    ARRIVAL_WAITS,
    COLLECTS_AT_SAFE,
}

#[test]
fn orbe_with_a_rule_of_the_matrix_broken_is_convicted() {
    convicted::<Server<Mutant>>(&READS_ARE_DEPENDENCIES, 20_000);
    convicted::<Server<Mutant>>(&PUT_ABOVE_DM, 20_000);
    convicted::<Server<Mutant>>(&CHECKS_OTHER_ROWS, 20_000);
    convicted::<Server<Mutant>>(&IN_ORDER, 20_000);
    convicted::<Server<Mutant>>(&ARRIVAL_WAITS, 20_000);
}

/// Between two data centres the order of installation says what the own row says: its checks take a third.
#[test]
fn orbe_that_does_not_check_the_row_of_its_own_partition_is_convicted() {
    convicted_under::<Server<Mutant>>(&CHECKS_OWN_ROW, Options { dcs: 3, ..few() }, 20_000);
}

/// Two rules have step tests only: 20,000 schedules clear an Orbe whose slices do not wait for the clock, or do not lift it.
#[test]
fn orbe_with_a_rule_of_its_transactions_broken_is_convicted() {
    convicted::<Server<Mutant>>(&ST_COVERS_DT, 20_000);
    convicted::<Server<Mutant>>(&SLICE_WAITS_FOR_PEERS, 20_000);
    convicted::<Server<Mutant>>(&COLLECTS_AT_SAFE, 20_000);
}

#[test]
fn orbe_that_forgets_in_a_crash_what_was_installed_is_convicted() {
    convicted::<Server<Mutant>>(&INSTALLED_SURVIVES, 20_000);
    convicted::<Server<Mutant>>(&RECEIVED_WAITS_AGAIN, 20_000);
}
