//! The guarantees by values, against a search through every order of the writes of each key. A guarantee is kept if
//! one of the orders makes its definition true, read literally; several are, if one order does for all of them.

use crate::common::mutate::{ask_for_less, mutate, reads_of};
use crate::common::{Shape, generate, shuffled, without_versions};
use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use tidemark_check::{Options, Properties, Property, Report, check_with};
use tidemark_core::history::{Action, Event, Fate, History, ReadKind};
use tidemark_core::{Found, Key};

use Property::*;

/// A write, by its number among all writes; none is the initial absence.
type Version = Option<usize>;

/// The second must not be older than the first.
type Demand = (usize, Version);

struct Oracle<'h> {
    history: &'h History,
    /// Key and event of each write that happened, as far as is known.
    writes: Vec<(Key, usize)>,
    /// Per event: what it returned.
    reads: Vec<Vec<(Key, Version)>>,
    /// Per event: the events of its own session, or of an adopted one, that come before it.
    own: Vec<BTreeSet<usize>>,
}

impl<'h> Oracle<'h> {
    /// None if a value was not written, or written twice, or a read comes before what it returns.
    fn new(history: &'h History) -> Option<Self> {
        let events = &history.events;
        let last = history.finals.iter().map(|f| (f.key.clone(), f.found.value.clone()));
        let read = events.iter().flat_map(reads_of).map(|(key, found)| (key, found.value));
        let seen: BTreeSet<_> = read.chain(last).collect();
        let mut writes = Vec::new();
        let mut by_value = BTreeMap::new();
        for (e, event) in events.iter().enumerate() {
            let Action::Write { key, value, .. } = &event.action else { continue };
            let read = value.is_some() && seen.contains(&(key.clone(), value.clone()));
            if event.fate == Fate::Ok || event.fate == Fate::Unknown && read {
                if value.is_some() {
                    by_value.insert((key.clone(), value.clone()), writes.len()).is_none().then_some(())?;
                }
                writes.push((key.clone(), e));
            }
        }
        let deleted = |k: &Key| events.iter().any(|e| deletes(e, k));
        let mut reads = Vec::new();
        for event in events {
            let mut found = Vec::new();
            for (key, f) in reads_of(event) {
                match f.value {
                    None if deleted(&key) => {} // says nothing
                    None => found.push((key, None)),
                    value => {
                        let version = *by_value.get(&(key.clone(), value))?;
                        found.push((key, Some(version)));
                    }
                }
            }
            reads.push(found);
        }
        Some(Self { history, writes, reads, own: own(events) })
    }

    fn acknowledged(&self, w: usize) -> bool {
        self.history.events[self.writes[w].1].fate == Fate::Ok
    }

    /// The writes of `key` that `owed` holds for.
    fn writes_of(&self, key: &Key, owed: impl Fn(usize) -> bool) -> Vec<usize> {
        (0..self.writes.len()).filter(|w| self.writes[*w].0 == *key && owed(*w)).collect()
    }

    fn has_read(&self, events: impl IntoIterator<Item = usize>, w: usize) -> bool {
        events.into_iter().any(|i| self.reads[i].iter().any(|(_, v)| *v == Some(w)))
    }

    /// What `property` demands of event `e`, by its definition.
    fn demands(&self, property: Property, e: usize) -> Vec<(Key, Demand)> {
        let (event, own) = (&self.history.events[e], &self.own[e]);
        let kind = if let Action::Read { kind, .. } = &event.action { *kind } else { ReadKind::Get };
        let written = (0..self.writes.len()).find(|w| self.writes[*w].1 == e);
        let mine = |w: usize| own.contains(&self.writes[w].1) && self.acknowledged(w);
        let read = |w: usize| self.has_read(own.iter().copied(), w);
        // The events that wrote what the session has read.
        let writers = || (0..self.writes.len()).filter(|w| read(*w)).map(|w| self.writes[w].1);
        let owed = |key: &Key| match property {
            ReadYourWrites if event.asked.read_your_writes => self.writes_of(key, mine),
            MonotonicReads if event.asked.monotonic_reads => self.writes_of(key, read),
            MonotonicWritesGlobal => self.writes_of(key, |w| {
                self.acknowledged(w) && writers().any(|by| self.own[by].contains(&self.writes[w].1))
            }),
            WritesFollowReadsGlobal => self.writes_of(key, |w| {
                writers().any(|by| self.has_read(self.own[by].iter().copied().chain([by]), w))
            }),
            Immediate if matches!(event.action, Action::Read { kind: ReadKind::Get, .. }) => {
                self.writes_of(key, |w| {
                    let by = &self.history.events[self.writes[w].1];
                    let before = by.end_us.zip(event.start_us).is_some_and(|(end, start)| end < start);
                    self.acknowledged(w) && by.dc == event.dc && before
                })
            }
            _ => Vec::new(),
        };
        let mut demands = Vec::new();
        if kind != ReadKind::Snapshot {
            for (key, version) in &self.reads[e] {
                demands.extend(owed(key).into_iter().map(|w| (key.clone(), (w, *version))));
            }
        }
        if let Some(written) = written {
            let key = &self.writes[written].0;
            let owed = match property {
                MonotonicWrites if event.asked.monotonic_writes => self.writes_of(key, mine),
                WritesFollowReads if event.asked.writes_follow_reads => {
                    self.writes_of(key, |w| read(w) || self.has_read([e], w))
                }
                _ => Vec::new(),
            };
            demands.extend(owed.into_iter().map(|w| (key.clone(), (w, Some(written)))));
        }
        demands
    }

    /// In the end every write has lost to what all replicas return, or is it.
    fn last_words(&self) -> Option<Vec<(Key, Demand)>> {
        let mut demands = Vec::new();
        for last in &self.history.finals {
            let same = |other: &&tidemark_core::history::Final| other.key == last.key;
            if self.history.finals.iter().filter(same).any(|f| f.found.value != last.found.value) {
                return None;
            }
            let wrote = |w: &usize| {
                let by = &self.history.events[self.writes[*w].1];
                self.writes[*w].0 == last.key
                    && matches!(&by.action, Action::Write { value, .. } if *value == last.found.value)
            };
            let all = self.writes_of(&last.key, |_| true);
            match &last.found.value {
                None if self.history.events.iter().any(|e| deletes(e, &last.key)) => {}
                None => demands.extend(all.into_iter().map(|w| (last.key.clone(), (w, None)))),
                Some(_) => {
                    let version = (0..self.writes.len()).find(wrote)?;
                    demands.extend(all.into_iter().map(|w| (last.key.clone(), (w, Some(version)))));
                }
            }
        }
        Some(demands)
    }

    /// Whether some order of each key's writes keeps all the properties.
    fn kept(&self, properties: &[Property], last_words: &[(Key, Demand)]) -> bool {
        let mut by_key: BTreeMap<Key, Vec<Demand>> = BTreeMap::new();
        let events = 0..self.history.events.len();
        let all = events.flat_map(|e| properties.iter().flat_map(move |p| self.demands(*p, e)));
        all.chain(last_words.iter().cloned()).for_each(|(key, d)| by_key.entry(key).or_default().push(d));
        by_key.iter().all(|(key, demands)| {
            let mut order = self.writes_of(key, |_| true);
            some_order(&mut order, 0, &|order| {
                let place = |w: &usize| order.iter().position(|x| x == w).unwrap() + 1;
                demands.iter().all(|(owed, version)| place(owed) <= version.as_ref().map_or(0, place))
            })
        })
    }
}

/// Whether any order of what stands from `fixed` on is good.
fn some_order(order: &mut Vec<usize>, fixed: usize, good: &impl Fn(&[usize]) -> bool) -> bool {
    if fixed == order.len() {
        return good(order);
    }
    (fixed..order.len()).any(|i| {
        order.swap(fixed, i);
        let found = some_order(order, fixed + 1, good);
        order.swap(fixed, i);
        found
    })
}

fn deletes(event: &Event, key: &Key) -> bool {
    matches!(&event.action, Action::Write { key: k, value: None, .. } if k == key)
        && matches!(event.fate, Fate::Ok | Fate::Unknown)
}

fn own(events: &[Event]) -> Vec<BTreeSet<usize>> {
    let mut own: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); events.len()];
    for b in 0..events.len() {
        for a in (0..b).filter(|a| events[*a].session == events[b].session) {
            own[b].insert(a);
            if let (Action::Adopt { from, events: n }, Fate::Ok) = (&events[a].action, events[a].fate) {
                for i in (0..events.len()).filter(|i| events[*i].session == *from).take(*n as usize) {
                    let more = own[i].clone();
                    own[b].extend(more);
                    own[b].insert(i);
                }
            }
        }
    }
    own
}

const SESSION: [Property; 4] = [ReadYourWrites, MonotonicReads, MonotonicWrites, WritesFollowReads];
const ALL: [Property; 7] = [
    ReadYourWrites,
    MonotonicReads,
    MonotonicWrites,
    WritesFollowReads,
    MonotonicWritesGlobal,
    WritesFollowReadsGlobal,
    Immediate,
];

fn found(history: &History, properties: &[Property]) -> Report {
    let properties = properties.iter().fold(Properties::default(), |all, p| all.with(*p));
    check_with(history, Options { limit: 100, values_only: true, ..Options::new(properties) })
}

/// Every violation tells events that exist, and more than one.
fn told(report: &Report, history: &History) {
    for violation in &report.violations {
        assert!(violation.steps.len() > 1, "{violation}");
        assert!(violation.steps.iter().all(|s| s.event.is_none_or(|e| (e as usize) < history.events.len())));
    }
}

/// Every replica returns another of a key's versions in the end.
fn end_elsewhere(history: &mut History, rng: &mut Rng) {
    let Some(last) = history.finals.first().cloned() else { return };
    let all: Vec<Found> = history
        .events
        .iter()
        .flat_map(reads_of)
        .filter(|(key, _)| *key == last.key)
        .map(|(_, f)| f)
        .collect();
    if !all.is_empty() {
        let found = all[rng.usize(..all.len())].clone();
        history.finals.iter_mut().filter(|f| f.key == last.key).for_each(|f| f.found = found.clone());
    }
}

#[test]
fn a_guarantee_is_kept_exactly_when_some_order_of_the_writes_keeps_it() {
    let mut counterexamples: BTreeMap<String, u32> = BTreeMap::new();
    let mut compared = 0;
    for seed in 0..8000 {
        let mut rng = Rng::with_seed(seed ^ 0xb1ac);
        let shape = Shape { ops: 18, keys: 2, sessions: 3, causal: seed % 2 > 0, ..Shape::SMALL };
        let mut history = generate(seed, shape);
        for _ in 0..rng.u32(..5) {
            mutate(&mut history, &mut rng);
        }
        if rng.bool() {
            end_elsewhere(&mut history, &mut rng);
        }
        ask_for_less(&mut history, &mut rng);
        let Some(oracle) = Oracle::new(&history) else { continue };
        let writes = |key: &str| oracle.writes_of(&Key::from(key), |_| true).len();
        if writes("k0") > 6 || writes("k1") > 6 || !found(&history, &[WellFormed]).ok() {
            continue;
        }
        let finals = oracle.last_words();
        let mut sets: Vec<Vec<Property>> = ALL.iter().map(|p| vec![*p]).collect();
        sets.extend([SESSION.to_vec(), ALL.to_vec()]);
        sets.extend(finals.is_some().then(|| [&SESSION[..], &[Convergence]].concat()));
        sets.extend(finals.is_some().then(|| vec![MonotonicWrites, Convergence]));
        for set in sets {
            let last_words = finals.clone().filter(|_| set.contains(&Convergence)).unwrap_or_default();
            let kept = oracle.kept(&set, &last_words);
            let by_value = if seed % 3 > 0 { without_versions(history.clone()) } else { history.clone() };
            let by_value = if set.contains(&Immediate) { by_value } else { shuffled(&by_value, seed) };
            let report = found(&by_value, &set);
            assert_eq!(report.ok(), kept, "seed {seed}: {set:?}\n{report}\n{history:#?}");
            told(&report, &by_value);
            *counterexamples.entry(format!("{set:?}")).or_default() += u32::from(!kept);
        }
        compared += 1;
    }
    assert!(compared > 4000, "{compared} compared");
    // On their own these two follow what happened, and no order contradicts that.
    let vacuous = ["[MonotonicWrites]", "[WritesFollowReads]"];
    for (set, n) in &counterexamples {
        assert!(if vacuous.contains(&set.as_str()) { *n == 0 } else { *n > 40 }, "{counterexamples:?}");
    }
}

/// What values show, versions show too: a counterexample by value is never the fault of not knowing the order.
#[test]
fn who_is_convicted_by_values_is_convicted_by_versions() {
    let mut convicted = 0;
    for seed in 0..3000 {
        let mut rng = Rng::with_seed(seed ^ 0x0c4d);
        let shape = Shape { ops: 30, frills: false, causal: seed % 2 > 0, ..Shape::SMALL };
        let mut history = generate(seed, shape);
        for _ in 0..rng.u32(..4) {
            mutate(&mut history, &mut rng);
        }
        for property in ALL {
            let options = Options::new(Properties::default().with(property));
            let by_value = check_with(&history, Options { values_only: true, ..options });
            if !by_value.ok() {
                convicted += 1;
                let by_version = check_with(&history, options);
                assert!(!by_version.ok(), "seed {seed}: {property}\n{by_value}\n{history:#?}");
            }
        }
    }
    assert!(convicted > 300, "{convicted}");
}
