//! COPS-GT (PROTOCOLS §2): the steps of `get_trans`, the deviations of the file, and what each rule is for. What it
//! shares with COPS and Eiger is tested in `dependency_checked.rs`.

use crate::at;
use tidemark_contract::causes::Causes;
use tidemark_contract::core::{DcId, Key, Micros, Stamp};
use tidemark_contract::lab::{rotx, server, text};
use tidemark_contract::{Lab, Protocol, without};
use tidemark_protocols::CopsGt;
use tidemark_protocols::cops_gt::{
    LISTS_ALL, MINDS_FLOORS, Params, REFUSES_DROPPED, Request, SECOND_ROUND, Timer,
};

fn lab(dcs: usize, partitions: usize) -> Lab<CopsGt> {
    Lab::new(dcs, partitions, Params::default())
}

fn sound(dcs: usize, partitions: usize) -> Lab<CopsGt> {
    lab(dcs, partitions)
}

fn past(lab: &Lab<CopsGt>, session: usize) -> Causes {
    lab.token(session).past.past
}

fn keys(lab: &Lab<CopsGt>) -> [Key; 2] {
    [lab.key("x", 0), lab.key("y", 1)]
}

/// θ everywhere, and everything arrives; several times, for what is told of what was told.
fn tell(lab: &mut Lab<CopsGt>, us: Micros) {
    (0..4).for_each(|round| lab.round(us + round * 1_000, &[Timer::Theta]));
}

/// A transaction over x and y that x's server answers before `meanwhile`, and y's after it.
fn halves(lab: &mut Lab<CopsGt>, meanwhile: impl FnOnce(&mut Lab<CopsGt>)) -> String {
    let [x, y] = keys(lab);
    let session = lab.client(0);
    lab.hold(session, server(0, 1));
    lab.begin(session, rotx(&[&x, &y]));
    meanwhile(lab);
    lab.release(session);
    let outcome = lab.outcome(session).expect("nobody is waited for");
    text(&outcome)
}

/// Reference: PROTOCOLS §2, `get_trans` 1: one round is enough if nothing that was returned is behind the others.
#[test]
fn get_trans_takes_one_round_if_what_it_finds_belongs_together() {
    let mut lab = sound(2, 3);
    let (a, b, keys) = (lab.client(0), lab.client(0), [0, 1, 2].map(|p| ["x", "y", "z"][p]));
    let keys = [lab.key(keys[0], 0), lab.key(keys[1], 1), lab.key(keys[2], 2)];
    for key in &keys {
        lab.put(a, key, &key.to_string()[..1]);
    }
    assert_eq!(lab.rotx(b, &[&keys[2], &keys[0], &keys[1], &keys[0]]), "z x y x");
    assert_eq!(lab.rotx(b, &[]), "");
    assert!(!lab.transcript.contains("Versions"));
    assert_eq!(past(&lab, b).list().len(), 3, "4: all of it is in the context");
}

/// Reference: PROTOCOLS §2, `get_trans` 2 and 3: the causally correct version is read in a second round, by its number.
#[test]
fn get_trans_reads_in_a_second_round_what_belongs_to_the_first() {
    fn read() -> String {
        let mut lab = lab(1, 2);
        let ([x, y], a) = (keys(&lab), lab.client(0));
        lab.put(a, &x, "x1");
        halves(&mut lab, |lab| {
            lab.put(a, &x, "x2");
            lab.put(a, &y, "y2");
            lab.put(a, &x, "x3");
        })
    }
    assert_eq!(read(), "x2 y2", "not x3, which y2 knows nothing of");
    assert_eq!(without(&[SECOND_ROUND], read), "x1 y2");
}

/// Reference: PROTOCOLS §2, step 2 for COPS-GT: put_after carries all dependencies, not the nearest.
#[test]
fn a_version_lists_all_of_its_past() {
    fn read() -> String {
        let mut lab = lab(1, 2);
        let ([x, y], a, b) = (keys(&lab), lab.client(0), lab.client(0));
        let w = lab.key("w", 1);
        halves(&mut lab, |lab| {
            lab.put(a, &x, "x1");
            lab.put(a, &w, "w1");
            lab.get(b, &w);
            lab.put(b, &y, "y1");
        })
    }
    assert_eq!(read(), "x1 y1");
    assert_eq!(without(&[LISTS_ALL], read), "- y1");
}

/// D8: of each key the last writer's update.
#[test]
fn d8_a_list_names_the_newest_update_of_each_key() {
    let mut lab = sound(1, 2);
    let ([x, y], a, b) = (keys(&lab), lab.client(0), lab.client(0));
    lab.put(a, &x, "1");
    lab.put(a, &y, "2");
    let third = lab.put(a, &x, "3");
    lab.get(b, &x);
    assert_eq!(past(&lab, b).list().len(), 2);
    assert_eq!(past(&lab, b).newest(&x), Some(Stamp::new(third, DcId(0))));
    assert_eq!(past(&lab, b).newest(&lab.key("z", 0)), None);
}

/// D7: lists lose what is applied in every data centre, stored ones as well, and say up to where.
#[test]
fn d7_what_is_stable_is_not_listed() {
    let mut lab = sound(2, 2);
    let ([x, y], a, b) = (keys(&lab), lab.client(0), lab.client(0));
    let first = lab.put(a, &x, "1");
    lab.put(a, &y, "2");
    assert_eq!(lab.store(server(0, 1)).versions().next().unwrap().meta.past.list().len(), 1);
    tell(&mut lab, 10_000);
    assert!(lab.protocol(server(0, 0)).status().stable.min() >= at(10_000));
    let stored = &lab.store(server(0, 1)).versions().next().unwrap().meta.past;
    assert_eq!((stored.list().len(), stored.floor()[DcId(0)]), (0, first));
    lab.get(b, &y);
    assert_eq!(past(&lab, b).list().len(), 0);
    lab.put(a, &y, "3");
    assert_eq!(past(&lab, a).list().len(), 1, "the put itself");
}

/// D7: one that has not arrived somewhere is listed, however old.
#[test]
fn d7_what_is_not_applied_everywhere_stays_listed() {
    let mut lab = sound(2, 2);
    let ([x, y], a) = (keys(&lab), lab.client(0));
    lab.put(a, &x, "1");
    lab.put(a, &y, "2");
    for us in (10_000..100_000).step_by(10_000) {
        lab.set_clocks(us);
        [1, 0].into_iter().for_each(|p| lab.fire(server(0, p), Timer::Theta));
        lab.deliver_within(DcId(0));
    }
    assert_eq!(past(&lab, a).list().len(), 2);
    assert_eq!(lab.store(server(0, 1)).versions().next().unwrap().meta.past.list().len(), 1);
}

/// D7: a transaction that found something before all that a list lacks was applied there begins again.
#[test]
fn d7_a_transaction_that_is_older_than_what_a_list_lacks_begins_again() {
    fn read() -> String {
        let mut lab = lab(1, 2);
        let ([x, y], a) = (keys(&lab), lab.client(0));
        halves(&mut lab, |lab| {
            lab.put(a, &x, "x1");
            tell(lab, 10_000);
            lab.put(a, &y, "y1");
        })
    }
    assert_eq!(read(), "x1 y1");
    assert_eq!(without(&[MINDS_FLOORS], read), "- y1");
}

/// D7: old versions are kept for the time that a transaction may take, and then refused.
#[test]
fn d7_a_version_is_kept_for_a_while_and_refused_afterwards() {
    fn read(late_us: Micros) -> (String, bool) {
        let mut lab = lab(2, 2);
        let ([x, y], a) = (keys(&lab), lab.client(0));
        let read = halves(&mut lab, |lab| {
            lab.put(a, &x, "x1");
            lab.put(a, &y, "y1");
            lab.put(a, &x, "x2");
            for round in 1..=4 {
                lab.set_clock(server(0, 0), 10_000 + late_us * round / 4);
                lab.fire(server(0, 0), Timer::Theta);
            }
        });
        (read, lab.transcript.contains("TooOld"))
    }
    assert_eq!(read(4_900_000), ("x1 y1".into(), false));
    assert_eq!(read(5_100_000), ("x2 y1".into(), true));
    assert_eq!(
        without(&[REFUSES_DROPPED], || read(5_100_000)),
        ("- y1".into(), false),
        "a hole where a version was"
    );
}

/// D7: a tombstone goes after a while; a list that names it asks nobody for it.
#[test]
fn d7_a_tombstone_that_is_gone_is_absence() {
    let mut lab = sound(2, 2);
    let ([x, y], a) = (keys(&lab), lab.client(0));
    lab.put(a, &x, "1");
    lab.remove(a, &x);
    lab.put(a, &y, "x is gone");
    for round in 1..=8 {
        tell(&mut lab, round * 1_000_000);
    }
    assert_eq!([0, 1].map(|dc| lab.store(server(dc, 0)).totals().keys), [0, 0]);
    assert_eq!(lab.rotx(a, &[&x, &y]), "- x is gone");
}

/// D7: a restarted server has lost what it was told; what lists lack is applied there all the same.
#[test]
fn d7_a_transaction_does_not_wait_for_a_restarted_server_to_hear_from_its_peers() {
    let mut lab = sound(2, 2);
    let ([x, y], a, b) = (keys(&lab), lab.client(0), lab.client(0));
    lab.put(a, &x, "1");
    tell(&mut lab, 10_000);
    lab.put(a, &y, "2");
    lab.restart(server(0, 0));
    lab.restart(server(0, 1));
    assert_eq!(lab.rotx(b, &[&x, &y]), "1 2");
}

/// D5: a conditional update and a scan depend on what they saw, tombstones included.
#[test]
fn d5_what_decided_an_update_or_a_scan_is_listed() {
    let mut lab = sound(1, 2);
    let ([x, y], a, b, c) = (keys(&lab), lab.client(0), lab.client(0), lab.client(0));
    lab.put(a, &x, "1");
    lab.put(a, &y, "2");
    assert_eq!(lab.put_new(b, &y, "3"), None);
    assert_eq!(past(&lab, b).list().len(), 2);
    lab.remove(a, &x);
    let scanned = lab.scan(c, 0);
    assert_eq!((scanned.as_str(), past(&lab, c).newest(&x)), (" 0", past(&lab, a).newest(&x)));
    assert_eq!(lab.scan(c, 1), format!("{y} 1"));
}

/// Exactly the versions that are asked for, or none.
#[test]
fn get_by_version_returns_that_very_version() {
    let mut lab = sound(1, 1);
    let (a, x) = (lab.client(0), lab.key("x", 0));
    let (first, second) = (lab.put(a, &x, "1"), lab.put(a, &x, "2"));
    for (ts, expected) in [(first, "\"1\""), (second, "\"2\""), (at(77), "TooOld")] {
        let asked = Request::Versions(vec![(x.clone(), Stamp::new(ts, DcId(0)))]);
        let reply = format!("{:?}", lab.ask(server(0, 0), asked));
        assert!(reply.contains(expected), "{reply}");
    }
}
