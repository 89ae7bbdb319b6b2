//! CC-LO with one rule broken at a time.

mod mutants;

use mutants::{convicted, convicted_over, convicted_under, few};
use tidemark_protocols::cc_lo::{Rules, Server};
use tidemark_sim::Options;

mutants! {
    TimeIsACut breaks HIDES_VERSIONS;
    OldIsRead breaks REFUSES_OLD;
    FloorStays breaks FLOOR_TRAVELS;
    FloorLost breaks FLOOR_SURVIVES;
    PutAsksNobody breaks PUT_CHECKS_READERS;
    RemoteAsksNobody breaks REMOTE_CHECKS_READERS;
    RemoteIsApplied breaks REMOTE_CHECKS_DEPS;
    ReadersStayYoung breaks READERS_GROW_OLD;
    HiddenEndsHere breaks HIDDEN_IS_HANDED_ON;
    OldVersionsGo breaks OLD_VERSIONS_KEPT;
    DecidedIsNoCause breaks DECIDED_IS_A_CAUSE;
    ArrivesAtOnce breaks ARRIVALS_WAIT;
}

/// That a write lies above what it depends on has a step test only: of one key it does anyhow, for a server's clock is above
/// all that it holds, and of different keys nothing rests on it.
#[test]
fn cc_lo_with_a_rule_broken_is_convicted() {
    convicted_over::<Server<TimeIsACut>>(3, 20_000);
    convicted::<Server<PutAsksNobody>>(20_000);
    convicted::<Server<RemoteAsksNobody>>(20_000);
    convicted::<Server<RemoteIsApplied>>(20_000);
    convicted::<Server<ReadersStayYoung>>(20_000);
    convicted::<Server<HiddenEndsHere>>(20_000);
    convicted::<Server<OldVersionsGo>>(20_000);
    convicted::<Server<ArrivesAtOnce>>(20_000);
    convicted_over::<Server<DecidedIsNoCause>>(3, 20_000);
    convicted::<Server<FloorLost>>(20_000);
}

/// Half a second is longer than most schedules: records are dropped sooner.
#[test]
fn cc_lo_that_forgets_who_has_read_is_convicted() {
    let forgetful = Options { params: [("collect_us".into(), 3_000.into())].into(), ..few() };
    convicted_under::<Server<OldIsRead>>(forgetful.clone(), 20_000);
    convicted_under::<Server<FloorStays>>(forgetful, 20_000);
}
