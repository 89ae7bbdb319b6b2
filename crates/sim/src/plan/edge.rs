//! Edge clients in schedules: what their applications do, and what happens to their networks and disks. They are drawn once
//! everything else is: so the schedule of a seed is otherwise the same.

use super::{Layout, Plan, Trouble};
use crate::options::Options;
use crate::rng::{Draw, Rng, Stream, mix, stream};
use crate::typed::{Family, call};
use std::collections::BTreeSet;
use tidemark_core::{DcId, Key, Micros, Op, Verb};
use tidemark_edge::client::Timing;

/// One edge client.
#[derive(Clone, Debug)]
pub struct EdgePlan {
    /// The region that it connects to first.
    pub home: DcId,
    /// So many regions have its bases whole.
    pub regions: u64,
    /// What it watches from the beginning.
    pub watched: Vec<Key>,
    /// What it does, by time.
    pub steps: Vec<EdgeStep>,
    /// It may have K = 1 at some time, and see what a region alone has that is lost then.
    pub risks: bool,
}

/// One step of an edge client.
#[derive(Clone, Debug)]
pub struct EdgeStep {
    /// Not before this time, and not before a commit before it has ended.
    pub at: Micros,
    /// What is done, or happens.
    pub act: EdgeAct,
}

/// What an edge client does, or what happens to it.
#[derive(Clone, Debug)]
pub enum EdgeAct {
    /// A transaction: what of these keys is cached is read, then this is done. The first operation writes what nobody else writes. The first
    /// arguments of LINSERT, LSET and LREM are indices: of those that there are.
    Commit {
        /// Registers and hashes.
        reads: Vec<Key>,
        /// Commands; none: it only reads.
        ops: Vec<Op>,
    },
    /// It wants bases that so many regions have.
    Regions(u64),
    /// It watches a key no more.
    Forgets(Key),
    /// It watches a key.
    Watches(Key),
    /// Its connection breaks.
    HangsUp,
    /// It cannot reach a region, or any, until then.
    Offline(Option<DcId>, Micros),
    /// Its disk takes nothing until then.
    DiskFull(Micros),
    /// Its process ends, and is back then.
    Crashes(Micros),
    /// Somebody copies its disk.
    Saves,
    /// Its process ends, and is back then with the copy of its disk that was made last, if any was.
    Restores(Micros),
    /// It is gone for good.
    Dies,
}

impl EdgePlan {
    /// One of four has bases of two regions or more, as without this; one lowers K where its region is isolated; and two have K = 1. By draws
    /// of its own: the schedule is otherwise the same.
    fn risk(&mut self, drawn: u64) {
        self.risks = !drawn.is_multiple_of(4);
        if drawn % 4 > 1 {
            self.regions = 1;
        }
        for (number, step) in (0..).zip(&mut self.steps) {
            if let EdgeAct::Regions(regions) = &mut step.act
                && self.risks
                && mix(drawn, number).is_multiple_of(2)
            {
                *regions = 1;
            }
        }
    }
}

impl Plan {
    /// How many steps edge clients take.
    pub fn edge_steps(&self) -> usize {
        self.edge.iter().map(|client| client.steps.len()).sum()
    }

    /// How many steps there are.
    pub fn all_steps(&self) -> usize {
        self.steps() + self.edge_steps()
    }
}

/// How long a transaction of an edge client can be accepted in a schedule: longer than clocks differ, and than frames are under way that are
/// not late. Else none of a client whose gateway is behind, or far away, would ever be accepted.
pub(crate) fn retain_us(plan: &Plan) -> Micros {
    let config = &plan.config;
    let offset = config.clocks.iter().map(|clock| clock.offset_us.unsigned_abs()).max().unwrap_or_default();
    let drift = config.clocks.iter().map(|clock| clock.drift_ppm.unsigned_abs()).max().unwrap_or_default();
    let jumps = plan.faults.iter().map(|fault| match fault.what {
        Trouble::Jump { by_us, .. } => by_us.unsigned_abs(),
        _ => 0,
    });
    // Everything heals some time after the last step.
    let apart = 2 * (offset + drift * 4 * plan.end_us / 1_000_000) + jumps.sum::<Micros>();
    let there = config.farthest_us() * (2 + config.wan_jitter_percent / 100);
    apart + [6, 12, 40][(mix(plan.seed, 30) % 3) as usize] * there
}

/// How often gateways look for new bases, in milliseconds.
pub(crate) fn period_ms(plan: &Plan) -> u64 {
    let quarters = [1, 4, 12][(mix(plan.seed, 31) % 3) as usize];
    (plan.config.farthest_us() * quarters / 4_000).max(1)
}

/// How often gateways tell a client whose keys do not change of a new base, in milliseconds.
pub(crate) fn idle_ms(plan: &Plan) -> u64 {
    if is_patient(plan) { 5_000 } else { 4 * period_ms(plan) }
}

/// Whether clients and gateways wait for as long as they do on the internet, which is long beside the delays of schedules.
fn is_patient(plan: &Plan) -> bool {
    mix(plan.seed, 32).is_multiple_of(16)
}

/// How long clients wait for what: in most schedules as long beside delays as on the internet.
pub(crate) fn timing(plan: &Plan) -> Timing {
    if is_patient(plan) {
        return Timing::DEFAULT;
    }
    let (far_ms, late_ms) = (plan.config.farthest_us() / 1_000 + 1, plan.config.slowest_us() / 1_000 + 1);
    Timing {
        backoff_min_ms: 2 * far_ms,
        backoff_max_ms: 40 * far_ms,
        welcome_within_ms: 4 * late_ms + 40 * far_ms,
        retry_ms: 8 * far_ms,
        look_ms: Some(60 * far_ms),
    }
}

/// How much a region is ahead of others that is isolated, in milliseconds.
pub(crate) fn isolated_ms(plan: &Plan) -> u64 {
    if is_patient(plan) { 5_000 } else { 8 * period_ms(plan) + 12 * (plan.config.farthest_us() / 1_000 + 1) }
}

/// Whether a client lowers its K in an isolated region; where one is lost those do that may see what is lost with it.
pub(crate) fn lowers(plan: &Plan, number: usize) -> bool {
    match plan.loses() {
        Some(_) => plan.edge[number].risks,
        None => mix(plan.seed, number as u64 | 41 << 32).is_multiple_of(2),
    }
}

/// The longest that a client which cannot go on waits until it tries again.
pub(crate) fn patience_us(plan: &Plan) -> Micros {
    let Timing { backoff_max_ms, welcome_within_ms, retry_ms, .. } = timing(plan);
    1_000 * (backoff_max_ms + welcome_within_ms + retry_ms)
}

/// How many of a hundred operations of sessions are commands of data types at least, where there are edge clients: those are on their keys.
pub(crate) const TYPED: u32 = 50;

/// Adds the edge clients that `options` ask for.
pub(super) fn draw(plan: &mut Plan, options: &Options, layout: &Layout) {
    let begins = plan.scripts.iter().flatten().map(|step| step.at).min().unwrap_or_default();
    for number in 0..options.edge {
        let mut rng = stream(mix(plan.seed, number as u64), Stream::Edge);
        let dcs = layout.topology.dcs as u8;
        // Half of the schedules have some of all troubles, the others each a few.
        let troubles: Vec<bool> = (0..8).map(|_| rng.chance(40)).collect();
        let fewest = fewest(plan);
        let (home, regions) = (DcId(rng.u8(0..dcs)), u64::from(rng.u8(fewest..=dcs)));
        let lists = options.lists;
        let keys = keys(plan, layout, lists, &mut rng);
        let mut drawer = Drawer { keys, rng, number, values: 0, troubles, dcs, fewest, lists };
        let watched = drawer.keys.clone();
        let count = drawer.rng.usize(2..=3 + options.ops / 12);
        let mut times: Vec<Micros> =
            (0..count).map(|_| drawer.rng.u64(begins..=plan.end_us.max(begins))).collect();
        times.sort_unstable();
        let span = (plan.end_us - begins.min(plan.end_us)).max(plan.config.farthest_us());
        let steps = times.into_iter().map(|at| EdgeStep { at, act: drawer.act(at, span) }).collect();
        let mut client = EdgePlan { home, regions, watched, steps, risks: false };
        if options.edge_k1 && plan.loses().is_some() {
            client.risk(mix(plan.seed, number as u64 | 42 << 32));
        }
        plan.edge.push(client);
    }
}

/// How many regions have the bases of any client. What only one had may be lost with it, and whoever has seen it has to go back.
fn fewest(plan: &Plan) -> u8 {
    if plan.loses().is_some() { 2 } else { 1 }
}

/// The keys of a client: some of those that commands of sessions are on.
fn keys(plan: &Plan, layout: &Layout, lists: bool, rng: &mut Rng) -> Vec<Key> {
    let used = plan.config.keys_a_partition;
    let all: Vec<&Key> = layout.keys.iter().flat_map(|keys| keys.iter().take(used)).collect();
    let mut keys = BTreeSet::new();
    for _ in 0..rng.usize(2..=4) {
        let key = all[rng.usize(0..all.len())];
        let families =
            [Family::Register, Family::Hash, Family::Counter, Family::Counts, Family::Set, Family::Wild];
        keys.insert(Family::Register.of(key));
        keys.extend(families.into_iter().filter(|_| rng.chance(60)).map(|family| family.of(key)));
        keys.extend((lists && rng.chance(60)).then(|| Family::List.of(key)));
    }
    keys.into_iter().collect()
}

struct Drawer {
    rng: Rng,
    number: usize,
    keys: Vec<Key>,
    values: u32,
    troubles: Vec<bool>,
    dcs: u8,
    fewest: u8,
    lists: bool,
}

impl Drawer {
    fn key(&mut self) -> Key {
        self.keys[self.rng.usize(0..self.keys.len())].clone()
    }

    fn act(&mut self, at: Micros, span: Micros) -> EdgeAct {
        let until = at + self.rng.scale(1_000, span);
        match self.rng.usize(0..16) {
            0 if self.troubles[0] => EdgeAct::HangsUp,
            1 if self.troubles[1] => EdgeAct::Offline(None, until),
            2 if self.troubles[2] => EdgeAct::Offline(Some(DcId(self.rng.u8(0..self.dcs))), until),
            3 if self.troubles[3] => EdgeAct::Crashes(until),
            4 if self.troubles[4] => EdgeAct::DiskFull(until),
            5 if self.troubles[5] => EdgeAct::Regions(u64::from(self.rng.u8(self.fewest..=self.dcs))),
            6 if self.troubles[6] => EdgeAct::Saves,
            7 if self.troubles[6] => EdgeAct::Restores(until),
            8 if self.troubles[7] => EdgeAct::Forgets(self.key()),
            9 if self.troubles[7] => EdgeAct::Watches(self.key()),
            10 if self.troubles[3] && self.rng.chance(10) => EdgeAct::Dies,
            _ => self.commit(),
        }
    }

    fn commit(&mut self) -> EdgeAct {
        let registers = self.keys.iter().filter(|key| {
            matches!(Family::find(key), Some(Family::Register | Family::Hash)) && self.values % 3 < 2
        });
        let reads: Vec<Key> = registers.cloned().collect();
        if !reads.is_empty() && self.rng.chance(20) {
            self.values += 1;
            return EdgeAct::Commit { reads, ops: Vec::new() };
        }
        let mut ops = vec![self.unique()];
        for _ in 0..self.rng.usize(0..4) {
            let more = self.any();
            if ops.iter().all(|op| !same_register(op, &more)) {
                ops.push(more);
            }
        }
        EdgeAct::Commit { reads, ops }
    }

    fn value(&mut self) -> String {
        self.values += 1;
        format!("e{}.{}", self.number, self.values)
    }

    /// A name, mostly the same.
    fn element(&mut self) -> &'static str {
        if self.rng.chance(60) { "e0" } else { self.rng.one(&["e1", "e2"]) }
    }

    /// An operation that says which transaction it is of.
    fn unique(&mut self) -> Op {
        let families = [Family::Register, Family::Hash, Family::Set];
        let suited = |key: &&Key| Family::find(key).is_some_and(|family| families.contains(&family));
        let all: Vec<Key> = self.keys.iter().filter(suited).cloned().collect();
        let key = all[self.rng.usize(0..all.len())].clone();
        let (value, element) = (self.value(), self.element());
        match Family::find(&key) {
            Some(Family::Hash) => call(Verb::HSet, key, &[element, &value]),
            Some(Family::Set) => call(Verb::SAdd, key, &[&value]),
            _ => call(Verb::Set, key, &[&value]),
        }
    }

    /// An element of a list, at an end or somewhere.
    fn push(&mut self, key: Key, value: &str) -> Op {
        match self.rng.u32(0..8) {
            0..=2 => call(Verb::RPush, key, &[value]),
            3 => call(Verb::LPush, key, &[value]),
            _ => call(Verb::LInsert, key, &[&self.rng.u32(0..20).to_string(), value]),
        }
    }

    fn any(&mut self) -> Op {
        let key = self.key();
        let (value, element, by) = (self.value(), self.element(), self.rng.u32(1..10).to_string());
        match Family::find(&key) {
            Some(Family::Hash) => call(Verb::HSet, key, &[element, &value]),
            Some(Family::Set) => call(Verb::SAdd, key, &[&value]),
            Some(Family::Counter) => call(Verb::IncrBy, key, &[&by]),
            Some(Family::Counts) => call(Verb::HIncrBy, key, &[element, &by]),
            Some(Family::List) => self.push(key, &value),
            Some(Family::Wild) if self.lists && self.rng.chance(30) => match self.rng.u32(0..4) {
                0 => call(Verb::LSet, key, &[&by, &value]),
                1 => call(Verb::LRem, key, &[&by]),
                _ => self.push(key, &value),
            },
            Some(Family::Wild) => match self.rng.u32(0..8) {
                0 => call(Verb::Set, key, &[&value]),
                1 => call(Verb::Del, key, &[]),
                2 => call(Verb::IncrBy, key, &[&by]),
                3 => call(Verb::HSet, key, &[element, &value]),
                4 => call(Verb::HDel, key, &[element]),
                5 => call(Verb::SAdd, key, &[element]),
                6 => call(Verb::SRem, key, &[element]),
                _ => call(Verb::HIncrBy, key, &["ne0", &by]),
            },
            _ => call(Verb::Set, key, &[&value]),
        }
    }
}

/// Whether both write one register.
fn same_register(one: &Op, other: &Op) -> bool {
    let (Op::Put { key, update }, Op::Put { key: key_too, update: update_too }) = (one, other) else {
        return false;
    };
    let name = |update: &tidemark_core::Update| {
        update.command.as_ref().and_then(|command| command.args.first().cloned())
    };
    key == key_too
        && match Family::find(key) {
            Some(Family::Register) => true,
            Some(Family::Hash) => name(update) == name(update_too),
            _ => false,
        }
}
