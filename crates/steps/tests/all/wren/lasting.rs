//! Wren: what is half done, of what arrives and of what commits, and what a crash leaves of it.

use super::*;
use crate::stabilised::of_what_was_deleted_beside_a_prepared_transaction;
use tidemark_protocols::wren::{DECIDED_SURVIVES, PREPARED_SURVIVES, RDT_IS_COVERED, TIMES_ARRIVE_WHOLE};

/// A transaction of two keys of one partition of A, of which the first has arrived in B.
fn half_arrived() -> (Lab<Wren>, Key, Key) {
    let mut lab = lab(2, 1);
    let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 0));
    lab.run(s, put_all(&[&x, &y], "both"));
    lab.deliver_within(A);
    lab.deliver(server(0, 0), server(1, 0));
    (lab, x, y)
}

/// What B shows of it later.
fn read_in_b(lab: &mut Lab<Wren>, x: &Key, y: &Key) -> String {
    let t = lab.client(1);
    lab.set_clocks(3_000);
    lab.fire(server(1, 0), Timer::Delta);
    lab.fire(server(1, 0), Timer::Theta);
    lab.rotx(t, &[x, y])
}

/// D3: the second key is late.
#[test]
fn d3_what_has_arrived_of_a_transaction_is_not_seen_before_the_rest() {
    fn seen() -> String {
        let (mut lab, x, y) = half_arrived();
        let early = read_in_b(&mut lab, &x, &y);
        while lab.deliver(server(0, 0), server(1, 0)) {}
        assert_eq!(read_in_b(&mut lab, &x, &y), "both both");
        early
    }
    assert_eq!(seen(), "- -");
    assert_ne!(without(&[TIMES_ARRIVE_WHOLE], seen), "- -");
}

/// D3: nor after a restart, which knows only the time of the last record that came.
#[test]
fn d3_half_a_transaction_is_not_seen_after_a_restart_either() {
    fn seen() -> String {
        let (mut lab, x, y) = half_arrived();
        lab.restart(server(1, 0));
        read_in_b(&mut lab, &x, &y)
    }
    assert_eq!(seen(), "- -");
    assert_ne!(without(&[TIMES_ARRIVE_WHOLE], seen), "- -");
}

/// A transaction of both partitions of A/0 and A/1 that is decided at A/0; the message that tells A/1 is lost.
fn decided() -> (Lab<Wren>, Key) {
    let mut lab = lab(1, 2);
    let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    prepared(&mut lab, s, &x, &y);
    lab.deliver_message(server(0, 0), server(0, 0));
    lab.deliver_message(server(0, 1), server(0, 0));
    lab.lose_messages(server(0, 0), server(0, 1));
    stamp(&lab.outcome(s).expect("it is decided"));
    (lab, y)
}

/// What another session reads of it in the end.
fn read_in_the_end(lab: &mut Lab<Wren>, y: &Key) -> String {
    let t = lab.client(0);
    [500_000, 1_000_000].iter().for_each(|us| stabilise(lab, *us));
    assert!([0, 1].iter().all(|p| lab.protocol(server(0, *p)).status().blocked == 0));
    lab.get(t, y)
}

/// D4: the participant crashes between its proposal and the decision.
#[test]
fn d4_what_is_prepared_survives_and_is_asked_about() {
    fn read() -> String {
        let (mut lab, y) = decided();
        lab.restart(server(0, 1));
        lab.fire(server(0, 1), Timer::Theta);
        lab.deliver_within(A);
        read_in_the_end(&mut lab, &y)
    }
    assert_eq!(read(), "both");
    assert_eq!(without(&[PREPARED_SURVIVES], read), "-", "acknowledged, and lost");
}

/// D4: the coordinator crashes after the decision, before anybody but the client has heard of it.
#[test]
fn d4_what_was_decided_survives_until_all_have_applied_it() {
    fn read() -> String {
        let (mut lab, y) = decided();
        lab.restart(server(0, 0));
        lab.fire(server(0, 1), Timer::Theta);
        lab.deliver_within(A);
        read_in_the_end(&mut lab, &y)
    }
    assert_eq!(read(), "both");
    assert_eq!(without(&[DECIDED_SURVIVES], read), "-", "acknowledged, and aborted");
}

/// D4: the coordinator crashes before the decision: nobody was told anything, all abort, and times go on.
#[test]
fn d4_what_was_not_decided_is_aborted() {
    let mut lab = sound(1, 2);
    let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    prepared(&mut lab, s, &x, &y);
    lab.lose_messages(server(0, 1), server(0, 0));
    lab.lose_messages(server(0, 0), server(0, 0));
    lab.restart(server(0, 0));
    assert_eq!(read_in_the_end(&mut lab, &y), "-");
    assert_eq!((newest(&lab, server(0, 0), &x), newest(&lab, server(0, 1), &y)), (None, None));
    assert_eq!(lab.hard(server(0, 1)).undone.prepared, vec![], "and nothing is remembered of it");
    assert!(lab.protocol(server(0, 1)).status().stable.max() > at(400_000));
}

/// D5: a restarted server with a slow clock stamps above what it has announced.
#[test]
fn d5_what_was_announced_survives_a_restart() {
    let mut lab = sound(1, 1);
    let (s, x) = (lab.client(0), lab.key("x", 0));
    lab.set_clock(server(0, 0), 3_000_000);
    lab.fire(server(0, 0), Timer::Delta);
    lab.jump_clock(server(0, 0), 1_000);
    lab.restart(server(0, 0));
    assert!(lab.put(s, &x, "later") > at(3_000_000));
}

/// D5 (E-12): the version names what was stable of B when it was written. The restarted server has forgotten that, and B
/// is silent.
#[test]
fn d5_what_was_written_before_a_restart_is_seen_while_another_data_centre_is_silent() {
    fn seen() -> String {
        let mut lab = lab(2, 1);
        let (s, t, x) = (lab.client(0), lab.client(0), lab.key("x", 0));
        stabilise(&mut lab, 5_000);
        lab.put(s, &x, "1");
        lab.restart(server(0, 0));
        lab.set_clocks(9_000);
        lab.fire(server(0, 0), Timer::Delta);
        lab.fire(server(0, 0), Timer::Theta);
        lab.get(t, &x)
    }
    assert_eq!(seen(), "1");
    assert_eq!(without(&[RDT_IS_COVERED], seen), "-");
}

/// A prepared transaction may commit below the clock. A deletion that is later than it must not be forgotten before: it would come back
/// to life.
#[test]
fn what_was_deleted_later_than_a_prepared_transaction_stays_deleted() {
    let in_the_end = || of_what_was_deleted_beside_a_prepared_transaction::<Wren>(false);
    assert_eq!(in_the_end(), ["-", "-"]);
    assert_eq!(without(&[ANNOUNCE_BELOW_PENDING], in_the_end), ["older", "older"]);
}
