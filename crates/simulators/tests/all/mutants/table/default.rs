//! The default protocol.

use super::*;
use std::collections::BTreeMap;

/// Nine have step tests only. In no schedule of 60,000 or more is something met: a fence that a restart loses (`FENCE_SURVIVES`), or a
/// slice (`SLICE_FENCES`); a transaction that stays prepared until a later deletion is forgotten (`TOMBSTONES_UNTIL_L`); a participant that
/// commits and whose stable vector is older than what the transaction needs (`APPLYING_TAKES_NEED`); a session that comes home and has
/// read more there than is shown here (`MOVERS_WAIT_FOR_L`); a cause of a transaction that its own region shows and another one lacks
/// (`TRANSACTIONS_HAVE_CAUSES`, `DEPENDS_ON_SEEN`, `SURE_IF_NOTHING_IS_ADDED`); a stream that stops between two versions of one time (`TIMES_ARRIVE_WHOLE`).
pub(crate) fn tidemark() -> (&'static str, Mutants) {
    use tidemark_protocols::tidemark::*;
    let rules = [
        PUT_TAKES_DSV,
        DS_IS_NOT_STABLE,
        PUT_ABOVE_FENCE,
        FRESH_CAUSES_MAY_LACK,
        NEED_UNDER_FENCE,
        COLLECTS_AT_SAFE,
        EXCEPTIONS_UNTIL_SAFE,
        STABLE_SURVIVES,
        STABLE_STAYS_HOME,
        // Write transactions.
        SERVERS_TAKE_L,
        SESSIONS_KEEP_L,
        SNAPSHOT_HAS_L,
        SNAPSHOT_NEEDS_L,
        NEED_L_UNTIL_SAFE,
        DS_HAS_TIME,
        ANNOUNCES_BELOW_PREPARED,
        PROPOSES_ABOVE_CLOCK,
        PROPOSES_ABOVE_CAUSES,
        PREPARED_SURVIVES,
        DECIDED_SURVIVES,
        SURE_OF_ONE_TIME,
        SURE_IF_FIRST,
        DOUBT_ENDS_AT_L,
        SHOWN_SURVIVES,
        ANSWERS_WHEN_SHOWN,
    ];
    let late = [
        GET_FENCES,
        PUT_TAKES_FENCE,
        CAUSES_NEED_L,
        VERSIONS_NEED_L,
        UPTO_IS_ANNOUNCED,
        WRITTEN_TOGETHER,
        GET_NEEDS_L,
    ];
    let looking = [
        SNAPSHOTS_ARE_PINNED,
        HOLDS_SNAPSHOTS,
        INTENTIONS_CONTEND,
        CONDITIONS_WAIT,
        LOOKS_AGAIN,
        HIDDEN_COUNTS,
    ];
    let mutants = [
        each(few(), &rules),
        rare(few(), &late),
        // A fence lies above a server's clock only where another server put it, and a transaction must meet two that are
        // behind: three.
        each(wider(), &[SLICE_LIFTS]),
        each(Options { typed: 60, ..few() }, &[VIEWS_HAVE_NAMES]),
        // Interactive transactions, updates that look before they write, and both at once.
        each(interactive(), &looking),
        rare(interactive(), &[LOOKS_LIFT, WHO_YIELDS_IS_REFUSED]),
        rare(Options { typed: 60, ..interactive() }, &[TRANSACTIONS_STAND_APART]),
        rare(Options { partitions: 3, ..interactive() }, &[PINNED_STAY]),
        // Between two regions a later stamp says it all, and a third one must lack what it does not say.
        rare(Options { partitions: 2, sessions: 6, ops: 80, typed: 85, ..Options::default() }, &[ABSORBS]),
    ];
    (Tidemark::INFO.name, [mutants.concat(), of_bases(), of_losses()].concat())
}

/// A data centre is lost, and excluded for good. Four rules have step tests only: no schedule of 4,000 has a session of the lost one that
/// has seen more than was left and moves (`MOVERS_ARE_REFUSED`), or a stable vector that all but one have forgotten (`CUT_IS_STABLE`,
/// `DOUBTS_ARE_REFUSED`); and that bases go on is no matter of safety (`GONE_IS_NOT_COUNTED`).
fn of_losses() -> Mutants {
    use tidemark_protocols::tidemark::{EXCLUSION_SURVIVES, LOST_IS_HIDDEN, RECORDS_ARE_EQUAL, RECORDS_END};
    let params = BTreeMap::from([("base_regions".to_string(), 3.into())]);
    let lost = Options { dcs: 3, sessions: 6, exclusions: true, interactive: 20, params, ..few() };
    each(lost, &[LOST_IS_HIDDEN, RECORDS_ARE_EQUAL, RECORDS_END, EXCLUSION_SURVIVES])
}

/// Some transactions read what two regions have whole.
fn of_bases() -> Mutants {
    use tidemark_contract::bases::{BASES_NEVER_FALL, ONE_CHOICE_FOR_ALL, OWN_REGION_COVERS};
    use tidemark_protocols::tidemark::{BASES_ARE_CLOSED, BASES_ARE_KEPT};
    let based =
        || Options { params: BTreeMap::from([("base_regions".to_string(), 2.into())]), ..interactive() };
    let early = [BASES_ARE_KEPT, BASES_ARE_CLOSED, OWN_REGION_COVERS, ONE_CHOICE_FOR_ALL];
    [each(based(), &early), rare(based(), &[BASES_NEVER_FALL])].concat()
}
