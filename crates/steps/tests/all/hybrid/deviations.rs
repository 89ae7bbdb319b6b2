//! Hybrid: the deviations of the file from PROTOCOLS §17, one by one.

use super::*;
use tidemark_protocols::hybrid::{
    ASKS_AFTER_OWN, CHECKS_TELL_GST, MOVERS_WAIT, STABLE_STAYS_HOME, STABLE_SURVIVES,
};

/// so that any such vector covers y and x; and y's cause, from C, is missing.
#[test]
fn d1_that_all_of_one_region_has_arrived_vouches_for_nothing_of_it() {
    let mut lab = sound(3, 2);
    let (a, b, c) = (lab.client(0), lab.client(1), lab.client(2));
    let (z, y, x) = (lab.key("z", 0), lab.key("y", 0), lab.key("x", 1));
    lab.put(c, &z, "z");
    lab.deliver(server(2, 0), server(0, 0));
    assert_eq!(lab.get(a, &z), "z");
    lab.put(a, &y, "y");
    lab.put(a, &x, "x");
    lab.round(9_000, &[]);
    for p in 0..2 {
        lab.fire(server(0, p), Timer::Delta);
        lab.fire(server(0, p), Timer::Delta);
        ship(&mut lab, p);
    }
    assert_eq!(
        [&y, &x].map(|key| lab.store(server(1, if key == &y { 0 } else { 1 })).chain(key).count()),
        [1, 1]
    );
    assert_eq!([&x, &y, &z].map(|key| get(&mut lab, b, key)), ["-", "-", "-"]);
    lab.deliver(server(2, 0), server(1, 0));
    talk(&mut lab);
    assert_eq!([&x, &y, &z].map(|key| lab.get(b, key)), ["x", "y", "z"]);
}

/// D2: what a sibling's stable time vouches for shows to those who come with that time.
#[test]
fn d2_who_reads_a_checked_version_leaves_with_the_stable_times_of_those_who_were_asked() {
    fn leaves_with() -> (String, Hlc) {
        let (mut lab, _, y) = effect_without_cause();
        let c = lab.client(1);
        ship(&mut lab, 0);
        tell(&mut lab, 0, at(900));
        (get(&mut lab, c, &y), past(&lab, c).gst)
    }
    assert_eq!(leaves_with(), ("comment".into(), at(900)));
    assert_eq!(without(&[CHECKS_TELL_GST], leaves_with), ("comment".into(), Hlc::ZERO));
}

/// D2: also after a cause that was written in this data centre, for that shows at once, under its writer's stable time.
#[test]
fn d2_causes_written_here_are_asked_after_for_the_stable_time_of_their_writer() {
    fn leaves_with() -> Hlc {
        let mut lab = lab(2, 2);
        let (a, b, c, x, y) = (lab.client(0), lab.client(1), lab.client(1), lab.key("x", 0), lab.key("y", 1));
        tell(&mut lab, 1, at(900));
        lab.put(b, &y, "1");
        lab.deliver_between(1, 0);
        lab.get(a, &y);
        lab.put(a, &x, "2");
        ship(&mut lab, 0);
        assert_eq!(get(&mut lab, c, &x), "2");
        past(&lab, c).gst
    }
    assert_eq!((leaves_with(), without(&[ASKS_AFTER_OWN], leaves_with)), (at(900), Hlc::ZERO));
}

/// D4: a restarted server knows at least the stable time under which anything showed, or was written, here.
#[test]
fn d4_the_stable_time_survives_with_what_showed_under_it() {
    fn after() -> [Hlc; 3] {
        let mut lab = lab(2, 3);
        let (a, b, c) = (lab.client(0), lab.client(1), lab.client(1));
        let (x, y, z) = (lab.key("x", 0), lab.key("y", 1), lab.key("z", 2));
        lab.put(a, &x, "1");
        lab.put(a, &y, "2");
        (0..2).for_each(|p| ship(&mut lab, p));
        tell(&mut lab, 0, at(900));
        assert_eq!(get(&mut lab, c, &y), "2");
        lab.put(b, &z, "3"); // B/2 has never heard of it
        tell(&mut lab, 2, at(800));
        lab.put(b, &z, "4");
        [0, 1, 2].map(|p| {
            lab.restart(server(1, p));
            gst(&lab, 1, p)
        })
    }
    assert_eq!(after(), [Hlc::ZERO, at(900), at(800)], "B/0 was only told");
    assert_eq!(without(&[STABLE_SURVIVES], after), [Hlc::ZERO; 3]);
}

/// D4: what did not show before a crash does not show after it without its check.
#[test]
fn d4_what_is_hidden_is_checked_again_after_a_restart() {
    let (mut lab, _, y) = effect_without_cause();
    let c = lab.client(1);
    assert_eq!(get(&mut lab, c, &y), "-");
    lab.restart(server(1, 1));
    assert_eq!(get(&mut lab, c, &y), "-");
    ship(&mut lab, 0);
    talk(&mut lab);
    assert_eq!(lab.get(c, &y), "comment");
}

/// D4: who restarted has forgotten what it was asked.
#[test]
fn d4_a_server_that_restarts_is_asked_again() {
    let (mut lab, _, y) = effect_without_cause();
    let c = lab.client(1);
    lab.begin(c, Op::Get { key: y });
    talk(&mut lab);
    lab.restart(server(1, 0));
    ship(&mut lab, 0);
    talk(&mut lab);
    assert_eq!(text(&lab.outcome(c).unwrap()), "comment");
}

/// D5: what decides a conditional update becomes a cause of the version and of the session; a scan's finds, too.
#[test]
fn d5_a_conditional_update_depends_on_what_decided_it() {
    let mut lab = sound(2, 2);
    let (a, b, c, x) = (lab.client(0), lab.client(0), lab.client(0), lab.key("x", 0));
    let first = lab.put(a, &x, "1");
    assert_eq!(lab.put_new(b, &x, "2"), None);
    assert_eq!(past(&lab, b).near, near(&[(0, first, 0)]));
    assert_eq!(lab.scan(c, 0), format!("{x} 1"));
    assert_eq!(past(&lab, c).near, near(&[(0, first, 0)]));
    lab.remove(b, &x);
    assert!(lab.put_new(c, &x, "3").is_some(), "a tombstone decided it");
    assert_eq!(past(&lab, c).near.len(), 1);
}

/// D7: elsewhere, what a session lists has to show first; what was stable at home is not.
#[test]
fn d7_a_session_that_moves_waits_until_its_causes_show() {
    fn moved() -> (bool, Hlc) {
        let mut lab = lab(2, 2);
        let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 1));
        lab.ask(server(0, 1), Request::Get(x.clone(), at(900)));
        lab.put(a, &x, "1");
        let token = lab.token(a);
        lab.adopt(b, token);
        talk(&mut lab);
        let at_once = lab.outcome(b).is_some();
        if !at_once {
            ship(&mut lab, 1);
            talk(&mut lab);
            assert_eq!((lab.outcome(b), lab.get(b, &x).as_str()), (Some(Outcome::Adopted), "1"));
        }
        (at_once, past(&lab, b).gst)
    }
    assert_eq!(moved(), (false, Hlc::ZERO));
    assert_eq!(without(&[MOVERS_WAIT], moved), (true, Hlc::ZERO));
    assert_eq!(without(&[STABLE_STAYS_HOME], moved), (false, at(900)));
}

/// D7: not for ever; and where it came from, it is at home.
#[test]
fn d7_a_session_that_waits_too_long_is_told_so() {
    let mut lab = sound(2, 2);
    let (a, home, b, x) = (lab.client(0), lab.client(0), lab.client(1), lab.key("x", 1));
    lab.put(a, &x, "1");
    let token: Token<Past> = lab.token(a);
    lab.adopt(home, token.clone());
    assert_eq!(lab.finish(home), Outcome::Adopted);
    lab.adopt(b, token);
    lab.set_clocks(3_000_000);
    lab.fire(server(1, 0), Timer::Theta);
    assert!(matches!(lab.outcome(b), Some(Outcome::Failed(Failure::StaleSession(_)))));
    assert_eq!(lab.protocol(server(1, 0)).status().blocked, 0);
}

/// D8: however long another region is away, a list has a bound, and still implies all that was read.
#[test]
fn d8_a_list_has_a_bound_while_another_region_is_cut_off() {
    let mut lab = sound(2, 2);
    let (writer, reader, c) = (lab.client(0), lab.client(0), lab.client(1));
    let keys: Vec<Key> = (0..100).map(|n| lab.key(&format!("k{n}-"), n % 2)).collect();
    for key in &keys {
        lab.put(writer, key, "v");
        lab.get(reader, key);
        assert!(past(&lab, reader).near.len() <= tidemark_protocols::hybrid::most_deps());
    }
    assert!(past(&lab, reader).near.iter().any(|dep| dep.scope == Scope::UpTo));
    let last = lab.key("last", 0);
    lab.put(reader, &last, "v");
    for n in 0..100 {
        lab.deliver(server(0, n % 2), server(1, n % 2));
        talk(&mut lab);
    }
    assert_eq!(lab.store(server(1, 0)).chain(&last).count(), 0);
    ship(&mut lab, 0);
    assert_eq!(get(&mut lab, c, &last), "v");
}
