//! Which rules schedules show to be needed: what is played without each, and how many schedules have to do.
//!
//! A rule that is not here has step tests, in `crates/protocols/tests`: where the reason is known, it is said.

use serde_json::Value;
use tidemark_contract::Rule;
use tidemark_protocols::*;
use tidemark_sim::Options;

/// A rule that is switched off, the options of schedules, and how many there are, counted from seed 0.
pub(crate) type Mutants = Vec<(Rule, Options, u64)>;

/// Each rule on its own.
fn each(options: Options, seeds: u64, rules: &[Rule]) -> Mutants {
    rules.iter().map(|rule| (*rule, options.clone(), seeds)).collect()
}

/// A few actors, all faults.
pub(crate) fn few() -> Options {
    Options { dcs: 2, partitions: 2, sessions: 4, ops: 40, ..Options::default() }
}

/// Three partitions in each data centre.
fn wider() -> Options {
    Options { partitions: 3, ..few() }
}

/// Three data centres.
fn farther() -> Options {
    Options { dcs: 3, ..few() }
}

/// Where an operator excludes a data centre that is cut off, and readmits it.
pub(crate) fn away(dcs: usize) -> Options {
    Options { dcs, sessions: 2 * dcs, exclusions: true, ..few() }
}

/// Other numbers of the protocol.
fn with<const N: usize>(params: [(&str, Value); N], options: Options) -> Options {
    Options { params: params.map(|(name, value)| (name.to_string(), value)).into(), ..options }
}

/// Rules that nothing unsafe happens without: schedules are too small to have so many dependencies that they are named no longer
/// one by one, and without these rules that is so beyond two.
pub(crate) const SAFE: [(&str, Rule); 2] = [
    (Cops::INFO.name, tidemark_protocols::cops::LISTS_ARE_LONG),
    (Hybrid::INFO.name, tidemark_protocols::hybrid::LISTS_ARE_LONG),
];

/// Mutants whose violation takes more schedules than a run of the tests plays. `tidemark sim` plays them by hand, with the options and the
/// number of schedules of this table, which are those of schedules over partitions alone; over nodes some have not been found yet.
pub(crate) const RARE: &[(&str, &str)] = &[
    ("accf", "SLICE_LIFTS_CLOCK"),
    ("accf", "STAMPS_SURVIVE"),
    ("causal-spartan-x", "PUT_ABOVE_DSV"),
    ("causal-spartan-x", "SLICE_LIFTS"),
    ("cc-lo", "DECIDED_IS_A_CAUSE"),
    ("cc-lo", "FLOOR_SURVIVES"),
    ("cc-lo", "FLOOR_TRAVELS"),
    ("cc-lo", "HIDDEN_IS_HANDED_ON"),
    ("cc-lo", "HIDES_VERSIONS"),
    ("cc-lo", "OLD_VERSIONS_KEPT"),
    ("cc-lo", "READERS_GROW_OLD"),
    ("cc-lo", "REFUSES_OLD"),
    ("cc-lo", "REMOTE_CHECKS_READERS"),
    ("contrarian", "REFUSES_COLLECTED"),
    ("cops-gt", "LISTS_ALL"),
    ("cops-gt", "MINDS_FLOORS"),
    ("cops-gt", "REFUSES_DROPPED"),
    ("cure", "TIMES_ARRIVE_WHOLE"),
    ("eiger", "EVT_IS_LOCAL"),
    ("eiger", "SIBLINGS_LIFT"),
];

pub(crate) fn accf() -> (&'static str, Mutants) {
    use tidemark_protocols::accf::*;
    let by_region = [("tracking", "region".into()), ("checking", "region".into())];
    let by_server =
        [("tracking", "region".into()), ("checking", "server".into()), ("collect_after_us", 0.into())];
    let mutants = [
        each(few(), 1_000, &[READS_ARE_DEPENDENCIES, GET_WAITS, PUT_KEEPS_DS, SNAPSHOT_HOLDS_DS]),
        each(few(), 2_000, &[PUT_ABOVE_DS, SLICE_WAITS, SLICE_LEAVES_OUT]),
        each(few(), 4_000, &[LATE_SLICE_IS_REFUSED]),
        // Erratum E-7, each half on its own.
        each(few(), 1_000, &[STABLE_IF_COVERED]),
        each(few(), 2_000, &[LEAST_OF_GROUP]),
        // A later write has to slip between two slices of one transaction.
        each(wider(), 20_000, &[SLICE_LIFTS_CLOCK]),
        // A server has to restart with a clock that is behind what it announced, and others to have gone on by that: one
        // schedule in some thousands.
        each(Options { sessions: 8, ops: 80, ..with(by_region, few()) }, 40_000, &[STAMPS_SURVIVE]),
        // Groups change while the schedule runs.
        each(few(), 4_000, &[FORMING_GROUP_IS_SILENT]),
        each(few(), 2_000, &[TRACKING_IS_MARKED]),
        // What may be gone goes at once, and each server alone says what may.
        each(with(by_server, few()), 20_000, &[FLOOR_HOLDS]),
    ];
    (Accf::INFO.name, mutants.concat())
}

pub(crate) fn causal_spartan_x() -> (&'static str, Mutants) {
    use tidemark_protocols::causal_spartan_x::*;
    let mutants = [
        each(few(), 20_000, &[UT_MUST_BE_STABLE, PUT_MERGES_DS, STABLE_STAYS_HOME, STABLE_SURVIVES]),
        // The fence of a transaction lies above a server's clock only where another server of the data centre put it.
        // The transaction must then meet two servers that are behind it, so this takes three.
        each(wider(), 20_000, &[PUT_ABOVE_DSV, SLICE_LIFTS]),
    ];
    (CausalSpartanX::INFO.name, mutants.concat())
}

/// That a write lies above what it depends on has a step test only: of one key it does anyhow, for a server's clock is above
/// all that it holds, and of different keys nothing rests on it.
pub(crate) fn cc_lo() -> (&'static str, Mutants) {
    use tidemark_protocols::cc_lo::*;
    let rules = [
        PUT_CHECKS_READERS,
        REMOTE_CHECKS_READERS,
        REMOTE_CHECKS_DEPS,
        READERS_GROW_OLD,
        HIDDEN_IS_HANDED_ON,
        OLD_VERSIONS_KEPT,
        ARRIVALS_WAIT,
        FLOOR_SURVIVES,
    ];
    let mutants = [
        each(few(), 20_000, &rules),
        each(wider(), 20_000, &[HIDES_VERSIONS, DECIDED_IS_A_CAUSE]),
        // Half a second is longer than most schedules: records are dropped sooner.
        each(with([("collect_us", 3_000.into())], few()), 20_000, &[REFUSES_OLD, FLOOR_TRAVELS]),
    ];
    (CcLo::INFO.name, mutants.concat())
}

pub(crate) fn contrarian() -> (&'static str, Mutants) {
    use tidemark_protocols::contrarian::*;
    let through = |options| with([("rounds", "one-and-a-half".into())], options);
    let mutants = [
        each(few(), 20_000, &[SV_COVERS_DV, PUT_ABOVE_DV, REFUSES_COLLECTED, STABLE_STAYS_HOME]),
        each(wider(), 20_000, &[READ_LIFTS_CLOCK]),
        // What a transaction rests on is the same when its coordinator asks for it.
        each(through(wider()), 20_000, &[READ_LIFTS_CLOCK]),
        each(through(few()), 20_000, &[SV_COVERS_DV, REFUSES_COLLECTED]),
    ];
    (Contrarian::INFO.name, mutants.concat())
}

pub(crate) fn cops() -> (&'static str, Mutants) {
    use tidemark_protocols::cops::*;
    let rules = [
        READS_ARE_NEAR,
        PUT_IS_NEAR,
        ASKS_SIBLINGS,
        WAITS_FOR_CHECKS,
        LOSERS_WAIT,
        APPLIED_SURVIVES,
        WAITING_SURVIVES,
        FORGETS_ONLY_EVERYWHERE,
        MOVERS_WAIT,
        SPARES_WAITING,
    ];
    (Cops::INFO.name, each(few(), 20_000, &rules))
}

pub(crate) fn cops_gt() -> (&'static str, Mutants) {
    use tidemark_protocols::cops_gt::*;
    let mutants = [
        each(few(), 20_000, &[ASKS_SIBLINGS, SECOND_ROUND, MINDS_FLOORS, APPLIED_SURVIVES, MOVERS_WAIT]),
        each(wider(), 20_000, &[LISTS_ALL, STABLE_IN_ALL]),
        // What is overwritten is dropped at once, and what was dropped is answered with nothing.
        each(with([("trans_time_us", 0.into())], few()), 20_000, &[REFUSES_DROPPED]),
    ];
    (CopsGt::INFO.name, mutants.concat())
}

/// `GSS_SURVIVES`, without which nothing is unsafe, has a step test only.
pub(crate) fn cure() -> (&'static str, Mutants) {
    use tidemark_protocols::cure::*;
    let rules = [
        SNAP_COVERS_SC,
        READ_WAITS_FOR_CLOCK,
        READ_WAITS_FOR_PENDING,
        PREPARE_ABOVE_SNAP,
        ANNOUNCE_BELOW_PENDING,
        TIMES_ARRIVE_WHOLE,
        STABLE_STAYS_HOME,
        // Both halves of what makes two-phase commit survive crashes: without either, a transaction is torn.
        PREPARED_SURVIVES,
        DECIDED_SURVIVES,
    ];
    let mutants = [each(few(), 20_000, &rules), each(wider(), 20_000, &[READ_IS_FENCE])];
    (Cure::INFO.name, mutants.concat())
}

/// Two rules have step tests only, and 100,000 schedules find no violation of an Eiger without: a late slice that does not lift, for which
/// two more servers have to be behind the transaction's time, and be written at between two of its answers; and peers that
/// do not, for which a slice has to be held while a version goes to another data centre and its consequence comes back.
pub(crate) fn eiger() -> (&'static str, Mutants) {
    use tidemark_protocols::eiger::*;
    let rules = [SECOND_ROUND, EVT_IS_LOCAL, ASKS_SIBLINGS, APPLIED_SURVIVES, MOVERS_WAIT, SIBLINGS_LIFT];
    let mutants = [
        each(few(), 20_000, &rules),
        each(wider(), 20_000, &[FLOOR_SURVIVES]),
        // What is overwritten is dropped at once, and what was dropped is answered with nothing.
        each(with([("trans_time_us", 0.into())], few()), 20_000, &[REFUSES_DROPPED]),
    ];
    (Eiger::INFO.name, mutants.concat())
}

/// Three rules have step tests only, because 20,000 schedules find no violation without them: the fence of a transaction survives
/// a restart (`FENCE_SURVIVES`); a stable time goes to the cut at once (`GST_JUMPS`); and a session that has passed the time of
/// a readmission waits where that was not passed yet (`MOVERS_CATCH_UP`).
pub(crate) fn gentlerain() -> (&'static str, Mutants) {
    use tidemark_protocols::gentlerain::*;
    // With transactions that never wait.
    let hasty = |options| with([("alpha_us", 0.into())], options);
    let two = [HIDES, ALL_HIDE_FIRST, ADMITS_IGNORANCE, RETURN_WAITS, MOVERS_WAIT, DELETIONS_LAST];
    let mutants = [
        each(wider(), 20_000, &[STAMPS_INCREASE]),
        each(few(), 20_000, &[PUT_CARRIES_GST, GST_NEVER_FALLS, PUT_WAITS, ROTX_WAITS]),
        each(few(), 20_000, &[STABLE_SURVIVES, STABLE_STAYS_HOME]),
        each(hasty(few()), 20_000, &[ROTX_COVERS_DT, LOCAL_NEEDS_GST, PUT_TELLS_GST, ONE_GST]),
        each(hasty(wider()), 20_000, &[SLICE_FENCES]),
        each(away(2), 20_000, &two),
        each(away(3), 20_000, &[ONE_CUT, FETCHES]),
    ];
    (GentleRain::INFO.name, mutants.concat())
}

/// A GET that finds an older version than its session knows of looks into the newer one, which often mends what a rule was
/// to prevent. Three rules have a step test only, for what they prevent takes servers of a data centre that differ in
/// their stable time, and a read that does not look: `CHECKS_TELL_GST`, `ASKS_AFTER_OWN` and `FLOOR_IS_ADOPTED`.
pub(crate) fn hybrid() -> (&'static str, Mutants) {
    use tidemark_protocols::hybrid::*;
    let wide = [CAUSES_HAVE_CAUSES, PUT_CARRIES_GST, FORGETS_ONLY_EVERYWHERE, STABLE_STAYS_HOME];
    let mutants = [
        each(few(), 20_000, &[CHECKS_CAUSES, PUT_ABOVE_PAST, ROTX_WAITS, MARKS_SURVIVE, MOVERS_WAIT]),
        each(wider(), 20_000, &wide),
        each(wider(), 40_000, &[STABLE_SURVIVES]),
    ];
    (Hybrid::INFO.name, mutants.concat())
}

pub(crate) fn nukv() -> (&'static str, Mutants) {
    use tidemark_protocols::nukv::*;
    let rules = [
        READS_WAIT,
        SV_SURVIVES,
        WRITES_ANSWER_IDX,
        TIES_ARE_BROKEN,
        DT_COVERS_READS,
        DT_COVERS_WRITES,
        PUT_ABOVE_DT,
        PAST_MOVES,
    ];
    (tidemark_protocols::NuKv::INFO.name, each(few(), 5_000, &rules))
}

/// D7, D10: with a hybrid clock, which rises with all that arrives, a write wins over what it observed anyway.
pub(crate) fn nukv_physical() -> (&'static str, Mutants) {
    use tidemark_protocols::nukv::*;
    (tidemark_protocols::NuKvPhysical::INFO.name, each(few(), 5_000, &[PUT_ABOVE_DT, PUT_ABOVE_OBSERVED]))
}

pub(crate) fn occult() -> (&'static str, Mutants) {
    use tidemark_protocols::occult::*;
    let rules = [READS_ARE_VALIDATED, SETS_ARE_VALIDATED, READS_JOIN_CT, UPDATES_DEPEND_ON_CT, CT_MOVES];
    (Occult::INFO.name, each(few(), 20_000, &rules))
}

pub(crate) fn okapi() -> (&'static str, Mutants) {
    use tidemark_protocols::okapi::*;
    let rules =
        [UT_IS_STABLE, USV_COVERS_DS, SNAPSHOT_HOLDS_DS, PUT_ABOVE_DS, STABLE_SURVIVES, HOME_MUST_BE_STABLE];
    let mutants = [
        each(few(), 20_000, &rules),
        // That a version's own time says all takes that its causes are everywhere: in a third data centre too.
        each(farther(), 20_000, &[EVERY_DC_HAS_IT]),
        each(wider(), 20_000, &[SLICE_LIFTS_CLOCK]),
    ];
    (Okapi::INFO.name, mutants.concat())
}

/// Two rules have step tests only: 20,000 schedules find no violation of an Orbe whose slices do not wait for the clock,
/// or do not lift it.
pub(crate) fn orbe() -> (&'static str, Mutants) {
    use tidemark_protocols::orbe::*;
    let rules = [
        READS_ARE_DEPENDENCIES,
        PUT_ABOVE_DM,
        CHECKS_OTHER_ROWS,
        IN_ORDER,
        ARRIVAL_WAITS,
        ST_COVERS_DT,
        SLICE_WAITS_FOR_PEERS,
        COLLECTS_AT_SAFE,
        STABLE_SURVIVES,
        RECEIVED_WAITS_AGAIN,
    ];
    let mutants = [
        each(few(), 20_000, &rules),
        // Between two data centres the order of installation says what the own row says: its checks take a third.
        each(farther(), 20_000, &[CHECKS_OWN_ROW]),
    ];
    (Orbe::INFO.name, mutants.concat())
}

pub(crate) fn pocc() -> (&'static str, Mutants) {
    use tidemark_protocols::pocc::*;
    let rules = [GET_WAITS, SLICE_WAITS, SV_COVERS_DV, PUT_ABOVE_DV, STABLE_SURVIVES, MOVED_READS_WAIT];
    let mutants = [each(few(), 20_000, &rules), each(wider(), 20_000, &[SLICE_LIFTS_CLOCK])];
    (Pocc::INFO.name, mutants.concat())
}

pub(crate) fn tidemark() -> (&'static str, Mutants) {
    use tidemark_protocols::tidemark::*;
    let rules = [
        PUT_TAKES_DSV,
        DS_IS_NOT_STABLE,
        FRESH_CAUSES_MAY_LACK,
        NEED_UNDER_FENCE,
        COLLECTS_AT_SAFE,
        EXCEPTIONS_UNTIL_SAFE,
        STABLE_SURVIVES,
        STABLE_STAYS_HOME,
    ];
    let mutants = [
        each(few(), 20_000, &rules),
        // A fence lies above a server's clock only where another server put it, and a transaction must meet two that are
        // behind: three.
        each(wider(), 20_000, &[GET_FENCES, PUT_TAKES_FENCE, PUT_ABOVE_FENCE, SLICE_LIFTS]),
        each(wider(), 40_000, &[SLICE_FENCES]),
        each(wider(), 20_000, &[FENCE_SURVIVES]),
    ];
    (Tidemark::INFO.name, mutants.concat())
}

/// Two have step tests only: `DEPENDS_ON_RDT` matters after a restart whose region hears nothing of another one, and without
/// `RDT_IS_COVERED` nothing is unsafe.
pub(crate) fn wren() -> (&'static str, Mutants) {
    use tidemark_protocols::wren::*;
    let rules = [
        START_COVERS_SESSION,
        REMOTE_BELOW_LOCAL,
        ANNOUNCE_BELOW_PENDING,
        TIMES_ARRIVE_WHOLE,
        STABLE_STAYS_HOME,
        // What a session has written itself.
        READS_OWN_WRITES,
        OTHERS_WAIT_FOR_OWN,
        // Both halves of what makes two-phase commit survive crashes: without either, a transaction is torn.
        PREPARED_SURVIVES,
        DECIDED_SURVIVES,
    ];
    let mutants = [each(few(), 20_000, &rules), each(wider(), 20_000, &[COMMIT_ABOVE_HWT])];
    (Wren::INFO.name, mutants.concat())
}
