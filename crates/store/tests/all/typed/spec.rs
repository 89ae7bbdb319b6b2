//! The oracle: the plain fold of a set of operations, each with the true set of those that it had observed.

use std::collections::{BTreeMap, BTreeSet};
use tidemark_core::Stamp;
use tidemark_crdt::account::Entry;
use tidemark_crdt::effect::{Bound, Datum};
use tidemark_crdt::{Kind, State};

/// A set of operations, by their numbers.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Set([u64; 4]);

impl Set {
    /// As many as fit.
    pub(crate) const LIMIT: usize = 256;

    pub(crate) fn add(&mut self, id: usize) {
        self.0[id / 64] |= 1 << (id % 64);
    }

    pub(crate) fn has(&self, id: usize) -> bool {
        self.0[id / 64] >> (id % 64) & 1 == 1
    }

    pub(crate) fn join(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine |= theirs);
    }
}

/// A part of an operation, said without dots: it takes away all that it has observed of what it names.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// An element takes a value.
    Assign(Kind, Box<[u8]>, Datum, Bound),
    /// An element is incremented; nothing is taken away.
    Count(Kind, Box<[u8]>, i64),
    /// A total of the bounded counter that a version created has risen; nothing is taken away.
    Raise(Stamp, Entry),
    /// An element goes.
    Remove(Kind, Box<[u8]>),
    /// All elements of a type go; of all types with the deadline, if none.
    Clear(Option<Kind>),
    /// The deadline is this, or none.
    Expire(Option<u64>),
    /// Everything goes that had been there, and there is no deadline (R18).
    Create,
}

/// One operation.
pub(crate) struct Done {
    pub(crate) stamp: Stamp,
    pub(crate) acts: Vec<Act>,
    pub(crate) observed: Set,
}

/// A key as a reader sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shown {
    pub(crate) kind: Option<Kind>,
    pub(crate) elements: BTreeMap<Box<[u8]>, Datum>,
    /// None if there is none, or nothing is there.
    pub(crate) deadline: Option<u64>,
    /// Types that are there and hidden by a newer one (R16).
    pub(crate) shadowed: Vec<Kind>,
}

impl Shown {
    /// At a time in milliseconds.
    pub(crate) fn at(&self, time: u64) -> Self {
        if self.deadline.is_some_and(|deadline| deadline <= time) { Self::default() } else { self.clone() }
    }

    /// The same of the implementation.
    pub(crate) fn of(state: &State) -> Self {
        let Some(plain) = state.shown() else { return Self::default() };
        let mut elements = BTreeMap::new();
        plain.each(|name, datum| {
            elements.insert(name.into(), datum);
        });
        let deadline = state.deadlines.effective();
        Self { kind: Some(plain.kind()), elements, deadline, shadowed: Vec::new() }
    }

    /// The same to a reader.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        self.kind == other.kind && self.elements == other.elements && self.deadline == other.deadline
    }
}

/// One element while it is folded.
#[derive(Default)]
struct Folded {
    winner: Option<(Stamp, Datum)>,
    least: Option<f64>,
    most: Option<f64>,
    counted: Option<i64>,
    raised: Vec<(Stamp, Entry)>,
    newest: Stamp,
}

impl Folded {
    fn assign(&mut self, stamp: Stamp, datum: &Datum, bound: Bound) {
        self.newest = self.newest.max(stamp);
        if self.winner.as_ref().is_none_or(|(won, _)| *won < stamp) {
            self.winner = Some((stamp, datum.clone()));
        }
        if let Datum::Score(score) = *datum {
            match bound {
                Bound::None | Bound::Plain => {}
                Bound::Least => self.least = Some(self.least.map_or(score, |least| least.max(score))),
                Bound::Most => self.most = Some(self.most.map_or(score, |most| most.min(score))),
            }
        }
    }

    /// Whether a reader sees something: not if all that is left is that a plain string was deleted.
    fn is_there(&self) -> bool {
        self.counted.is_some() || self.winner.as_ref().is_some_and(|(_, datum)| *datum != Datum::Gone)
    }

    fn show(&self, kind: Kind) -> Datum {
        let counted = self.counted.unwrap_or(0);
        let winner = self.winner.as_ref().map(|(_, datum)| datum.clone());
        match (kind, winner) {
            (Kind::Zset, Some(Datum::Score(score))) => {
                let score = score.max(self.least.unwrap_or(f64::MIN)).min(self.most.unwrap_or(f64::MAX));
                Datum::Score(score + counted as f64)
            }
            (Kind::Zset, _) => Datum::Score(counted as f64),
            (_, Some(Datum::Bytes(text))) => match number(&text) {
                Some(number) => Datum::bytes((number + counted).to_string().as_bytes()),
                None => Datum::Bytes(text),
            },
            (Kind::BCounter, Some(Datum::Account(mut account))) => {
                let created = self.winner.as_ref().map(|(stamp, _)| *stamp).unwrap_or_default();
                account.create(created);
                let own = self.raised.iter().filter(|(of, _)| *of == created);
                own.for_each(|(_, entry)| account.raise(*entry));
                Datum::Account(account)
            }
            (_, Some(datum)) if datum != Datum::Gone => datum,
            (_, _) => Datum::bytes(counted.to_string().as_bytes()),
        }
    }
}

/// The number that a value is.
pub(crate) fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

type Name = (Kind, Box<[u8]>);

/// The dead among the visible operations.
#[derive(Default)]
struct Dead {
    of: BTreeMap<Name, Set>,
    of_kind: BTreeMap<Kind, Set>,
    of_all: Set,
    deadlines: Set,
}

impl Dead {
    fn of(all: &[(usize, &Done)]) -> Self {
        let mut dead = Self::default();
        for (_, done) in all {
            for act in &done.acts {
                match act {
                    Act::Assign(kind, name, ..) | Act::Remove(kind, name) => {
                        dead.of.entry((*kind, name.clone())).or_default().join(&done.observed);
                    }
                    Act::Clear(Some(kind)) => dead.of_kind.entry(*kind).or_default().join(&done.observed),
                    Act::Clear(None) | Act::Create => {
                        dead.of_all.join(&done.observed);
                        dead.deadlines.join(&done.observed);
                    }
                    Act::Expire(_) => dead.deadlines.join(&done.observed),
                    Act::Count(..) | Act::Raise(..) => {}
                }
            }
        }
        dead
    }

    fn has(&self, id: usize, kind: Kind, name: &[u8]) -> bool {
        self.of_all.has(id)
            || self.of_kind.get(&kind).is_some_and(|set| set.has(id))
            || self.of.iter().any(|((k, n), set)| *k == kind && **n == *name && set.has(id))
    }
}

/// The fold of everything in `all`, each with its number.
pub(crate) fn fold(all: &[(usize, &Done)]) -> Shown {
    let dead = Dead::of(all);
    // Of plain writes the newest alone counts, whatever became of it.
    let plain = |done: &Done| done.acts.iter().any(|act| matches!(act, Act::Assign(.., Bound::Plain)));
    let newest = all.iter().map(|(_, done)| *done).filter(|done| plain(done)).map(|done| done.stamp).max();
    let mut cells: BTreeMap<Name, Folded> = BTreeMap::new();
    let mut deadline: Option<u64> = None;
    for (id, done) in all {
        // The last word of an operation counts.
        let set = done.acts.iter().rev().find_map(|act| match act {
            Act::Expire(set) => Some(set.unwrap_or(u64::MAX)),
            Act::Create => Some(u64::MAX),
            _ => None,
        });
        deadline = deadline.max(set.filter(|_| !dead.deadlines.has(*id)));
        for act in &done.acts {
            match act {
                Act::Assign(.., Bound::Plain) if Some(done.stamp) < newest => {}
                Act::Assign(kind, name, datum, bound) if !dead.has(*id, *kind, name) => {
                    cells.entry((*kind, name.clone())).or_default().assign(done.stamp, datum, *bound);
                }
                Act::Count(kind, name, by) if !dead.has(*id, *kind, name) => {
                    let cell = cells.entry((*kind, name.clone())).or_default();
                    *cell.counted.get_or_insert(0) += by;
                    cell.newest = cell.newest.max(done.stamp);
                }
                Act::Raise(created, entry) => {
                    let cell = cells.entry((Kind::BCounter, Box::default())).or_default();
                    cell.raised.push((*created, *entry));
                }
                _ => {}
            }
        }
    }
    cells.retain(|_, cell| cell.is_there());
    let newest = cells.iter().max_by_key(|((kind, _), cell)| (cell.newest, *kind));
    let Some(kind) = newest.map(|((kind, _), _)| *kind) else { return Shown::default() };
    let kinds: BTreeSet<Kind> = cells.keys().map(|(kind, _)| *kind).collect();
    let shown = cells.iter().filter(|((of, _), _)| *of == kind);
    Shown {
        kind: Some(kind),
        elements: shown.map(|((_, name), cell)| (name.clone(), cell.show(kind))).collect(),
        deadline: deadline.filter(|deadline| *deadline != u64::MAX),
        shadowed: kinds.into_iter().filter(|other| *other != kind).collect(),
    }
}
