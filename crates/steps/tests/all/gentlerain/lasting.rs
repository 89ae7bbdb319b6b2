//! What lasts: restarts, and sessions that move.

use super::*;
use tidemark_protocols::gentlerain::{STABLE_STAYS_HOME, STABLE_SURVIVES};

/// Reference: PROTOCOLS E-12.
#[test]
fn e_12_a_restart_recovers_the_gst_that_versions_written_here_need() {
    assert_eq!(e_1(false, |lab| lab.restart(server(0, 1))), "remote");
    assert_eq!(without(&[STABLE_SURVIVES], || e_1(false, |_| ())), "remote", "without a restart");
    assert_eq!(without(&[STABLE_SURVIVES], || e_1(false, |lab| lab.restart(server(0, 1)))), "-");
}

/// Reference: PROTOCOLS E-12: what is recovered is the largest of what was persisted and what versions say, and
/// it is not sent to peers, to whom it means nothing.
#[test]
fn e_12_gst_is_kept_with_local_versions_only() {
    let mut lab = rain(2, 1);
    let (s, x) = (lab.client(0), lab.key("x", 0));
    stabilise(&mut lab, 9_000);
    lab.put(s, &x, "1");
    lab.deliver_all();
    let metas = [0, 1].map(|dc| lab.store(server(dc, 0)).chain(&x).next().unwrap().meta);
    assert_eq!(metas, [at(9_000); 2], "D9: it is shipped, too; but it speaks of A alone");
    [0, 1].into_iter().for_each(|dc| lab.restart(server(dc, 0)));
    assert_eq!((gst(&lab, 0, 0), gst(&lab, 1, 0)), (at(9_000), Hlc::ZERO));
    stabilise(&mut lab, 410_000); // both stand at the ceiling, which they announced: 409,000
    stabilise(&mut lab, 820_000); // and renew it here
    assert_eq!(lab.hard(server(1, 0)).clock.stable, Vector::from_entries([at(409_000)]));
    lab.restart(server(1, 0));
    assert_eq!(gst(&lab, 1, 0), at(409_000));
}

/// Reference: PROTOCOLS E-12 at the root of the tree: it knows less than it once said, and says nothing before
/// it has heard every child again; nobody falls back.
#[test]
fn e_12_a_root_that_restarts_takes_nothing_back() {
    let mut lab = rain(2, 3);
    let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    let b = lab.client(1);
    lab.put(b, &x, "remote");
    stabilise(&mut lab, 9_000);
    assert_eq!(lab.get(s, &y), "-");
    let root = server(0, 0);
    lab.restart(root);
    assert_eq!((gst(&lab, 0, 0), gst(&lab, 0, 1)), (Hlc::ZERO, at(9_000)));
    assert_eq!(lab.get(s, &x), "remote", "the session brings what it knows");
    assert_eq!(gst(&lab, 0, 0), at(9_000));
    lab.fire(server(0, 1), Timer::Theta);
    lab.fire(root, Timer::Theta);
    lab.report(server(0, 1), root);
    assert!(!lab.deliver_message(root, server(0, 1)), "the other child has not reported in this life");
    stabilise(&mut lab, 20_000);
    assert_eq!([0, 1, 2].map(|p| gst(&lab, 0, p)), [at(20_000); 3]);
}

/// Reference: PROTOCOLS E-8, E-12: a server that comes back with a slow clock.
#[test]
fn e_12_a_restart_stamps_above_everything_announced_and_says_so_at_once() {
    let mut lab = rain(2, 1);
    let (s, x, p) = (lab.client(0), lab.key("x", 0), server(0, 0));
    stabilise(&mut lab, 9_000);
    let ceiling = lab.hard(p).clock.ceiling;
    lab.set_clock(p, 1_000);
    lab.restart(p);
    assert!(lab.deliver(p, server(1, 0)), "the ceiling is announced, so that GST does not stand still");
    assert!(lab.transcript.ends_with(&format!("B/0 <- A/0 heartbeat {ceiling}\n")));
    assert!(ceiling > at(9_000));
    assert_eq!(lab.put(s, &x, "1"), ceiling.next());
}

/// Reference: PROTOCOLS E-13.
#[test]
fn e_13_a_token_brings_its_dependencies_elsewhere_and_its_gst_only_home() {
    /// x depends on y; only x has reached data centre B. A session that saw neither moves from A to B.
    fn moved() -> [String; 2] {
        let mut lab = rain(2, 2);
        let (writer, mover, arrived) = (lab.client(0), lab.client(0), lab.client(1));
        let (x, y, other) = (lab.key("x", 0), lab.key("y", 1), lab.key("other", 0));
        lab.put(writer, &y, "cause");
        lab.set_clocks(1_001);
        lab.put(writer, &x, "effect");
        lab.deliver(server(0, 0), server(1, 0));
        lab.set_clocks(9_000);
        for p in [server(0, 0), server(0, 1), server(1, 0), server(1, 1)] {
            lab.fire(p, Timer::Delta);
        }
        lab.deliver_between(1, 0);
        lab.fire(server(0, 1), Timer::Theta);
        lab.report(server(0, 1), server(0, 0));
        lab.get(mover, &other);
        let token = lab.token(mover);
        assert_eq!(token.past, Past { dt: Hlc::ZERO, gst: at(9_000) });
        lab.adopt(arrived, token);
        assert_eq!(lab.finish(arrived), Outcome::Adopted);
        [lab.get(arrived, &x), lab.get(arrived, &y)]
    }
    assert_eq!(moved(), ["-", "-"]);
    assert_eq!(without(&[STABLE_STAYS_HOME], moved), ["effect", "-"], "an effect without its cause");
}

/// D5 (E-13).
#[test]
fn d5_a_session_that_moves_waits_until_the_region_has_its_past_or_is_told_that_it_is_stale() {
    let mut lab = rain(2, 2);
    let (s, x) = (lab.client(0), lab.key("x", 1));
    let dt = lab.put(s, &x, "1");
    let (patient, unlucky, home) = (lab.client(1), lab.client(1), lab.client(0));
    lab.adopt(home, lab.token(s));
    assert_eq!((lab.finish(home), lab.token(home).past.dt), (Outcome::Adopted, dt));
    lab.adopt(unlucky, lab.token(s));
    lab.set_clocks(2_001_000);
    lab.fire(server(1, 0), Timer::Theta);
    assert_eq!(text(&lab.finish(unlucky)), "stale session");
    assert_eq!(lab.token(unlucky).past, Past::default());
    lab.adopt(patient, lab.token(s));
    assert_eq!(lab.outcome(patient), None);
    stabilise(&mut lab, 2_009_000);
    assert_eq!(lab.finish(patient), Outcome::Adopted);
    assert_eq!(lab.token(patient).past, Past { dt, gst: at(2_009_000) });
    assert_eq!(lab.get(patient, &x), "1");
}
