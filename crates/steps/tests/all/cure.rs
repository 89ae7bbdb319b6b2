//! Cure: starting, reading, preparing, committing, applying and announcing step by step, the deviations of the file,
//! and what each rule is for.

mod lasting;

use crate::at;
use tidemark_contract::core::{DcId, Hlc, Key, Micros, Op, Outcome, ServerId, Stamp, Vector, Write};
use tidemark_contract::lab::{rotx, server, text};
use tidemark_contract::{Lab, Protocol, Token, without};
use tidemark_protocols::Cure;
use tidemark_protocols::cure::{
    ANNOUNCE_BELOW_PENDING, Clock, PREPARE_ABOVE_SNAP, Params, READ_IS_FENCE, READ_WAITS_FOR_CLOCK,
    READ_WAITS_FOR_PENDING, SNAP_COVERS_SC, STABLE_STAYS_HOME, Timer,
};

const A: DcId = DcId(0);
const B: DcId = DcId(1);

fn lab(dcs: usize, partitions: usize) -> Lab<Cure> {
    Lab::new(dcs, partitions, Params::default())
}

fn sound(dcs: usize, partitions: usize) -> Lab<Cure> {
    lab(dcs, partitions)
}

fn v(micros: &[u64]) -> Vector {
    Vector::from_entries(micros.iter().map(|us| at(*us)))
}

/// Gives a session a past that it could have.
fn remember(lab: &mut Lab<Cure>, session: usize, sc: &[u64]) {
    let home = lab.token(session).home;
    lab.adopt(session, Token { home, past: v(sc) });
    assert_eq!(lab.finish(session), Outcome::Adopted);
}

/// Heartbeats everywhere at `us`, then θ.
fn stabilise(lab: &mut Lab<Cure>, us: Micros) {
    lab.round(us, &[Timer::Delta, Timer::Theta]);
}

fn put_all(keys: &[&Key], value: &str) -> Op {
    let write = || Write::Assign(value.as_bytes().into());
    Op::PutAll { writes: keys.iter().map(|key| ((*key).clone(), write())).collect() }
}

fn stamp(outcome: &Outcome) -> Stamp {
    match outcome {
        Outcome::Written { stamp: Some(stamp), .. } => *stamp,
        other => panic!("{other:?}"),
    }
}

/// The stamp and the commit vector of the newest version.
fn newest(lab: &Lab<Cure>, at: ServerId, key: &Key) -> Option<(Stamp, Vector)> {
    lab.store(at).chain(key).next().map(|version| (version.stamp, version.meta.clone()))
}

/// Two partitions of A, with a transaction of both that `client` began at A/0: prepared, and not decided.
fn prepared(lab: &mut Lab<Cure>, client: usize, x: &Key, y: &Key) {
    lab.begin(client, put_all(&[x, y], "both"));
    assert!(
        lab.deliver_message(server(0, 0), server(0, 0)) && lab.deliver_message(server(0, 0), server(0, 1))
    );
}

#[test]
fn start_the_snapshot_is_the_clock_and_what_is_stable_or_what_the_session_depends_on() {
    fn commit_vector(sc: &[u64]) -> Vector {
        let mut lab = lab(3, 1);
        let (s, x) = (lab.client(0), lab.key("x", 0));
        stabilise(&mut lab, 5_000);
        stabilise(&mut lab, 7_000);
        remember(&mut lab, s, sc);
        lab.set_clocks(9_000);
        lab.put(s, &x, "1");
        newest(&lab, server(0, 0), &x).expect("it is there").1
    }
    let cv = commit_vector(&[]);
    assert_eq!(
        (cv[A], cv[B]),
        (at(9_000).next(), at(7_000)),
        "ct is above the clock that the snapshot showed"
    );
    assert_eq!(commit_vector(&[0, 8_000])[B], at(8_000));
    assert_eq!(without(&[SNAP_COVERS_SC], || commit_vector(&[0, 8_000]))[B], at(7_000));
}

#[test]
fn read_waits_for_the_clock_of_a_server_that_is_behind_the_snapshot() {
    fn read() -> bool {
        let mut lab = lab(1, 2);
        let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
        lab.set_clock(server(0, 0), 5_000);
        lab.begin(s, rotx(&[&x, &y]));
        lab.deliver_within(A);
        let waited = lab.outcome(s).is_none();
        if waited {
            assert_eq!(lab.protocol(server(0, 1)).status().blocked, 1);
            lab.set_clock(server(0, 1), 4_000);
            lab.put(t, &y, "meanwhile");
            assert_eq!(lab.due(server(0, 1), Timer::Own(Clock)), Some(5_000));
            lab.set_clock(server(0, 1), 5_000);
            lab.fire(server(0, 1), Timer::Own(Clock));
            assert_eq!(text(&lab.finish(s)), "- meanwhile");
        }
        waited
    }
    assert!(read());
    assert!(!without(&[READ_WAITS_FOR_CLOCK], read));
}

#[test]
fn read_waits_for_what_may_still_commit_in_its_snapshot() {
    fn read() -> Option<String> {
        let mut lab = lab(1, 2);
        let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
        prepared(&mut lab, s, &x, &y);
        lab.set_clocks(2_000);
        lab.begin(t, Op::Get { key: y });
        let at_once = lab.outcome(t);
        lab.deliver_within(A);
        at_once.or_else(|| lab.outcome(t)).map(|outcome| text(&outcome))
    }
    assert_eq!(read().as_deref(), Some("both"));
    assert_eq!(without(&[READ_WAITS_FOR_PENDING], read).as_deref(), Some("-"));
}

#[test]
fn read_does_not_wait_for_what_is_prepared_above_its_snapshot() {
    let mut lab = sound(1, 2);
    let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.set_clock(server(0, 1), 3_000);
    lab.begin(t, rotx(&[&x, &y])); // in a snapshot at 1,000
    prepared(&mut lab, s, &x, &y); // at A/1 above 3,000
    while lab.deliver_message(server(0, 0), server(0, 1)) {}
    while lab.deliver_message(server(0, 1), server(0, 0)) {}
    lab.deliver_message(server(0, 0), server(0, 0));
    assert_eq!(lab.finish(t), Outcome::FoundAll(vec![Default::default(); 2]));
}

#[test]
fn read_is_a_fence_nothing_is_prepared_below_it_afterwards() {
    fn writes() -> Hlc {
        let mut lab = lab(1, 2);
        let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
        lab.set_clocks(5_000);
        assert_eq!(lab.rotx(s, &[&x, &y]), "- -");
        lab.jump_clock(server(0, 1), 2_000);
        lab.put(t, &y, "later")
    }
    assert!(writes() > at(5_000));
    assert!(without(&[READ_IS_FENCE], writes) < at(5_000));
}

#[test]
fn prepare_waits_until_the_clock_is_above_the_snapshot() {
    fn write() -> Option<Hlc> {
        let mut lab = lab(2, 1);
        let (s, x) = (lab.client(0), lab.key("x", 0));
        remember(&mut lab, s, &[0, 8_000]); // D1: an entry of another data centre
        lab.begin(s, tidemark_contract::lab::put(&x, "1"));
        let at_once = lab.outcome(s);
        lab.set_clocks(8_001);
        lab.fire(server(0, 0), Timer::Own(Clock));
        at_once.or_else(|| lab.outcome(s)).map(|outcome| stamp(&outcome).ts)
    }
    assert_eq!(write(), Some(at(8_001)));
    assert!(without(&[PREPARE_ABOVE_SNAP], write) < Some(at(8_000)));
}

#[test]
fn commit_at_the_latest_proposal_with_one_commit_vector() {
    let mut lab = sound(2, 2);
    let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.set_clock(server(0, 1), 3_000);
    let written = stamp(&lab.run(s, put_all(&[&x, &y], "both")));
    assert_eq!(written, Stamp { ts: at(3_000), origin: A, seq: 1 });
    let cv = lab.token(s).past;
    assert_eq!(cv[A], at(3_000), "it is the session's from now on");
    assert_eq!(newest(&lab, server(0, 1), &y), Some((written, cv.clone())));
    assert_eq!(newest(&lab, server(0, 0), &x), None, "A/0 applies it when its clock gets there");
    lab.set_clock(server(0, 0), 3_001);
    lab.fire(server(0, 0), Timer::Own(Clock));
    assert_eq!(newest(&lab, server(0, 0), &x), Some((written, cv)));
    lab.deliver_within(A);
    assert_eq!(lab.protocol(server(0, 0)).status().blocked, 0, "all have applied it");
}

#[test]
fn commit_is_acknowledged_before_it_is_applied_and_its_session_waits_to_see_it() {
    let mut lab = sound(1, 2);
    let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    prepared(&mut lab, s, &x, &y);
    assert!(
        lab.deliver_message(server(0, 0), server(0, 0)) && lab.deliver_message(server(0, 1), server(0, 0))
    );
    stamp(&lab.outcome(s).expect("it is decided"));
    lab.begin(s, Op::Get { key: y });
    assert_eq!(lab.outcome(s), None, "A/1 has not heard");
    assert_eq!(text(&lab.finish(s)), "both");
}

#[test]
fn apply_in_the_order_of_commit_times() {
    let mut lab = sound(2, 2);
    let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
    prepared(&mut lab, s, &x, &y);
    lab.set_clocks(2_000);
    lab.begin(t, tidemark_contract::lab::put(&y, "after"));
    assert_eq!(lab.outcome(t), None, "what is prepared may commit before it");
    assert_eq!(newest(&lab, server(0, 1), &y), None);
    lab.deliver_within(A);
    let after = stamp(&lab.outcome(t).expect("both are applied"));
    let order: Vec<Hlc> = lab.store(server(0, 1)).chain(&y).map(|version| version.stamp.ts).collect();
    assert!(order[0] == after.ts && order[1] < after.ts, "{order:?}");
}

#[test]
fn announce_no_time_at_or_above_anything_pending() {
    fn announced() -> Vector {
        let mut lab = lab(2, 2);
        let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
        prepared(&mut lab, s, &x, &y);
        lab.set_clocks(5_000);
        for partition in [0, 1] {
            lab.fire(server(0, partition), Timer::Delta);
            lab.fire(server(1, partition), Timer::Delta);
        }
        lab.deliver_between(0, 1);
        lab.fire(server(1, 1), Timer::Theta);
        lab.fire(server(1, 0), Timer::Theta);
        lab.deliver_within(B);
        lab.fire(server(1, 0), Timer::Theta);
        lab.deliver_within(B);
        lab.protocol(server(1, 0)).status().stable
    }
    assert!(announced()[A] <= at(1_000), "{}", announced());
    assert_eq!(without(&[ANNOUNCE_BELOW_PENDING], announced)[A], at(5_000));
}

#[test]
fn a_partition_too_far_behind_the_snapshot_refuses_and_all_abort() {
    let mut lab = sound(1, 2);
    let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.set_max_skew(3_000);
    lab.set_clock(server(0, 0), 9_000);
    assert_eq!(text(&lab.run(s, put_all(&[&x, &y], "both"))), "clock skew");
    assert!([0, 1].iter().all(|p| lab.protocol(server(0, *p)).status().blocked == 0));
    assert_eq!((newest(&lab, server(0, 0), &x), newest(&lab, server(0, 1), &y)), (None, None));
}

#[test]
fn what_waits_too_long_is_unavailable_and_did_not_happen() {
    let mut lab = sound(1, 1);
    let (s, t, x) = (lab.client(0), lab.client(0), lab.key("x", 0));
    remember(&mut lab, s, &[9_000_000]);
    remember(&mut lab, t, &[9_000_000]);
    lab.begin(s, Op::Get { key: x.clone() });
    lab.begin(t, tidemark_contract::lab::put(&x, "1"));
    lab.set_clocks(2_002_000);
    lab.fire(server(0, 0), Timer::Theta);
    assert_eq!(lab.outcome(s).map(|outcome| text(&outcome)).as_deref(), Some("unavailable"));
    assert_eq!(lab.outcome(t).map(|outcome| text(&outcome)).as_deref(), Some("unavailable"));
    assert_eq!(newest(&lab, server(0, 0), &x), None);
}

/// D6: elsewhere, what a session depends on has to be stable first.
#[test]
fn d6_a_session_that_moves_waits_until_the_region_covers_it() {
    fn moved() -> bool {
        let mut lab = lab(3, 1);
        let (a, b) = (lab.client(0), lab.client(1));
        remember(&mut lab, a, &[1_000, 0, 4_000]);
        let token = lab.token(a);
        lab.adopt(b, token);
        let at_once = lab.outcome(b).is_some();
        if !at_once {
            stabilise(&mut lab, 9_000);
            assert_eq!(lab.outcome(b), Some(Outcome::Adopted));
            assert_eq!(lab.token(b).past, v(&[1_000, 0, 4_000]));
        }
        at_once
    }
    assert!(!moved());
    assert!(without(&[STABLE_STAYS_HOME], moved));
}

/// D7: what decides a conditional update becomes a dependency of the version and of the session.
#[test]
fn d7_a_conditional_update_depends_on_what_decided_it() {
    let mut lab = sound(2, 1);
    let (a, b, x) = (lab.client(0), lab.client(0), lab.key("x", 0));
    let first = lab.put(a, &x, "1");
    assert_eq!(lab.put_new(b, &x, "2"), None);
    assert_eq!(lab.token(b).past[A], first);
}

#[test]
fn scans_find_what_gets_find() {
    let mut lab = sound(1, 1);
    let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 0));
    lab.run(s, put_all(&[&x, &y], "both"));
    assert_eq!(lab.scan(s, 0), format!("{x} {y} 2"));
}
