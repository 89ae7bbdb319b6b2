//! Read-only transactions, D7, and what comes too late for collection, D8.

use super::*;
use tidemark_contract::core::DcId;
use tidemark_contract::lab::rotx;
use tidemark_protocols::accf::{
    LATE_SLICE_IS_REFUSED, SLICE_LEAVES_OUT, SLICE_LIFTS_CLOCK, SLICE_WAITS, SNAPSHOT_HOLDS_DS,
};

/// Keys of both partitions.
fn keys(lab: &Lab<Accf>) -> (Key, Key) {
    (lab.key("x", 0), lab.key("y", 1))
}

#[test]
fn in_a_group_that_holds_all_keys_each_server_is_asked_once() {
    let mut lab = grouped(REGION, REGION);
    let (a, t) = (lab.client(0), lab.client(0));
    let (x, y) = keys(&lab);
    lab.put(a, &x, "1");
    lab.put(a, &y, "2");
    stabilise(&mut lab, 9_000);
    lab.transcript.clear();
    assert_eq!(lab.rotx(t, &[&y, &x, &y]), "2 1 2");
    assert_eq!(lab.transcript.matches("-> A/0 SliceReq").count(), 1);
    assert_eq!(lab.transcript.matches("Ask").count(), 0);
    assert_eq!(lab.token(t).past.max(), at(1_000).next());
}

#[test]
fn where_no_group_holds_all_keys_the_servers_are_a_group_of_the_moment() {
    let mut lab = grouped(REGION, SERVER);
    let (a, t) = (lab.client(0), lab.client(0));
    let (x, y) = keys(&lab);
    lab.put(a, &x, "1");
    lab.put(a, &y, "2");
    stabilise(&mut lab, 9_000);
    lab.transcript.clear();
    assert_eq!(lab.rotx(t, &[&x, &y]), "1 2");
    assert_eq!(lab.transcript.matches("-> A/0 Tell").count(), 2, "{}", lab.transcript);
}

/// The session has read what its group cannot back yet.
#[test]
fn a_snapshot_has_what_the_session_depends_on() {
    fn read() -> String {
        let mut lab = grouped(REGION, REGION);
        let (a, (x, y)) = (lab.client(0), keys(&lab));
        lab.put(a, &x, "mine");
        lab.rotx(a, &[&x, &y])
    }
    assert_eq!((read().as_str(), without(&[SNAPSHOT_HOLDS_DS], read).as_str()), ("mine -", "- -"));
}

/// The session has read an effect whose cause is on its way to another server.
#[test]
fn a_slice_waits_for_what_the_snapshot_covers() {
    fn read() -> String {
        let mut lab = grouped(REGION, SERVER);
        let (ann, ben) = (lab.client(0), lab.client(1));
        let (x, y) = keys(&lab);
        lab.put(ann, &y, "cause");
        lab.set_clocks(2_000);
        lab.put(ann, &x, "effect");
        lab.deliver(server(0, 0), server(1, 0));
        assert_eq!(lab.get(ben, &x), "effect");
        lab.begin(ben, rotx(&[&x, &y]));
        lab.deliver_within(DcId(1));
        if let Some(outcome) = lab.outcome(ben) {
            return text(&outcome);
        }
        stabilise(&mut lab, 9_000);
        format!("waits: {}", text(&lab.finish(ben)))
    }
    assert_eq!(read(), "waits: effect cause");
    assert_eq!(without(&[SLICE_WAITS], read), "effect -");
}

/// What has arrived beyond the snapshot may have causes that have not.
#[test]
fn a_slice_leaves_out_what_its_snapshot_does_not_cover() {
    fn read() -> String {
        let mut lab = grouped(REGION, REGION);
        let (ann, ben) = (lab.client(0), lab.client(1));
        let (x, y) = keys(&lab);
        lab.put(ann, &y, "cause");
        lab.set_clocks(2_000);
        lab.put(ann, &x, "effect");
        lab.deliver(server(0, 0), server(1, 0));
        lab.rotx(ben, &[&x, &y])
    }
    assert_eq!((read().as_str(), without(&[SLICE_LEAVES_OUT], read).as_str()), ("- -", "effect -"));
}

/// I3.
#[test]
fn what_is_written_after_a_slice_was_read_lies_above_its_snapshot() {
    fn write() -> Hlc {
        let mut lab = grouped(REGION, REGION);
        let (a, other, (x, y)) = (lab.client(0), lab.client(0), keys(&lab));
        lab.set_clock(server(0, 0), 30_000);
        lab.put(a, &x, "1");
        assert_eq!(lab.rotx(a, &[&x, &y]), "1 -");
        lab.put(other, &y, "later")
    }
    assert_eq!(write(), at(30_000).next());
    assert_eq!(without(&[SLICE_LIFTS_CLOCK], write), at(1_000));
}

/// While what A/0 asks A/1 first is on its way, what it asks for is collected.
fn collect_meanwhile(lab: &mut Lab<Accf>) {
    for ms in [500, 1_000, 1_500, 2_000] {
        lab.set_clocks(ms * 1_000);
        for timer in [Timer::Delta, Timer::Delta, Timer::Theta, Timer::Theta] {
            for at in [server(0, 0), server(0, 1), server(1, 0), server(1, 1)] {
                lab.fire(at, timer);
            }
            [(0, 1), (1, 0)].into_iter().for_each(|(from, to)| lab.deliver_between(from, to));
            lab.deliver_within(DcId(1));
            while lab.deliver_message(server(0, 1), server(0, 0)) {}
            lab.overtake(server(0, 0), server(0, 1));
        }
    }
    assert_eq!(lab.store(server(0, 1)).totals().versions, 1);
}

/// Found by the simulator (seed 7 of two by two): who hears nothing of a tracking group said that a snapshot has to hold all
/// that it will ever write, and clocks went to the end of time.
#[test]
fn a_refusal_says_nothing_of_groups_that_the_server_hears_nothing_of() {
    let mut lab = grouped(SERVER, SERVER);
    let (a, t, (x, y)) = (lab.client(0), lab.client(0), keys(&lab));
    lab.put(a, &y, "old");
    stabilise(&mut lab, 9_000);
    lab.begin(t, rotx(&[&x, &y]));
    // The group of the moment is asked, and answers; then the slices are asked for.
    for from in [0, 1, 0] {
        while from == 0 && lab.deliver_message(server(0, 0), server(0, 0)) {}
        lab.deliver_message(server(0, 0), server(0, 1));
        lab.deliver_message(server(0, 1), server(0, 0));
        if lab.transcript.contains("-> A/1 SliceReq") {
            break;
        }
    }
    lab.set_clocks(10_000);
    lab.put(a, &y, "new");
    collect_meanwhile(&mut lab);
    assert_eq!(text(&lab.finish(t)), "- new");
    assert!(lab.transcript.contains("TooLate"), "{}", lab.transcript);
    for key in [&x, &y] {
        assert!(lab.put(a, key, "later") < at(3_000_000), "a clock that is anywhere near the time");
    }
}

/// D8: the version that the snapshot needs is gone.
#[test]
fn a_slice_that_comes_too_late_is_refused_and_its_transaction_begins_again() {
    fn read() -> String {
        let mut lab = grouped(REGION, REGION);
        let (a, t, (x, y)) = (lab.client(0), lab.client(0), keys(&lab));
        lab.put(a, &y, "old");
        stabilise(&mut lab, 9_000);
        lab.begin(t, rotx(&[&x, &y]));
        lab.set_clocks(10_000);
        lab.put(a, &y, "new");
        collect_meanwhile(&mut lab);
        text(&lab.finish(t))
    }
    assert_eq!((read().as_str(), without(&[LATE_SLICE_IS_REFUSED], read).as_str()), ("- new", "- -"));
}

#[test]
fn a_transaction_whose_answers_are_lost_ends_with_the_restart_or_the_deadline() {
    for (checking, restart) in [(REGION, true), (REGION, false), (SERVER, true), (SERVER, false)] {
        let mut lab = grouped(REGION, checking);
        let (s, (x, y)) = (lab.client(0), keys(&lab));
        lab.begin(s, rotx(&[&x, &y]));
        lab.lose_messages(server(0, 0), server(0, 1));
        if restart {
            lab.restart(server(0, 1));
        } else {
            lab.set_clocks(3_000_000);
            lab.fire(server(0, 0), Timer::Theta);
        }
        assert_eq!(text(&lab.finish(s)), "unavailable");
    }
}
