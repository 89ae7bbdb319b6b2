//! The rules of the component for dependency checks, each once for every protocol that rests on it.

use crate::at;
use tidemark_contract::core::{DcId, Failure, Key, Outcome};
use tidemark_contract::dependency_checked::{
    APPLIED_SURVIVES, ASKS_SIBLINGS, Checked, MOVERS_WAIT, Timer, WAITING_SURVIVES,
};
use tidemark_contract::lab::{put, server, text};
use tidemark_contract::session::Reaches;
use tidemark_contract::{Lab, Protocol, Rule, without};
use tidemark_protocols::*;

of_each_with_the_rule! {
    c1_a_version_shows_when_siblings_have_what_it_depends_on, ASKS_SIBLINGS: Cops CopsGt Eiger;
    c1_what_waits_is_checked_again_after_a_restart, WAITING_SURVIVES: Cops CopsGt Eiger;
    c1_what_was_applied_is_logged_before_anybody_learns_of_it, APPLIED_SURVIVES: Cops CopsGt Eiger;
    c3_a_session_that_moves_waits_until_its_past_is_applied, MOVERS_WAIT: Cops CopsGt Eiger;
}

of_each! {
    a_check_that_is_lost_is_asked_again: Cops CopsGt Eiger;
    a_sibling_that_restarts_is_asked_again: Cops CopsGt Eiger;
    c2_a_restart_with_a_slow_clock_writes_above_what_was_announced: Cops CopsGt Eiger;
    c3_a_session_that_waits_too_long_is_told_so: Cops CopsGt Eiger;
    a_write_is_stamped_above_its_past_or_refused: Cops CopsGt Eiger;
}

fn lab<P: Checked>(dcs: usize, partitions: usize) -> Lab<P> {
    Lab::new(dcs, partitions, P::Params::default())
}

/// A session of A writes a key of partition 0, then one of the other `partition`.
fn two_writes<P: Checked>(lab: &mut Lab<P>, partition: u16) -> (Key, Key) {
    let (a, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", partition));
    lab.put(a, &x, "1");
    lab.put(a, &y, "2");
    (x, y)
}

/// What partition `p` of A wrote reaches B, all of it.
fn ship<P: Checked>(lab: &mut Lab<P>, p: u16) {
    while lab.deliver(server(0, p), server(1, p)) {}
}

fn c1_a_version_shows_when_siblings_have_what_it_depends_on<P: Checked>() {
    /// What B reads of the second write while it lacks the first, and how much waits there.
    fn shown<P: Checked>() -> (String, usize) {
        let mut lab = lab::<P>(2, 2);
        let ((x, y), c) = (two_writes(&mut lab, 1), lab.client(1));
        let blocked = |lab: &Lab<P>| -> usize {
            [0, 1].iter().map(|p| lab.protocol(server(1, *p)).status().blocked).sum()
        };
        ship(&mut lab, 1);
        lab.deliver_within(DcId(1));
        let early = (lab.get(c, &y), blocked(&lab));
        ship(&mut lab, 0);
        lab.deliver_within(DcId(1));
        assert_eq!((lab.rotx(c, &[&x, &y]), blocked(&lab)), ("1 2".into(), 0));
        early
    }
    assert_eq!(shown::<P>(), ("-".into(), 2));
    assert_eq!(without(&[ASKS_SIBLINGS], shown::<P>), ("2".into(), 0));
}

/// What did not show before a crash does not show after it without its check.
fn c1_what_waits_is_checked_again_after_a_restart<P: Checked>() {
    fn shown<P: Checked>() -> (String, String) {
        let mut lab = lab::<P>(2, 2);
        let ((_, y), c) = (two_writes(&mut lab, 1), lab.client(1));
        ship(&mut lab, 1);
        lab.lose_messages(server(1, 1), server(1, 0));
        lab.restart(server(1, 1));
        let early = lab.get(c, &y);
        ship(&mut lab, 0);
        lab.deliver_within(DcId(1));
        (early, lab.get(c, &y))
    }
    assert_eq!(shown::<P>(), ("-".into(), "2".into()));
    assert_eq!(without(&[WAITING_SURVIVES], shown::<P>), ("2".into(), "2".into()));
}

/// What showed before a crash shows right after it, with nobody asked; the lab's restart keeps what was revised.
fn c1_what_was_applied_is_logged_before_anybody_learns_of_it<P: Checked>() {
    /// Whether the second write, of `partition`, is revised at B.
    fn revised<P: Checked>(partition: u16) -> bool {
        let mut lab = lab::<P>(2, 2);
        let (_, y) = two_writes(&mut lab, partition);
        ship(&mut lab, 0);
        ship(&mut lab, 1);
        lab.deliver_within(DcId(1));
        assert_eq!(lab.protocol(server(1, partition)).status().blocked, 0);
        lab.transcript.contains(&format!("revises {y}"))
    }
    assert!(revised::<P>(1));
    assert!(!without(&[APPLIED_SURVIVES], || revised::<P>(1)));
    assert!(!revised::<P>(0), "that x is applied here a restart finds out at once");
}

fn c3_a_session_that_moves_waits_until_its_past_is_applied<P: Checked>() {
    fn moved<P: Checked>() -> bool {
        let mut lab = lab::<P>(2, 2);
        let (a, b, y) = (lab.client(0), lab.client(1), lab.key("y", 1));
        let written = lab.put(a, &y, "1");
        let token = lab.token(a);
        lab.adopt(b, token);
        lab.deliver_within(DcId(1));
        let at_once = lab.outcome(b).is_some();
        if !at_once {
            ship(&mut lab, 1);
            lab.deliver_within(DcId(1));
            assert_eq!(lab.outcome(b), Some(Outcome::Adopted));
            assert!(lab.token(b).reach().latest >= written);
            assert_eq!(lab.get(b, &y), "1");
        }
        at_once
    }
    assert!(!moved::<P>());
    assert!(without(&[MOVERS_WAIT], moved::<P>));
}

fn a_check_that_is_lost_is_asked_again<P: Checked>() {
    let mut lab = lab::<P>(2, 2);
    let ((_, y), c) = (two_writes(&mut lab, 1), lab.client(1));
    ship(&mut lab, 1);
    lab.lose_messages(server(1, 1), server(1, 0));
    ship(&mut lab, 0);
    lab.deliver_within(DcId(1));
    assert_eq!(lab.get(c, &y), "-");
    lab.fire(server(1, 1), Timer::Retry);
    lab.deliver_within(DcId(1));
    assert_eq!(lab.get(c, &y), "2");
}

/// A server that restarted has forgotten what it was asked.
fn a_sibling_that_restarts_is_asked_again<P: Checked>() {
    let mut lab = lab::<P>(2, 2);
    let ((_, y), c) = (two_writes(&mut lab, 1), lab.client(1));
    ship(&mut lab, 1);
    lab.deliver_within(DcId(1));
    lab.restart(server(1, 0));
    lab.deliver_within(DcId(1));
    ship(&mut lab, 0);
    lab.deliver_within(DcId(1));
    assert_eq!(lab.get(c, &y), "2");
}

/// Heartbeats lie under a ceiling that survives, so that no write of a later life lies under one.
fn c2_a_restart_with_a_slow_clock_writes_above_what_was_announced<P: Checked>() {
    let mut lab = lab::<P>(2, 1);
    lab.set_max_skew(60_000_000);
    let (a, x) = (lab.client(0), lab.key("x", 0));
    lab.set_clocks(30_000_000);
    lab.fire(server(0, 0), Timer::Theta);
    lab.set_clock(server(0, 0), 1_000);
    lab.restart(server(0, 0));
    assert!(lab.put(a, &x, "1") > at(30_000_000));
}

/// Where it came from, it is at home.
fn c3_a_session_that_waits_too_long_is_told_so<P: Checked>() {
    let mut lab = lab::<P>(2, 2);
    let (a, home, b, x) = (lab.client(0), lab.client(0), lab.client(1), lab.key("x", 0));
    lab.put(a, &x, "1");
    let token = lab.token(a);
    lab.adopt(home, token.clone());
    assert_eq!(lab.finish(home), Outcome::Adopted);
    lab.adopt(b, token);
    lab.set_clocks(3_000_000);
    lab.fire(server(1, 0), Timer::Theta);
    assert!(matches!(lab.outcome(b), Some(Outcome::Failed(Failure::StaleSession(_)))));
    assert_eq!(lab.protocol(server(1, 0)).status().blocked, 0);
}

fn a_write_is_stamped_above_its_past_or_refused<P: Checked>() {
    let mut lab = lab::<P>(1, 2);
    let (a, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.set_clock(server(0, 0), 5_000_000);
    let first = lab.put(a, &x, "1");
    assert!(lab.put(a, &y, "2") > first);
    lab.set_clock(server(0, 0), 60_000_000);
    lab.put(a, &x, "3");
    assert_eq!(text(&lab.run(a, put(&y, "4"))), "clock skew");
}

#[test]
fn every_protocol_that_rests_on_a_rule_is_tested_without_it() {
    for name in NAMES {
        let rules = with_protocol!(name, P => P::INFO.rules, otherwise &[]);
        for (rule, tested) in TESTED {
            assert_eq!(rules.contains(rule), tested.contains(name), "{name} without {rule}");
        }
    }
}
