//! Which operations are commands of data types. They take the place of others, once everything else is drawn: so the schedule of a
//! seed is otherwise the same, and what adversarial sequences do to registers they do to elements, too.

mod together;

use super::{Act, Layout, Plan};
use crate::rng::{Draw, Rng, Stream, stream};
use crate::typed::{BOUND, Family, STOCK, call, call_with};
use std::collections::BTreeSet;
use tidemark_contract::info::Transactions;
use tidemark_core::{Command, Key, Op, Update, Value, Verb, Write};

/// How long keys live that are given little time, in milliseconds.
pub(crate) const SHORT_MS: u64 = 100;

/// Makes `percent` of the reads and writes of `plan` commands of data types, or operations on registers that such commands write.
pub(super) fn draw(plan: &mut Plan, percent: u32, layout: &Layout) {
    let mut rng = stream(plan.seed, Stream::Typed);
    let elements = rng.u32(1..=3);
    let strict = rng.one(&[30, 60, 90]);
    // A quarter of the schedules each: the others stay as they were, with what is known of them by their seeds.
    let [owns, queries, programs] = [1, 2, 3].map(|quarter| plan.seed % 4 == quarter);
    let created = BTreeSet::new();
    let used = plan.config.keys_a_partition;
    let others = layout
        .keys
        .iter()
        .filter(|_| layout.transactions >= Transactions::Writes)
        .flat_map(|keys| keys.iter().take(used));
    let others = others.cloned().collect();
    let mut drawer = Drawer { rng, elements, strict, values: 0, owns, queries, programs, created, others };
    for step in plan.scripts.iter_mut().flatten() {
        if let Act::Op(op) = &step.act
            && drawer.rng.chance(percent)
            && let Some(typed) = drawer.instead_of(op)
        {
            step.act = Act::Op(typed);
        }
    }
}

struct Drawer {
    rng: Rng,
    /// How many elements each key has.
    elements: u32,
    /// How many of a hundred commands are on keys whose elements are held to the promise as registers are.
    strict: u32,
    values: u32,
    /// Whether there are documents and bounded counters.
    owns: bool,
    /// Whether fields of several hashes are read at once.
    queries: bool,
    /// Whether there are programs, streams and consumer groups.
    programs: bool,
    /// The bounded counters that somebody creates.
    created: BTreeSet<Key>,
    /// Keys of all partitions, if one command may change several.
    others: Vec<Key>,
}

impl Drawer {
    fn instead_of(&mut self, op: &Op) -> Option<Op> {
        match op {
            Op::Get { key } => Some(self.read(key)),
            Op::Put { key, update } => Some(self.write(key, update)),
            Op::Rotx { keys } if self.queries && self.rng.chance(self.strict) => Some(self.query(keys)),
            Op::Rotx { keys } => Some(self.several(keys, |keys| Op::Rotx { keys })),
            Op::Snapshot { keys } => Some(self.several(keys, |keys| Op::Snapshot { keys })),
            _ => None,
        }
    }

    /// A key beside `key`, perhaps of another partition.
    fn beside(&mut self, key: &Key) -> Key {
        if self.others.is_empty() || self.rng.bool() {
            return key.clone();
        }
        let other = self.rng.u32(0..self.others.len() as u32) as usize;
        self.others[other].clone()
    }

    /// A name, mostly the same.
    fn element(&mut self) -> String {
        let n = if self.rng.chance(60) { 0 } else { self.rng.u32(0..self.elements) };
        format!("e{n}")
    }

    /// What nobody else writes.
    fn unique(&mut self) -> String {
        self.values += 1;
        format!("t{}", self.values)
    }

    fn read(&mut self, key: &Key) -> Op {
        let (hash, register) = (Family::Hash.of(key), Family::Register.of(key));
        if self.programs && self.rng.chance(40) {
            return self.read_together(key);
        }
        if self.rng.chance(self.strict) {
            let element = self.element();
            return match self.rng.u32(0..10) {
                0..=4 => call(Verb::HGet, hash, &[&element]),
                5 => call(Verb::HMGet, hash, &["e0", "e1", "e2"]),
                _ => Op::Get { key: register },
            };
        }
        if self.owns && self.rng.chance(40) {
            return match self.rng.u32(0..8) {
                0..=3 => call(Verb::BCounterGet, Family::Stock.of(key), &[]),
                4 => call(Verb::BCounterRights, Family::Stock.of(key), &[]),
                5..=6 => call(Verb::DocRead, Family::Doc.of(key), &[]),
                _ => call(Verb::DocRead, Family::Wild.of(key), &[]),
            };
        }
        match self.rng.u32(0..10) {
            0 => Op::Get { key: Family::Counter.of(key) },
            1 => call(Verb::HGetAll, Family::Counts.of(key), &[]),
            2 => call(Verb::SMembers, Family::Set.of(key), &[]),
            3 => call(Verb::LRange, Family::List.of(key), &["0", "-1"]),
            4 => Op::Get { key: Family::Wild.of(key) },
            5 => call(Verb::HGetAll, Family::Wild.of(key), &[]),
            6 => call(Verb::SMembers, Family::Wild.of(key), &[]),
            7 => call(Verb::PTtl, Family::Wild.of(key), &[]),
            8 => call(Verb::Type, Family::Wild.of(key), &[]),
            _ => Op::Rotx { keys: vec![Family::Wild.of(key), Family::Counter.of(key)] },
        }
    }

    /// Several keys at once: those of registers that commands have written, mostly.
    fn several(&mut self, keys: &[Key], op: impl Fn(Vec<Key>) -> Op) -> Op {
        let one = |key: &Key| match self.rng.u32(0..10) {
            0..=6 => Family::Register.of(key),
            7 => Family::Wild.of(key),
            _ => key.clone(),
        };
        op(keys.iter().map(one).collect())
    }

    /// The same field of several hashes, in one snapshot.
    fn query(&mut self, keys: &[Key]) -> Op {
        let command = Command::new(Verb::HGet, vec![self.element().into()]);
        Op::Query { keys: keys.iter().map(|key| Family::Hash.of(key)).collect(), command: Box::new(command) }
    }

    fn write(&mut self, key: &Key, update: &Update) -> Op {
        if self.programs && self.rng.chance(40) {
            return self.write_together(key);
        }
        if self.rng.chance(self.strict) {
            let (element, value) = (self.element(), self.unique());
            return match self.rng.u32(0..10) {
                0..=4 => call(Verb::HSet, Family::Hash.of(key), &[&element, &value]),
                5..=7 => call(Verb::Set, Family::Register.of(key), &[&value]),
                _ => {
                    let write = Write::Assign(Value::from(value.as_bytes()));
                    Op::Put { key: Family::Register.of(key), update: Update { write, ..update.clone() } }
                }
            };
        }
        if self.owns && self.rng.chance(40) {
            return self.own(key);
        }
        let (element, by) = (self.element(), self.rng.u32(1..10).to_string());
        let unique = self.unique();
        match self.rng.u32(0..20) {
            0..=1 => call(Verb::IncrBy, Family::Counter.of(key), &[&by]),
            2..=3 => call(Verb::HIncrBy, Family::Counts.of(key), &[&element, &by]),
            4 => call(Verb::ZIncrBy, Family::Scores.of(key), &[&by, &element]),
            5..=6 => call(Verb::SAdd, Family::Set.of(key), &[&unique]),
            7 => call(Verb::LPush, Family::List.of(key), &[&unique]),
            8 => call(Verb::RPush, Family::List.of(key), &[&unique]),
            _ => self.wild(key, update),
        }
    }

    /// Commands of documents and bounded counters.
    fn own(&mut self, key: &Key) -> Op {
        let (stock, wild) = (Family::Stock.of(key), Family::Wild.of(key));
        let (bound, full) = (BOUND.to_string(), (BOUND + STOCK).to_string());
        let (by, to, unique) =
            (self.rng.u32(1..6).to_string(), self.rng.u32(0..3).to_string(), self.unique());
        match self.rng.u32(0..20) {
            // Of two that are created at once one is lost, with what was taken from it.
            0..=11 if self.created.insert(stock.clone()) => {
                call(Verb::BCounterCreate, stock, &[&bound, &full])
            }
            0..=6 => call(Verb::BCounterDecrBy, stock, &[&by]),
            7..=8 => call(Verb::BCounterIncrBy, stock, &[&by]),
            9..=11 => call(Verb::BCounterGive, stock, &[&to]),
            12..=15 => call(Verb::DocPut, Family::Doc.of(key), &[&unique]),
            16 => call(Verb::DocPut, wild, &[&unique]),
            17 => call(Verb::DocCompact, wild, &[&unique, "UPTO", "*"]),
            18 => call(Verb::BCounterCreate, wild, &[&bound, &full]),
            _ => call(Verb::BCounterDecrBy, wild, &[&by]),
        }
    }

    /// Anything, on a key to which anything happens.
    fn wild(&mut self, key: &Key, update: &Update) -> Op {
        let beside = self.beside(key);
        let (mut at, mut other) = (Family::Wild.of(key), Family::Wilder.of(&beside));
        if self.rng.chance(20) {
            std::mem::swap(&mut at, &mut other);
        }
        let (e, v, by) = (self.element(), self.unique(), self.rng.u32(1..10).to_string());
        let short = self.rng.u64(1..SHORT_MS).to_string();
        match self.rng.u32(0..32) {
            0..=2 => call(Verb::HSet, at, &[&e, &v]),
            3..=4 => call(Verb::HIncrBy, at, &[&format!("n{e}"), &by]),
            5 => call(Verb::HDel, at, &[&e]),
            6..=8 => call(Verb::SAdd, at, &[&e]),
            9 => call(Verb::SRem, at, &[&e]),
            10 => call(Verb::SPop, at, &[]),
            11..=12 => call(Verb::IncrBy, at, &[&by]),
            13..=14 => call(Verb::ZAdd, at, &[&by, &e]),
            15 => call(Verb::ZAdd, at, &["GT", &by, &e]),
            16 => call(Verb::ZIncrBy, at, &[&by, &e]),
            17 => call(Verb::ZRem, at, &[&e]),
            18 => call(Verb::LPush, at, &[&v]),
            19 => call(Verb::RPush, at, &[&v, &e]),
            20 => call(Verb::LPop, at, &[]),
            21 => call(Verb::LInsert, at, &["BEFORE", &e, &v]),
            22 => call(Verb::Append, at, &[&v]),
            23 => call(Verb::PExpire, at, &[&short]),
            24 => call(Verb::Expire, at, &["1000000"]),
            25 => call(Verb::Persist, at, &[]),
            26 if self.owns => {
                call(Verb::Purge, at, if self.values.is_multiple_of(2) { &["early"] } else { &[] })
            }
            26 => call(Verb::Del, at, &[]),
            27..=28 => call_with(Verb::SMove, at, other, &[&e]),
            29 => call_with(Verb::Rename, at, other, &[]),
            30 => call_with(Verb::LMove, at, other, &["LEFT", "RIGHT"]),
            _ => Op::Put { key: at, update: update.clone() },
        }
    }
}
