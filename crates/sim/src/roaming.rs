//! What it costs to roam: users who read in one region and go on in another, while the two are cut off from each
//! other.
//!
//! Source: the dissertation, chapter 6, Theorem 12: under partition no store is available, causal++ (local updates are
//! visible at once) and free of sticky clients. The execution is that of its Proof 23: somebody writes `k1` and then
//! `k2` in A; a traveller reads the new `k2` there, moves to B, and reads `k1`, which B has not received. Something
//! has to give, and each [`Remedy`] gives something else. The traveller has read no new `k1`, so that no cache of its
//! own would help it.
//!
//! Every run is a schedule like those of a campaign, laid out here instead of drawn, and its history goes to the same
//! checker.

use crate::options::Options;
use crate::plan::{Act, ClockPlan, Config, Fault, Layout, Mix, Plan, Step, Trouble};
use crate::rng::{Rng, Stream, stream};
use crate::run::Simulation;
use serde::Serialize;
use std::collections::BTreeMap;
use tidemark_check::{Violation, check};
use tidemark_core::history::{Action, Event, Fate, History};
use tidemark_core::{DcId, Key, Micros, Op, Promise, Stamp, Update, Value, Write};
use tidemark_node::Factory;
use tidemark_store::log::Fsync;

/// What gives when a traveller arrives where its past has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// Consistency: the region serves it at once.
    None,
    /// Availability: it waits until the region covers its past.
    Wait,
    /// Availability: it is refused (`STALESESSION`), and may stay where it was.
    Refuse,
    /// Immediate visibility: where it comes from it reads what is stable only (GET-SNAPSHOT), and so depends on nothing
    /// that is on its way.
    StableReads,
}

impl Remedy {
    /// What gives, in words.
    pub fn gives(self) -> &'static str {
        match self {
            Self::None => "consistency",
            Self::Wait | Self::Refuse => "availability",
            Self::StableReads => "immediacy",
        }
    }

    /// What it does, in words.
    pub fn does(self) -> &'static str {
        match self {
            Self::None => "serve at once",
            Self::Wait => "wait",
            Self::Refuse => "refuse",
            Self::StableReads => "stable reads, then wait",
        }
    }
}

/// What it cost.
#[derive(Clone, Debug, Serialize)]
pub struct Costs {
    /// The protocol.
    pub protocol: &'static str,
    /// What gives.
    pub remedy: Remedy,
    /// How many travellers wanted to move.
    pub moves: usize,
    /// How many of those were refused.
    pub refused: usize,
    /// Violations of causality.
    pub violations: u64,
    /// How long those that moved waited for it.
    pub wait: Spread,
    /// How long what travellers read before they moved had been overwritten in that region.
    pub stale_at_home: Spread,
    /// How long what they read after it had been overwritten anywhere.
    pub stale_away: Spread,
    /// The first violation.
    #[serde(skip)]
    pub violation: Option<Violation>,
    /// Names the run: the same seed gives the same digest.
    pub digest: u64,
}

/// The spread of some durations, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// Half of them are no longer.
    pub p50_us: Micros,
    /// All but one in a hundred are no longer.
    pub p99_us: Micros,
}

impl Spread {
    fn of(mut durations: Vec<Micros>) -> Self {
        durations.sort_unstable();
        let at =
            |percent: usize| durations.get((durations.len() * percent).div_ceil(100).max(1) - 1).copied();
        Self { p50_us: at(50).unwrap_or_default(), p99_us: at(99).unwrap_or_default() }
    }
}

const DCS: usize = 3;
const PARTITIONS: usize = 4;
/// How many travellers there are.
const STORIES: usize = 400;
/// Sessions of one story: two in A, and between them one each in B and C, of which that in C stays away.
const CAST: usize = 2 * DCS;
const BEGIN: Micros = 1_000_000;
const SPAN: Micros = 8_000_000;
/// When A and B lose each other, and find each other again.
const CUT: (Micros, Micros) = (3_000_000, 7_000_000);
const WAN: Micros = 40_000;

/// Lets travellers roam under a protocol.
///
/// # Errors
/// If it has no limit to how long a session waits.
pub fn roam(factory: &'static dyn Factory, remedy: Remedy, seed: u64) -> Result<Costs, String> {
    let mut options = Options {
        dcs: DCS,
        partitions: PARTITIONS,
        sessions: STORIES * CAST,
        ops: STORIES * 6,
        promise: Some(Promise::Causal),
        ..Options::default()
    };
    let patience: Micros = if remedy == Remedy::Refuse { 0 } else { 4 * SPAN };
    options.params.insert("wait_limit_us".to_string(), patience.into());
    options.validate(factory)?;
    let simulation = Simulation::new(factory, options);
    let outcome = simulation.play(&plan(seed, remedy, &simulation.layout));
    let report = check(&outcome.history, Promise::Causal);
    let moved: Vec<&Event> =
        outcome.history.events.iter().filter(|e| matches!(e.action, Action::Adopt { .. })).collect();
    let waited = |event: &&Event| Some(event.end_us? - event.start_us?);
    let (home, away) = staleness(&outcome.history);
    Ok(Costs {
        protocol: factory.name(),
        remedy,
        moves: STORIES,
        refused: STORIES - moved.len(),
        violations: report.violated,
        wait: Spread::of(moved.iter().filter_map(waited).collect()),
        stale_at_home: Spread::of(home),
        stale_away: Spread::of(away),
        violation: report.violations.into_iter().next(),
        digest: outcome.digest,
    })
}

/// The schedule: stories spread evenly, and a cut in the middle.
fn plan(seed: u64, remedy: Remedy, layout: &Layout) -> Plan {
    let mut rng = stream(seed, Stream::Workload);
    let mut scripts = vec![Vec::new(); STORIES * CAST];
    for story in 0..STORIES {
        let at = BEGIN + SPAN * story as u64 / STORIES as u64;
        tell(&mut scripts[story * CAST..][..CAST], story, at, remedy, layout, &mut rng);
    }
    let cut = Trouble::Cut { from: DcId(0), to: DcId(1), partition: None, both_ways: true };
    Plan {
        replicas: 1,
        tick_us: None,
        pools: false,
        typed: false,
        relays: false,
        seed,
        config: config(&mut rng),
        scripts,
        faults: vec![Fault { at: CUT.0, until: CUT.1, what: cut }],
        holds: Vec::new(),
        edge: Vec::new(),
        end_us: BEGIN + SPAN + WAN,
    }
}

/// One story, as Proof 23 tells it.
fn tell(cast: &mut [Vec<Step>], story: usize, at: Micros, remedy: Remedy, layout: &Layout, rng: &mut Rng) {
    let key = |partition: usize, rng: &mut Rng| {
        let keys = &layout.keys[partition];
        keys[rng.usize(0..keys.len())].clone()
    };
    let p = rng.usize(0..PARTITIONS);
    let (k1, k2) = (key(p, rng), key((p + rng.usize(1..PARTITIONS)) % PARTITIONS, rng));
    let write = |key: &Key, version: &str| {
        let value = Value::from(format!("{version}-{story}").as_bytes());
        Act::Op(Op::Put { key: key.clone(), update: Update::put(Write::Assign(value)) })
    };
    let get = |key: &Key| Act::Op(Op::Get { key: key.clone() });
    let soon = |rng: &mut Rng| rng.u64(2_000..10_000);
    // The writer and the traveller at home are in A, the traveller away in B.
    let (writer, home, away) = (0, DCS, 1);
    let mut now = at;
    cast[writer].push(Step::new(now, get(&k1)));
    now += soon(rng);
    cast[writer].push(Step::new(now, write(&k1, "k1")));
    cast[writer].push(Step::new(now, write(&k2, "k2")));
    now += soon(rng);
    let read = match remedy {
        Remedy::StableReads => Act::Op(Op::Snapshot { keys: vec![k2.clone()] }),
        _ => get(&k2),
    };
    cast[home].push(Step::new(now, read));
    now += rng.u64(10_000..60_000); // on the way
    let from = story * CAST + home;
    let moves = if remedy == Remedy::None { Act::Move(from) } else { Act::Adopt(from) };
    let steps = [moves, get(&k1), get(&k2)];
    cast[away].extend(steps.map(|act| Step::new(now, act)));
}

/// Quiet numbers: what is measured is the cut.
fn config(rng: &mut Rng) -> Config {
    let nodes = DCS * PARTITIONS;
    let clock = |_| ClockPlan { offset_us: rng.i64(-2_000..=2_000), drift_ppm: 0, grain_us: 1 };
    Config {
        clocks: (0..nodes).map(clock).collect(),
        partitions_a_node: 1,
        fsync: Fsync::No,
        loses: false,
        varies: false,
        sync_us: 0,
        lan_us: 250,
        lan_jitter_us: 250,
        wan_us: vec![WAN; DCS * DCS],
        wan_jitter_percent: 10,
        late_percent: 0,
        late_factor: 4,
        theta_us: vec![5_000; nodes],
        delta_us: vec![5_000; nodes],
        boot_us: vec![0; nodes],
        pieces: false,
        max_skew_us: 60_000_000,
        deadline_us: 4 * SPAN,
        upkeep_us: 100_000,
        spacing_us: 1_000,
        overlap_percent: 10,
        keys_a_partition: 6,
        mix: Mix::default(),
        parts: tidemark_node::PartSizes::default(),
        segment_bytes: 1 << 20,
        snapshot_bytes: 1 << 20,
        deep: false,
    }
}

/// For what travellers read at home, and after they moved: for how long a newer version had been acknowledged, in the
/// region or anywhere.
fn staleness(history: &History) -> (Vec<Micros>, Vec<Micros>) {
    let mut versions: BTreeMap<&Key, Vec<(Stamp, DcId, Micros)>> = BTreeMap::new();
    for event in &history.events {
        if let (Action::Write { key, version: Some(version), .. }, Some(end_us)) =
            (&event.action, event.end_us)
        {
            versions.entry(key).or_default().push((*version, event.dc, end_us));
        }
    }
    let moved = |event: &Event| {
        let here = history.events.iter().filter(|e| e.session == event.session);
        here.take_while(|e| *e != event).any(|e| matches!(e.action, Action::Adopt { .. }))
    };
    let (mut home, mut away) = (Vec::new(), Vec::new());
    for event in history.events.iter().filter(|e| e.fate == Fate::Ok) {
        let (Action::Read { reads, .. }, Some(start_us)) = (&event.action, event.start_us) else { continue };
        let is_writer = (event.session.0 as usize).is_multiple_of(CAST);
        let is_home = event.dc == DcId(0);
        if is_writer || !is_home && !moved(event) {
            continue;
        }
        for read in reads {
            let newer = versions.get(&read.key).into_iter().flatten().filter(|(version, dc, end_us)| {
                Some(*version) > read.found.stamp && *end_us < start_us && (!is_home || *dc == event.dc)
            });
            let since = newer.map(|(_, _, end_us)| start_us - end_us).max().unwrap_or(0);
            if is_home { home.push(since) } else { away.push(since) }
        }
    }
    (home, away)
}
