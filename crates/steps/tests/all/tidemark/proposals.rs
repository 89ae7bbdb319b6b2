//! Proposals that are sure (D14), and what each rule is for.

use super::transactions::{LEAF, ROOT, decided, put_all, stamp, two};
use super::*;
use tidemark_contract::core::{Command, Op, ServerId, Stamp, Verb};
use tidemark_contract::two_phase::SURE_OF_ONE_TIME;
use tidemark_protocols::tidemark::{DOUBT_ENDS_AT_L, SURE_IF_FIRST, SURE_IF_NOTHING_IS_ADDED};

/// Delivers all that is in flight from one server to another.
fn all(lab: &mut Lab<Tidemark>, from: ServerId, to: ServerId) {
    while lab.deliver_message(from, to) {}
}

/// A transaction of x and y, after two round trips between A/0, which coordinates it, and A/1. Whether its client is answered.
fn after_two_round_trips(lab: &mut Lab<Tidemark>, x: &Key, y: &Key) -> bool {
    let s = lab.client(0);
    lab.begin(s, put_all(&[x, y], "both"));
    for _ in 0..2 {
        for (from, to) in [(ROOT, ROOT), (ROOT, LEAF), (LEAF, LEAF), (LEAF, ROOT)] {
            all(lab, from, to);
        }
    }
    all(lab, ROOT, ROOT);
    lab.outcome(s).is_some()
}

#[test]
fn d14_a_transaction_that_meets_no_other_one_takes_two_round_trips() {
    let (mut lab, x, y) = two();
    assert!(after_two_round_trips(&mut lab, &x, &y), "{}", lab.transcript);
    let (mut lab, x, y) = two();
    lab.jump_clock(LEAF, 7_000);
    assert!(!after_two_round_trips(&mut lab, &x, &y), "A/1 proposes another time:\n{}", lab.transcript);
}

#[test]
fn d14_a_coordinator_whose_clock_is_behind_looks_farther_ahead() {
    let (mut lab, x, y) = two();
    let two_round_trips = [10_000, 20_000, 30_000].map(|now| {
        lab.set_clocks(now);
        lab.jump_clock(LEAF, now + 2_500);
        let answered = after_two_round_trips(&mut lab, &x, &y);
        lab.deliver_all();
        answered
    });
    assert_eq!(two_round_trips, [false, false, true]);
}

/// The transaction has moved all clocks up by a millisecond; a PUT and a snapshot follow before physical time is there.
#[test]
fn d15_a_snapshot_has_what_was_put_before_though_clocks_are_ahead() {
    let (mut lab, x, y) = two();
    let (s, t, u) = (lab.client(0), lab.client(0), lab.client(0));
    lab.run(s, put_all(&[&x, &y], "both"));
    for (n, now) in [1_300, 1_600, 1_900, 2_500].into_iter().enumerate() {
        lab.set_clocks(now - 100);
        let value = n.to_string();
        for _ in 0..3 {
            lab.put(t, &y, &value);
        }
        lab.set_clocks(now);
        assert_eq!(lab.rotx(u, &[&x, &y]), format!("both {value}"), "{}", lab.transcript);
    }
}

/// Whoever has seen a transaction finds it at a participant that has not heard yet how it ended.
#[test]
fn d14_a_participant_in_doubt_learns_from_l_that_a_transaction_has_committed() {
    fn seen() -> [String; 2] {
        let (mut lab, x, y) = two();
        let (s, t) = (lab.client(0), lab.client(0));
        decided(&mut lab, s, &x, &y);
        all(&mut lab, ROOT, ROOT);
        [lab.get(t, &x), lab.get(t, &y)]
    }
    assert_eq!(seen(), ["both", "both"]);
    assert_eq!(without(&[DOUBT_ENDS_AT_L], seen), ["both", "-"]);
}

/// A/1 has seen what another region has counted there, and learns from L that what replaces it has committed.
#[test]
fn d14_is_why_a_transaction_has_the_causes_of_what_it_has_seen() {
    fn causes() -> Hlc {
        let (mut lab, x, y) = two();
        let (s, t, far) = (lab.client(0), lab.client(0), lab.client(1));
        let count = Update::call(Command::new(Verb::Incr, Vec::new()));
        stamp(&lab.run(far, Op::Put { key: y.clone(), update: count }));
        lab.deliver_all();
        decided(&mut lab, s, &x, &y);
        all(&mut lab, ROOT, ROOT);
        lab.get(t, &x);
        lab.get(t, &y);
        stamp(&lab.finish(s));
        meta(&lab, 0, 1, &y).ds[DcId(1)]
    }
    assert!(causes() > Hlc::ZERO);
    assert_eq!(without(&[SURE_IF_NOTHING_IS_ADDED], causes), Hlc::ZERO);
}

/// A/1 has prepared a transaction that is not decided, and then one that commits.
#[test]
fn d14_is_why_what_is_not_decided_does_not_show_with_what_is() {
    fn seen() -> String {
        let mut lab = sound(2, 3);
        let other = server(0, 2);
        let [v, w, x, y] = [("v", 2), ("w", 1), ("x", 0), ("y", 1)].map(|(name, n)| lab.key(name, n));
        let (s, t) = (lab.client(0), lab.client(0));
        lab.begin(s, put_all(&[&v, &w], "undecided"));
        assert!(lab.deliver_message(other, LEAF), "prepared at A/1 alone");
        let s = lab.client(0);
        lab.set_clocks(1_500);
        lab.begin(s, put_all(&[&x, &y], "both"));
        for _ in 0..3 {
            for (from, to) in [(ROOT, ROOT), (ROOT, LEAF), (ROOT, other), (LEAF, ROOT), (other, ROOT)] {
                all(&mut lab, from, to);
            }
        }
        lab.get(t, &w)
    }
    assert_eq!(seen(), "-");
    assert_eq!(without(&[SURE_IF_FIRST], seen), "undecided");
}

/// A/2 is ahead; who has seen the transaction there goes to A/1, which has not heard how it ended.
#[test]
fn d14_is_why_all_give_a_transaction_the_same_stamp() {
    fn stamps() -> [Stamp; 2] {
        let mut lab = sound(2, 3);
        let keys = [0, 1, 2].map(|partition| lab.key("x", partition));
        let (s, t) = (lab.client(0), lab.client(0));
        lab.jump_clock(server(0, 2), 20_000);
        lab.begin(s, put_all(&[&keys[0], &keys[1], &keys[2]], "all"));
        for from in [ROOT, LEAF, server(0, 2)] {
            all(&mut lab, ROOT, from);
            all(&mut lab, from, ROOT);
        }
        all(&mut lab, ROOT, ROOT);
        all(&mut lab, ROOT, server(0, 2));
        lab.get(t, &keys[2]);
        lab.get(t, &keys[1]);
        stamp(&lab.finish(s));
        [1, 2].map(|n| lab.store(server(0, n as u16)).chain(&keys[n]).next().expect("it is applied").stamp)
    }
    let [one, other] = stamps();
    assert_eq!(one, other);
    let [one, other] = without(&[SURE_OF_ONE_TIME], stamps);
    assert_ne!(one, other);
}
