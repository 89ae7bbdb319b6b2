//! Hybrid: its steps, the deviations of the file from PROTOCOLS §17, and what each rule is for.

mod deviations;

use crate::at;
use tidemark_contract::core::{DcId, Failure, Hlc, Key, Micros, Op, Outcome, PartitionId, Stamp};
use tidemark_contract::lab::{put, rotx, server, text};
use tidemark_contract::{Deps, Lab, Protocol, Scope, Token, without};
use tidemark_protocols::Hybrid;
use tidemark_protocols::hybrid::{
    CAUSES_HAVE_CAUSES, CHECKS_CAUSES, FLOOR_IS_ADOPTED, FORGETS_ONLY_EVERYWHERE, MARKS_SURVIVE,
    PUT_ABOVE_PAST, PUT_CARRIES_GST, Params, Past, ROTX_WAITS, Request, Retry, Timer,
};

fn lab(dcs: usize, partitions: usize) -> Lab<Hybrid> {
    Lab::new(dcs, partitions, Params::default())
}

fn sound(dcs: usize, partitions: usize) -> Lab<Hybrid> {
    lab(dcs, partitions)
}

fn near(list: &[(u16, Hlc, u8)]) -> Deps {
    let mut deps = Deps::default();
    list.iter().for_each(|(p, ts, dc)| deps.include(PartitionId(*p), Stamp::new(*ts, DcId(*dc))));
    deps
}

fn past(lab: &Lab<Hybrid>, session: usize) -> Past {
    lab.token(session).past
}

fn gst(lab: &Lab<Hybrid>, dc: u8, partition: u16) -> Hlc {
    lab.protocol(server(dc, partition)).status().stable.min()
}

/// Tells one server of B that all up to `gst` is stable.
fn tell(lab: &mut Lab<Hybrid>, partition: u16, gst: Hlc) {
    lab.ask(server(1, partition), Request::Get(Key::from("-"), gst));
}

/// What partition `p` of A wrote reaches B, all of it.
fn ship(lab: &mut Lab<Hybrid>, p: u16) {
    while lab.deliver(server(0, p), server(1, p)) {}
}

/// Messages within B.
fn talk(lab: &mut Lab<Hybrid>) {
    lab.deliver_within(DcId(1));
}

/// Heartbeats, and θ twice: roots tell each other after the first.
fn stabilise(lab: &mut Lab<Hybrid>, us: Micros) {
    lab.round(us, &[Timer::Delta, Timer::Delta, Timer::Theta, Timer::Theta]);
}

/// A GET in B, which waits for as long as it would.
fn get(lab: &mut Lab<Hybrid>, session: usize, key: &Key) -> String {
    lab.begin(session, Op::Get { key: key.clone() });
    talk(lab);
    let holder = (0..2).map(|p| server(1, p)).find(|at| lab.store(*at).chain(key).next().is_some());
    for round in 1.. {
        if let Some(outcome) = lab.outcome(session) {
            return text(&outcome);
        }
        lab.set_clocks(round * 10_000);
        lab.fire(holder.expect("a GET waits for what is there"), Timer::Theta);
    }
    unreachable!("a GET waits for ever")
}

fn asks(lab: &Lab<Hybrid>) -> usize {
    lab.transcript.lines().filter(|line| line.contains(" -> ") && line.contains("Ask(")).count()
}

/// x, and then y, which depends on it; y reaches B.
fn effect_without_cause() -> (Lab<Hybrid>, Key, Key) {
    let mut lab = lab(2, 2);
    let (a, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.put(a, &x, "photo");
    lab.put(a, &y, "comment");
    ship(&mut lab, 1);
    (lab, x, y)
}

/// Step 1 (D5): a GET looks into the newest version and waits for it a while; the check goes on.
#[test]
fn step_1_a_get_waits_a_while_for_the_causes_of_the_newest_version() {
    let (mut lab, _, y) = effect_without_cause();
    let (c, d) = (lab.client(1), lab.client(1));
    lab.begin(c, Op::Get { key: y.clone() });
    talk(&mut lab);
    lab.set_clock(server(1, 1), 2_999);
    lab.fire(server(1, 1), Timer::Theta);
    assert_eq!(lab.outcome(c), None);
    lab.set_clock(server(1, 1), 3_000);
    lab.fire(server(1, 1), Timer::Theta);
    assert_eq!(text(&lab.outcome(c).unwrap()), "-");
    lab.begin(d, Op::Get { key: y.clone() });
    ship(&mut lab, 0);
    talk(&mut lab);
    assert_eq!((text(&lab.outcome(d).unwrap()).as_str(), lab.get(c, &y).as_str()), ("comment", "comment"));
    assert_eq!((asks(&lab), lab.protocol(server(1, 1)).status().blocked), (1, 0));
}

/// Step 1 (D5): without a wait the check is for the next.
#[test]
fn step_1_a_get_that_is_not_to_wait_answers_at_once_and_asks() {
    let mut lab = Lab::<Hybrid>::new(2, 2, Params { check_wait_us: 0, ..Params::default() });
    let (a, c, x, y) = (lab.client(0), lab.client(1), lab.key("x", 0), lab.key("y", 1));
    lab.put(a, &x, "1");
    lab.put(a, &y, "2");
    ship(&mut lab, 0);
    ship(&mut lab, 1);
    assert_eq!((lab.get(c, &y).as_str(), asks(&lab)), ("-", 1));
    talk(&mut lab);
    assert_eq!(lab.get(c, &y), "2");
}

/// Step 2: nobody is asked unless somebody reads, and then for what the stable time has not passed.
#[test]
fn step_2_causes_are_asked_for_lazily_and_only_above_the_stable_time() {
    fn read(known: bool) -> (String, usize) {
        let (mut lab, x, y) = effect_without_cause();
        let c = lab.client(1);
        talk(&mut lab);
        assert_eq!(asks(&lab), 0);
        if known {
            let x = lab.store(server(0, 0)).chain(&x).next().unwrap().stamp.ts;
            tell(&mut lab, 1, x);
        }
        let seen = get(&mut lab, c, &y);
        (seen, asks(&lab))
    }
    assert_eq!(read(false), ("-".into(), 1));
    assert_eq!(read(true), ("comment".into(), 0));
    assert_eq!(without(&[CHECKS_CAUSES], || read(false)), ("comment".into(), 0));
}

/// Step 3: a cause has causes of its own, which its server asks for only now.
#[test]
fn step_3_a_sibling_answers_once_the_cause_shows_there() {
    fn read() -> (String, String) {
        let mut lab = lab(2, 3);
        let (a, c) = (lab.client(0), lab.client(1));
        let (z, x, y) = (lab.key("z", 2), lab.key("x", 0), lab.key("y", 1));
        lab.put(a, &z, "z");
        lab.put(a, &x, "x");
        lab.put(a, &y, "y");
        ship(&mut lab, 0);
        ship(&mut lab, 1);
        let early = get(&mut lab, c, &y);
        ship(&mut lab, 2);
        talk(&mut lab);
        assert_eq!(asks(&lab), 1 + usize::from(early == "-"));
        (early, lab.get(c, &y))
    }
    assert_eq!(read(), ("-".into(), "y".into()));
    assert_eq!(without(&[CAUSES_HAVE_CAUSES], read).0, "y");
}

/// D1: §17 lets a stable vector vouch for a version if it covers it and its nearest causes. Here B has all that A wrote,
/// Step 4 (D4): that it shows by its list is logged; a restart knows the rest by itself.
#[test]
fn step_4_that_a_version_was_checked_is_logged() {
    fn revised() -> [bool; 2] {
        let (mut lab, x, y) = effect_without_cause();
        let c = lab.client(1);
        ship(&mut lab, 0);
        assert_eq!([&y, &x].map(|key| get(&mut lab, c, key)), ["comment", "photo"]);
        [&x, &y].map(|key| lab.transcript.contains(&format!("revises {key}")))
    }
    assert_eq!(revised(), [false, true], "x has no causes");
    assert_eq!(without(&[MARKS_SURVIVE], revised), [false, false]);
}

/// Step 4 (D4): so it shows right after a crash, with nobody asked.
#[test]
fn step_4_what_was_checked_shows_after_a_restart() {
    fn scanned() -> String {
        let (mut lab, _, y) = effect_without_cause();
        let c = lab.client(1);
        ship(&mut lab, 0);
        assert_eq!(get(&mut lab, c, &y), "comment");
        lab.restart(server(1, 1));
        lab.scan(c, 1)
    }
    assert_eq!(scanned(), "y 1");
    assert_eq!(without(&[MARKS_SURVIVE], scanned), " 0");
}

/// Step 5: once stable, a version shows with nobody asked, everywhere, and its list is forgotten.
#[test]
fn step_5_what_the_stable_time_has_passed_shows_and_carries_no_list() {
    let mut lab = sound(2, 2);
    let (a, c, x, y) = (lab.client(0), lab.client(1), lab.key("x", 0), lab.key("y", 1));
    lab.put(a, &x, "1");
    lab.put(a, &y, "2");
    lab.deliver_all();
    stabilise(&mut lab, 9_000);
    assert_eq!((lab.get(c, &y).as_str(), asks(&lab), gst(&lab, 1, 1)), ("2", 0, at(9_000)));
    for at in [server(0, 1), server(1, 1)] {
        assert!(lab.store(at).versions().all(|d| d.meta.near.is_empty()));
    }
    tell(&mut lab, 1, at(3));
    assert_eq!(gst(&lab, 1, 1), at(9_000), "it never falls");
}

/// Step 5: a check that the stable time has overtaken is not asked again.
#[test]
fn step_5_questions_about_what_shows_are_dropped() {
    let (mut lab, _, y) = effect_without_cause();
    let c = lab.client(1);
    get(&mut lab, c, &y);
    lab.lose_messages(server(1, 0), server(1, 1));
    assert_eq!(lab.protocol(server(1, 1)).status().blocked, 1);
    tell(&mut lab, 1, at(1_100));
    lab.fire(server(1, 1), Timer::Own(Retry));
    assert_eq!((lab.protocol(server(1, 1)).status().blocked, asks(&lab)), (0, 1));
}

/// Step 5: a check or its answer may be lost.
#[test]
fn step_5_a_check_that_is_lost_is_asked_again() {
    let (mut lab, _, y) = effect_without_cause();
    let c = lab.client(1);
    lab.begin(c, Op::Get { key: y });
    lab.lose_messages(server(1, 1), server(1, 0));
    ship(&mut lab, 0);
    talk(&mut lab);
    assert_eq!(lab.outcome(c), None);
    lab.fire(server(1, 1), Timer::Own(Retry));
    talk(&mut lab);
    assert_eq!(text(&lab.outcome(c).unwrap()), "comment");
}

/// Step 6: a PUT lists what its session read since its last PUT, and that; and is all that the session lists then.
#[test]
fn step_6_a_put_carries_the_list_and_takes_its_place() {
    let mut lab = sound(2, 2);
    let (a, b, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
    let first = lab.put(a, &x, "1");
    lab.get(b, &x);
    assert_eq!((past(&lab, b).near, past(&lab, b).dt), (near(&[(0, first, 0)]), first));
    let second = lab.put(b, &y, "2");
    assert_eq!(past(&lab, b).near, near(&[(1, second, 0)]));
    lab.deliver(server(0, 1), server(1, 1));
    let d = lab.store(server(1, 1)).chain(&y).next().unwrap();
    assert_eq!((&d.meta.near, d.meta.since), (&near(&[(0, first, 0)]), None));
}

/// Step 6: erratum E-1, and that the last writer wins over what it saw.
#[test]
fn step_6_a_put_brings_gst_and_is_stamped_above_all_that_was_seen() {
    fn put_at_slow() -> (Hlc, bool) {
        let mut lab = lab(2, 2);
        let (a, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
        lab.ask(server(0, 0), Request::Get(x.clone(), at(900)));
        lab.set_clock(server(0, 0), 50_000);
        let first = lab.put(a, &x, "1");
        let second = lab.put(a, &y, "2");
        (gst(&lab, 0, 1), second > first)
    }
    assert_eq!(put_at_slow(), (at(900), true));
    assert_eq!(without(&[PUT_CARRIES_GST], put_at_slow), (Hlc::ZERO, true));
    assert_eq!(without(&[PUT_ABOVE_PAST], put_at_slow), (at(900), false));
}

/// Step 6; the drivers' bound on stamps.
#[test]
fn step_6_a_put_that_would_lie_too_far_ahead_is_refused() {
    let mut lab = sound(1, 2);
    let (a, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.set_clock(server(0, 0), 60_000_000);
    lab.put(a, &x, "1");
    assert!(matches!(lab.run(a, put(&y, "2")), Outcome::Failed(Failure::ClockSkew { .. })));
    assert_eq!((lab.get(a, &y).as_str(), past(&lab, a).near.len()), ("-", 1));
}

/// Step 7 (D3): a version whose causes are stable everywhere lists none, shows at once, and tells its floor.
#[test]
fn step_7_a_version_brings_its_floor_and_shows_at_once_without_a_list() {
    fn scanned() -> (String, Hlc) {
        let mut lab = lab(2, 3);
        let (a, c) = (lab.client(0), lab.client(1));
        let (w, z, y) = (lab.key("w", 0), lab.key("z", 2), lab.key("y", 1));
        lab.put(a, &w, "w");
        lab.put(a, &z, "z");
        lab.deliver_all();
        for timer in [Timer::Delta, Timer::Delta, Timer::Theta, Timer::Theta] {
            lab.set_clocks(9_000);
            for (dc, p) in [(0, 2), (0, 1), (0, 0), (1, 2), (1, 1), (1, 0)] {
                lab.fire(server(dc, p), timer);
                lab.report(server(dc, p), server(dc, 0));
            }
            // In B only the root hears what is stable.
            (1..3).for_each(|p| lab.lose_messages(server(1, 0), server(1, p)));
            lab.deliver_all();
        }
        assert_eq!((gst(&lab, 1, 0), gst(&lab, 1, 1), gst(&lab, 1, 2)), (at(9_000), Hlc::ZERO, Hlc::ZERO));
        lab.get(a, &z);
        assert!(past(&lab, a).near.is_empty());
        lab.put(a, &y, "y");
        ship(&mut lab, 1);
        assert_eq!((lab.get(c, &y).as_str(), asks(&lab)), ("y", 0));
        (lab.scan(c, 2), gst(&lab, 1, 1))
    }
    assert_eq!(scanned(), ("z2 1".into(), at(9_000)));
    assert_eq!(without(&[FLOOR_IS_ADOPTED], scanned), (" 0".into(), Hlc::ZERO));
}

/// Step 8: sessions forget what is stable in every data centre, and nothing else.
#[test]
fn step_8_a_list_forgets_what_is_stable_everywhere() {
    fn lists() -> [usize; 2] {
        let mut lab = lab(2, 2);
        let (a, b, x) = (lab.client(0), lab.client(0), lab.key("x", 0));
        lab.put(a, &x, "1");
        lab.set_clocks(9_000);
        // A knows all up to 9 ms: B's heartbeats arrive; of A nothing leaves.
        for p in [1, 0] {
            for _ in 0..2 {
                lab.fire(server(1, p), Timer::Delta);
                lab.fire(server(0, p), Timer::Delta);
            }
            while lab.deliver(server(1, p), server(0, p)) {}
        }
        [1, 0].into_iter().for_each(|p| lab.fire(server(0, p), Timer::Theta));
        lab.deliver_within(DcId(0));
        lab.get(b, &x);
        let early = past(&lab, b).near.len();
        lab.deliver_all();
        stabilise(&mut lab, 20_000);
        stabilise(&mut lab, 30_000);
        lab.get(b, &x);
        [early, past(&lab, b).near.len()]
    }
    assert_eq!(lists(), [1, 0]);
    assert_eq!(without(&[FORGETS_ONLY_EVERYWHERE], lists), [0, 0], "B lacks it");
}

/// Step 9 (D6): a transaction waits until all that its session knows is stable; a snapshot does not.
#[test]
fn step_9_a_transaction_waits_for_the_stable_time_and_reads_one_snapshot() {
    let mut lab = sound(2, 2);
    let (a, b, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.put(a, &x, "1");
    lab.put(b, &y, "2");
    assert_eq!(lab.snapshot(a, &[&x, &y]), "- -");
    lab.begin(a, rotx(&[&y, &x]));
    lab.deliver_all();
    assert_eq!((lab.outcome(a), lab.protocol(server(0, 1)).status().blocked), (None, 1));
    stabilise(&mut lab, 9_000);
    assert_eq!(text(&lab.outcome(a).unwrap()), "2 1");
    assert_eq!((lab.rotx(a, &[]).as_str(), lab.rotx(b, &[&x, &y]).as_str()), ("", "1 2"));
}

/// Step 9 (D6): for a snapshot holds what is stable, and nothing else, written here or not.
#[test]
fn step_9_a_transaction_that_did_not_wait_would_miss_what_its_session_wrote() {
    let _without = tidemark_contract::rule::Without::new(&[ROTX_WAITS]);
    let mut lab = lab(1, 1);
    let (a, x) = (lab.client(0), lab.key("x", 0));
    lab.put(a, &x, "1");
    assert_eq!(lab.rotx(a, &[&x]), "-");
}

/// Step 9 (D6): not for ever.
#[test]
fn step_9_a_transaction_that_waits_too_long_is_told_so() {
    let mut lab = sound(2, 1);
    let (a, x) = (lab.client(0), lab.key("x", 0));
    lab.put(a, &x, "1");
    lab.begin(a, rotx(&[&x]));
    lab.set_clocks(3_000_000);
    lab.fire(server(0, 0), Timer::Theta);
    assert!(matches!(lab.outcome(a), Some(Outcome::Failed(Failure::Unavailable(_)))));
}
