//! The checker against a slow oracle that takes every definition literally: happens-before as a matrix closed
//! under transitivity, every property as a loop over all writes. Both must convict the same histories of the
//! same properties, whatever is done to a good history.

use crate::common::mutate::{ask_for_less, mutate, reads_of};
use crate::common::{Shape, generate, shuffled, without_versions};
use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use tidemark_check::{Options, Promise, Properties, Property, check, check_with};
use tidemark_core::history::{Action, Fate, History, ReadKind};
use tidemark_core::{Found, Key, Stamp};

/// A version and the event that wrote it.
#[derive(Clone, Debug)]
struct Wrote {
    key: Key,
    stamp: Stamp,
    delete: bool,
    by: usize,
}

struct Oracle<'h> {
    history: &'h History,
    writes: Vec<Wrote>,
    /// `before[a]` holds `b`: event `a` happens before event `b`.
    before: Vec<Vec<bool>>,
    /// Per event: the events of its own session, or of an adopted one, that come before it.
    own: Vec<BTreeSet<usize>>,
}

fn writes_of(history: &History) -> Vec<Wrote> {
    let mut writes = Vec::new();
    let read: Vec<(Key, Found)> = history.events.iter().flat_map(reads_of).collect();
    let last = history.finals.iter().map(|f| (f.key.clone(), f.found.clone()));
    let seen: Vec<(Key, Found)> = read.into_iter().chain(last).collect();
    for (by, event) in history.events.iter().enumerate() {
        let Action::Write { key, value, version, .. } = &event.action else { continue };
        let stamp = match event.fate {
            Fate::Ok => *version,
            Fate::Unknown => {
                let same = |(k, found): &&(Key, Found)| k == key && found.value == *value && value.is_some();
                seen.iter().find(same).and_then(|(_, found)| found.stamp)
            }
            _ => None,
        };
        if let Some(stamp) = stamp {
            writes.push(Wrote { key: key.clone(), stamp, delete: value.is_none(), by });
        }
    }
    writes
}

impl<'h> Oracle<'h> {
    /// None if happens-before is cyclic.
    fn new(history: &'h History) -> Option<Self> {
        let events = &history.events;
        let n = events.len();
        let writes = writes_of(history);
        let mut before = vec![vec![false; n]; n];
        let mut own = vec![BTreeSet::new(); n];
        for b in 0..n {
            for a in 0..b {
                if events[a].session == events[b].session {
                    before[a][b] = events[a].fate != Fate::Unknown;
                    own[b].insert(a);
                    if let (Action::Adopt { from, events: n }, Fate::Ok) = (&events[a].action, events[a].fate)
                    {
                        let theirs = (0..events.len()).filter(|i| events[*i].session == *from);
                        for i in theirs.take(*n as usize) {
                            let more = own[i].clone();
                            own[b].extend(more);
                            own[b].insert(i);
                        }
                    }
                }
            }
        }
        for (b, event) in events.iter().enumerate() {
            for (key, found) in reads_of(event) {
                for w in writes.iter().filter(|w| w.key == key && Some(w.stamp) == found.stamp) {
                    before[w.by][b] = true;
                }
            }
            if let (Action::Adopt { from, events: n }, Fate::Ok) = (&event.action, event.fate) {
                for a in (0..events.len()).filter(|i| events[*i].session == *from).take(*n as usize) {
                    before[a][b] = events[a].fate != Fate::Unknown;
                }
            }
        }
        for k in 0..n {
            let through = before[k].clone();
            for row in before.iter_mut().filter(|row| row[k]) {
                row.iter_mut().zip(&through).for_each(|(r, t)| *r |= t);
            }
        }
        (0..n).all(|i| !before[i][i]).then_some(Self { history, writes, before, own })
    }

    fn excused(&self, key: &Key, found: &Found, newer: Stamp) -> bool {
        let unknown_delete = self.history.events.iter().any(|e| {
            matches!(&e.action, Action::Write { key: k, value: None, version: None, .. } if k == key)
                && e.fate == Fate::Unknown
        });
        let delete = self.writes.iter().any(|w| w.key == *key && w.delete && w.stamp >= newer);
        found.stamp.is_none() && (delete || unknown_delete)
    }

    /// Whether some write that `owed` holds for is newer than what was found.
    fn stale(&self, key: &Key, found: &Found, owed: impl Fn(&Wrote) -> bool) -> bool {
        let newer = |w: &&Wrote| w.key == *key && Some(w.stamp) > found.stamp;
        self.writes.iter().filter(newer).any(|w| owed(w) && !self.excused(key, found, w.stamp))
    }

    fn has_read(&self, e: usize, w: &Wrote) -> bool {
        let read = |i: &usize| reads_of(&self.history.events[*i]);
        self.own[e].iter().flat_map(read).any(|(k, f)| k == w.key && f.stamp == Some(w.stamp))
    }

    /// The writes that the session of event `e` has read before it.
    fn writes_read(&self, e: usize) -> impl Iterator<Item = &Wrote> {
        let read: Vec<(Key, Found)> =
            self.own[e].iter().flat_map(|i| reads_of(&self.history.events[*i])).collect();
        self.writes.iter().filter(move |w| read.iter().any(|(k, f)| *k == w.key && f.stamp == Some(w.stamp)))
    }

    /// What event `e` violates.
    fn violated(&self, e: usize, into: &mut BTreeSet<Property>) {
        let event = &self.history.events[e];
        let kind = if let Action::Read { kind, .. } = &event.action { *kind } else { ReadKind::Get };
        let acknowledged = |w: &Wrote| self.history.events[w.by].fate == Fate::Ok;
        let reads = reads_of(event);
        for (key, found) in &reads {
            let mut hold = |property, owed: &dyn Fn(&Wrote) -> bool| {
                if self.stale(key, found, owed) {
                    into.insert(property);
                }
            };
            let past = |w: &Wrote| self.before[w.by][e];
            let returned = |w: &Wrote| {
                reads.iter().any(|(k, y)| {
                    self.writes.iter().any(|v| {
                        v.key == *k && Some(v.stamp) == y.stamp && (v.by == w.by || self.before[w.by][v.by])
                    })
                })
            };
            if kind != ReadKind::Snapshot {
                hold(Property::ReadYourWrites, &|w| {
                    event.asked.read_your_writes && self.own[e].contains(&w.by) && acknowledged(w)
                });
                hold(Property::MonotonicReads, &|w| event.asked.monotonic_reads && self.has_read(e, w));
                hold(Property::MonotonicWritesGlobal, &|w| {
                    acknowledged(w) && self.writes_read(e).any(|v| self.own[v.by].contains(&w.by))
                });
                hold(Property::WritesFollowReadsGlobal, &|w| {
                    let observes = |by: usize| {
                        let reads = reads_of(&self.history.events[by]);
                        reads.iter().any(|(k, f)| *k == w.key && f.stamp == Some(w.stamp))
                    };
                    self.writes_read(e).any(|v| self.has_read(v.by, w) || observes(v.by))
                });
            }
            match kind {
                ReadKind::Get => {
                    // Not what is in its past only because of this very read.
                    let earlier = |w: &Wrote| self.own_or_before(e, w) || !returned(w) && past(w);
                    hold(Property::Causal, &earlier);
                }
                ReadKind::Rotx => hold(Property::Snapshot, &|w| past(w) || returned(w)),
                ReadKind::Snapshot => hold(Property::Snapshot, &returned),
            }
            if let (Action::Read { kind: ReadKind::Get, .. }, Some(start)) = (&event.action, event.start_us) {
                hold(Property::Immediate, &|w| {
                    let by = &self.history.events[w.by];
                    acknowledged(w) && by.dc == event.dc && by.end_us.is_some_and(|end| end < start)
                });
            }
        }
        for w in self.writes.iter().filter(|w| w.by == e) {
            let mut lose = |property, owed: &dyn Fn(&Wrote) -> bool| {
                if self.writes.iter().any(|x| x.key == w.key && x.stamp > w.stamp && owed(x)) {
                    into.insert(property);
                }
            };
            lose(Property::MonotonicWrites, &|x| {
                event.asked.monotonic_writes && self.own[e].contains(&x.by) && acknowledged(x)
            });
            lose(Property::WritesFollowReads, &|x| {
                let observed = || reads.iter().any(|(k, f)| *k == x.key && f.stamp == Some(x.stamp));
                event.asked.writes_follow_reads && (self.has_read(e, x) || observed())
            });
            lose(Property::OverwriteOrder, &|x| self.before[x.by][e]);
        }
    }

    /// Whether `w` happens before an event that comes before `e` in its session (or is adopted there).
    fn own_or_before(&self, e: usize, w: &Wrote) -> bool {
        let session = self.history.events[e].session;
        let fine = |i: usize| self.history.events[i].fate != Fate::Unknown;
        (0..e).any(|i| {
            self.history.events[i].session == session && fine(i) && (i == w.by || self.before[w.by][i])
        })
    }

    /// Whether single reads, or a read-only transaction taken for several of them, violate causality.
    fn causal_alone(&self) -> bool {
        let misses = |e: usize| {
            let stale = |(key, found): (Key, Found)| self.stale(&key, &found, |w| self.own_or_before(e, w));
            let is_rotx = matches!(self.history.events[e].action, Action::Read { kind: ReadKind::Rotx, .. });
            is_rotx && reads_of(&self.history.events[e]).into_iter().any(stale)
        };
        self.verdict().contains(&Property::Causal) || (0..self.history.events.len()).any(misses)
    }

    fn verdict(&self) -> BTreeSet<Property> {
        let mut violated = BTreeSet::new();
        for e in 0..self.history.events.len() {
            self.violated(e, &mut violated);
        }
        violated
    }
}

const COMPARED: [Property; 10] = [
    Property::ReadYourWrites,
    Property::MonotonicReads,
    Property::MonotonicWrites,
    Property::WritesFollowReads,
    Property::MonotonicWritesGlobal,
    Property::WritesFollowReadsGlobal,
    Property::Causal,
    Property::OverwriteOrder,
    Property::Snapshot,
    Property::Immediate,
];

#[test]
fn the_checker_and_the_definitions_agree() {
    let mut counterexamples: BTreeMap<Property, u32> = BTreeMap::new();
    let (mut cyclic, mut compared) = (0, 0);
    for seed in 0..6000 {
        let mut rng = Rng::with_seed(seed ^ 0x7153);
        let shape = Shape { ops: 20, causal: seed % 4 > 0, ..Shape::SMALL };
        let mut history = generate(seed, shape);
        for _ in 0..rng.u32(..3) {
            mutate(&mut history, &mut rng);
        }
        ask_for_less(&mut history, &mut rng);
        let report = check_with(
            &history,
            Options { limit: 1000, ..Options::new(Properties::all().without(Property::Sequential)) },
        );
        let Some(oracle) = Oracle::new(&history) else {
            cyclic += 1;
            assert!(report.violates(Property::WellFormed), "a cycle is seen: seed {seed}\n{report}");
            continue;
        };
        let expected = oracle.verdict();
        let causal = Properties::default().with(Property::Causal);
        let alone = check_with(&history, Options::new(causal)).violates(Property::Causal);
        assert_eq!(alone, oracle.causal_alone(), "seed {seed}: causal alone\n{report}\n{history:#?}");
        for property in COMPARED {
            let (ours, theirs) = (report.violates(property), expected.contains(&property));
            assert_eq!(ours, theirs, "seed {seed}: {property}\n{report}\n{history:#?}");
            *counterexamples.entry(property).or_default() += u32::from(ours);
        }
        compared += 1;
    }
    assert!(compared > 5000 && cyclic > 10, "{compared} compared, {cyclic} cyclic");
    for property in COMPARED {
        assert!(counterexamples[&property] > 50, "too few of {property}: {counterexamples:?}");
    }
}

/// An order of the writes by brute force: the edges of Biswas and Enea, all of them, and a closure.
fn explained(history: &History) -> bool {
    let n = history.events.len();
    let Some(oracle) = Oracle::new(history) else { return false };
    let mut order = oracle.before.clone();
    for (e, event) in history.events.iter().enumerate() {
        let Action::Read { kind, .. } = &event.action else { continue };
        // Several reads, none of which is in the past of another.
        let past = |w: &&Wrote| match kind {
            ReadKind::Get => oracle.before[w.by][e],
            ReadKind::Rotx => oracle.own_or_before(e, w),
            ReadKind::Snapshot => false,
        };
        for (key, found) in reads_of(event) {
            let from = oracle.writes.iter().find(|w| w.key == key && Some(w.stamp) == found.stamp);
            for w in oracle.writes.iter().filter(|w| w.key == key).filter(past) {
                match from {
                    None => return false,
                    Some(v) if v.by != w.by => order[w.by][v.by] = true,
                    Some(_) => {}
                }
            }
        }
    }
    for k in 0..n {
        let through = order[k].clone();
        for row in order.iter_mut().filter(|row| row[k]) {
            row.iter_mut().zip(&through).for_each(|(r, t)| *r |= t);
        }
    }
    (0..n).all(|i| !order[i][i])
}

#[test]
fn the_black_box_finds_an_order_exactly_when_there_is_one() {
    let (mut good, mut bad) = (0, 0);
    for seed in 0..4000 {
        let mut rng = Rng::with_seed(seed);
        let shape = Shape { ops: 24, frills: false, keys: 2, causal: seed % 2 > 0, ..Shape::SMALL };
        let mut history = generate(seed, shape);
        history.finals.clear();
        for _ in 0..rng.u32(..4) {
            mutate(&mut history, &mut rng);
        }
        let expected = explained(&history);
        let report = check(&without_versions(shuffled(&history, seed)), Promise::Causal);
        assert_eq!(report.ok(), expected, "seed {seed}\n{report}\n{history:#?}");
        *(if expected { &mut good } else { &mut bad }) += 1;
    }
    assert!(good > 500 && bad > 500, "{good} good, {bad} bad");
}
