//! CC-LO (002 §3, §5.1): the readers check step by step, the errata of the published one, and what each rule is for.

use crate::{as_published, at};
use tidemark_contract::core::{Condition, DcId, Failure, Hlc, Key, Micros, Op, Outcome, Update, Write};
use tidemark_contract::lab::{put, rotx, server, text};
use tidemark_contract::{Lab, Reaches, without};
use tidemark_protocols::CcLo;
use tidemark_protocols::cc_lo::{
    ARRIVALS_WAIT, DECIDED_IS_A_CAUSE, FLOOR_SURVIVES, FLOOR_TRAVELS, HIDDEN_IS_HANDED_ON, OLD_VERSIONS_KEPT,
    PUT_ABOVE_DEPS, PUT_CHECKS_READERS, Params, READERS_GROW_OLD, REFUSES_OLD, REMOTE_CHECKS_DEPS,
    REMOTE_CHECKS_READERS, Reply, Request, Rot, Timer,
};

const B: DcId = DcId(1);

fn lab(dcs: usize, partitions: usize) -> Lab<CcLo> {
    Lab::new(dcs, partitions, Params::default())
}

fn sound(dcs: usize, partitions: usize) -> Lab<CcLo> {
    lab(dcs, partitions)
}

/// A transaction that is played slice by slice.
fn rot(number: u64, us: Micros) -> Rot {
    Rot { number, time: at(us) }
}

/// What a transaction reads of `key` at partition `p` of A; `old` if it is refused.
fn slice(lab: &mut Lab<CcLo>, rot: Rot, p: u16, key: &Key) -> String {
    slice_of(lab, rot, (0, p), key)
}

fn slice_of(lab: &mut Lab<CcLo>, rot: Rot, (dc, p): (u8, u16), key: &Key) -> String {
    match lab.ask(server(dc, p), Request::Read(Some(rot), vec![(0, key.clone())])) {
        Some(Reply::Slice(found, ..)) => {
            text(&Outcome::FoundAll(found.into_iter().map(|(_, f)| f).collect()))
        }
        Some(Reply::TooOld(_)) => "old".to_string(),
        other => panic!("{other:?}"),
    }
}

/// Reference: 002 §3: one round, one version, no waiting, whatever is cut off.
#[test]
fn rot_asks_every_partition_once_and_nobody_asks_further() {
    let mut lab = sound(2, 3);
    let (s, t) = (lab.client(0), lab.client(0));
    let keys = [lab.key("x", 0), lab.key("y", 1), lab.key("z", 2)];
    for key in &keys {
        lab.put(s, key, "1");
    }
    let from = lab.transcript.len();
    lab.begin(t, rotx(&[&keys[2], &keys[0], &keys[1], &keys[0]]));
    assert_eq!(lab.outcome(t).as_ref().map(text).as_deref(), Some("1 1 1 1"));
    let steps = &lab.transcript[from..];
    assert_eq!((steps.matches("<- s1 ").count(), steps.matches("-> s1 ").count()), (3, 3), "{steps}");
    assert_eq!(steps.matches("-> A/").count(), 0, "{steps}");
}

/// Reference: 002 §3, Figure 3: T1 reads X0; C2 writes X1 and then Y1, whose readers check finds T1; T1 reads Y0.
fn figure_3() -> (String, String) {
    let mut lab = lab(1, 2);
    let (c2, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.put(c2, &x, "X0");
    lab.put(c2, &y, "Y0");
    let t1 = rot(1, 1_000);
    lab.set_clocks(1_100);
    let first = slice(&mut lab, t1, 0, &x);
    lab.set_clocks(1_200);
    lab.put(c2, &x, "X1");
    lab.put(c2, &y, "Y1");
    (first, slice(&mut lab, t1, 1, &y))
}

#[test]
fn figure_3_what_depends_on_an_overwrite_is_hidden_from_who_has_read_what_was_overwritten() {
    let whole = ("X0".to_string(), "Y0".to_string());
    assert_eq!((figure_3(), as_published("cc-lo-published", figure_3)), (whole.clone(), whole));
    for torn in [
        without(&[PUT_CHECKS_READERS], figure_3),
        without(&[READERS_GROW_OLD], figure_3),
        without(&[HIDDEN_IS_HANDED_ON], figure_3),
    ] {
        assert_eq!(torn, ("X0".to_string(), "Y1".to_string()));
    }
}

/// I2: the next version in the chain of causes is hidden too, though nobody has read an older one of its cause.
#[test]
fn put_hands_on_from_whom_its_causes_are_hidden() {
    let mut lab = sound(1, 3);
    let (c2, x, y, z) = (lab.client(0), lab.key("x", 0), lab.key("y", 1), lab.key("z", 2));
    let t1 = rot(1, 1_000);
    assert_eq!(slice(&mut lab, t1, 0, &x), "-");
    for key in [&x, &y, &z] {
        lab.put(c2, key, "1");
    }
    assert_eq!(slice(&mut lab, t1, 2, &z), "-", "of z's own cause, y, nothing was read");
    assert_eq!(slice(&mut lab, rot(2, 1_000), 2, &z), "1", "a transaction that began later");
}

/// Reference: 002 §3: "before completing the PUT of Y1": a write that depends on other partitions waits for them.
#[test]
fn put_waits_for_those_that_hold_its_causes_and_depends_on_nothing_else() {
    let mut lab = sound(1, 2);
    let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.begin(s, put(&x, "1"));
    assert!(lab.outcome(s).is_some(), "without causes there is nothing to ask");
    lab.begin(s, put(&y, "1"));
    assert_eq!((lab.outcome(s), lab.get(t, &y)), (None, "-".to_string()));
    assert!(
        lab.deliver_message(server(0, 1), server(0, 0)) && lab.deliver_message(server(0, 0), server(0, 1))
    );
    assert!(lab.outcome(s).is_some());
    assert_eq!(
        (lab.get(t, &y), lab.token(s).past.len()),
        ("1".to_string(), 1),
        "its last write stands for all"
    );
}

/// D7: what is lost is asked again, also of who restarted; at last the write has not happened.
#[test]
fn d7_a_readers_check_that_is_not_answered_is_asked_again_until_the_write_is_given_up() {
    let mut lab = sound(1, 2);
    let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.put(s, &x, "1");
    lab.begin(s, put(&y, "1"));
    lab.lose_messages(server(0, 1), server(0, 0));
    lab.set_clocks(60_000);
    lab.fire(server(0, 1), Timer::Retry);
    assert_ne!(text(&lab.finish(s)), "unavailable", "asked again");
    lab.put(s, &x, "2");
    lab.begin(s, put(&y, "2"));
    lab.lose_messages(server(0, 1), server(0, 0));
    lab.restart(server(0, 0));
    assert_ne!(text(&lab.finish(s)), "unavailable", "asked again in its new life");
    lab.put(s, &x, "3");
    lab.begin(s, put(&y, "3"));
    lab.set_clocks(5_000_000);
    lab.fire(server(0, 1), Timer::Retry);
    assert_eq!(text(&lab.outcome(s).expect("given up")), "unavailable");
    assert_eq!(lab.get(t, &y), "2");
}

/// Erratum E-5, as PROTOCOLS tells it: clocks of partitions are not aligned, and "the newest version before that time"
/// lies before what another slice depends on.
fn e_5() -> String {
    let mut lab = lab(1, 3);
    let (c1, c2) = (lab.client(0), lab.client(0));
    let [x, y, z] = [lab.key("x", 0), lab.key("y", 1), lab.key("z", 2)];
    lab.set_clock(server(0, 0), 5_000);
    lab.set_clock(server(0, 1), 5_500);
    lab.put(c1, &x, "X0"); // at 5,000, where the clock is ahead
    let t1 = rot(1, 900);
    let third = slice(&mut lab, t1, 2, &z); // read at 1,000
    lab.put(c1, &y, "Y1"); // depends on X0
    lab.put(c2, &z, "Z2");
    let second = slice(&mut lab, t1, 1, &y);
    lab.put(c2, &x, "X3"); // depends on Z2: T1 is an old reader, of 1,000
    let first = slice(&mut lab, t1, 0, &x);
    format!("{first} {second} {third}")
}

#[test]
fn e_5_a_time_is_no_cut_and_the_versions_to_avoid_are() {
    assert_eq!(as_published("cc-lo-published", e_5), "- Y1 -", "Y1 without its cause");
    assert_eq!(e_5(), "X0 Y1 -");
}

/// Erratum E-5b: the record of a transaction is dropped while one of its slices is under way.
fn e_5b() -> (String, String) {
    let mut lab = lab(1, 2);
    let (c2, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    let t1 = rot(1, 1_000);
    let first = slice(&mut lab, t1, 0, &x);
    lab.set_clocks(700_000);
    lab.fire(server(0, 0), Timer::Delta);
    lab.put(c2, &x, "X0");
    lab.put(c2, &y, "Y1");
    (first, slice(&mut lab, t1, 1, &y))
}

#[test]
fn e_5b_d2_who_could_have_been_forgotten_is_refused_where_the_forgetting_matters() {
    assert_eq!(e_5b(), ("-".into(), "old".into()));
    for torn in [
        as_published("cc-lo-published", e_5b),
        without(&[REFUSES_OLD], e_5b),
        without(&[FLOOR_TRAVELS], e_5b),
    ] {
        assert_eq!(torn, ("-".into(), "Y1".into()));
    }
}

/// D2: a session that is refused starts again above the floor, and what it is given is whole.
#[test]
fn d2_a_transaction_that_is_refused_is_started_again() {
    let mut lab = sound(1, 2);
    let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.put(s, &x, "1");
    lab.set_clocks(900_000);
    assert_eq!(lab.rotx(s, &[&x, &y]), "1 -");
    lab.set_clocks(1_500_000);
    lab.fire(server(0, 0), Timer::Delta);
    lab.jump_clock(server(0, 0), 100_000); // the gateway's clock is behind
    let from = lab.transcript.len();
    assert_eq!(lab.rotx(t, &[&x, &y]), "1 -");
    assert_eq!(lab.transcript[from..].matches("TooOld").count(), 1, "{}", &lab.transcript[from..]);
    let from = lab.transcript.len();
    assert_eq!(lab.rotx(t, &[&x, &y]), "1 -");
    assert_eq!(lab.transcript[from..].matches("TooOld").count(), 0, "it has learnt the time");
}

/// D3: a restart forgets every record, so that what started before is refused.
#[test]
fn d3_after_a_restart_the_floor_is_above_all_that_was_known() {
    fn late() -> String {
        let mut lab = lab(1, 2);
        let (c2, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
        let t1 = rot(1, 2_000);
        assert_eq!(slice(&mut lab, t1, 0, &x), "-");
        lab.restart(server(0, 0));
        lab.put(c2, &x, "X0");
        lab.put(c2, &y, "Y1");
        slice(&mut lab, t1, 1, &y)
    }
    assert_eq!((late().as_str(), without(&[FLOOR_SURVIVES], late).as_str()), ("old", "Y1"));
}

/// I3: "at most one ROT id per client".
#[test]
fn one_transaction_a_session_is_remembered_its_latest() {
    let mut lab = sound(1, 2);
    let (c2, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    assert_eq!(slice(&mut lab, rot(2, 1_000), 0, &x), "-");
    assert_eq!(slice(&mut lab, rot(1, 1_000), 0, &x), "-", "late, and given up by its session");
    lab.put(c2, &x, "X0");
    lab.put(c2, &y, "Y1");
    let answer = format!("Readers(1.1, {{(65535, 0): {:?}}}", rot(2, 1_000));
    assert!(lab.transcript.contains(&answer), "{}", lab.transcript);
    assert_eq!(slice(&mut lab, rot(2, 1_000), 1, &y), "-");
}

/// Reference: 002 §3: "the readers check for X proceeds in a remote DC as it does in the DC where X has been created".
#[test]
fn replicate_checks_dependencies_and_then_readers_before_it_shows() {
    fn remote() -> (String, String) {
        let mut lab = lab(2, 2);
        let (c, d) = (lab.client(0), lab.client(1));
        let (x, y) = (lab.key("x", 0), lab.key("y", 1));
        let t1 = rot(1, 1_000);
        assert_eq!(slice_of(&mut lab, t1, (1, 0), &x), "-");
        lab.put(c, &x, "X0");
        lab.put(c, &y, "Y1");
        lab.deliver(server(0, 1), server(1, 1));
        lab.deliver_within(B);
        let early = lab.get(d, &y);
        lab.deliver_all();
        assert_eq!(lab.get(d, &y), "Y1");
        (early, slice_of(&mut lab, t1, (1, 1), &y))
    }
    let told = |early: &str, torn: &str| (early.to_string(), torn.to_string());
    assert_eq!(remote(), told("-", "-"));
    assert_eq!(without(&[REMOTE_CHECKS_READERS], remote), told("-", "Y1"));
    assert_eq!(without(&[REMOTE_CHECKS_DEPS], remote).0, "Y1");
}

/// E-4: a concurrent version that is newer does not stand for the one that is depended on.
#[test]
fn replicate_waits_for_that_very_update() {
    let mut lab = sound(2, 2);
    let (c, b) = (lab.client(0), lab.client(1));
    let (x, y) = (lab.key("x", 0), lab.key("y", 1));
    lab.put(c, &x, "theirs");
    lab.put(c, &y, "after it");
    lab.set_clocks(9_000);
    lab.put(b, &x, "newer");
    lab.deliver(server(0, 1), server(1, 1));
    lab.deliver_within(B);
    assert_eq!(lab.get(b, &y), "-");
    lab.deliver(server(0, 0), server(1, 0));
    lab.deliver_within(B);
    assert_eq!((lab.get(b, &y), lab.get(b, &x)), ("after it".into(), "newer".into()));
}

/// A restarted server goes on with what waited, and what it showed it shows.
#[test]
fn replicate_survives_a_restart() {
    let mut lab = sound(2, 2);
    let (c, d) = (lab.client(0), lab.client(1));
    let (x, y) = (lab.key("x", 0), lab.key("y", 1));
    lab.put(c, &x, "X0");
    lab.put(c, &y, "Y1");
    lab.deliver(server(0, 1), server(1, 1));
    lab.restart(server(1, 1));
    assert_eq!(lab.get(d, &y), "-");
    lab.deliver_all();
    assert_eq!(lab.get(d, &y), "Y1");
    lab.restart(server(1, 1));
    lab.restart(server(1, 0));
    assert_eq!((lab.get(d, &y), lab.get(d, &x)), ("Y1".into(), "X0".into()));
}

#[test]
fn put_stamps_above_what_it_depends_on() {
    fn stamps() -> (Hlc, Hlc) {
        let mut lab = lab(1, 2);
        let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
        lab.set_clock(server(0, 0), 70_000);
        (lab.put(s, &x, "1"), lab.put(s, &y, "1"))
    }
    let (cause, effect) = stamps();
    assert!(cause < effect);
    let (cause, effect) = without(&[PUT_ABOVE_DEPS], stamps);
    assert!(cause > effect);
}

#[test]
fn put_too_far_ahead_is_refused_and_so_is_a_start() {
    let mut lab = sound(1, 2);
    lab.set_max_skew(1_000);
    let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.set_clock(server(0, 0), 70_000);
    lab.put(s, &x, "1");
    assert_eq!(text(&lab.run(s, put(&y, "1"))), "clock skew");
    assert_eq!(text(&lab.run(t, rotx(&[&x, &y]))), "clock skew", "the gateway's clock is that of A/0");
}

/// D5: elsewhere, what a session depends on has to be applied first.
#[test]
fn d5_a_session_that_moves_waits_until_what_it_depends_on_is_applied() {
    fn moved() -> bool {
        let mut lab = lab(2, 2);
        let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 1));
        lab.put(a, &x, "1");
        let token = lab.token(a);
        lab.adopt(b, token.clone());
        let at_once = lab.outcome(b).is_some();
        if !at_once {
            lab.deliver_all();
            assert_eq!((lab.outcome(b), lab.get(b, &x)), (Some(Outcome::Adopted), "1".into()));
            assert_eq!(lab.token(b).past, token.past);
        }
        at_once
    }
    assert!(!moved());
    assert!(without(&[ARRIVALS_WAIT], moved));
}

#[test]
fn d5_a_session_that_waits_in_vain_is_told_so() {
    let mut lab = sound(2, 1);
    let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
    lab.put(a, &x, "1");
    let token = lab.token(a);
    lab.adopt(b, token);
    lab.set_clocks(4_000_000);
    lab.fire(server(1, 0), Timer::Retry);
    assert!(matches!(lab.outcome(b), Some(Outcome::Failed(Failure::StaleSession(_)))));
    assert_eq!(lab.put(b, &x, "2"), at(4_000_000), "the session goes on without");
}

/// D6: what decides a conditional update is looked at when it becomes visible, and is a cause of it.
#[test]
fn d6_a_conditional_update_depends_on_what_decided_it() {
    fn hidden() -> String {
        let mut lab = lab(1, 2);
        let (s, t, w, x) = (lab.client(0), lab.client(0), lab.key("w", 1), lab.key("x", 0));
        let t1 = rot(1, 1_000);
        assert_eq!(slice(&mut lab, t1, 1, &w), "-");
        lab.put(s, &w, "1");
        lab.put(s, &x, "depends on w");
        let write = Write::Assign((*b"again").into());
        let update = Update { condition: Condition::IfPresent, ..Update::put(write) };
        lab.run(t, Op::Put { key: x.clone(), update });
        slice(&mut lab, t1, 0, &x)
    }
    assert_eq!((hidden().as_str(), without(&[DECIDED_IS_A_CAUSE], hidden).as_str()), ("-", "again"));
    let mut lab = sound(1, 1);
    let (s, t, x) = (lab.client(0), lab.client(0), lab.key("x", 0));
    lab.put(s, &x, "1");
    assert_eq!(lab.put_new(t, &x, "2"), None);
    assert_eq!(lab.token(t).past, lab.token(s).past, "the session depends on it, too");
}

#[test]
fn d6_a_scan_reads_what_a_get_reads_and_the_session_depends_on_it() {
    let mut lab = sound(1, 1);
    let (s, t) = (lab.client(0), lab.client(0));
    let (x, y) = (lab.key("x", 0), lab.key("y", 0));
    lab.put(s, &x, "1");
    lab.put(s, &y, "1");
    lab.remove(s, &x);
    assert_eq!(lab.scan(t, 0), format!("{y} 1"));
    assert_eq!(lab.token(t).past.len(), 2);
}

/// Versions that a transaction can come back to are kept until it would be refused, and go then.
#[test]
fn collection_keeps_what_is_hidden_from_nobody_and_what_stands_before_what_is_hidden() {
    fn second() -> (String, usize) {
        let mut lab = lab(1, 2);
        let (c2, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
        lab.put(c2, &y, "Y0");
        let t1 = rot(1, 1_000);
        slice(&mut lab, t1, 0, &x);
        lab.put(c2, &x, "X1");
        lab.put(c2, &y, "Y1");
        lab.round(30_000, &[Timer::Delta]);
        let second = slice(&mut lab, t1, 1, &y);
        lab.round(900_000, &[Timer::Delta]);
        (second, lab.store(server(0, 1)).chain(&y).count())
    }
    assert_eq!(second(), ("Y0".into(), 1));
    assert_eq!(without(&[OLD_VERSIONS_KEPT], second).0, "-", "a hole where a version was");
}

#[test]
fn a_token_reaches_as_far_as_the_versions_in_it() {
    let mut lab = sound(2, 2);
    let (a, y) = (lab.client(0), lab.key("y", 1));
    let ts = lab.put(a, &y, "1");
    let reach = lab.token(a).reach();
    assert_eq!((reach.latest, reach.dcs, reach.partitions), (ts, 1, 2));
}
