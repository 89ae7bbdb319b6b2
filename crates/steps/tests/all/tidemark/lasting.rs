//! What lasts, and what goes: crashes, collection, sessions that move; and what depends on what decided.

use super::*;
use tidemark_protocols::tidemark::{
    COLLECTS_AT_SAFE, DS_IS_NOT_STABLE, EXCEPTIONS_UNTIL_SAFE, PUT_TAKES_DSV, STABLE_STAYS_HOME,
    STABLE_SURVIVES,
};

/// D1: sessions can bring a fence from above the ceiling. Once it is persisted, collection counts on it.
#[test]
fn d1_a_restart_recovers_a_fence_above_the_ceiling() {
    let (mut lab, p) = (sound(2, 1), server(0, 0));
    lab.ask(p, get(Key::from("x"), v(&[900_000])));
    lab.fire(p, Timer::Delta);
    assert!(lab.hard(p).times.ceiling < at(900_000) && lab.hard(p).times.stable == v(&[900_000]));
    lab.restart(p);
    assert_eq!(dsv(&lab, 0, 0), v(&[900_000]));
}

/// D1.
#[test]
fn d1_a_restart_stamps_above_everything_announced() {
    let (mut lab, p) = (sound(2, 1), server(0, 0));
    let (s, x) = (lab.client(0), lab.key("x", 0));
    stabilise(&mut lab, 9_000);
    let ceiling = lab.hard(p).times.ceiling;
    lab.set_clock(p, 1_000);
    lab.restart(p);
    assert_eq!((lab.put(s, &x, "1"), dsv(&lab, 0, 0)[DcId(0)]), (ceiling.next(), ceiling));
}

/// Reference: PROTOCOLS E-3, event by event: what is read fresh is not taken for stable.
#[test]
fn e_3_what_a_session_read_says_nothing_about_the_other_partitions() {
    fn trace() -> [String; 3] {
        let mut lab = lab(2, 2);
        let (c0, c3, c1) = (lab.client(0), lab.client(0), lab.client(1));
        let (x, y, z) = (lab.key("x", 0), lab.key("y", 1), lab.key("z", 0));
        lab.put(c3, &y, "cause");
        lab.set_clocks(1_001);
        lab.put(c0, &z, "z");
        lab.deliver(server(0, 0), server(1, 0));
        lab.set_clocks(1_002);
        lab.put(c3, &x, "effect");
        let seen = lab.get(c1, &z);
        lab.put(c1, &z, "again");
        lab.deliver(server(0, 0), server(1, 0));
        [seen, lab.get(c1, &x), lab.get(c1, &y)]
    }
    assert_eq!(trace(), ["z", "-", "-"], "fresh, and no effect without its cause");
    assert_eq!(without(&[DS_IS_NOT_STABLE], trace), ["z", "effect", "-"]);
}

/// A local version that depends on a remote one is read where DSV is behind, and then what it depends on.
fn behind(then: impl FnOnce(&mut Lab<Tidemark>)) -> String {
    let mut lab = lab(2, 2);
    let (c0, c1, c2) = (lab.client(0), lab.client(1), lab.client(0));
    let (x, y, z) = (lab.key("x", 1), lab.key("y", 0), lab.key("z", 1));
    lab.put(c1, &y, "first");
    lab.put(c1, &z, "remote");
    lab.put(c1, &y, "remote");
    lab.deliver_all();
    stabilise_root_of_a(&mut lab, 9_000);
    assert_eq!(lab.get(c0, &y), "remote");
    lab.put(c0, &x, "local");
    then(&mut lab);
    assert_eq!(lab.get(c2, &x), "local");
    lab.get(c2, &z)
}

#[test]
fn step_4_is_why_a_reader_of_a_local_version_finds_what_it_depends_on() {
    assert_eq!((behind(|_| ()), without(&[PUT_TAKES_DSV], || behind(|_| ()))), ("remote".into(), "-".into()));
}

/// Reference: PROTOCOLS E-12. D1.
#[test]
fn e_12_a_restart_recovers_the_dsv_that_versions_written_here_need() {
    let crash = server(0, 1);
    assert_eq!(behind(|lab| lab.restart(crash)), "remote");
    assert_eq!(without(&[STABLE_SURVIVES], || behind(|_| ())), "remote", "without a restart");
    assert_eq!(without(&[STABLE_SURVIVES], || behind(|lab| lab.restart(crash))), "-");
}

/// Collection: a snapshot is held, and is read when its server knows of much newer ones.
#[test]
fn collection_stays_below_the_snapshots_and_the_persisted_dsv_of_all() {
    fn held() -> (String, usize) {
        let mut lab = lab(1, 2);
        let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
        let (root, leaf) = (server(0, 0), server(0, 1));
        lab.put(s, &y, "old");
        stabilise(&mut lab, 9_000);
        lab.begin(t, rotx(&[&x, &y]));
        for us in [500_000, 1_000_000, 1_500_000] {
            lab.set_clocks(us);
            lab.put(s, &y, &us.to_string());
            for timer in [Timer::Delta, Timer::Delta, Timer::Theta] {
                lab.fire(leaf, timer);
                lab.fire(root, timer);
                lab.report(leaf, root);
            }
            lab.overtake(root, leaf);
        }
        lab.fire(leaf, Timer::Theta);
        let seen = text(&lab.finish(t));
        for us in [2_000_000, 2_500_000, 3_000_000] {
            stabilise(&mut lab, us);
        }
        (seen, lab.store(leaf).chain(&y).count())
    }
    assert_eq!(held(), ("- 500000".into(), 1), "the last of which all causes are covered");
    assert_eq!(without(&[COLLECTS_AT_SAFE], held).0, "- -");
}

/// Collection: an exception is what a session that read fresh finds its own write by, from any server.
#[test]
fn exceptions_stay_until_no_snapshot_in_the_data_centre_is_below_them() {
    fn own_write() -> (String, bool) {
        let mut lab = lab(2, 2);
        let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
        remember(&mut lab, s, past(&[0, 70], &[0, 60]));
        lab.put(s, &x, "1");
        lab.ask(server(0, 0), get(x.clone(), v(&[0, 80])));
        lab.fire(server(0, 0), Timer::Theta);
        let seen = lab.rotx(s, &[&y, &x]);
        for us in [500_000, 1_000_000, 1_500_000, 2_000_000] {
            stabilise(&mut lab, us);
        }
        (seen, meta(&lab, 0, 0, &x).need.is_none())
    }
    assert_eq!(own_write(), ("- 1".into(), true));
    assert_eq!(without(&[EXCEPTIONS_UNTIL_SAFE], own_write).0, "- -");
}

/// Reference: PROTOCOLS E-13.
#[test]
fn e_13_a_token_brings_its_dependencies_elsewhere_and_its_dsv_only_home() {
    /// x depends on y; only x has reached data centre B. A session that saw neither moves from A to B.
    fn moved() -> [String; 2] {
        let mut lab = lab(2, 2);
        let (writer, mover, arrived) = (lab.client(0), lab.client(0), lab.client(1));
        let (x, y, other) = (lab.key("x", 0), lab.key("y", 1), lab.key("other", 0));
        lab.put(writer, &y, "cause");
        lab.put(writer, &x, "effect");
        lab.deliver(server(0, 0), server(1, 0));
        stabilise_root_of_a(&mut lab, 9_000);
        lab.get(mover, &other);
        let token = lab.token(mover);
        assert_eq!((&token.past.ds, token.past.dsv[DcId(0)] >= at(9_000)), (&v(&[]), true));
        lab.adopt(arrived, token);
        assert_eq!(lab.finish(arrived), Outcome::Adopted);
        [lab.get(arrived, &x), lab.get(arrived, &y)]
    }
    assert_eq!(moved(), ["-", "-"]);
    assert_eq!(without(&[STABLE_STAYS_HOME], moved), ["effect", "-"], "an effect without its cause");
}

/// D2: and after the wait nothing that it brought is an exception.
#[test]
fn d2_a_session_that_moves_waits_until_the_region_covers_it_or_is_told_that_it_is_stale() {
    let mut lab = sound(2, 2);
    let (s, x, y) = (lab.client(0), lab.key("x", 1), lab.key("y", 0));
    lab.put(s, &x, "1");
    let (patient, unlucky) = (lab.client(1), lab.client(1));
    lab.adopt(unlucky, lab.token(s));
    lab.set_clocks(2_001_000);
    lab.fire(server(1, 0), Timer::Theta);
    assert_eq!(text(&lab.finish(unlucky)), "stale session");
    assert_eq!(lab.token(unlucky).past, Past::default());
    lab.adopt(patient, lab.token(s));
    assert_eq!((lab.outcome(patient), lab.protocol(server(1, 0)).status().blocked), (None, 1));
    stabilise(&mut lab, 2_009_000);
    assert_eq!(lab.finish(patient), Outcome::Adopted);
    assert_eq!(lab.rotx(patient, &[&x, &y]), "1 -");
    lab.put(patient, &y, "2");
    assert_eq!((meta(&lab, 1, 0, &y).ds[DcId(0)], meta(&lab, 1, 0, &y).need), (at(1_000), None));
}

/// D3: without DSV the session would know the dependencies of what decided, and not find them.
#[test]
fn d3_a_conditional_update_takes_the_servers_dsv_to_its_session() {
    let mut lab = sound(2, 2);
    let (c0, c1, c2) = (lab.client(0), lab.client(1), lab.client(0));
    let (lock, y, z) = (lab.key("lock", 0), lab.key("y", 0), lab.key("z", 1));
    lab.put(c1, &y, "first");
    lab.put(c1, &z, "remote");
    lab.put(c1, &y, "remote");
    lab.deliver_all();
    stabilise_root_of_a(&mut lab, 9_000);
    lab.get(c0, &y);
    assert!(lab.put_new(c0, &lock, "mine").is_some());
    assert_eq!(lab.put_new(c2, &lock, "mine"), None);
    assert!(lab.token(c2).past.ds[DcId(1)] > Hlc::ZERO);
    assert_eq!(lab.get(c2, &z), "remote");
}

/// D3: what decided was read fresh, so the new version has an exception.
#[test]
fn d3_a_conditional_update_depends_on_and_wins_over_what_it_saw() {
    let mut lab = sound(2, 1);
    let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
    lab.set_clock(server(1, 0), 8_000);
    lab.put(b, &x, "1");
    lab.deliver_all();
    let update = Update { returns_previous: true, ..Update::put(Write::Remove) };
    let reply =
        lab.ask(server(0, 0), Request::Of(Of::Put(x.clone(), update, past(&[], &[0, 7_000])))).unwrap();
    let ut = at(8_000).next();
    assert_eq!(
        reply.1,
        Past { ds: Vector::from_entries([ut, at(8_000)]), dsv: v(&[0, 7_000]), l: Hlc::ZERO }
    );
    assert_eq!(meta(&lab, 0, 0, &x), Meta { ds: v(&[0, 8_000]), need: needs(&[0, 7_000]), edge: None });
    assert!(lab.put_new(a, &x, "2").is_some(), "a tombstone is nothing");
}

/// D4.
#[test]
fn d4_a_walk_finds_what_get_finds_and_its_session_depends_on_it() {
    let mut lab = sound(2, 1);
    let (a, b, t) = (lab.client(0), lab.client(1), lab.client(0));
    for key in ["mine", "gone", "theirs", "hidden"] {
        lab.put(if ["theirs", "hidden"].contains(&key) { b } else { a }, &Key::from(key), "v");
    }
    lab.remove(a, &Key::from("gone"));
    lab.deliver_all();
    assert_eq!(lab.scan(t, 0), "mine theirs 2");
    assert_eq!(lab.token(t).past.ds[DcId(1)], at(1_000));
    stabilise(&mut lab, 9_000);
    assert_eq!(lab.scan(t, 0), "hidden mine theirs 3");
}
