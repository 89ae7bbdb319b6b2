//! The regions: who has which transactions, and what that makes of keys. A transaction is in a base if one of its stamps is at or
//! below it, as a whole vector; a region has everything at or below its own vector.

use crate::support::json::hex;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use tidemark_core::Hlc;
use tidemark_edge::frames::*;
use tidemark_edge::position::is_possible;

pub(crate) const REGIONS: usize = 3;

/// For how long regions remember what they have taken, in microseconds.
pub(crate) const RETAIN_US: u64 = 1_000_000;

/// A transaction that a region has accepted.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) cid: [u8; 16],
    pub(crate) body: Body,
    /// The digest of the chain up to it.
    pub(crate) chain: Chain,
    /// The one before it, by index.
    pub(crate) before: Option<usize>,
    /// The vectors under which regions have accepted it.
    pub(crate) stamps: Vec<Base>,
}

pub(crate) struct World {
    pub(crate) accepted: Vec<Accepted>,
    /// What each region has.
    pub(crate) vectors: [Base; REGIONS],
    /// What each region has been told of the others.
    told: [[Base; REGIONS]; REGIONS],
    pub(crate) lost: [bool; REGIONS],
    /// How far each clock is behind, in microseconds.
    behind: [u64; REGIONS],
    pub(crate) now_us: u64,
    /// How often a region asked for new times.
    pub(crate) retimed: usize,
}

/// What a region says to a Transfer.
pub(crate) enum Verdict {
    /// It has it, as this.
    Has(usize),
    Answer(ToClient),
}

impl World {
    pub(crate) fn new(behind: [u64; REGIONS]) -> Self {
        let zero = Base(vec![Hlc::ZERO; REGIONS]);
        Self {
            accepted: Vec::new(),
            vectors: std::array::from_fn(|_| zero.clone()),
            told: std::array::from_fn(|_| std::array::from_fn(|_| zero.clone())),
            lost: [false; REGIONS],
            behind,
            now_us: 1 << 40,
            retimed: 0,
        }
    }

    pub(crate) fn clock_us(&self, region: usize) -> u64 {
        self.now_us - self.behind[region]
    }

    fn tick(&mut self, region: usize) {
        let now = Hlc::at(self.clock_us(region));
        let own = &mut self.vectors[region].0[region];
        *own = (*own).max(now);
    }

    pub(crate) fn is_in(&self, index: usize, base: &Base) -> bool {
        self.accepted[index].stamps.iter().any(|stamp| base.dominates(stamp))
    }

    /// The transactions in a base, by index.
    pub(crate) fn set(&self, base: &Base) -> BTreeSet<usize> {
        (0..self.accepted.len()).filter(|index| self.is_in(*index, base)).collect()
    }

    /// `to` gets records of `origin` that `from` has, up to a share of them.
    pub(crate) fn replicate(&mut self, origin: usize, from: usize, to: usize, share: u64) {
        if self.lost[from] || self.lost[to] {
            return;
        }
        self.tick(from);
        let (has, lacks) = (self.vectors[from].entry(origin).0, self.vectors[to].entry(origin).0);
        let more = u128::from(has.saturating_sub(lacks)) * u128::from(share) / 100;
        self.vectors[to].0[origin].0 += more as u64;
    }

    pub(crate) fn tell(&mut self, from: usize, to: usize) {
        if !self.lost[from] && !self.lost[to] {
            self.tick(from);
            self.told[to][from] = self.vectors[from].clone();
        }
    }

    /// The best base at or above `last` that `regions` regions have, as far as `at` has been told; else `last`.
    pub(crate) fn stable(&mut self, at: usize, regions: u64, last: &Base) -> Base {
        self.tick(at);
        self.told[at][at] = self.vectors[at].clone();
        let mut best = last.clone();
        for chosen in 0..1_u32 << REGIONS {
            if chosen & 1 << at == 0 || u64::from(chosen.count_ones()) < regions {
                continue;
            }
            let of = (0..REGIONS).filter(|region| chosen & 1 << region != 0).collect::<Vec<_>>();
            let least = |entry| of.iter().map(|region| self.told[at][*region].entry(entry)).min();
            let base = Base((0..REGIONS).map(|entry| least(entry).unwrap_or_default()).collect());
            let sum = |base: &Base| base.0.iter().map(|entry| u128::from(entry.0)).sum::<u128>();
            if base.dominates(last) && sum(&base) > sum(&best) {
                best = base;
            }
        }
        best
    }

    /// The transaction of a client that a region has, with that number and digest, or with any digest.
    pub(crate) fn present(
        &self,
        at: usize,
        cid: &[u8; 16],
        k: u64,
        is: impl Fn(&Chain) -> bool,
    ) -> Option<usize> {
        let of = |one: &Accepted| one.cid == *cid && one.body.k == k && is(&one.chain);
        (0..self.accepted.len())
            .find(|index| of(&self.accepted[*index]) && self.is_in(*index, &self.vectors[at]))
    }

    pub(crate) fn head(&self, at: usize, cid: &[u8; 16]) -> Option<usize> {
        let there = (0..self.accepted.len())
            .filter(|index| self.accepted[*index].cid == *cid && self.is_in(*index, &self.vectors[at]));
        there.max_by_key(|index| self.accepted[*index].body.k)
    }

    /// A Transfer at a region: `before` is the transaction before it, as the session knows it (nothing for the first).
    pub(crate) fn transfer(
        &mut self,
        at: usize,
        cid: [u8; 16],
        body: &Body,
        before: Option<usize>,
    ) -> Verdict {
        let chain = before.map_or(Chain::START, |before| self.accepted[before].chain).then(&body.encode());
        if let Some(same) = self.present(at, &cid, body.k, |there| *there == chain) {
            return Verdict::Has(same);
        }
        if self.present(at, &cid, body.k, |_| true).is_some() {
            return Verdict::Answer(ToClient::Forked { k: body.k });
        }
        if !self.vectors[at].dominates(&body.dep) {
            return Verdict::Answer(ToClient::Behind { wait_ms: 2 });
        }
        let taken = self.accepted.iter().any(|one| one.cid == cid && one.chain == chain);
        if !taken && body.h_us + RETAIN_US < self.now_us {
            self.retimed += 1;
            return Verdict::Answer(ToClient::Retime { k: body.k });
        }
        if body.h_us > self.clock_us(at) + 50 {
            return Verdict::Answer(ToClient::Later { wait_ms: 1 });
        }
        assert!(body.h_us > body.dep.newest_us(), "a time that is not above what its client saw");
        let placed = body.operations.iter().all(|operation| match &operation.kind {
            OperationKind::ListSet(position, _) => is_possible(position, body.h_us),
            _ => true,
        });
        assert!(placed, "an element that is younger than its transaction");
        let index = self.accepted.iter().position(|one| one.cid == cid && one.chain == chain);
        let index = index.unwrap_or_else(|| {
            self.accepted.push(Accepted { cid, body: body.clone(), chain, before, stamps: Vec::new() });
            self.accepted.len() - 1
        });
        self.stamp(at, index);
        Verdict::Has(index)
    }

    fn stamp(&mut self, at: usize, index: usize) {
        self.tick(at);
        let body = &self.accepted[index].body;
        let time = Hlc::at(body.h_us + 1).max(self.vectors[at].entry(at).next());
        let mut stamp = Base((0..REGIONS).map(|region| body.dep.entry(region)).collect());
        if let Some(before) = self.accepted[index].before {
            assert!(self.accepted[before].body.h_us < body.h_us, "times of one client rise");
            let cover = self.accepted[before].stamps.iter().find(|stamp| self.vectors[at].dominates(stamp));
            let cover = cover.expect("it is present").clone();
            stamp.0.iter_mut().zip(&cover.0).for_each(|(entry, covered)| *entry = (*entry).max(*covered));
        }
        stamp.0[at] = time;
        self.vectors[at].0[at] = time;
        self.accepted[index].stamps.push(stamp);
    }

    /// The value of a key that a set of transactions leads to.
    pub(crate) fn value(&self, set: &BTreeSet<usize>, key: &Bytes) -> Value {
        let of_key = |index: &usize| {
            let body = &self.accepted[*index].body;
            let here = body.operations.iter().enumerate().filter(|(_, operation)| operation.key == *key);
            here.map(|(place, operation)| (*index, place, &operation.kind)).collect::<Vec<_>>()
        };
        let operations: Vec<(usize, usize, &OperationKind)> = set.iter().flat_map(of_key).collect();
        match key[0] {
            b'c' => sum(&operations),
            b's' => self.last(&operations),
            _ => self.elements(key, &operations),
        }
    }

    /// When a write counts: of two with the same time the client decides.
    fn time(&self, index: usize, place: usize) -> (u64, [u8; 16], u64, usize) {
        let one = &self.accepted[index];
        (one.body.h_us, one.cid, one.body.k, place)
    }

    fn last(&self, operations: &[(usize, usize, &OperationKind)]) -> Value {
        let last = operations.iter().max_by_key(|(index, place, _)| self.time(*index, *place));
        match last {
            Some((index, _, OperationKind::Set(bytes))) => {
                Value::String(Written { at_us: self.accepted[*index].body.h_us, bytes: bytes.clone() })
            }
            _ => Value::Absent,
        }
    }

    /// Whether the author of `later` had seen the operation at `earlier`.
    fn saw(&self, later: (usize, usize), earlier: (usize, usize)) -> bool {
        if later.0 == earlier.0 {
            return earlier.1 < later.1;
        }
        let mut before = self.accepted[later.0].before;
        while let Some(index) = before {
            if index == earlier.0 {
                return true;
            }
            before = self.accepted[index].before;
        }
        self.is_in(earlier.0, &self.accepted[later.0].body.dep)
    }

    /// Maps, lists and sets: an operation takes what its author had seen of its element.
    fn elements(&self, key: &Bytes, operations: &[(usize, usize, &OperationKind)]) -> Value {
        let mut living: BTreeMap<Bytes, (usize, usize, Bytes)> = BTreeMap::new();
        for (index, place, kind) in operations {
            let (element, bytes) = match kind {
                OperationKind::MapSet(one, bytes) | OperationKind::ListSet(one, bytes) => {
                    (one, bytes.clone())
                }
                OperationKind::SetAdd(member) => (member, Bytes::new()),
                _ => continue,
            };
            let killed = operations
                .iter()
                .any(|(other, at, kind)| touches(kind, element) && self.saw((*other, *at), (*index, *place)));
            let newer = living
                .get(element)
                .is_none_or(|(other, at, _)| self.time(*other, *at) < self.time(*index, *place));
            if !killed && newer {
                living.insert(element.clone(), (*index, *place, bytes));
            }
        }
        if living.is_empty() {
            return Value::Absent;
        }
        if key[0] == b't' {
            return Value::Set(living.into_keys().collect());
        }
        let written = |(index, _, bytes): (usize, usize, Bytes)| Written {
            at_us: self.accepted[index].body.h_us,
            bytes,
        };
        let all = living.into_iter().map(|(element, one)| (element, written(one))).collect();
        if key[0] == b'l' { Value::List(all) } else { Value::Map(all) }
    }

    pub(crate) fn name(&self, index: usize) -> String {
        let one = &self.accepted[index];
        format!("{}:{}", hex(&one.cid[..2]), one.body.k)
    }
}

fn touches(kind: &OperationKind, element: &Bytes) -> bool {
    match kind {
        OperationKind::MapSet(one, _)
        | OperationKind::MapDelete(one)
        | OperationKind::ListSet(one, _)
        | OperationKind::ListRemove(one)
        | OperationKind::SetAdd(one)
        | OperationKind::SetRemove(one) => one == element,
        _ => false,
    }
}

fn sum(operations: &[(usize, usize, &OperationKind)]) -> Value {
    let amount = |kind: &OperationKind| if let OperationKind::Add(amount) = kind { *amount } else { 0 };
    let total: i64 = operations.iter().map(|(_, _, kind)| amount(kind)).sum();
    if operations.is_empty() {
        return Value::Absent;
    }
    Value::String(Written { at_us: 0, bytes: total.to_string().into() })
}
