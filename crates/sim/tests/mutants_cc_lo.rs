//! CC-LO with one rule broken at a time.

mod mutants;

use mutants::{convicted, convicted_over, convicted_under, few};
use tidemark_protocols::cc_lo::{Rules, Server};
use tidemark_sim::Options;

mutants! {
    HIDES_VERSIONS,
    REFUSES_OLD,
    FLOOR_TRAVELS,
    FLOOR_SURVIVES,
    PUT_CHECKS_READERS,
    REMOTE_CHECKS_READERS,
    REMOTE_CHECKS_DEPS,
    READERS_GROW_OLD,
    HIDDEN_IS_HANDED_ON,
    OLD_VERSIONS_KEPT,
    DECIDED_IS_A_CAUSE,
    ARRIVALS_WAIT,
}

/// That a write lies above what it depends on has a step test only: of one key it does anyhow, for a server's clock is above
/// all that it holds, and of different keys nothing rests on it.
#[test]
fn cc_lo_with_a_rule_broken_is_convicted() {
    convicted_over::<Server<Mutant>>(&HIDES_VERSIONS, 3, 20_000);
    convicted::<Server<Mutant>>(&PUT_CHECKS_READERS, 20_000);
    convicted::<Server<Mutant>>(&REMOTE_CHECKS_READERS, 20_000);
    convicted::<Server<Mutant>>(&REMOTE_CHECKS_DEPS, 20_000);
    convicted::<Server<Mutant>>(&READERS_GROW_OLD, 20_000);
    convicted::<Server<Mutant>>(&HIDDEN_IS_HANDED_ON, 20_000);
    convicted::<Server<Mutant>>(&OLD_VERSIONS_KEPT, 20_000);
    convicted::<Server<Mutant>>(&ARRIVALS_WAIT, 20_000);
    convicted_over::<Server<Mutant>>(&DECIDED_IS_A_CAUSE, 3, 20_000);
    convicted::<Server<Mutant>>(&FLOOR_SURVIVES, 20_000);
}

/// Half a second is longer than most schedules: records are dropped sooner.
#[test]
fn cc_lo_that_forgets_who_has_read_is_convicted() {
    let forgetful = Options { params: [("collect_us".into(), 3_000.into())].into(), ..few() };
    convicted_under::<Server<Mutant>>(&REFUSES_OLD, forgetful.clone(), 20_000);
    convicted_under::<Server<Mutant>>(&FLOOR_TRAVELS, forgetful, 20_000);
}
