//! What sessions do: random work and adversarial sequences, laid out in time.

use super::{Act, Held, Hold, Layout, Plan, Step, motifs};
use crate::options::{FaultKind, Options};
use crate::rng::{Draw, Rng, Stream, stream};
use tidemark_contract::info::Transactions;
use tidemark_core::{Condition, DcId, Key, Micros, Op, PartitionId, Update, Value, Write};

/// Lays out a schedule piece by piece.
pub(super) struct Composer<'a> {
    pub(super) rng: Rng,
    pub(super) plan: &'a mut Plan,
    pub(super) layout: &'a Layout,
    /// Where the next piece begins.
    pub(super) now: Micros,
    /// Operations that are left to lay out.
    left: usize,
    /// How many of a hundred steps of a motif are left out.
    pub(super) omit: u32,
    values: u32,
    /// Whether a motif may crash servers.
    pub(super) crashes: bool,
    /// Whether its power may fail then.
    pub(super) power: bool,
}

/// Fills the scripts of `plan`.
pub(super) fn compose(plan: &mut Plan, options: &Options, layout: &Layout, on: impl Fn(FaultKind) -> bool) {
    let boot = plan.config.boot_us.iter().copied().max().unwrap_or_default();
    let now = boot + plan.config.farthest_us() * 3;
    let (seed, motifs) = (plan.seed, plan.config.mix.motifs);
    let mut composer = Composer {
        rng: stream(seed, Stream::Workload),
        left: options.ops,
        omit: 0,
        values: 0,
        crashes: on(FaultKind::Crashes) || on(FaultKind::Power),
        power: on(FaultKind::Power),
        plan,
        layout,
        now,
    };
    let mut chance = stream(seed, Stream::Motifs);
    while composer.left > 0 {
        if chance.chance(motifs) { motifs::play(&mut composer, &mut chance) } else { composer.random_work() }
    }
    let scripts = &mut composer.plan.scripts;
    scripts.iter_mut().for_each(|script| script.sort_by_key(|step| step.at));
    let last = scripts.iter().flatten().map(|step| step.at).max().unwrap_or(now);
    composer.plan.end_us = last;
}

impl Composer<'_> {
    /// A stretch of operations without a plot.
    fn random_work(&mut self) {
        let count = (self.rng.scale(3, 30) as usize).min(self.left);
        let span = count as u64 * self.plan.config.spacing_us + 1;
        for _ in 0..count {
            let session = self.rng.usize(0..self.plan.scripts.len());
            let at = self.now + self.rng.u64(0..span);
            let act = self.random_act(session);
            self.step(session, at, act);
        }
        self.now += span;
    }

    fn random_act(&mut self, session: usize) -> Act {
        let mix = self.plan.config.mix;
        if self.rng.chance(mix.roams) {
            let from = self.rng.usize(0..self.plan.scripts.len());
            if from != session {
                return Act::Adopt(from);
            }
        }
        Act::Op(if self.rng.chance(mix.scans) {
            self.walk()
        } else if self.rng.chance(mix.writes) {
            let key = self.any_key();
            if self.layout.transactions >= Transactions::Writes && self.rng.chance(30) {
                let keys = (0..self.rng.usize(1..=3)).map(|_| self.any_key()).collect();
                self.put_all(key, keys)
            } else {
                self.update(key)
            }
        } else if self.rng.chance(mix.rotx) {
            let keys = (0..self.rng.usize(2..=4)).map(|_| self.any_key()).collect();
            self.multi_read(keys)
        } else {
            Op::Get { key: self.any_key() }
        })
    }

    fn walk(&mut self) -> Op {
        let partition = PartitionId(self.rng.u16(0..self.layout.keys.len() as u16));
        if self.rng.bool() {
            Op::Count { partition }
        } else {
            Op::Scan { partition, cursor: 0, limit: self.rng.u32(1..20) }
        }
    }

    /// A read-only transaction, or a snapshot where the schedule likes them.
    pub(super) fn multi_read(&mut self, keys: Vec<Key>) -> Op {
        let snapshots = self.plan.config.mix.snapshots;
        if self.rng.chance(snapshots) { Op::Snapshot { keys } } else { Op::Rotx { keys } }
    }

    fn any_key(&mut self) -> Key {
        let few = self.rng.chance(self.plan.config.mix.skew);
        let partitions = self.layout.keys.len();
        let partition = self.rng.usize(0..if few { partitions.min(2) } else { partitions });
        if few { self.layout.keys[partition][0].clone() } else { self.key_at(partition) }
    }

    /// A key of one partition.
    pub(super) fn key_at(&mut self, partition: usize) -> Key {
        let used = self.plan.config.keys_a_partition.min(self.layout.keys[partition].len());
        self.layout.keys[partition][self.rng.usize(0..used)].clone()
    }

    /// A write of a value that nobody else writes.
    pub(super) fn put(&mut self, key: Key) -> Op {
        let write = self.assign();
        Op::Put { key, update: Update::put(write) }
    }

    /// A write transaction of `first` and those of `others` that are other keys, in which a delete may be one of the writes.
    pub(super) fn put_all(&mut self, first: Key, others: Vec<Key>) -> Op {
        let mut writes = vec![(first, self.assign())];
        for key in others {
            if writes.iter().all(|(other, _)| *other != key) {
                let removes = self.rng.chance(self.plan.config.mix.deletes / 2);
                let write = if removes { Write::Remove } else { self.assign() };
                writes.push((key, write));
            }
        }
        Op::PutAll { writes }
    }

    fn assign(&mut self) -> Write {
        self.values += 1;
        Write::Assign(Value::from(format!("v{}", self.values).as_bytes()))
    }

    /// An update as the schedule likes them.
    pub(super) fn update(&mut self, key: Key) -> Op {
        let mix = self.plan.config.mix;
        let removes = self.rng.chance(mix.deletes);
        let write = if removes { Write::Remove } else { self.assign() };
        let mut update = Update::put(write);
        if self.rng.chance(mix.conditional) {
            match self.rng.u32(0..3) {
                0 if !removes => update.condition = Condition::IfAbsent,
                1 => update.condition = Condition::IfPresent,
                _ => update.returns_previous = true,
            }
            update.returns_previous |= self.rng.chance(30);
        }
        Op::Put { key, update }
    }

    /// One step of a motif, unless it is left out.
    pub(super) fn play(&mut self, session: usize, at: Micros, op: Op) {
        if !self.rng.chance(self.omit) {
            self.step(session, at, Act::Op(op));
        }
    }

    /// One step, if there are any left.
    pub(super) fn step(&mut self, session: usize, at: Micros, act: Act) {
        if self.left > 0 {
            self.left -= 1;
            self.plan.scripts[session].push(Step::new(at, act));
        }
    }

    /// Holds messages.
    pub(super) fn hold(&mut self, what: Held, at: Micros, until: Micros) {
        self.plan.holds.push(Hold { what, at, until });
    }

    /// A session of data centre `dc`, other than `not` if there is another.
    pub(super) fn session(&mut self, dc: DcId, not: Option<usize>) -> usize {
        let (dcs, all) = (self.layout.topology.dcs, self.plan.scripts.len());
        let there = (all + dcs - 1).saturating_sub(dc.index()) / dcs;
        if there == 0 {
            return self.rng.usize(0..all);
        }
        let first = self.rng.usize(0..there);
        let session = |n: usize| dc.index() + n % there * dcs;
        if Some(session(first)) == not { session(first + 1) } else { session(first) }
    }

    /// A data centre.
    pub(super) fn dc(&mut self) -> DcId {
        DcId(self.rng.u8(0..self.layout.topology.dcs as u8))
    }

    /// A data centre other than `dc`, if there is one.
    pub(super) fn other_dc(&mut self, dc: DcId) -> DcId {
        let dcs = self.layout.topology.dcs as u8;
        if dcs == 1 { dc } else { DcId((dc.0 + self.rng.u8(1..dcs)) % dcs) }
    }

    /// Two partitions, different if there are two.
    pub(super) fn two_partitions(&mut self) -> (usize, usize) {
        let n = self.layout.keys.len();
        let first = self.rng.usize(0..n);
        (first, if n == 1 { first } else { (first + self.rng.usize(1..n)) % n })
    }
}
