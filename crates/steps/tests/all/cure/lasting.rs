//! Cure: what is half done, of what arrives and of what commits, and what a crash leaves of it.

use super::*;
use crate::stabilised::of_what_was_deleted_beside_a_prepared_transaction;
use tidemark_contract::core::ServerId;
use tidemark_protocols::cure::{DECIDED_SURVIVES, GSS_SURVIVES, PREPARED_SURVIVES, TIMES_ARRIVE_WHOLE};

/// D3: a transaction of two keys of one partition; the second is late.
#[test]
fn d3_what_has_arrived_of_a_transaction_is_not_seen_before_the_rest() {
    fn seen() -> String {
        let mut lab = lab(2, 1);
        let (s, t) = (lab.client(0), lab.client(1));
        let (x, y) = (lab.key("x", 0), lab.key("y", 0));
        lab.run(s, put_all(&[&x, &y], "both"));
        lab.deliver(server(0, 0), server(1, 0));
        lab.set_clocks(3_000);
        lab.fire(server(1, 0), Timer::Theta);
        let early = lab.rotx(t, &[&x, &y]);
        while lab.deliver(server(0, 0), server(1, 0)) {}
        lab.fire(server(1, 0), Timer::Theta);
        assert_eq!(lab.rotx(t, &[&x, &y]), "both both");
        early
    }
    assert_eq!(seen(), "- -");
    assert_ne!(without(&[TIMES_ARRIVE_WHOLE], seen), "- -");
}

/// D3: nor after a restart, which knows only the time of the last record that came.
#[test]
fn d3_half_a_transaction_is_not_seen_after_a_restart_either() {
    fn seen() -> String {
        let mut lab = lab(2, 1);
        let (s, t) = (lab.client(0), lab.client(1));
        let (x, y) = (lab.key("x", 0), lab.key("y", 0));
        lab.run(s, put_all(&[&x, &y], "both"));
        lab.deliver(server(0, 0), server(1, 0));
        lab.restart(server(1, 0));
        lab.set_clocks(3_000);
        lab.fire(server(1, 0), Timer::Theta);
        lab.rotx(t, &[&x, &y])
    }
    assert_eq!(seen(), "- -");
    assert_ne!(without(&[TIMES_ARRIVE_WHOLE], seen), "- -");
}

/// What is read of a transaction that was acknowledged, after `crashed` has crashed before the participant has heard.
fn read_after_a_crash(crashed: ServerId) -> String {
    let mut lab = lab(1, 2);
    let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    prepared(&mut lab, s, &x, &y);
    lab.deliver_message(server(0, 0), server(0, 0));
    lab.deliver_message(server(0, 1), server(0, 0));
    lab.lose_messages(server(0, 0), server(0, 1));
    stamp(&lab.outcome(s).expect("it is decided"));
    lab.restart(crashed);
    lab.fire(server(0, 1), Timer::Theta);
    lab.deliver_within(A);
    lab.set_clocks(500_000);
    lab.get(s, &y)
}

/// D4: the participant crashes between its proposal and the decision.
#[test]
fn d4_what_is_prepared_survives_and_is_asked_about() {
    assert_eq!(read_after_a_crash(server(0, 1)), "both");
    assert_eq!(
        without(&[PREPARED_SURVIVES], || read_after_a_crash(server(0, 1))),
        "-",
        "acknowledged, and lost"
    );
}

/// D4: the coordinator crashes after the decision, before anybody but the client has heard of it.
#[test]
fn d4_what_was_decided_survives_until_all_have_applied_it() {
    assert_eq!(read_after_a_crash(server(0, 0)), "both");
    assert_eq!(
        without(&[DECIDED_SURVIVES], || read_after_a_crash(server(0, 0))),
        "-",
        "acknowledged, and aborted"
    );
}

/// D4: the coordinator crashes before the decision: nobody was told anything, and all abort.
#[test]
fn d4_what_was_not_decided_is_aborted_and_reads_go_on() {
    let mut lab = sound(1, 2);
    let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
    prepared(&mut lab, s, &x, &y);
    lab.lose_messages(server(0, 1), server(0, 0));
    lab.lose_messages(server(0, 0), server(0, 0));
    lab.restart(server(0, 0));
    lab.begin(t, Op::Get { key: y.clone() });
    assert_eq!(lab.outcome(t), None);
    lab.fire(server(0, 0), Timer::Theta);
    assert_eq!(text(&lab.finish(t)), "-");
    assert_eq!((newest(&lab, server(0, 0), &x), newest(&lab, server(0, 1), &y)), (None, None));
    assert!([0, 1].iter().all(|p| lab.protocol(server(0, *p)).status().blocked == 0));
    assert_eq!(lab.hard(server(0, 1)).undone.prepared, vec![], "and nothing is remembered of it");
}

/// D4: a participant restarts while proposals are gathered.
#[test]
fn d4_a_transaction_is_given_up_with_the_restart_of_whom_it_waits_for() {
    let mut lab = sound(1, 2);
    let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.begin(s, put_all(&[&x, &y], "both"));
    lab.deliver_message(server(0, 0), server(0, 0));
    lab.lose_messages(server(0, 0), server(0, 1));
    lab.restart(server(0, 1));
    assert_eq!(text(&lab.outcome(s).expect("it has ended")), "unavailable");
    lab.set_clocks(60_000);
    lab.fire(server(0, 0), Timer::Theta); // in doubt about its own, it asks itself
    lab.deliver_within(A);
    assert_eq!(lab.protocol(server(0, 0)).status().blocked, 0);
    assert_eq!(lab.get(s, &x), "-");
}

#[test]
fn d4_a_decision_that_got_lost_is_told_again() {
    let mut lab = sound(1, 2);
    let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    prepared(&mut lab, s, &x, &y);
    lab.deliver_message(server(0, 0), server(0, 0));
    lab.deliver_message(server(0, 1), server(0, 0));
    lab.lose_messages(server(0, 0), server(0, 1));
    lab.set_clocks(60_000);
    lab.fire(server(0, 0), Timer::Theta);
    lab.deliver_within(A);
    assert_eq!(
        newest(&lab, server(0, 1), &y).map(|(stamp, _)| stamp),
        newest(&lab, server(0, 0), &x).map(|n| n.0)
    );
    assert!(newest(&lab, server(0, 1), &y).is_some());
    assert!([0, 1].iter().all(|p| lab.protocol(server(0, *p)).status().blocked == 0));
}

/// D5: a restarted server with a slow clock prepares nothing within a snapshot that was read in its earlier life.
#[test]
fn d5_what_a_read_promised_survives_a_restart() {
    let mut lab = sound(1, 1);
    let (s, t, x) = (lab.client(0), lab.client(0), lab.key("x", 0));
    lab.set_clock(server(0, 0), 3_000_000);
    lab.get(s, &x);
    lab.jump_clock(server(0, 0), 1_000);
    lab.restart(server(0, 0));
    assert!(lab.put(t, &x, "later") > at(3_000_000));
}

/// I3 (E-12), found by the simulator: the version names what was stable of B when it was written. The restarted server has
/// forgotten that, and B is silent.
#[test]
fn i3_what_was_written_before_a_restart_is_seen_while_another_data_centre_is_silent() {
    fn seen() -> String {
        let mut lab = lab(2, 1);
        let (s, t, x) = (lab.client(0), lab.client(0), lab.key("x", 0));
        stabilise(&mut lab, 5_000);
        stabilise(&mut lab, 7_000);
        lab.put(s, &x, "1");
        assert_eq!(newest(&lab, server(0, 0), &x).expect("it is there").1[B], at(7_000));
        lab.restart(server(0, 0));
        lab.get(t, &x)
    }
    assert_eq!(seen(), "1");
    assert_eq!(without(&[GSS_SURVIVES], seen), "-");
}

/// I3: nor does a participant need to hear from B what its coordinator had heard.
#[test]
fn i3_a_participant_takes_over_what_was_stable_for_the_transaction() {
    let mut lab = sound(2, 2);
    let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
    remember(&mut lab, s, &[0, 500]);
    lab.run(s, put_all(&[&x, &y], "both"));
    lab.deliver_within(A);
    assert_eq!(lab.get(t, &y), "both");
    assert_eq!(lab.protocol(server(0, 1)).status().stable[B], at(500));
}

/// A prepared transaction may commit below the clock. A deletion that is later than it must not be forgotten before: it would come back
/// to life.
#[test]
fn what_was_deleted_later_than_a_prepared_transaction_stays_deleted() {
    let in_the_end = || of_what_was_deleted_beside_a_prepared_transaction::<Cure>(false);
    assert_eq!(in_the_end(), ["-", "-"]);
    assert_eq!(without(&[ANNOUNCE_BELOW_PENDING], in_the_end), ["older", "older"]);
}
