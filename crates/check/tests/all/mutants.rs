//! Mutants of good histories, one kind a test: each must be convicted of what it breaks and, where a kind is
//! pure, of nothing else.

use crate::common::{Shape, generate};
use std::collections::BTreeSet;
use tidemark_check::{Options, Properties, Property, Report, check_with};
use tidemark_core::history::{Action, Event, Fate, History, Read, ReadKind};
use tidemark_core::{Found, Hlc, Key, Stamp, Value};

use Property::*;

const SHAPE: Shape = Shape { ops: 60, dcs: 3, keys: 3, sessions: 5, frills: false, causal: true };

/// Applies `mutation` to good histories until 40 took it; each must then be convicted of all of `expected`,
/// and of nothing but them and `allowed`.
#[track_caller]
fn counterexample(expected: &[Property], allowed: &[Property], mutation: impl Fn(&mut History) -> bool) {
    let mut taken = 0;
    for seed in 0..4000 {
        let mut history = generate(seed, SHAPE);
        if !mutation(&mut history) {
            continue;
        }
        let report = check_with(
            &history,
            Options { limit: 100, ..Options::new(Properties::all().without(Property::Sequential)) },
        );
        let violated: BTreeSet<Property> =
            Property::ALL.into_iter().filter(|p| report.violates(*p)).collect();
        for property in expected {
            assert!(violated.contains(property), "seed {seed}: {property} is missed\n{report}\n{history:#?}");
        }
        let other = violated.iter().find(|p| !expected.contains(p) && !allowed.contains(p));
        assert!(other.is_none(), "seed {seed}: {other:?} is convicted as well\n{report}");
        told(&report, &history);
        taken += 1;
        if taken == 40 {
            return;
        }
    }
    panic!("only {taken} histories took the mutation");
}

/// Every violation ends where it shows, and names events that exist.
fn told(report: &Report, history: &History) {
    for violation in &report.violations {
        assert!(violation.steps.len() > 1 || violation.property == WellFormed, "{violation}");
        assert!(violation.steps.iter().all(|s| s.event.is_none_or(|e| (e as usize) < history.events.len())));
    }
}

fn read_mut(event: &mut Event) -> Option<&mut Read> {
    match &mut event.action {
        Action::Read { kind: ReadKind::Get, reads } => reads.first_mut(),
        _ => None,
    }
}

/// Version, value and event of each write of `key`.
fn writes(history: &History, key: &Key) -> Vec<(Stamp, Option<Value>, usize)> {
    let write = |(e, event): (usize, &Event)| match &event.action {
        Action::Write { key: k, version: Some(stamp), value, .. } if k == key => {
            Some((*stamp, value.clone(), e))
        }
        _ => None,
    };
    history.events.iter().enumerate().filter_map(write).collect()
}

/// The newest write of `key` below `stamp`.
fn older(history: &History, key: &Key, stamp: Option<Stamp>) -> Option<Found> {
    let all = writes(history, key).into_iter().filter(|(s, _, _)| Some(*s) < stamp);
    let (stamp, value, _) = all.max_by_key(|(s, _, _)| *s)?;
    Some(Found::new(Some(stamp), value))
}

/// The first GET for which `make` finds something else to return.
fn change_get(history: &mut History, make: impl Fn(&History, usize, &Read) -> Option<Found>) -> bool {
    for e in 0..history.events.len() {
        let Some(read) = read_mut(&mut history.events[e]).cloned() else { continue };
        if let Some(found) = make(history, e, &read) {
            read_mut(&mut history.events[e]).expect("a GET").found = found;
            return true;
        }
    }
    false
}

/// Whether the session of event `e` wrote, or read, `stamp` of `key` before.
fn session_knows(history: &History, e: usize, key: &Key, stamp: Option<Stamp>) -> (bool, bool) {
    let (mut wrote, mut read) = (false, false);
    for event in history.events[..e].iter().filter(|i| i.session == history.events[e].session) {
        match &event.action {
            Action::Write { key: k, version, .. } => wrote |= k == key && *version == stamp,
            Action::Read { reads, .. } => {
                read |= reads.iter().any(|r| r.key == *key && r.found.stamp == stamp);
            }
            Action::Adopt { .. } => {}
        }
    }
    (wrote, read)
}

#[test]
fn a_read_that_misses_the_sessions_own_write() {
    // What it reads instead has a past of its own, which later transactions may miss.
    let allowed = [MonotonicReads, Immediate, MonotonicWritesGlobal, WritesFollowReadsGlobal, Snapshot];
    counterexample(&[ReadYourWrites, Causal], &allowed, |h| {
        change_get(h, |h, e, read| {
            let (wrote, _) = session_knows(h, e, &read.key, read.found.stamp);
            wrote.then(|| older(h, &read.key, read.found.stamp)).flatten()
        })
    });
}

#[test]
fn a_read_that_goes_back() {
    let allowed = [ReadYourWrites, Immediate, MonotonicWritesGlobal, WritesFollowReadsGlobal, Snapshot];
    counterexample(&[MonotonicReads, Causal], &allowed, |h| {
        change_get(h, |h, e, read| {
            let (_, read_before) = session_knows(h, e, &read.key, read.found.stamp);
            read_before.then(|| older(h, &read.key, read.found.stamp)).flatten()
        })
    });
}

#[test]
fn absence_instead_of_a_value() {
    counterexample(
        &[Causal],
        &[ReadYourWrites, MonotonicReads, Immediate, MonotonicWritesGlobal, WritesFollowReadsGlobal],
        |h| {
            change_get(h, |h, e, read| {
                let (wrote, before) = session_knows(h, e, &read.key, read.found.stamp);
                (read.found.stamp.is_some() && (wrote || before)).then(Found::default)
            })
        },
    );
}

/// Whether an event reads a version (any, if none is named) of `key`.
fn reads(event: &Event, key: &Key, version: Option<Stamp>) -> bool {
    matches!(&event.action, Action::Read { reads, .. } if reads.iter().any(|r| {
        r.key == *key && (version.is_none() || r.found.stamp == version)
    }))
}

/// A cause that the session knows of only through somebody else: no session guarantee of one key notices.
#[test]
fn a_dropped_dependency() {
    counterexample(&[MonotonicWritesGlobal, Causal], &[Immediate, WritesFollowReadsGlobal], |h| {
        change_get(h, |h, e, read| {
            let key = &read.key;
            let (_, _, cause) = writes(h, key).into_iter().find(|w| Some(w.0) == read.found.stamp)?;
            let (session, author) = (h.events[e].session, h.events[cause].session);
            let own = || h.events[..e].iter().filter(|x| x.session == session);
            let touched = |x: &Event| match &x.action {
                Action::Write { key: k, .. } => k == key,
                _ => reads(x, key, None),
            };
            if session == author || own().any(touched) {
                return None;
            }
            // The session has read something that the author wrote later.
            let told = |x: &Event| match &x.action {
                Action::Write { key: k, version, .. } => own().any(|y| reads(y, k, *version)),
                _ => false,
            };
            let later = |i: &usize| h.events[*i].session == author && told(&h.events[*i]);
            let effect = (cause + 1..e).find(later)?;
            (effect > cause).then(|| older(h, key, read.found.stamp).unwrap_or_default())
        })
    });
}

#[test]
fn a_torn_snapshot() {
    counterexample(
        &[Snapshot],
        &[ReadYourWrites, MonotonicReads, MonotonicWritesGlobal, WritesFollowReadsGlobal],
        |h| {
            for e in 0..h.events.len() {
                let before = h.clone();
                let Action::Read { kind: ReadKind::Snapshot, reads } = &mut h.events[e].action else {
                    continue;
                };
                let [x, y] = &mut reads[..] else { continue };
                // The same session wrote what is returned for x, and later what is returned for y.
                let by = |r: &Read| {
                    let all = writes(&before, &r.key).into_iter().find(|w| Some(w.0) == r.found.stamp);
                    all.map(|w| (before.events[w.2].session, w.2))
                };
                let (Some(cause), Some(effect)) = (by(x), by(y)) else { continue };
                if cause.0 == effect.0 && cause.1 < effect.1 {
                    x.found = older(&before, &x.key, x.found.stamp).unwrap_or_default();
                    return true;
                }
            }
            false
        },
    );
}

/// In its data centre, but in nobody's past.
#[test]
fn an_acknowledged_write_that_is_not_visible_yet() {
    counterexample(&[Immediate], &[], |h| {
        change_get(h, |h, e, read| {
            let (_, _, by) = writes(h, &read.key).into_iter().find(|w| Some(w.0) == read.found.stamp)?;
            let here = h.events[by].dc == h.events[e].dc && h.events[by].session != h.events[e].session;
            // The session has seen nothing yet, so that it can miss anything.
            let fresh = h.events[..e].iter().all(|x| x.session != h.events[e].session);
            (here && fresh).then(Found::default)
        })
    });
}

#[test]
fn a_later_write_with_an_older_version() {
    let consequences =
        [ReadYourWrites, MonotonicReads, WritesFollowReads, Causal, Immediate, Convergence, Snapshot];
    let allowed: Vec<Property> =
        consequences.into_iter().chain([MonotonicWritesGlobal, WritesFollowReadsGlobal]).collect();
    counterexample(&[MonotonicWrites, OverwriteOrder], &allowed, |h| {
        for e in 0..h.events.len() {
            let Action::Write { key, version: Some(stamp), .. } = &h.events[e].action else { continue };
            let (key, stamp) = (key.clone(), *stamp);
            let earlier =
                |w: &(Stamp, Option<Value>, usize)| w.2 < e && h.events[w.2].session == h.events[e].session;
            let Some((first, ..)) = writes(h, &key).into_iter().find(earlier) else { continue };
            let fresh = Stamp { ts: Hlc(first.ts.0 - 1), seq: 99, ..first };
            rename(h, &key, stamp, fresh);
            return true;
        }
        false
    });
}

/// Gives a version another stamp, wherever it is named.
fn rename(history: &mut History, key: &Key, old: Stamp, new: Stamp) {
    let fix = |k: &Key, stamp: &mut Option<Stamp>| {
        if k == key && *stamp == Some(old) {
            *stamp = Some(new);
        }
    };
    for event in &mut history.events {
        match &mut event.action {
            Action::Write { key, version, .. } => fix(key, version),
            Action::Read { reads, .. } => reads.iter_mut().for_each(|r| fix(&r.key, &mut r.found.stamp)),
            Action::Adopt { .. } => {}
        }
    }
    history.finals.iter_mut().for_each(|f| fix(&f.key, &mut f.found.stamp));
}

#[test]
fn a_replica_that_ends_elsewhere() {
    counterexample(&[Convergence], &[], |h| {
        let Some(at) = h.finals.iter().position(|f| f.found.stamp.is_some()) else { return false };
        let (key, stamp) = (h.finals[at].key.clone(), h.finals[at].found.stamp);
        h.finals[at].found = older(h, &key, stamp).unwrap_or_default();
        true
    });
}

#[test]
fn a_write_that_every_replica_lost() {
    counterexample(&[Convergence], &[], |h| {
        let Some(last) = h.finals.iter().find(|f| f.found.stamp.is_some()).cloned() else { return false };
        let found = older(h, &last.key, last.found.stamp).unwrap_or_default();
        h.finals.iter_mut().filter(|f| f.key == last.key).for_each(|f| f.found = found.clone());
        true
    });
}

#[test]
fn a_version_out_of_thin_air() {
    let stale =
        [MonotonicReads, Causal, Immediate, ReadYourWrites, MonotonicWritesGlobal, WritesFollowReadsGlobal];
    counterexample(&[WellFormed], &stale, |h| {
        change_get(h, |_, _, read| {
            let value = Some(Value::from(&b"ghost"[..]));
            Some(Found::new(Some(Stamp { seq: 77, ..read.found.stamp? }), value))
        })
    });
}

#[test]
fn a_value_that_was_not_written() {
    counterexample(&[WellFormed], &[], |h| {
        change_get(h, |_, _, read| Some(Found::new(Some(read.found.stamp?), Some(Value::from(&b"rot"[..])))))
    });
}

#[test]
fn a_write_whose_client_was_told_that_it_failed() {
    counterexample(&[WellFormed], &[Convergence, Causal, Immediate], |h| {
        let read: Vec<Option<Stamp>> =
            h.events.iter_mut().filter_map(read_mut).map(|r| r.found.stamp).collect();
        let seen = |e: &&mut Event| matches!(&e.action, Action::Write { version, .. } if read.contains(version) && version.is_some());
        let Some(event) = h.events.iter_mut().find(seen) else { return false };
        event.fate = Fate::Failed;
        true
    });
}

/// Not a mutant at all: a client that never learnt of its write may still have written it.
#[test]
fn a_write_whose_client_was_told_nothing_is_fine() {
    for seed in 0..300 {
        let mut history = generate(seed, SHAPE);
        for event in history.events.iter_mut().skip(seed as usize % 7).step_by(7) {
            if let Action::Write { version, .. } = &mut event.action {
                *version = None;
                (event.fate, event.end_us) = (Fate::Unknown, None);
            }
        }
        let report = check_with(
            &history,
            Options { limit: 3, ..Options::new(Properties::all().without(Property::Sequential)) },
        );
        assert!(report.ok(), "seed {seed}\n{report}");
    }
}
