//! Which rules schedules show to be needed: what is played without each.
//!
//! A rule that is not here has step tests, in `crates/steps/tests`: where the reason is known, it is said.

use crate::playing::Search;
use serde_json::Value;
use tidemark_contract::Rule;
use tidemark_protocols::*;
use tidemark_sim::{Faults, Options};

mod default;
pub(crate) mod synced;
pub(crate) use default::tidemark;

/// A rule that is switched off, the options of schedules, and how long one that violates something is searched for.
#[derive(Clone)]
pub(crate) struct Mutant {
    pub(crate) rule: Rule,
    pub(crate) options: Options,
    pub(crate) search: Search,
}

pub(crate) type Mutants = Vec<Mutant>;

/// The seeds among which the first violation of a rule of [`each`] is found.
const MOST: u64 = 4_000;

/// Each rule on its own.
fn each(options: Options, rules: &[Rule]) -> Mutants {
    with_search(options, rules, Search::Within(MOST))
}

/// Rules whose first violation takes more than [`MOST`] schedules: `tests/seeds.txt` has the seed at which a search found one.
fn rare(options: Options, rules: &[Rule]) -> Mutants {
    with_search(options, rules, Search::Stored)
}

fn with_search(options: Options, rules: &[Rule], search: Search) -> Mutants {
    rules.iter().map(|rule| Mutant { rule: *rule, options: options.clone(), search }).collect()
}

/// A few actors, all faults of servers.
pub(crate) fn few() -> Options {
    Options { dcs: 2, partitions: 2, sessions: 4, ops: 40, faults: Faults::OF_SERVERS, ..Options::default() }
}

/// Three partitions in each data centre.
fn wider() -> Options {
    Options { partitions: 3, ..few() }
}

/// Three data centres.
fn farther() -> Options {
    Options { dcs: 3, ..few() }
}

/// Commands of data types among the operations, and all faults.
fn typed() -> Options {
    Options { partitions: 2, sessions: 6, ops: 60, typed: 80, ..Options::default() }
}

/// Interactive transactions among the operations.
fn interactive() -> Options {
    Options { interactive: 30, ..few() }
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

/// Rules that schedules showed to be needed which are drawn otherwise by now: none of 190,000 does any more. Each is to have a seed again,
/// or a step test. `SAFE_FENCE_COVERS_L` had one with 60 of a hundred operations typed and 30 transactions of a hundred interactive.
pub(crate) const SOUGHT: [(&str, Rule); 1] =
    [(Tidemark::INFO.name, tidemark_protocols::tidemark::SAFE_FENCE_COVERS_L)];

/// A checking group that answers while it forms shows less, which is over before last words are read: `FORMING_GROUP_IS_SILENT` has a step
/// test only.
pub(crate) fn accf() -> (&'static str, Mutants) {
    use tidemark_protocols::accf::*;
    let by_server =
        [("tracking", "region".into()), ("checking", "server".into()), ("collect_after_us", 0.into())];
    let mutants = [
        each(few(), &[READS_ARE_DEPENDENCIES, GET_WAITS, PUT_KEEPS_DS, SNAPSHOT_HOLDS_DS, PUT_ABOVE_DS]),
        each(few(), &[SLICE_WAITS, SLICE_LEAVES_OUT, LATE_SLICE_IS_REFUSED]),
        // Erratum E-7, each half on its own.
        each(few(), &[STABLE_IF_COVERED, LEAST_OF_GROUP]),
        // Groups change while the schedule runs.
        each(few(), &[TRACKING_IS_MARKED]),
        // What may be gone goes at once, and each server alone says what may.
        rare(with(by_server, few()), &[FLOOR_HOLDS]),
        // A server restarts with a clock that is behind what it announced, and others have gone on by that.
        rare(few(), &[STAMPS_SURVIVE]),
        // A later write slips between two slices of one transaction.
        rare(wider(), &[SLICE_LIFTS_CLOCK]),
    ];
    (Accf::INFO.name, mutants.concat())
}

pub(crate) fn causal_spartan_x() -> (&'static str, Mutants) {
    use tidemark_protocols::causal_spartan_x::*;
    let mutants = [
        each(few(), &[UT_MUST_BE_STABLE, PUT_MERGES_DS, STABLE_STAYS_HOME, STABLE_SURVIVES]),
        // The fence of a transaction lies above a server's clock only where another server of the data centre put it.
        // The transaction must then meet two servers that are behind it, so this takes three.
        each(wider(), &[PUT_ABOVE_DSV, SLICE_LIFTS]),
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
        ARRIVALS_WAIT,
    ];
    let mutants = [
        each(few(), &rules),
        rare(few(), &[FLOOR_SURVIVES, OLD_VERSIONS_KEPT]),
        rare(wider(), &[HIDES_VERSIONS, DECIDED_IS_A_CAUSE]),
        // Half a second is longer than most schedules: records are dropped sooner.
        each(with([("collect_us", 3_000.into())], few()), &[REFUSES_OLD, FLOOR_TRAVELS]),
    ];
    (CcLo::INFO.name, mutants.concat())
}

pub(crate) fn contrarian() -> (&'static str, Mutants) {
    use tidemark_protocols::contrarian::*;
    let through = |options| with([("rounds", "one-and-a-half".into())], options);
    let mutants = [
        each(few(), &[SV_COVERS_DV, PUT_ABOVE_DV, STABLE_STAYS_HOME]),
        rare(few(), &[REFUSES_COLLECTED]),
        each(wider(), &[READ_LIFTS_CLOCK]),
        // What a transaction rests on is the same when its coordinator asks for it.
        each(through(wider()), &[READ_LIFTS_CLOCK]),
        each(through(few()), &[SV_COVERS_DV]),
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
    (Cops::INFO.name, each(few(), &rules))
}

pub(crate) fn cops_gt() -> (&'static str, Mutants) {
    use tidemark_protocols::cops_gt::*;
    let mutants = [
        each(few(), &[ASKS_SIBLINGS, SECOND_ROUND, MINDS_FLOORS, APPLIED_SURVIVES, MOVERS_WAIT]),
        rare(few(), &[LISTS_ALL]),
        each(wider(), &[STABLE_IN_ALL]),
        // What is overwritten is dropped at once, and what was dropped is answered with nothing.
        each(with([("trans_time_us", 0.into())], few()), &[REFUSES_DROPPED]),
    ];
    (CopsGt::INFO.name, mutants.concat())
}

/// `GSS_SURVIVES` has a step test only: without it nothing is unsafe.
pub(crate) fn cure() -> (&'static str, Mutants) {
    use tidemark_protocols::cure::*;
    let rules = [
        SNAP_COVERS_SC,
        READ_WAITS_FOR_CLOCK,
        READ_WAITS_FOR_PENDING,
        PREPARE_ABOVE_SNAP,
        ANNOUNCE_BELOW_PENDING,
        STABLE_STAYS_HOME,
        // Both halves of what makes two-phase commit survive crashes: without either, a transaction is torn.
        PREPARED_SURVIVES,
        DECIDED_SURVIVES,
    ];
    // A stream has to stop between two versions of one commit time.
    let late = rare(few(), &[TIMES_ARRIVE_WHOLE]);
    let held = each(interactive(), &[HOLDS_SNAPSHOTS]);
    let mutants = [each(few(), &rules), late, held, each(wider(), &[READ_IS_FENCE])];
    (Cure::INFO.name, mutants.concat())
}

/// Two rules have step tests only, and 100,000 schedules find no violation of an Eiger without: a late slice that does not lift, for which
/// two more servers have to be behind the transaction's time, and be written at between two of its answers; and peers that
/// do not, for which a slice has to be held while a version goes to another data centre and its consequence comes back.
pub(crate) fn eiger() -> (&'static str, Mutants) {
    use tidemark_protocols::eiger::*;
    let rules =
        [SECOND_ROUND, EVT_IS_LOCAL, ASKS_SIBLINGS, APPLIED_SURVIVES, MOVERS_WAIT, TIME_COVERS_SESSION];
    let transactions = [COMMITS_ABOVE_CLOCK, ONE_EVT, ANSWERS_WHEN_SHOWN, DEPS_TRAVEL, WAITS_FOR_PARTS];
    let pending = [PENDING_LIMITS_LVT, ASKS_COORDINATORS, PREPARED_SURVIVES, DECIDED_SURVIVES];
    let mutants = [
        each(few(), &rules),
        each(few(), &transactions),
        each(few(), &pending),
        rare(few(), &[SIBLINGS_LIFT, UPDATES_ASK_TOO]),
        each(wider(), &[ANNOUNCES_BELOW_PENDING]),
        rare(wider(), &[FLOOR_SURVIVES]),
        // What is overwritten is dropped at once, and what was dropped is answered with nothing.
        each(with([("trans_time_us", 0.into())], few()), &[REFUSES_DROPPED]),
    ];
    (Eiger::INFO.name, mutants.concat())
}

/// Four rules have step tests only, because 200,000 schedules find no violation without them: the fence of a transaction survives
/// a restart (`FENCE_SURVIVES`); a stable time goes to the cut at once (`GST_JUMPS`); a session that has passed the time of
/// a readmission waits where that was not passed yet (`MOVERS_CATCH_UP`); a local version needs the `gst` of its PUT
/// (`LOCAL_NEEDS_GST`).
pub(crate) fn gentlerain() -> (&'static str, Mutants) {
    use tidemark_protocols::gentlerain::*;
    // With transactions that never wait.
    let hasty = |options| with([("alpha_us", 0.into())], options);
    let two = [HIDES, ALL_HIDE_FIRST, RETURN_WAITS, MOVERS_WAIT, DELETIONS_LAST];
    let mutants = [
        rare(wider(), &[STAMPS_INCREASE]),
        rare(few(), &[GST_NEVER_FALLS]),
        each(few(), &[PUT_CARRIES_GST, PUT_WAITS, ROTX_WAITS]),
        each(few(), &[STABLE_SURVIVES, STABLE_STAYS_HOME]),
        each(hasty(few()), &[ROTX_COVERS_DT, PUT_TELLS_GST, ONE_GST]),
        rare(hasty(wider()), &[SLICE_FENCES]),
        each(away(2), &two),
        rare(away(2), &[ADMITS_IGNORANCE]),
        each(away(3), &[FETCHES]),
        rare(away(3), &[ONE_CUT]),
    ];
    (GentleRain::INFO.name, mutants.concat())
}

/// A GET that finds an older version than its session knows of looks into the newer one, which often mends what a rule was
/// to prevent. Three rules have a step test only, for what they prevent takes servers of a data centre that differ in
/// their stable time, and a read that does not look: `CHECKS_TELL_GST`, `ASKS_AFTER_OWN` and `FLOOR_IS_ADOPTED`.
pub(crate) fn hybrid() -> (&'static str, Mutants) {
    use tidemark_protocols::hybrid::*;
    let wide = [CAUSES_HAVE_CAUSES, FORGETS_ONLY_EVERYWHERE, STABLE_STAYS_HOME];
    let mutants = [
        each(few(), &[CHECKS_CAUSES, PUT_ABOVE_PAST, ROTX_WAITS, MARKS_SURVIVE, MOVERS_WAIT]),
        each(wider(), &wide),
        rare(wider(), &[PUT_CARRIES_GST]),
        rare(few(), &[STABLE_SURVIVES]),
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
    (tidemark_protocols::NuKv::INFO.name, each(few(), &rules))
}

/// D7, D10: with a hybrid clock, which rises with all that arrives, a write wins over what it observed anyway.
pub(crate) fn nukv_physical() -> (&'static str, Mutants) {
    use tidemark_protocols::nukv::*;
    (tidemark_protocols::NuKvPhysical::INFO.name, each(few(), &[PUT_ABOVE_DT, PUT_ABOVE_OBSERVED]))
}

pub(crate) fn occult() -> (&'static str, Mutants) {
    use tidemark_protocols::occult::*;
    let mutants = [
        each(
            few(),
            &[READS_ARE_VALIDATED, SETS_ARE_VALIDATED, READS_JOIN_CT, UPDATES_DEPEND_ON_CT, CT_MOVES],
        ),
        // Write transactions.
        each(few(), &[NAMES_ALL_SHARDS, WRITES_IN_ORDER, WRITES_ABOVE_CT, SHARDS_ARRIVE_WHOLE]),
        each(few(), &[PREPARED_SURVIVES, DECIDED_SURVIVES]),
        rare(few(), &[COMMIT_TIMES_DIFFER]),
    ];
    (Occult::INFO.name, mutants.concat())
}

pub(crate) fn okapi() -> (&'static str, Mutants) {
    use tidemark_protocols::okapi::*;
    let rules = [UT_IS_STABLE, USV_COVERS_DS, PUT_ABOVE_DS, HOME_MUST_BE_STABLE];
    let mutants = [
        each(few(), &rules),
        rare(few(), &[SNAPSHOT_HOLDS_DS, STABLE_SURVIVES]),
        // That a version's own time says all takes that its causes are everywhere: in a third data centre too.
        each(farther(), &[EVERY_DC_HAS_IT]),
        each(wider(), &[SLICE_LIFTS_CLOCK]),
        rare(typed(), &[DS_IS_STABLE]),
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
        each(few(), &rules),
        // Between two data centres the order of installation says what the own row says: its checks take a third.
        rare(farther(), &[CHECKS_OWN_ROW]),
    ];
    (Orbe::INFO.name, mutants.concat())
}

pub(crate) fn pocc() -> (&'static str, Mutants) {
    use tidemark_protocols::pocc::*;
    let rules = [GET_WAITS, SLICE_WAITS, SV_COVERS_DV, PUT_ABOVE_DV, MOVED_READS_WAIT];
    let mutants = [each(few(), &rules), each(wider(), &[SLICE_LIFTS_CLOCK]), rare(few(), &[STABLE_SURVIVES])];
    (Pocc::INFO.name, mutants.concat())
}

/// Two have step tests only: `DEPENDS_ON_RDT` matters after a restart whose region hears nothing of another one, and without
/// `RDT_IS_COVERED` nothing is unsafe.
pub(crate) fn wren() -> (&'static str, Mutants) {
    use tidemark_protocols::wren::*;
    let rules = [
        START_COVERS_SESSION,
        REMOTE_BELOW_LOCAL,
        ANNOUNCE_BELOW_PENDING,
        STABLE_STAYS_HOME,
        // What a session has written itself.
        READS_OWN_WRITES,
        OTHERS_WAIT_FOR_OWN,
        // Both halves of what makes two-phase commit survive crashes: without either, a transaction is torn.
        PREPARED_SURVIVES,
        DECIDED_SURVIVES,
    ];
    // As of Cure; and a session has to read what it wrote, another deleted later, and nobody holds any more.
    let late = rare(few(), &[TIMES_ARRIVE_WHOLE, SNAPSHOTS_OVERRULE_OWN]);
    let held = rare(interactive(), &[HOLDS_SNAPSHOTS]);
    let mutants = [each(few(), &rules), late, held, each(wider(), &[COMMIT_ABOVE_HWT])];
    (Wren::INFO.name, mutants.concat())
}
