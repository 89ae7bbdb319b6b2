//! Write transactions: whole ones are accepted, torn ones convicted, and the checker agrees with an oracle that takes
//! the definition literally.

use fastrand::Rng;
use std::collections::BTreeSet;
use tidemark_check::{Options, Promise, Properties, Property, Report, check, check_with};
use tidemark_core::history::{Action, Event, Fate, History, Read, ReadKind, SessionId};
use tidemark_core::{DcId, Failure, Found, Hlc, Key, Outcome, Stamp, Value, Write};

const A: DcId = DcId(0);

fn stamp(ts: u64) -> Stamp {
    Stamp::new(Hlc(ts), A)
}

fn value(ts: u64, key: &str) -> Value {
    Value::from(format!("{key}{ts}").as_bytes())
}

fn found(key: &str, ts: u64) -> Found {
    if ts == 0 { Found::default() } else { Found::new(Some(stamp(ts)), Some(value(ts, key))) }
}

/// Session `s` writes `keys` in one transaction with this time; with no answer if `known` is false.
fn transaction(s: u64, ts: u64, keys: &[&str], known: bool) -> Vec<Event> {
    let write = |key: &&str| (Key::from(*key), Write::Assign(value(ts, key)));
    let outcome = if known {
        Outcome::Written { stamp: Some(stamp(ts)), previous: None }
    } else {
        Outcome::Failed(Failure::Indefinite(String::new()))
    };
    let writes: Vec<_> = keys.iter().map(write).collect();
    Event::transaction(SessionId(s), A, (2 * ts, 2 * ts + 1), ts, &writes, &outcome)
}

fn get(s: u64, key: &str, ts: u64) -> Vec<Event> {
    vec![Event::get(SessionId(s), A, Key::from(key), found(key, ts))]
}

fn rotx(s: u64, kind: ReadKind, reads: &[(&str, u64)]) -> Vec<Event> {
    let reads = reads.iter().map(|(key, ts)| Read::new(Key::from(*key), found(key, *ts)));
    vec![Event::read(SessionId(s), A, kind, reads)]
}

fn report(events: Vec<Vec<Event>>) -> Report {
    let mut history = History { events: events.concat(), ..History::default() };
    for event in &mut history.events {
        (event.start_us, event.end_us) = (None, None);
    }
    let properties = Properties::default().with(Property::AtomicWrites).with(Property::WellFormed);
    check_with(&history, Options { properties, limit: 9, values_only: false })
}

#[track_caller]
fn torn(events: Vec<Vec<Event>>) {
    let report = report(events);
    assert!(report.violates(Property::AtomicWrites), "{report}");
    assert!(report.violations.iter().all(|v| v.steps.len() > 1), "{report}");
}

#[track_caller]
fn whole(events: Vec<Vec<Event>>) {
    let report = report(events);
    assert!(report.ok(), "{report}");
}

#[test]
fn a_read_only_transaction_sees_all_of_a_transaction_or_nothing() {
    for kind in [ReadKind::Rotx, ReadKind::Snapshot] {
        whole(vec![transaction(1, 5, &["x", "y"], true), rotx(2, kind, &[("x", 5), ("y", 5)])]);
        whole(vec![transaction(1, 5, &["x", "y"], true), rotx(2, kind, &[("x", 0), ("y", 0)])]);
        torn(vec![transaction(1, 5, &["x", "y"], true), rotx(2, kind, &[("x", 5), ("y", 0)])]);
        torn(vec![transaction(1, 5, &["x", "y"], true), rotx(2, kind, &[("y", 0), ("x", 5)])]);
    }
}

#[test]
fn a_newer_version_is_no_torn_transaction() {
    let both = [transaction(1, 5, &["x", "y"], true), transaction(3, 7, &["y"], true)];
    whole([both.to_vec(), vec![rotx(2, ReadKind::Rotx, &[("x", 5), ("y", 7)])]].concat());
}

#[test]
fn single_reads_see_the_rest_once_they_have_seen_one_write() {
    let begin = || transaction(1, 5, &["x", "y"], true);
    whole(vec![begin(), get(2, "y", 0), get(2, "x", 5), get(2, "y", 5)]);
    torn(vec![begin(), get(2, "x", 5), get(2, "y", 0)]);
    torn(vec![begin(), get(2, "x", 5), transaction(2, 8, &["z"], true), get(3, "z", 8), get(3, "y", 0)]);
    torn(vec![begin(), get(1, "y", 0)]);
}

#[test]
fn a_transaction_without_an_answer_happened_whole_if_any_of_it_did() {
    let begin = || transaction(1, 5, &["x", "y"], false);
    let later = |ts| get(3, "y", ts);
    whole(vec![begin(), get(2, "x", 0), get(2, "y", 0), later(0)]);
    whole(vec![begin(), get(1, "y", 0), later(5), get(2, "x", 5), get(2, "y", 5)]);
    torn(vec![begin(), get(2, "x", 5), get(2, "y", 0), later(5)]);
    torn(vec![begin(), rotx(2, ReadKind::Rotx, &[("x", 5), ("y", 0)]), later(5)]);
    // Nobody ever read the other write, and its version is known all the same: both have one.
    torn(vec![begin(), get(2, "x", 5), get(2, "y", 0)]);
    whole(vec![begin(), get(2, "x", 5), transaction(3, 7, &["y"], true), get(2, "y", 7)]);
    // Where writes of a transaction have versions of their own, nothing is known of it.
    let mut apart = transaction(4, 9, &["x", "y"], true);
    let Action::Write { version, .. } = &mut apart[1].action else { panic!("it is a write") };
    *version = Some(stamp(10));
    whole(vec![apart, transaction(1, 11, &["x", "y"], false), get(2, "x", 11), get(2, "y", 0)]);
}

#[test]
fn writes_one_after_the_other_are_no_transaction() {
    let one = |ts, key| transaction(1, ts, &[key], true);
    whole(vec![one(5, "x"), one(6, "y"), rotx(2, ReadKind::Rotx, &[("x", 5), ("y", 0)])]);
    torn(vec![transaction(1, 5, &["x", "y"], true), get(2, "x", 5), get(2, "y", 0)]);
}

#[test]
fn what_promises_snapshots_promises_whole_transactions() {
    let events = [transaction(1, 5, &["x", "y"], true), rotx(2, ReadKind::Rotx, &[("x", 5), ("y", 0)])];
    let history = History { events: events.concat(), ..History::default() };
    let report = check(&history, Promise::CausalSnapshot);
    assert!(report.violates(Property::AtomicWrites) && report.violates(Property::Snapshot), "{report}");
    assert!(!check(&history, Promise::Causal).violates(Property::AtomicWrites));
}

/// Without versions: what clients of a real cluster record.
#[test]
fn by_values_alone_a_torn_transaction_is_a_torn_snapshot_or_a_stale_read() {
    let begin = || transaction(1, 5, &["x", "y"], true);
    let judged = |reads: Vec<Vec<Event>>| {
        let history = History { events: [vec![begin()], reads].concat().concat(), ..History::default() };
        check_with(&history, Options { values_only: true, ..Options::of(Promise::CausalSnapshot) })
    };
    let snapshot = |y| judged(vec![rotx(2, ReadKind::Rotx, &[("x", 5), ("y", y)])]);
    let reads = |y| judged(vec![get(2, "x", 5), get(2, "y", y)]);
    assert!(snapshot(5).ok() && reads(5).ok(), "{}{}", snapshot(5), reads(5));
    assert!(snapshot(0).violates(Property::Snapshot), "{}", snapshot(0));
    assert!(reads(0).violates(Property::Causal), "{}", reads(0));
}

#[test]
fn of_two_writes_of_one_key_the_last_one_is_recorded() {
    let events = transaction(1, 5, &["x", "y", "x"], true);
    assert_eq!(events.len(), 2);
    whole(vec![events, rotx(2, ReadKind::Rotx, &[("x", 5), ("y", 5)])]);
}

const KEYS: [&str; 3] = ["x", "y", "z"];

/// A history of a store that is one log of transactions: a session reads what some prefix of it says, never a
/// shorter one than before. Then some of what was read is made older, or newer.
fn generate(rng: &mut Rng) -> History {
    let mut log: Vec<(u64, Vec<&str>)> = Vec::new();
    let mut events = Vec::new();
    let mut known = [0; 4];
    for ts in 1..rng.u64(4..12) {
        let s = rng.usize(..4);
        if rng.bool() {
            let keys: Vec<&str> = KEYS.into_iter().filter(|_| rng.u8(..3) > 0).collect();
            let acknowledged = rng.u8(..4) > 0;
            log.push((ts, keys.clone()));
            if acknowledged {
                known[s] = log.len();
            }
            events.extend(transaction(s as u64, ts, &keys, acknowledged));
        } else {
            known[s] = rng.usize(known[s]..=log.len());
            let mut read = |key: &&'static str| {
                let odd = rng.u8(..6) == 0;
                let end = if odd { rng.usize(0..=log.len()) } else { known[s] };
                let last = log[..end].iter().rev().find(|(_, keys)| keys.contains(key));
                (*key, last.map_or(0, |(ts, _)| *ts))
            };
            let reads: Vec<_> = KEYS.iter().map(&mut read).collect();
            events.extend(match rng.u8(..3) {
                0 => rotx(s as u64, ReadKind::Rotx, &reads),
                1 => rotx(s as u64, ReadKind::Snapshot, &reads),
                _ => get(s as u64, reads[0].0, reads[0].1),
            });
        }
    }
    for event in &mut events {
        (event.start_us, event.end_us) = (None, None);
    }
    History { events, ..History::default() }
}

/// The time of what was read, per key.
fn reads(event: &Event) -> Vec<(&Key, u64)> {
    match &event.action {
        Action::Read { reads, .. } => {
            reads.iter().map(|r| (&r.key, r.found.stamp.map_or(0, |s| s.ts.0))).collect()
        }
        _ => Vec::new(),
    }
}

/// Literally: the transactions that event `e` has seen, by their times, through `through` what it returns itself.
fn seen(history: &History, e: usize, through: bool, snapshot: bool) -> BTreeSet<u64> {
    let mut seen = BTreeSet::new();
    let event = &history.events[e];
    if through {
        for (_, ts) in reads(event).into_iter().filter(|(_, ts)| *ts > 0) {
            seen.insert(ts);
            let writer = history.events.iter().position(|w| w.txn == Some(ts)).expect("somebody wrote it");
            seen.extend(self::seen(history, writer, false, false));
        }
    }
    if !snapshot {
        for earlier in (0..e).filter(|i| history.events[*i].session == event.session) {
            let it = &history.events[earlier];
            let written = (it.fate == Fate::Ok).then_some(it.txn).flatten();
            seen.extend(written.filter(|ts| event.txn != Some(*ts)));
            seen.extend(self::seen(history, earlier, true, false));
        }
    }
    seen
}

/// Literally: some read returns less than a write of its key that a transaction made which was seen.
fn is_torn(history: &History) -> bool {
    // Who has read one write of a transaction knows the version of the others.
    let has_version = |write: &Event| {
        let ts = write.txn.expect("of a transaction");
        write.fate == Fate::Ok || history.events.iter().any(|r| reads(r).iter().any(|(_, time)| *time == ts))
    };
    (0..history.events.len()).any(|e| {
        let (get, snapshot) = match &history.events[e].action {
            Action::Read { kind, .. } => (*kind == ReadKind::Get, *kind == ReadKind::Snapshot),
            _ => return false,
        };
        let seen = seen(history, e, !get, snapshot);
        reads(&history.events[e]).into_iter().any(|(key, ts)| {
            history.events.iter().any(|w| match &w.action {
                Action::Write { key: written, .. } => {
                    let time = w.txn.expect("of a transaction");
                    let several = history.events.iter().filter(|other| other.txn == w.txn).count() > 1;
                    several && written == key && time > ts && seen.contains(&time) && has_version(w)
                }
                _ => false,
            })
        })
    })
}

#[test]
fn the_checker_and_the_definition_agree() {
    let (mut good, mut bad) = (0, 0);
    for seed in 0..20_000 {
        let history = generate(&mut Rng::with_seed(seed));
        let properties = Properties::default().with(Property::AtomicWrites);
        let report = check_with(&history, Options { properties, limit: 9, values_only: false });
        if report.violates(Property::WellFormed) {
            continue; // a cycle: what was made newer is read before it is written
        }
        let expected = is_torn(&history);
        assert_eq!(report.violates(Property::AtomicWrites), expected, "seed {seed}\n{report}\n{history:#?}");
        *(if expected { &mut bad } else { &mut good }) += 1;
    }
    assert!(good > 2_000 && bad > 2_000, "{good} whole, {bad} torn");
}
