//! A measured run: the same schedule for every protocol, without faults, and what it cost.
//!
//! It is made to be compared, not to find mistakes: data centres as far from each other as three regions of a cloud,
//! clocks that NTP keeps within a millisecond, the intervals of the papers' evaluations, a process for each server, no
//! wait for disks; sessions that read, write and run transactions, with a taste for some keys.

use crate::cluster::{Cluster, Subject};
use crate::meter::{self, Measured, Meter, Times};
use crate::options::{Faults, Options, name_of};
use crate::plan::{Act, ClockPlan, Config, Layout, Mix, Plan, Step};
use crate::rng::{Draw, Rng, Stream, stream};
use crate::run::params_of;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use tidemark_contract::info::Transactions;
use tidemark_contract::rule::Without;
use tidemark_contract::{Rule, Topology};
use tidemark_core::{Key, Micros, Op, Update, Write};
use tidemark_node::Factory;
use tidemark_store::log::Fsync;

/// What a measured run consists of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Measurement {
    /// Data centres: 2 to 6.
    pub dcs: usize,
    /// Partitions in each.
    pub partitions: usize,
    /// Sessions in all.
    pub sessions: usize,
    /// Operations in all.
    pub ops: usize,
    /// How many of a hundred operations are write transactions, of two to four keys.
    #[serde(skip_serializing_if = "is_zero")]
    pub write_transactions: u32,
    /// What chance is drawn from.
    pub seed: u64,
    /// Numbers of the protocol that are not to be its defaults.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, Value>,
    /// Rules of the protocol that are not kept.
    #[serde(skip)]
    pub without: Vec<Rule>,
}

impl Default for Measurement {
    fn default() -> Self {
        Self {
            dcs: 3,
            partitions: 4,
            sessions: 24,
            ops: 20_000,
            write_transactions: 0,
            seed: 1,
            params: BTreeMap::new(),
            without: Vec::new(),
        }
    }
}

/// The mean time from one operation of a session to its next.
const PAUSE_US: Micros = 10_000;
/// Keys of each partition.
const KEYS: usize = 50;
/// Keys of a transaction: each of another partition, as far as there are partitions (002, table 1).
pub const TRANSACTION_KEYS: usize = 4;
/// How long what was written first has to become stable, and the silence before measuring.
const SETTLE_US: Micros = 2_000_000;
/// The part of that in which nobody asks anything.
const QUIET_US: Micros = 1_000_000;
/// How many replicated versions are watched for, about.
const WATCHED: u64 = 400;
/// What clocks show is as large as it is today, for numbers are sent in as many bytes as they need.
const TODAY_US: i64 = 1_760_000_000_000_000;

/// One-way delays between Virginia, Oregon and Ireland: half the round trips of GentleRain's section 6.
const THREE_US: [[Micros; 3]; 3] = [[0, 40_500, 44_000], [40_500, 0, 83_000], [44_000, 83_000, 0]];
/// Where there are more: from California to itself, Oregon, Virginia, Ireland, Sydney and Singapore, half the round
/// trips of CausalSpartanX's table 5.1. Other pairs are reckoned by way of California.
const SIX_US: [Micros; 6] = [0, 11_000, 33_500, 69_000, 79_500, 88_000];

impl Measurement {
    /// Says what is wrong with the numbers for this protocol, if something is.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn validate(&self, factory: &dyn Factory) -> Result<(), String> {
        self.validate_shape()?;
        let info = factory.info();
        if self.write_transactions > 0 && info.transactions < Transactions::Writes {
            return Err(format!("{} has no write transactions", info.name));
        }
        self.options().validate(factory)
    }

    /// As [`Self::validate`], for any protocol.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn validate_shape(&self) -> Result<(), String> {
        if !(2..=SIX_US.len()).contains(&self.dcs) {
            return Err(format!("--dcs is 2 to {}, not {}", SIX_US.len(), self.dcs));
        }
        if self.sessions < self.dcs {
            return Err(format!("--sessions is {} at least: one for each data centre", self.dcs));
        }
        if self.write_transactions > 100 {
            let percent = self.write_transactions;
            return Err(format!("--write-transactions is a percentage, not {percent}"));
        }
        // Any: which numbers and rules a protocol has it says itself.
        Options { params: BTreeMap::new(), without: Vec::new(), ..self.options() }.validate_shape()
    }

    /// What a protocol has to fit, and its parameters with it.
    fn options(&self) -> Options {
        Options {
            dcs: self.dcs,
            partitions: self.partitions,
            sessions: self.sessions,
            ops: self.ops,
            faults: Faults::NONE,
            params: self.params.clone(),
            without: self.without.clone(),
            ..Options::default()
        }
    }

    /// Keys that fall to the partitions in equal parts, and how many numbers of keys there are.
    fn layout(&self) -> (Layout, usize) {
        let topology = Topology::new(self.dcs, self.partitions);
        let mut keys = vec![Vec::new(); self.partitions];
        let mut numbers = 0;
        while keys.iter().any(|keys| keys.len() < KEYS) {
            let key = meter::key(numbers);
            let held: &mut Vec<Key> = &mut keys[topology.partition_of(&key).index()];
            if held.len() < KEYS {
                held.push(key);
            }
            numbers += 1;
        }
        (
            Layout {
                topology,
                keys,
                transactions: Transactions::None,
                guarantees: false,
                checking: false,
                excludes_for_good: false,
            },
            numbers,
        )
    }
}

/// Plays the schedule that `what` says, and measures. REQUIRES: its [`Measurement::options`] are valid for its protocol.
pub fn measure(factory: &'static dyn Factory, what: &Measurement) -> Measured {
    let (layout, keys) = what.layout();
    let (plan, times) = Composer::compose(what, &layout);
    let meter = Meter::new(times, layout.topology.clone(), keys);
    // What is measured is the protocol as it comes.
    let defaults = factory.default_params().into();
    let params = params_of(factory, &plan, defaults, &what.params).expect("the options are valid");
    // A node for each session: clients as in the papers, which ask each server themselves.
    let seats = Some(what.sessions.div_ceil(what.dcs));
    let promise = factory.info().promise;
    let subject = Subject { factory, promise, params, seats, adapts: false };
    let _without = Without::new(&what.without);
    let (mut outcome, meter) = Cluster::new(&plan, &layout, &subject).run_metered(meter);
    outcome.report = Some(tidemark_check::check(&outcome.history, promise));
    meter.results(name_of(factory.info(), &what.without), promise, outcome.ok())
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Lays out the schedule.
struct Composer<'a> {
    rng: Rng,
    layout: &'a Layout,
    write_transactions: u32,
    values: usize,
}

impl Composer<'_> {
    fn compose(what: &Measurement, layout: &Layout) -> (Plan, Times) {
        let mut composer = Composer {
            rng: stream(what.seed, Stream::Workload),
            layout,
            write_transactions: what.write_transactions,
            values: 0,
        };
        let mut scripts = vec![Vec::new(); what.sessions];
        let begin = 500_000;
        let filled = composer.fill(&mut scripts, begin);
        let from = filled + SETTLE_US;
        for n in 0..what.ops {
            let session = n % what.sessions;
            let turn = (n / what.sessions) as u64;
            let at = from + turn * PAUSE_US + composer.rng.u64(0..PAUSE_US);
            let op = composer.op();
            scripts[session].push(Step::new(at, Act::Op(op)));
        }
        let until = from + (what.ops.div_ceil(what.sessions) as u64) * PAUSE_US;
        let keys = 25 * (100 - what.write_transactions) + 100 * 3 * what.write_transactions;
        let copies = (what.ops * (what.dcs - 1)) as u64 * u64::from(keys) / 10_000;
        let watch_one_of = (copies / WATCHED).max(1);
        let times = Times { quiet: from - QUIET_US, from, until, watch_one_of };
        let config = config(what);
        let plan = Plan {
            seed: what.seed,
            replicas: 1,
            tick_us: None,
            pools: false,
            typed: false,
            relays: false,
            config,
            scripts,
            faults: Vec::new(),
            holds: Vec::new(),
            edge: Vec::new(),
            end_us: until,
        };
        (plan, times)
    }

    /// Every key is written once.
    fn fill(&mut self, scripts: &mut [Vec<Step>], begin: Micros) -> Micros {
        let keys: Vec<Key> = self.layout.keys.iter().flatten().cloned().collect();
        let a_session = keys.len().div_ceil(scripts.len()) as u64;
        for (n, key) in keys.into_iter().enumerate() {
            let at = begin + (n / scripts.len()) as u64 * PAUSE_US;
            let act = Act::Op(self.put(key));
            scripts[n % scripts.len()].push(Step::new(at, act));
        }
        begin + a_session * PAUSE_US
    }

    /// Of what are no write transactions, half read, a quarter write, a quarter are read-only transactions.
    fn op(&mut self) -> Op {
        let first = self.rng.usize(0..self.layout.keys.len());
        if self.write_transactions > 0 && self.rng.u32(0..100) < self.write_transactions {
            let count = self.rng.usize(2..=TRANSACTION_KEYS);
            let keys = self.keys(first, count);
            return Op::PutAll { writes: keys.into_iter().map(|key| (key, self.write())).collect() };
        }
        match self.rng.u32(0..4) {
            0 => {
                let key = self.key(first);
                self.put(key)
            }
            1 => Op::Rotx { keys: self.keys(first, TRANSACTION_KEYS) },
            _ => Op::Get { key: self.key(first) },
        }
    }

    /// So many keys, each of another partition as far as there are partitions.
    fn keys(&mut self, first: usize, count: usize) -> Vec<Key> {
        let partitions = self.layout.keys.len();
        let step = self.rng.one(&[1, partitions.max(2) - 1]);
        let mut keys: Vec<Key> = Vec::with_capacity(count);
        while keys.len() < count {
            let key = self.key((first + keys.len() * step) % partitions);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }

    /// Keys with small numbers are liked best.
    fn key(&mut self, partition: usize) -> Key {
        let below = self.rng.usize(1..=KEYS);
        self.layout.keys[partition][self.rng.usize(0..below)].clone()
    }

    fn put(&mut self, key: Key) -> Op {
        Op::Put { key, update: Update::put(self.write()) }
    }

    fn write(&mut self) -> Write {
        self.values += 1;
        Write::Assign(meter::value(self.values))
    }
}

/// The numbers of its schedule.
pub(crate) fn config(what: &Measurement) -> Config {
    let nodes = what.dcs * what.partitions;
    let mut rng = stream(what.seed, Stream::Config);
    let wan = |from: usize, to: usize| match what.dcs {
        _ if from == to => 0,
        2 | 3 => THREE_US[from][to],
        _ => SIX_US[from] + SIX_US[to],
    };
    let wan_us = (0..what.dcs).flat_map(|from| (0..what.dcs).map(move |to| wan(from, to)));
    let clock = |_| ClockPlan { offset_us: TODAY_US + rng.i64(-1_000..=1_000), drift_ppm: 0, grain_us: 1 };
    Config {
        partitions_a_node: 1,
        fsync: Fsync::No,
        loses: false,
        varies: false,
        sync_us: 0,
        lan_us: 250,
        lan_jitter_us: 100,
        wan_us: wan_us.collect(),
        wan_jitter_percent: 5,
        late_percent: 0,
        late_factor: 1,
        theta_us: vec![5_000; nodes],
        delta_us: vec![1_000; nodes],
        clocks: (0..nodes).map(clock).collect(),
        boot_us: (0..nodes as u64).map(|node| node * 137).collect(),
        pieces: false,
        max_skew_us: 60_000_000,
        deadline_us: 5_000_000,
        upkeep_us: 200_000,
        spacing_us: PAUSE_US,
        overlap_percent: 0,
        keys_a_partition: KEYS,
        mix: Mix::default(),
        parts: tidemark_node::PartSizes::default(),
        segment_bytes: 1 << 20,
        snapshot_bytes: 64 << 20,
        deep: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_protocols::{Eventual, Tidemark};
    use tidemark_registry::factory_of;

    fn small() -> Measurement {
        Measurement { dcs: 2, partitions: 2, sessions: 4, ops: 400, seed: 7, ..Measurement::default() }
    }

    #[test]
    fn the_same_seed_measures_the_same() {
        let eventual = factory_of::<Eventual>();
        let twice = [(); 2].map(|()| measure(eventual, &small()));
        assert_eq!(twice[0], twice[1]);
        assert_ne!(twice[0], measure(eventual, &Measurement { seed: 8, ..small() }));
    }

    /// What eventual consistency costs can be counted on one's fingers.
    #[test]
    fn eventual_costs_what_it_must() {
        let measured = measure(factory_of::<Eventual>(), &small());
        let (get, put, all) = (&measured.get, &measured.put, &measured.transaction);
        assert!(measured.kept && measured.failed == 0);
        assert_eq!(get.count + put.count + all.count, 400);
        for op in [get, put, all] {
            assert_eq!((op.rounds, op.rounds_max, op.hops_max, op.waited_share), (1.0, 1, 0, 0.0));
            assert_eq!((op.near_messages, op.server_bytes), (0.0, 0.0));
        }
        assert_eq!((get.client_messages, put.client_messages, all.client_messages), (2.0, 2.0, 8.0));
        assert_eq!((get.versions, all.versions, all.versions_max), (1.0, 1.0, 1));
        assert_eq!((get.far_messages, put.far_messages), (0.0, 1.0));
        assert_eq!((get.stale_share, all.stale_share, measured.missed_local_share), (0.0, 0.0, 0.0));
        assert_eq!(measured.background, crate::Background::default());
        assert!((40_000..45_000).contains(&measured.updates.visible_us_p50), "{:?}", measured.updates);
    }

    /// Write transactions are counted apart, and staleness by who wrote last.
    #[test]
    fn write_transactions_are_counted_apart() {
        let what = Measurement { write_transactions: 40, ..small() };
        let measured = measure(factory_of::<Tidemark>(), &what);
        assert!(measured.kept && measured.failed == 0);
        let together = measured.write_transaction.as_ref().expect("there are some");
        assert!((120..200).contains(&together.count), "{}", together.count);
        assert!(together.near_messages > 2.0 && (2.0..4.0).contains(&together.far_messages), "{together:?}");
        let [get, all] = [&measured.get, &measured.transaction];
        for op in [get, all] {
            let (alone, all) =
                (op.stale_alone_share.expect("known"), op.stale_together_share.expect("known"));
            assert!((alone.min(all)..=alone.max(all)).contains(&op.stale_share), "{op:?}");
        }
        let plain = measure(factory_of::<Tidemark>(), &small());
        assert_eq!((plain.write_transaction, plain.get.stale_alone_share), (None, None));
    }

    #[test]
    fn numbers_that_cannot_be_are_explained() {
        assert_eq!(Measurement::default().validate_shape(), Ok(()));
        assert!(Measurement { dcs: 1, ..small() }.validate_shape().unwrap_err().contains("--dcs is 2 to 6"));
        assert!(Measurement { sessions: 1, ..small() }.validate_shape().unwrap_err().contains("--sessions"));
        assert!(Measurement { ops: 0, ..small() }.validate_shape().unwrap_err().contains("--ops"));
        let without = Measurement { write_transactions: 15, ..small() };
        assert!(without.validate(factory_of::<Eventual>()).unwrap_err().contains("no write transactions"));
        let wrong = Measurement { write_transactions: 101, ..small() };
        assert!(wrong.validate_shape().unwrap_err().contains("--write-transactions"));
    }
}
