//! §5.5, D10 and erratum E-11: what a data centre that others do without wrote, when it shows, and who may have seen it.

use super::removal::*;
use super::*;
use tidemark_protocols::gentlerain::{DELETIONS_LAST, HIDES, MOVERS_CATCH_UP, MOVERS_WAIT, RETURN_WAITS};

/// The second trace of E-11: C's y depends on its x, and only y has reached A when A takes C back.
fn e_11_back() -> [String; 2] {
    let mut lab = rain(3, 2);
    let (a, c) = (lab.client(0), lab.client(2));
    let (x, y) = (lab.key("x", 0), lab.key("y", 1));
    stabilise(&mut lab, 9_000);
    exclude(&mut lab);
    lab.set_clocks(10_000);
    lab.put(c, &x, "cause");
    lab.set_clocks(10_001);
    lab.put(c, &y, "effect");
    while lab.deliver(server(2, 1), server(0, 1)) {}
    stabilise_survivors(&mut lab, 20_000);
    readmit(&mut lab);
    stabilise_survivors(&mut lab, 30_000);
    [lab.get(a, &y), lab.get(a, &x)]
}

/// Reference: PROTOCOLS E-11: readmission.
#[test]
fn e_11_what_was_hidden_shows_once_all_of_it_is_there() {
    assert_eq!(e_11_back(), ["-", "-"]);
    assert_eq!(without(&[RETURN_WAITS], e_11_back), ["effect", "-"]);
    assert_eq!(without(&[HIDES], e_11_back), ["effect", "-"]);
}

/// D10: a session from C may have seen what A hides.
#[test]
fn d10_a_session_that_moves_from_an_excluded_data_centre_is_told_that_it_is_stale() {
    fn moved() -> (String, String) {
        let mut lab = rain(3, 1);
        let (c, early, late, x) = (lab.client(2), lab.client(0), lab.client(0), lab.key("x", 0));
        stabilise(&mut lab, 9_000);
        exclude(&mut lab);
        lab.adopt(early, lab.token(c));
        assert_eq!(lab.finish(early), Outcome::Adopted, "it has seen nothing that is hidden");
        lab.put(c, &x, "hidden");
        stabilise_survivors(&mut lab, 20_000);
        lab.adopt(late, lab.token(c));
        let outcome = text(&lab.finish(late));
        (outcome, lab.get(late, &x))
    }
    assert_eq!(moved(), ("stale session".into(), "-".into()));
    assert_eq!(without(&[MOVERS_WAIT], moved), ("adopted".into(), "-".into()), "and misses its own write");
}

/// A has C back, and B has not yet: a session that has seen C's x in A moves to B.
fn moved_ahead() -> [String; 2] {
    let mut lab = rain(3, 1);
    let (a, b, c, x) = (lab.client(0), lab.client(1), lab.client(2), lab.key("x", 0));
    stabilise(&mut lab, 9_000);
    exclude(&mut lab);
    lab.set_clocks(10_000);
    lab.put(c, &x, "hidden");
    stabilise_survivors(&mut lab, 20_000);
    readmit(&mut lab);
    lab.set_clocks(30_000);
    (0..3).for_each(|dc| lab.fire(server(dc, 0), Timer::Delta));
    [1, 2].into_iter().for_each(|dc| lab.deliver_between(dc, 0));
    lab.fire(server(0, 0), Timer::Theta);
    assert_eq!((lab.get(a, &x), lab.get(b, &x)), ("hidden".into(), "-".into()));
    lab.adopt(b, lab.token(a));
    let adopted = lab.outcome(b).unwrap_or_else(|| {
        stabilise(&mut lab, 40_000);
        lab.finish(b)
    });
    [text(&adopted), lab.get(b, &x)]
}

/// D10: a session that has passed the time of the readmission waits until its new region has, too.
#[test]
fn d10_a_session_that_has_seen_what_is_hidden_elsewhere_waits_there() {
    assert_eq!(moved_ahead(), ["adopted", "hidden"]);
    assert_eq!(without(&[MOVERS_CATCH_UP], moved_ahead), ["adopted", "-"]);
}

/// D10: what clients of C may do meanwhile is what they may do in any region that is cut off.
#[test]
fn d10_clients_of_an_excluded_data_centre_read_and_write_there() {
    let mut lab = rain(3, 2);
    let (a, c, x, y) = (lab.client(0), lab.client(2), lab.key("x", 0), lab.key("y", 1));
    stabilise(&mut lab, 9_000);
    exclude(&mut lab);
    lab.set_clocks(10_000);
    lab.put(a, &y, "elsewhere");
    lab.put(c, &x, "1");
    lab.set_clocks(10_001);
    lab.put(c, &y, "2");
    stabilise_survivors(&mut lab, 20_000);
    assert_eq!((lab.get(c, &x), lab.get(c, &y)), ("1".into(), "2".into()));
    assert_eq!(lab.snapshot(c, &[&x, &y]), "- -", "what is stable");
    lab.begin(c, rotx(&[&x, &y]));
    lab.deliver_within(C);
    assert_eq!(lab.outcome(c), None, "a ROTX waits for the others, as it does before an exclusion");
    readmit(&mut lab);
    [30_000, 40_000].into_iter().for_each(|us| stabilise(&mut lab, us));
    let Outcome::FoundAll(found) = lab.finish(c) else { panic!("the ROTX ends") };
    assert!(found.iter().all(|found| found.value.is_some()));
    assert_eq!(lab.get(a, &x), "1", "nothing of it is lost");
    assert_eq!(lab.get(a, &y), lab.get(c, &y));
}

/// D10: a deletion is remembered while something older can come from who is away.
#[test]
fn d10_a_deletion_is_not_forgotten_while_a_data_centre_is_away() {
    fn deleted() -> String {
        let mut lab = rain(3, 1);
        let (a, c, x) = (lab.client(0), lab.client(2), lab.key("x", 0));
        stabilise(&mut lab, 9_000);
        exclude(&mut lab);
        lab.put(c, &x, "older");
        lab.set_clocks(20_000);
        lab.remove(a, &x);
        (1..8).for_each(|n| stabilise_survivors(&mut lab, n * 500_000));
        readmit(&mut lab);
        stabilise(&mut lab, 5_000_000);
        lab.get(a, &x)
    }
    assert_eq!((deleted(), without(&[DELETIONS_LAST], deleted)), ("-".into(), "older".into()));
}
