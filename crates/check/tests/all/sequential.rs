//! Sequential consistency within a data centre: stories written by hand, and the checker against an oracle that tries
//! every order.

use crate::common::mutate::{ask_for_less, mutate, reads_of};
use crate::common::script;
use crate::common::tiny::tiny;
use crate::common::{Shape, generate, without_versions};
use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use tidemark_check::{Guarantee, Holds, Options, Properties, Property, Report, check_each, check_with};
use tidemark_core::history::{Action, Event, Fate, History, ReadKind};
use tidemark_core::{DcId, Guarantees, Key, Stamp};

fn report(history: &History) -> Report {
    check_with(history, Options::new(Properties::default().with(Property::Sequential)))
}

#[track_caller]
fn keeps(script: &str) {
    let report = report(&script::history(script));
    assert!(report.ok(), "{script}\n{report}");
}

#[track_caller]
fn breaks(script: &str) -> Report {
    let report = report(&script::history(script));
    assert_eq!(report.violated, 1, "{script}\n{report}");
    report
}

/// Two sessions write, and neither sees the other's write: each read comes before the other's write (store buffering).
#[test]
fn two_writers_who_do_not_see_each_other() {
    let report = breaks("c0@A put x a 1\nc0@A get y -\nc1@A put y b 2\nc1@A get x -");
    assert_eq!(report.violations[0].to_string(), STORE_BUFFER);
    keeps("c0@A put x a 1\nc0@A get y b 2A\nc1@A put y b 2\nc1@A get x -");
    keeps("c0@A put x a 1\nc0@A get y -\nc1@B put y b 2\nc1@B get x -");
}

const STORE_BUFFER: &str = "\
sequential: in A there is no order of the writes in which each of these events has its place
  #1  s0  A  reads y = nothing
  #2  s1  A  writes y = \"b\" (0+2@A)  comes after the line above, which returned an older version
  #3  s1  A  reads x = nothing       later in the same session
  #0  s0  A  writes x = \"a\" (0+1@A)  comes after the line above, which returned an older version
  #1  s0  A  reads y = nothing       later in the same session
";

/// Two readers see two writes in different orders: of one data centre, or of others.
#[test]
fn two_readers_who_do_not_agree_on_an_order() {
    breaks(
        "c0@A put x a 1\nc1@A put y b 2
         c2@A get x a 1A\nc2@A get y -
         c3@A get y b 2A\nc3@A get x -",
    );
    breaks(
        "c0@B put x a 1\nc1@C put y b 2
         c2@A get x a 1B\nc2@A get y -
         c3@A get y b 2C\nc3@A get x -",
    );
    keeps(
        "c0@A put x a 1\nc1@A put y b 2
         c2@A get x a 1A\nc2@A get y -
         c3@B get y b 2A\nc3@B get x -",
    );
}

/// A session goes back: to before its own write, or before what it has read or adopted.
#[test]
fn a_session_does_not_go_back() {
    breaks("c0@A put x a 1\nc0@A get x -");
    breaks("c0@A put x a 1\nc0@A put x b 2\nc1@A get x b 2A\nc1@A get x a 1A");
    keeps("c0@A put x a 1\nc0@A put x b 2\nc1@A get x b 2A\nc1@B get x a 1A");
    let mut back = script::history("c0@A put x a 1\nc0@A put x b 2\nc1@A get x b 2A\nc2@A get x a 1A");
    assert!(report(&back).ok());
    let adopts = Event::adopt(back.events[3].session, DcId(0), back.events[2].session, 1);
    back.events.insert(3, adopts);
    assert_eq!(report(&back).violated, 1);
}

/// What loses to a version that is read has no place of its own but its writer's: nobody has to have seen it.
#[test]
fn what_was_never_the_newest_has_no_place() {
    keeps("c0@A put x a 5\nc1@A get x a 5A\nc2@B put x b 3\nc1@A get x a 5A");
    keeps("c0@A put x a 5\nc1@A put x b 3\nc1@A get x a 5A\nc0@A get x a 5A");
    breaks("c0@A put x a 3\nc1@B put x b 5\nc0@A get x b 5B\nc0@A get x a 3A");
}

/// A read that does not ask for its session's past may go back; what it returned binds later ones.
#[test]
fn reads_that_ask_for_less_may_go_back() {
    let script = "c0@A put x a 1\nc0@A put x b 2\nc1@A get x b 2A\nc1@A get x a 1A";
    let mut history = script::history(script);
    history.events[3].asked = Guarantees { monotonic_reads: false, ..Guarantees::ALL };
    assert!(report(&history).ok());
    let mut history = script::history(script);
    history.events[2].asked = Guarantees { monotonic_reads: false, ..Guarantees::ALL };
    assert_eq!(report(&history).violated, 1);
}

/// By values nobody knows which of two writes is the newer one.
#[test]
fn values_alone_are_not_checked() {
    let history =
        without_versions(script::history("c0@A put x a 1\nc0@A get y -\nc1@A put y b 2\nc1@A get x -"));
    let sequential = Guarantee::named("sequential").expect("it is one");
    assert_eq!(check_each(&history, &[sequential], 1, false).verdicts[0].verdict, Holds::NotChecked);
    assert!(report(&history).notes.iter().any(|note| note.contains("sequential")));
}

/// One thing that takes place: what it returns, or writes, of which key.
struct Task {
    key: Key,
    /// What it returns, if it is a read.
    returns: Option<Option<Stamp>>,
    writes: Option<Stamp>,
    /// Whether all that its session has seen has to have taken place before.
    follows: bool,
    /// What has to have taken place before.
    after: u64,
    event: Option<usize>,
}

/// What takes place in `dc`.
fn tasks(history: &History, dc: DcId) -> Vec<Task> {
    let events = &history.events;
    let deleted = |key: &Key| {
        events.iter().any(|e| {
            matches!(&e.action, Action::Write { key: k, value: None, .. } if k == key)
                && matches!(e.fate, Fate::Ok | Fate::Unknown)
        })
    };
    let mut tasks: Vec<Task> = Vec::new();
    // Of each event the tasks that it is.
    let mut own: Vec<u64> = vec![0; events.len()];
    let mut written: BTreeSet<(Key, Stamp)> = BTreeSet::new();
    for (e, event) in events.iter().enumerate() {
        let here = event.dc == dc && event.as_of_us.is_none();
        if !here {
            continue;
        }
        let asked = event.asked;
        let goes_on = asked.read_your_writes && asked.monotonic_reads;
        let snapshot = matches!(&event.action, Action::Read { kind: ReadKind::Snapshot, .. });
        for (key, found) in reads_of(event) {
            if found.stamp.is_none() && deleted(&key) {
                continue;
            }
            own[e] |= 1 << tasks.len();
            let follows = goes_on && !snapshot;
            tasks.push(Task {
                key,
                returns: Some(found.stamp),
                writes: None,
                follows,
                after: 0,
                event: Some(e),
            });
        }
        if let (Action::Write { key, version: Some(stamp), .. }, Fate::Ok) = (&event.action, event.fate) {
            let (after, follows) = (own[e], asked.monotonic_writes && asked.writes_follow_reads);
            own[e] |= 1 << tasks.len();
            written.insert((key.clone(), *stamp));
            let (key, writes) = (key.clone(), Some(*stamp));
            tasks.push(Task { key, returns: None, writes, follows, after, event: Some(e) });
        }
    }
    for task in tasks.iter_mut().filter(|task| task.follows) {
        let past = task.event.map(|e| session_past(history, e)).unwrap_or_default();
        task.after |= past.into_iter().fold(0, |all, i| all | own[i]);
    }
    // What comes from elsewhere, or got no answer, may take place at any time.
    let returned: BTreeSet<(Key, Stamp)> =
        tasks.iter().filter_map(|t| Some((t.key.clone(), t.returns??))).collect();
    for (key, stamp) in returned.difference(&written) {
        tasks.push(Task {
            key: key.clone(),
            returns: None,
            writes: Some(*stamp),
            follows: false,
            after: 0,
            event: None,
        });
    }
    tasks
}

/// Whether the history is sequential in `dc`: tries every order.
fn possible(history: &History, dc: DcId) -> bool {
    let tasks = tasks(history, dc);
    let all: u64 = (1 << tasks.len()) - 1;
    let (mut seen, mut open) = (BTreeSet::from([0]), vec![0_u64]);
    while let Some(done) = open.pop() {
        if done == all {
            return true;
        }
        let mut newest: BTreeMap<&Key, Stamp> = BTreeMap::new();
        for task in tasks.iter().enumerate().filter(|(t, _)| done >> t & 1 == 1).map(|(_, task)| task) {
            let stamp = task.writes.max(newest.get(&task.key).copied());
            stamp.map(|stamp| newest.insert(&task.key, stamp));
        }
        for (t, task) in tasks.iter().enumerate() {
            let ready = done >> t & 1 == 0 && task.after & !done == 0;
            let shows = task.returns.is_none_or(|found| found == newest.get(&task.key).copied());
            if ready && shows && seen.insert(done | 1 << t) {
                open.push(done | 1 << t);
            }
        }
    }
    false
}

/// The events of the session of event `e` before it, and those whose past it has adopted by then.
fn session_past(history: &History, e: usize) -> BTreeSet<usize> {
    let events = &history.events;
    let mut past = BTreeSet::new();
    for i in (0..e).filter(|i| events[*i].session == events[e].session) {
        past.insert(i);
        past.extend(adopted(history, i));
    }
    past.extend(adopted(history, e));
    past
}

fn adopted(history: &History, e: usize) -> BTreeSet<usize> {
    let events = &history.events;
    let mut past = BTreeSet::new();
    if let (Action::Adopt { from, events: n }, Fate::Ok) = (&events[e].action, events[e].fate) {
        for i in (0..events.len()).filter(|i| events[*i].session == *from).take(*n as usize) {
            past.insert(i);
            past.extend(session_past(history, i));
        }
    }
    past
}

#[test]
fn the_checker_and_an_oracle_that_tries_every_order_agree() {
    let (mut kept, mut broken) = (0, 0);
    for seed in 0..30_000 {
        let mut rng = Rng::with_seed(seed);
        let mut history = if seed % 2 == 0 {
            tiny(seed)
        } else {
            let mut history = generate(seed, Shape { ops: 12, causal: seed % 3 != 0, ..Shape::SMALL });
            (0..rng.u32(..3)).for_each(|_| {
                mutate(&mut history, &mut rng);
            });
            history
        };
        ask_for_less(&mut history, &mut rng);
        let well_formed = Properties::default().with(Property::WellFormed);
        if !check_with(&history, Options::new(well_formed)).ok() {
            continue;
        }
        let centres: BTreeSet<DcId> = history.events.iter().map(|e| e.dc).collect();
        let expected = centres.iter().all(|dc| possible(&history, *dc));
        let found = report(&history);
        assert_eq!(found.ok(), expected, "seed {seed}\n{found}\n{history:#?}");
        *(if expected { &mut kept } else { &mut broken }) += 1;
    }
    println!("{kept} histories keep it, {broken} do not");
    assert!(kept > 3_000 && broken > 3_000, "{kept} and {broken}");
}
