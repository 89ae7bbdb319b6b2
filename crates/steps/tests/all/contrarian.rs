//! Contrarian (002 §5): its two rounds step by step, the deviations of the file, and what each rule is for.

use crate::at;
use tidemark_contract::core::{DcId, Failure, Hlc, Key, Micros, Outcome, Update, Vector, Write};
use tidemark_contract::lab::{rotx, server, text};
use tidemark_contract::{Lab, Protocol, Token, without};
use tidemark_protocols::Contrarian;
use tidemark_protocols::contrarian::{
    CEILING_COVERS_READS, PUT_ABOVE_DV, Params, READ_LIFTS_CLOCK, REFUSES_COLLECTED, Reply, Request, Rounds,
    STABLE_STAYS_HOME, SV_COVERS_DV, Timer,
};

const A: DcId = DcId(0);
const B: DcId = DcId(1);
const C: DcId = DcId(2);

fn lab(dcs: usize, partitions: usize) -> Lab<Contrarian> {
    Lab::new(dcs, partitions, Params::default())
}

fn sound(dcs: usize, partitions: usize) -> Lab<Contrarian> {
    lab(dcs, partitions)
}

fn v(micros: &[u64]) -> Vector {
    Vector::from_entries(micros.iter().map(|us| at(*us)))
}

/// Gives a session a past that it could have.
fn remember(lab: &mut Lab<Contrarian>, session: usize, dv: &[u64]) {
    let home = lab.token(session).home;
    lab.adopt(session, Token { home, past: v(dv) });
    assert_eq!(lab.finish(session), Outcome::Adopted);
}

/// Heartbeats everywhere at `us`, twice, so that Δ has passed without a write; then θ.
fn stabilise(lab: &mut Lab<Contrarian>, us: Micros) {
    lab.round(us, &[Timer::Delta, Timer::Delta, Timer::Theta]);
}

/// The snapshot that the coordinator at A/0 gives a session that depends on `dv`.
fn snapshot(lab: &mut Lab<Contrarian>, dv: &[u64]) -> Vector {
    match lab.ask(server(0, 0), Request::Start(vec![], v(dv))) {
        Some(Reply::Snapshot(sv)) => sv,
        other => panic!("{other:?}"),
    }
}

/// What partition `p` of A has of `key` in a snapshot; none if it refuses.
fn slice(lab: &mut Lab<Contrarian>, p: u16, key: &Key, sv: &Vector) -> Option<String> {
    match lab.ask(server(0, p), Request::Read(vec![(0, key.clone())], sv.clone())) {
        Some(Reply::Slice(found, _)) => {
            Some(text(&Outcome::FoundAll(found.into_iter().map(|(_, found)| found).collect())))
        }
        Some(Reply::TooOld(_)) => None,
        other => panic!("{other:?}"),
    }
}

/// Reference: 002 §5, the first round; the snapshot's entry of its own data centre is the coordinator's clock.
#[test]
fn round_1_the_snapshot_is_the_clock_and_what_is_stable_or_what_the_session_depends_on() {
    let mut lab = sound(3, 2);
    stabilise(&mut lab, 5_000);
    stabilise(&mut lab, 7_000);
    lab.set_clocks(9_000);
    let sv = snapshot(&mut lab, &[]);
    assert_eq!((sv[A], sv[B].micros() >= 5_000), (at(9_000), true));
    let sv = snapshot(&mut lab, &[11_000, 8_000, 1]);
    assert_eq!((sv[A], sv[B]), (at(11_000), at(8_000)));
    assert!(sv[C].micros() >= 5_000);
}

/// Reference: 002 §5, the first round: DV_c is covered, or a session would not see what it has seen.
#[test]
fn round_1_a_session_sees_its_own_writes_though_the_coordinator_is_behind() {
    fn read() -> String {
        let mut lab = lab(2, 2);
        let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
        remember(&mut lab, s, &[0, 600]);
        lab.put(s, &y, "mine");
        lab.rotx(s, &[&x, &y])
    }
    assert_eq!(read(), "- mine");
    assert_eq!(without(&[SV_COVERS_DV], read), "- -");
}

/// Reference: 002 §5, the second round: "each partition … sets its clock to the maximum of its own and SV[m]".
#[test]
fn round_2_what_is_written_after_a_read_lies_above_its_snapshot() {
    fn writes() -> Hlc {
        let mut lab = lab(1, 2);
        let (s, y) = (lab.client(0), lab.key("y", 1));
        lab.set_clock(server(0, 0), 30_000);
        let sv = snapshot(&mut lab, &[]);
        assert_eq!(slice(&mut lab, 1, &y, &sv).as_deref(), Some("-"));
        lab.put(s, &y, "later")
    }
    assert!(writes() > at(30_000));
    assert!(without(&[READ_LIFTS_CLOCK], writes) < at(30_000));
}

/// Reference: 002 §5: a version is in a snapshot if all of its DV is, wherever it was written.
#[test]
fn round_2_reads_the_newest_version_whose_dv_the_snapshot_covers() {
    let mut lab = sound(2, 1);
    let (a, x) = (lab.client(0), lab.key("x", 0));
    remember(&mut lab, a, &[0, 600]);
    lab.put(a, &x, "1"); // at 1,000 with DV [1000, 600]
    for (sv, seen) in [(&[1_000, 599], "-"), (&[999, 600], "-"), (&[1_000, 600], "1")] {
        assert_eq!(slice(&mut lab, 0, &x, &v(sv)).as_deref(), Some(seen), "{sv:?}");
    }
}

/// Reference: 002 §5: the transaction never waits, and one version is moved.
#[test]
fn two_rounds_are_all_a_transaction_takes_while_another_region_is_cut_off() {
    let mut lab = sound(2, 3);
    let (s, t) = (lab.client(0), lab.client(0));
    let keys = [lab.key("x", 0), lab.key("y", 1), lab.key("z", 2)];
    for key in &keys {
        lab.put(s, key, "1");
    }
    lab.begin(t, rotx(&[&keys[2], &keys[0], &keys[1], &keys[0]]));
    assert!(matches!(lab.outcome(t), Some(Outcome::FoundAll(found)) if found.len() == 4));
    lab.set_clocks(2_000);
    assert_eq!(lab.rotx(t, &[&keys[2], &keys[0], &keys[1], &keys[0]]), "1 1 1 1");
}

/// A cluster in which coordinators pass transactions on.
fn one_and_a_half(dcs: usize, partitions: usize) -> Lab<Contrarian> {
    Lab::new(dcs, partitions, Params { rounds: Rounds::OneAndAHalf, ..Params::default() })
}

/// D6: the coordinator asks, the partitions answer the session; nobody answers the coordinator.
#[test]
fn d6_one_and_a_half_rounds_are_three_steps() {
    let mut lab = one_and_a_half(2, 3);
    let (s, t) = (lab.client(0), lab.client(0));
    let keys = [lab.key("x", 0), lab.key("y", 1), lab.key("z", 2)];
    for key in &keys {
        lab.put(s, key, "1");
    }
    lab.set_clocks(2_000);
    let from = lab.transcript.len();
    lab.begin(t, rotx(&[&keys[2], &keys[0], &keys[1], &keys[0]]));
    for to in [1, 0, 2] {
        assert_eq!(lab.outcome(t), None, "not all have answered");
        assert!(lab.deliver_message(server(0, 2), server(0, to)));
    }
    assert_eq!(lab.outcome(t).as_ref().map(text).as_deref(), Some("1 1 1 1"));
    let steps = &lab.transcript[from..];
    assert_eq!(steps.matches("<- s1 ").count(), 1, "one question:\n{steps}");
    assert_eq!(steps.matches(" -> s1 Slice").count(), 3, "as many answers as partitions:\n{steps}");
    assert_eq!(
        steps.matches(" -> A/2 ").count(),
        1,
        "its own slice comes to the coordinator as to the others"
    );
}

/// D6: the fence of the second round stands in one and a half as well.
#[test]
fn d6_what_is_written_after_a_forwarded_read_lies_above_its_snapshot() {
    fn writes() -> Hlc {
        let mut lab = one_and_a_half(1, 2);
        let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
        lab.set_clock(server(0, 0), 30_000);
        assert_eq!(lab.rotx(t, &[&x, &y]), "- -");
        lab.put(s, &y, "later")
    }
    assert!(writes() > at(30_000));
    assert!(without(&[READ_LIFTS_CLOCK], writes) < at(30_000));
}

/// θ at three servers, where A/2 is a leaf: only what the tree says is delivered, and that not to A/2.
fn collect_around(lab: &mut Lab<Contrarian>, us: Micros) {
    lab.set_clocks(us);
    for partition in [2, 1, 0] {
        lab.fire(server(0, partition), Timer::Delta);
        lab.fire(server(0, partition), Timer::Theta);
    }
    while lab.deliver_message(server(0, 2), server(0, 0)) || lab.deliver_message(server(0, 1), server(0, 0)) {
    }
    while lab.deliver_message(server(0, 0), server(0, 1)) {}
}

/// D1 and D6: one of the partitions refuses, and what comes of the snapshot that was given up is not taken for the new one.
#[test]
fn d6_a_refused_snapshot_is_asked_for_again_and_late_slices_of_it_are_not_heard() {
    let mut lab = one_and_a_half(1, 3);
    let (s, t) = (lab.client(0), lab.client(0));
    let [x, y, z] = [lab.key("x", 0), lab.key("y", 1), lab.key("z", 2)];
    let keys = [&z, &x, &y];
    for key in keys {
        lab.put(s, key, "old");
    }
    stabilise(&mut lab, 5_000);
    lab.begin(t, rotx(&keys));
    assert!(lab.deliver_message(server(0, 2), server(0, 0)), "x answers; y and z will be late");
    lab.set_clocks(6_000);
    for key in keys {
        lab.put(s, key, "new");
    }
    for round in 1..=8 {
        collect_around(&mut lab, 6_000 + round * 200_000);
        while round == 1 && lab.deliver_message(server(0, 0), server(0, 2)) {}
    }
    assert!(lab.deliver_message(server(0, 2), server(0, 1)) && lab.outcome(t).is_none(), "y starts it again");
    let from = lab.transcript.len();
    assert!(lab.deliver_message(server(0, 2), server(0, 2)));
    assert!(lab.transcript[from..].contains("Slice([(0, \"old\""), "{}", &lab.transcript[from..]);
    assert_eq!(text(&lab.finish(t)), "new new new");
}

/// D6: what comes after the end, or twice, ends nothing.
#[test]
fn d6_answers_of_a_transaction_that_has_ended_are_not_taken_for_the_next_one() {
    let mut lab = one_and_a_half(1, 2);
    let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.begin(t, rotx(&[&x, &y]));
    lab.lose(t); // the deadline
    assert_eq!(text(&lab.outcome(t).expect("it ended")), "unavailable");
    lab.put(s, &x, "1");
    lab.set_clocks(2_000);
    lab.begin(t, rotx(&[&x, &y]));
    assert!(
        lab.deliver_message(server(0, 0), server(0, 1)) && lab.deliver_message(server(0, 0), server(0, 0))
    );
    assert_eq!(lab.outcome(t), None, "those were the slices of the first");
    assert_eq!(text(&lab.finish(t)), "1 -");
}

/// Reference: 002 §5: a GET is a transaction of one key that its owner coordinates.
#[test]
fn get_asks_once_and_finds_local_versions_of_which_the_dependencies_are_stable() {
    let mut lab = sound(2, 1);
    let (a, b, x) = (lab.client(0), lab.client(0), lab.key("x", 0));
    remember(&mut lab, a, &[0, 600]);
    lab.put(a, &x, "1");
    assert_eq!((lab.get(a, &x).as_str(), lab.get(b, &x).as_str()), ("1", "-"));
    stabilise(&mut lab, 5_000);
    assert_eq!(lab.get(b, &x), "1");
    assert_eq!(lab.token(b).past, v(&[1_000, 600]), "the version's DV is the session's from now on");
}

/// Reference: 002 §5: PUT.
#[test]
fn put_stamps_above_what_the_session_depends_on_and_stores_it() {
    fn write() -> (Hlc, Vector) {
        let mut lab = lab(2, 1);
        let (a, x) = (lab.client(0), lab.key("x", 0));
        remember(&mut lab, a, &[0, 70_000]);
        let ut = lab.put(a, &x, "1");
        (ut, lab.store(server(0, 0)).chain(&x).next().expect("it is there").meta.clone())
    }
    let (ut, dv) = write();
    assert!(ut > at(70_000));
    assert_eq!((dv[A], dv[B]), (ut, at(70_000)));
    assert!(without(&[PUT_ABOVE_DV], write).0 < at(70_000));
}

#[test]
fn put_too_far_ahead_is_refused() {
    let mut lab = sound(1, 1);
    lab.set_max_skew(1_000);
    let reply = lab.ask(
        server(0, 0),
        Request::Put(Key::from("x"), Update::put(Write::Assign((*b"1").into())), v(&[90_000])),
    );
    assert!(matches!(reply, Some(Reply::Done(Outcome::Failed(Failure::ClockSkew { .. }), _))), "{reply:?}");
}

/// D1: while a snapshot is leased, nothing of it is collected; afterwards it is refused, and the session asks again.
#[test]
fn d1_a_snapshot_outlives_collection_for_its_lease_and_is_refused_afterwards() {
    fn read_late(after: Micros) -> Option<String> {
        let mut lab = lab(1, 2);
        let (s, y) = (lab.client(0), lab.key("y", 1));
        lab.put(s, &y, "old");
        stabilise(&mut lab, 5_000);
        let sv = snapshot(&mut lab, &[]);
        lab.set_clocks(6_000);
        lab.put(s, &y, "new");
        for round in 1..=8 {
            stabilise(&mut lab, 6_000 + round * after / 8);
        }
        slice(&mut lab, 1, &y, &sv)
    }
    assert_eq!(read_late(90_000).as_deref(), Some("old"));
    assert_eq!(read_late(1_600_000), None);
    assert_eq!(
        without(&[REFUSES_COLLECTED], || read_late(1_600_000)).as_deref(),
        Some("-"),
        "a hole where a version was"
    );
}

/// D2: a restarted server with a slow clock writes nothing into a snapshot that was read in its earlier life.
#[test]
fn d2_what_a_read_promised_survives_a_restart() {
    fn writes() -> Hlc {
        let mut lab = lab(1, 2);
        let (s, y) = (lab.client(0), lab.key("y", 1));
        lab.set_max_skew(60_000_000);
        lab.set_clock(server(0, 0), 30_000_000);
        let sv = snapshot(&mut lab, &[]);
        slice(&mut lab, 1, &y, &sv);
        lab.restart(server(0, 1));
        lab.put(s, &y, "later")
    }
    assert!(writes() > at(30_000_000));
    assert!(without(&[CEILING_COVERS_READS], writes) < at(30_000_000));
}

/// D3: elsewhere, what a session depends on has to be stable first.
#[test]
fn d3_a_session_that_moves_waits_until_the_region_covers_it() {
    fn moved() -> bool {
        let mut lab = lab(3, 1);
        let (a, b) = (lab.client(0), lab.client(1));
        remember(&mut lab, a, &[1_000, 0, 4_000]);
        let token = lab.token(a);
        lab.adopt(b, token);
        let at_once = lab.outcome(b).is_some();
        if !at_once {
            stabilise(&mut lab, 9_000);
            stabilise(&mut lab, 12_000);
            assert_eq!(lab.outcome(b), Some(Outcome::Adopted));
            assert_eq!(lab.token(b).past, v(&[1_000, 0, 4_000]));
        }
        at_once
    }
    assert!(!moved());
    assert!(without(&[STABLE_STAYS_HOME], moved));
}

/// D4: what decides a conditional update becomes a dependency of the version and of the session.
#[test]
fn d4_a_conditional_update_depends_on_what_decided_it() {
    let mut lab = sound(2, 1);
    let (a, b, x) = (lab.client(0), lab.client(0), lab.key("x", 0));
    remember(&mut lab, a, &[0, 600]);
    lab.put(a, &x, "1");
    stabilise(&mut lab, 5_000);
    assert_eq!(lab.put_new(b, &x, "2"), None);
    assert_eq!(lab.token(b).past, v(&[1_000, 600]));
}

#[test]
fn heartbeats_and_records_raise_vv_and_the_least_becomes_stable() {
    let mut lab = sound(2, 2);
    stabilise(&mut lab, 5_000);
    let before = lab.protocol(server(0, 1)).status().stable;
    stabilise(&mut lab, 8_000);
    let after = lab.protocol(server(0, 1)).status().stable;
    assert!(before.le(&after) && after.min() >= at(5_000), "{before} then {after}");
}
