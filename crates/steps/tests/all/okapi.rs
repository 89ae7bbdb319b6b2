//! Okapi: its operations step by step, and what each rule is for; the decisions of the file one by one.

mod decisions;

use crate::at;
use tidemark_contract::core::{DcId, Hlc, Key, Micros, Op, Outcome, Vector};
use tidemark_contract::lab::{put, rotx, server, text};
use tidemark_contract::request::Request;
use tidemark_contract::{Lab, Protocol, Token, without};
use tidemark_protocols::Okapi;
use tidemark_protocols::okapi::{
    EVERY_DC_HAS_IT, PUT_ABOVE_DS, Params, SLICE_LIFTS_CLOCK, SNAPSHOT_HOLDS_DS, Timer, USV_COVERS_DS,
    UT_IS_STABLE,
};

const A: DcId = DcId(0);
const B: DcId = DcId(1);

fn lab(dcs: usize, partitions: usize) -> Lab<Okapi> {
    Lab::new(dcs, partitions, Params::default())
}

fn okapi(dcs: usize, partitions: usize) -> Lab<Okapi> {
    lab(dcs, partitions)
}

fn v(micros: &[u64]) -> Vector {
    Vector::from_entries(micros.iter().map(|us| at(*us)))
}

fn usv(lab: &Lab<Okapi>, dc: u8, partition: u16) -> Vector {
    lab.protocol(server(dc, partition)).status().stable
}

/// Gives a session a past that it could have.
fn remember(lab: &mut Lab<Okapi>, session: usize, ds: &[u64]) {
    let home = lab.token(session).home;
    lab.adopt(session, Token { home, past: v(ds) });
    assert_eq!(lab.finish(session), Outcome::Adopted);
}

/// Heartbeats everywhere at `us`, twice, so that Δ has passed without a write; then θ: once to acknowledge, once to
/// agree.
fn stabilise(lab: &mut Lab<Okapi>, us: Micros) {
    lab.round(us, &[Timer::Delta, Timer::Delta, Timer::Theta, Timer::Theta]);
}

/// What a server of A answers a GET that brings `ds`.
fn get(lab: &mut Lab<Okapi>, dc: u8, key: &Key, ds: &[u64]) -> (String, Vector) {
    let reply = lab.ask(server(dc, 0), Request::Get(key.clone(), v(ds))).expect("a GET does not wait");
    (text(&reply.0), reply.1)
}

#[test]
fn get_finds_what_was_written_here_at_once_and_tells_what_it_depends_on() {
    let mut lab = okapi(3, 1);
    let (a, x) = (lab.client(0), lab.key("x", 0));
    remember(&mut lab, a, &[500, 600, 700]);
    lab.put(a, &x, "1");
    assert_eq!(get(&mut lab, 0, &x, &[]), ("1".into(), v(&[1_000, 600, 700])));
    assert_eq!(lab.token(a).past, v(&[1_000, 600, 700]), "the writer depends on it too");
}

/// Reference: the abstract: "makes a remote update visible when its delivery has been acknowledged by every data center".
#[test]
fn get_finds_a_remote_version_once_every_data_centre_has_it() {
    /// B has x and knows that C, cut off, has not.
    fn read() -> String {
        let mut lab = lab(3, 1);
        let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
        lab.put(a, &x, "1");
        for (us, timer) in [(9_000, Timer::Delta), (9_000, Timer::Delta), (9_000, Timer::Theta)].repeat(2) {
            lab.set_clocks(us);
            for dc in 0..3 {
                lab.fire(server(dc, 0), timer);
            }
            [(0, 1), (1, 0), (2, 0), (2, 1)].into_iter().for_each(|(from, to)| lab.deliver_between(from, to));
        }
        lab.get(b, &x)
    }
    assert_eq!((read().as_str(), without(&[EVERY_DC_HAS_IT], read).as_str()), ("-", "1"));
    let mut lab = okapi(3, 1);
    let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
    lab.put(a, &x, "1");
    stabilise(&mut lab, 9_000);
    assert_eq!(lab.get(b, &x), "1");
    assert_eq!(lab.token(b).past, v(&[1_000]));
}

/// The version's own time decides, and nothing else.
#[test]
fn get_looks_at_a_remote_versions_own_time_alone() {
    fn seen(ds: &[u64]) -> String {
        let mut lab = lab(3, 1);
        let (a, x) = (lab.client(0), lab.key("x", 0));
        remember(&mut lab, a, &[900, 0, 700]);
        lab.put(a, &x, "1");
        lab.deliver_all();
        get(&mut lab, 1, &x, ds).0
    }
    assert_eq!([seen(&[999]), seen(&[1_000])], ["-", "1"]);
    assert_eq!(without(&[UT_IS_STABLE], || seen(&[])), "1");
}

/// I1: what a session depends on of other data centres is everywhere, and so is what follows from it.
#[test]
fn get_brings_what_the_session_depends_on_to_a_server_that_is_behind() {
    fn read() -> String {
        let mut lab = lab(2, 2);
        let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 1));
        lab.put(a, &x, "1");
        lab.deliver_all();
        remember(&mut lab, b, &[1_000]);
        lab.get(b, &x)
    }
    assert_eq!((read().as_str(), without(&[USV_COVERS_DS], read).as_str()), ("1", "-"));
}

#[test]
fn get_learns_of_others_only_and_never_falls() {
    let mut lab = okapi(2, 1);
    let x = Key::from("x");
    for (ds, after) in [(&[9, 5], [0, 5]), (&[9, 3], [0, 5])] {
        get(&mut lab, 0, &x, ds);
        assert_eq!(usv(&lab, 0, 0), v(&after), "usv[m] is what all have of this one");
    }
}

#[test]
fn latest_is_the_largest_update_time_then_the_data_centre() {
    let mut lab = okapi(2, 1);
    let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
    assert_eq!((lab.put(a, &x, "a"), lab.put(b, &x, "b")), (at(1_000), at(1_000)));
    stabilise(&mut lab, 9_000);
    assert_eq!([a, b].map(|s| lab.get(s, &x)), ["b", "b"]);
}

/// I2.
#[test]
fn put_stamps_above_what_the_session_depends_on_with_no_wait() {
    fn write() -> Hlc {
        let mut lab = lab(2, 1);
        let (a, x) = (lab.client(0), lab.key("x", 0));
        remember(&mut lab, a, &[0, 70_000]);
        lab.put(a, &x, "1")
    }
    assert_eq!((write(), without(&[PUT_ABOVE_DS], write)), (at(70_000).next(), at(1_000)));
}

#[test]
fn put_stores_what_the_session_depends_on_and_sends_it_to_every_peer() {
    let mut lab = okapi(3, 2);
    let (b, x) = (lab.client(1), lab.key("x", 1));
    remember(&mut lab, b, &[30, 20, 10]);
    assert_eq!(text(&lab.run(b, put(&x, "1"))), "1000@B");
    assert_eq!(lab.store(server(1, 1)).chain(&x).next().expect("stored").meta, v(&[30, 20, 10]));
    assert!(lab.deliver(server(1, 1), server(0, 1)) && lab.deliver(server(1, 1), server(2, 1)));
    assert!(!lab.deliver(server(1, 1), server(0, 1)) && !lab.deliver(server(1, 0), server(0, 0)));
    assert_eq!(lab.store(server(2, 1)).chain(&x).next().expect("received").meta, v(&[30, 20, 10]));
}

#[test]
fn rotx_asks_every_partition_once_and_finds_what_was_written_here_before() {
    let mut lab = okapi(1, 3);
    let (s, t) = (lab.client(0), lab.client(0));
    let keys: Vec<Key> = [("a", 0), ("b", 1), ("c", 2), ("d", 1)].map(|(k, p)| lab.key(k, p)).into();
    for (i, key) in keys.iter().enumerate() {
        lab.set_clocks(2_000 + 10 * i as u64);
        lab.put(s, key, &i.to_string());
    }
    let asked: Vec<&Key> = [3, 2, 1, 0, 3].into_iter().map(|i| &keys[i]).collect();
    assert_eq!(lab.rotx(t, &asked), "3 2 1 0 3");
    assert_eq!(lab.transcript.matches("-> A/1 SliceReq").count(), 1);
    assert_eq!(lab.token(t).past, v(&[2_030]));
}

/// A local version may depend on what its snapshot does not reach: it is left out with its causes.
#[test]
fn rotx_returns_no_version_without_what_it_depends_on() {
    fn read() -> String {
        let mut lab = lab(2, 2);
        let (a, b, t) = (lab.client(0), lab.client(1), lab.client(0));
        let (cause, effect) = (lab.key("cause", 1), lab.key("effect", 0));
        lab.put(b, &cause, "cause");
        lab.deliver_all();
        remember(&mut lab, a, &[0, 1_000]); // it has read the cause
        lab.put(a, &effect, "effect");
        lab.set_clocks(2_000);
        lab.rotx(t, &[&cause, &effect]) // the owner of the cause does not know yet that it is everywhere
    }
    assert_eq!((read().as_str(), without(&[SNAPSHOT_HOLDS_DS], read).as_str()), ("- -", "- effect"));
}

/// I2.
#[test]
fn rotx_what_is_written_after_a_slice_was_read_lies_above_its_snapshot() {
    fn writes() -> Hlc {
        let mut lab = lab(1, 2);
        let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
        lab.set_clock(server(0, 0), 30_000);
        assert_eq!(lab.rotx(t, &[&x, &y]), "- -");
        lab.put(s, &y, "later")
    }
    assert_eq!(writes(), at(30_000).next());
    assert_eq!(without(&[SLICE_LIFTS_CLOCK], writes), at(1_000));
}

#[test]
fn a_walk_finds_what_get_finds_and_its_session_depends_on_it() {
    let mut lab = okapi(2, 1);
    let (a, b) = (lab.client(0), lab.client(1));
    for key in ["mine", "gone", "theirs"] {
        lab.put(if key == "theirs" { b } else { a }, &Key::from(key), "v");
    }
    lab.remove(a, &Key::from("gone"));
    lab.deliver_all();
    let t = lab.client(0);
    assert_eq!(lab.scan(t, 0), "mine 1");
    stabilise(&mut lab, 9_000);
    assert_eq!(lab.scan(t, 0), "mine theirs 2");
    assert_eq!(lab.token(t).past[B], at(1_000));
}
