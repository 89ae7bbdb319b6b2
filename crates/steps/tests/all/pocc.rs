//! POCC: its operations step by step, the decisions of the file, and what each rule is for.

use crate::at;
use tidemark_contract::core::{Condition, DcId, Hlc, Key, Micros, Op, Outcome, Update, Vector, Write};
use tidemark_contract::lab::{put, rotx, server, text};
use tidemark_contract::{Lab, Protocol, Token, without};
use tidemark_protocols::Pocc;
use tidemark_protocols::pocc::{
    GET_WAITS, MOVED_READS_WAIT, PUT_ABOVE_DV, Params, Past, Request, SLICE_LIFTS_CLOCK, SLICE_WAITS,
    STABLE_SURVIVES, SV_COVERS_DV, Timer,
};

const A: DcId = DcId(0);
const B: DcId = DcId(1);

fn lab(dcs: usize, partitions: usize) -> Lab<Pocc> {
    Lab::new(dcs, partitions, Params::default())
}

fn pocc(dcs: usize, partitions: usize) -> Lab<Pocc> {
    lab(dcs, partitions)
}

fn v(micros: &[u64]) -> Vector {
    Vector::from_entries(micros.iter().map(|us| at(*us)))
}

fn past(rdv: &[u64], dv: &[u64]) -> Past {
    Past { rdv: v(rdv), dv: v(dv) }
}

/// Gives a session a past that it could have.
fn remember(lab: &mut Lab<Pocc>, session: usize, past: Past) {
    let home = lab.token(session).home;
    lab.adopt(session, Token { home, past });
    assert_eq!(lab.outcome(session), Some(Outcome::Adopted));
}

/// Heartbeats everywhere at `us`, twice, so that Δ has passed without a write; then θ.
fn stabilise(lab: &mut Lab<Pocc>, us: Micros) {
    lab.round(us, &[Timer::Delta, Timer::Delta, Timer::Theta]);
}

/// Reference: the abstract: "updates from a remote data center are immediately made visible".
#[test]
fn get_finds_whatever_has_arrived() {
    let mut lab = pocc(2, 1);
    let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
    remember(&mut lab, a, past(&[], &[0, 600]));
    lab.put(a, &x, "1");
    assert_eq!((lab.get(a, &x).as_str(), lab.get(b, &x).as_str()), ("1", "-"));
    lab.deliver(server(0, 0), server(1, 0));
    assert_eq!(lab.get(b, &x), "1");
}

/// What was read stands where it was read, so its own time is not waited for; what it depends on is.
#[test]
fn get_puts_the_dependencies_of_what_it_read_into_rdv_and_its_time_into_dv_only() {
    let mut lab = pocc(3, 1);
    let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
    remember(&mut lab, a, past(&[], &[30, 20, 10]));
    lab.put(a, &x, "1");
    assert_eq!(lab.token(a).past, past(&[], &[1_000, 20, 10]), "a write is no read");
    lab.deliver_all();
    lab.get(b, &x);
    assert_eq!(lab.token(b).past, past(&[30, 20, 10], &[1_000, 20, 10]));
}

/// Reference: the abstract: "Servers perform the dependency check … only upon serving a client operation".
#[test]
fn get_waits_for_what_the_session_has_seen_the_effect_of() {
    fn read() -> String {
        let mut lab = lab(2, 2);
        let (a, b, cause, effect) = (lab.client(0), lab.client(1), lab.key("x", 0), lab.key("y", 1));
        lab.put(a, &cause, "cause");
        lab.put(a, &effect, "effect");
        lab.deliver(server(0, 1), server(1, 1));
        assert_eq!(lab.get(b, &effect), "effect");
        lab.begin(b, Op::Get { key: cause });
        if lab.outcome(b).is_some() {
            return "at once".into();
        }
        assert_eq!(lab.protocol(server(1, 0)).status().blocked, 1);
        lab.deliver(server(0, 0), server(1, 0));
        text(&lab.finish(b))
    }
    assert_eq!((read().as_str(), without(&[GET_WAITS], read).as_str()), ("cause", "at once"));
}

#[test]
fn get_is_woken_by_a_heartbeat_too_and_never_waits_for_its_own_data_centre() {
    let mut lab = pocc(2, 1);
    let (a, x) = (lab.client(0), lab.key("x", 0));
    remember(&mut lab, a, past(&[9_000, 500], &[]));
    lab.begin(a, Op::Get { key: x });
    assert_eq!(lab.outcome(a), None);
    lab.fire(server(1, 0), Timer::Delta);
    lab.deliver(server(1, 0), server(0, 0));
    assert_eq!(text(&lab.finish(a)), "-");
}

/// D4.
#[test]
fn d4_a_wait_in_vain_ends_with_a_clear_error_and_the_session_may_go_on() {
    let mut lab = pocc(2, 1);
    let (a, other, x, p) = (lab.client(0), lab.client(0), lab.key("x", 0), server(0, 0));
    remember(&mut lab, a, past(&[0, 500], &[0, 500]));
    lab.begin(a, Op::Get { key: x.clone() });
    lab.set_clock(p, 2_000_999);
    lab.fire(p, Timer::Theta);
    assert_eq!(lab.outcome(a), None);
    lab.set_clock(p, 2_001_000);
    lab.fire(p, Timer::Theta);
    let outcome = lab.finish(a);
    assert!(format!("{outcome:?}").contains("not arrived here yet"), "{outcome:?}");
    assert_eq!((text(&outcome).as_str(), lab.protocol(p).status().blocked), ("unavailable", 0));
    assert!(lab.put(a, &x, "1") > at(500), "a write depends on it and waits for nothing");
    assert_eq!(lab.get(other, &x), "1");
    lab.begin(other, Op::Get { key: x });
    assert_eq!(lab.outcome(other), None, "whoever sees that waits in turn");
}

/// I3, D1.
#[test]
fn put_stamps_above_what_the_session_depends_on_with_no_wait() {
    fn write() -> Hlc {
        let mut lab = lab(2, 1);
        let (a, x) = (lab.client(0), lab.key("x", 0));
        remember(&mut lab, a, past(&[0, 70_000], &[0, 70_000]));
        lab.put(a, &x, "1")
    }
    assert_eq!((write(), without(&[PUT_ABOVE_DV], write)), (at(70_000).next(), at(1_000)));
}

#[test]
fn put_stores_what_the_session_depends_on_and_sends_it_to_every_peer() {
    let mut lab = pocc(3, 2);
    let (b, x) = (lab.client(1), lab.key("x", 1));
    remember(&mut lab, b, past(&[], &[30, 20, 10]));
    assert_eq!(text(&lab.run(b, put(&x, "1"))), "1000@B");
    assert!(lab.deliver(server(1, 1), server(0, 1)) && lab.deliver(server(1, 1), server(2, 1)));
    assert!(!lab.deliver(server(1, 1), server(0, 1)) && !lab.deliver(server(1, 0), server(0, 0)));
    for dc in 0..3 {
        assert_eq!(lab.store(server(dc, 1)).chain(&x).next().expect("stored").meta, v(&[30, 20, 10]));
    }
}

#[test]
fn rotx_the_snapshot_is_the_clock_here_and_what_has_arrived_at_the_coordinator() {
    let mut lab = pocc(2, 2);
    let (a, b, x, y) = (lab.client(0), lab.client(1), lab.key("x", 0), lab.key("y", 1));
    lab.put(b, &x, "x");
    lab.deliver(server(1, 0), server(0, 0));
    lab.set_clocks(5_000);
    lab.begin(a, rotx(&[&x, &y]));
    assert!(lab.transcript.contains("at: [5000 1000]"));
    lab.fire(server(1, 1), Timer::Delta);
    lab.deliver_all();
    assert_eq!(text(&lab.finish(a)), "x -");
}

#[test]
fn rotx_the_snapshot_covers_all_that_the_session_has_seen() {
    fn read() -> String {
        let mut lab = lab(2, 2);
        let (a, b, x, y) = (lab.client(0), lab.client(1), lab.key("x", 0), lab.key("y", 1));
        lab.put(b, &y, "y");
        lab.deliver(server(1, 1), server(0, 1));
        assert_eq!(lab.get(a, &y), "y");
        lab.begin(a, rotx(&[&x, &y])); // at a coordinator that has heard nothing of B
        lab.deliver_within(A);
        lab.fire(server(1, 0), Timer::Delta);
        lab.deliver_all();
        text(&lab.finish(a))
    }
    assert_eq!((read().as_str(), without(&[SV_COVERS_DV], read).as_str()), ("- y", "- -"));
}

#[test]
fn rotx_waits_at_each_partition_until_its_snapshot_has_arrived_there() {
    fn read() -> (bool, String) {
        let mut lab = lab(2, 2);
        let (a, b, cause, effect) = (lab.client(0), lab.client(1), lab.key("x", 1), lab.key("y", 0));
        lab.put(a, &cause, "cause");
        lab.put(a, &effect, "effect");
        lab.deliver(server(0, 0), server(1, 0));
        lab.set_clocks(2_000);
        lab.begin(b, rotx(&[&effect, &cause]));
        lab.deliver_within(B);
        let at_once = lab.outcome(b);
        lab.deliver_all();
        lab.fire(server(0, 1), Timer::Delta);
        lab.fire(server(0, 1), Timer::Delta);
        lab.deliver_all();
        (at_once.is_none(), text(&at_once.unwrap_or_else(|| lab.finish(b))))
    }
    assert_eq!(read(), (true, "effect cause".into()));
    assert_eq!(without(&[SLICE_WAITS], read), (false, "effect -".into()));
}

/// I3.
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
fn rotx_whose_slice_waits_in_vain_ends_with_the_deadline() {
    let mut lab = pocc(2, 2);
    let (s, x, y, leaf) = (lab.client(0), lab.key("x", 0), lab.key("y", 1), server(0, 1));
    remember(&mut lab, s, past(&[], &[0, 500]));
    lab.begin(s, rotx(&[&x, &y]));
    lab.deliver_within(A);
    assert_eq!(lab.protocol(leaf).status().blocked, 1);
    lab.set_clocks(3_000_000);
    lab.fire(leaf, Timer::Theta);
    lab.fire(server(0, 0), Timer::Theta);
    assert_eq!((lab.protocol(leaf).status().blocked, text(&lab.finish(s)).as_str()), (0, "unavailable"));
}

/// D2: a restarted server with a slow clock writes nothing into a snapshot that was read in its earlier life.
#[test]
fn d2_what_a_slice_promised_survives_a_restart() {
    let mut lab = pocc(1, 2);
    let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.set_max_skew(60_000_000);
    lab.set_clock(server(0, 0), 30_000_000);
    lab.rotx(s, &[&x, &y]);
    lab.restart(server(0, 1));
    assert!(lab.put(t, &y, "later") > at(30_000_000));
}

/// D2, and erratum E-12: no snapshot lies below what was collected, not even after a restart.
#[test]
fn d2_a_restart_recovers_the_gss_that_collection_used() {
    fn read() -> String {
        let mut lab = lab(2, 2);
        let (b, reader, x, y) = (lab.client(1), lab.client(0), lab.key("x", 0), lab.key("y", 1));
        lab.put(b, &y, "old");
        stabilise(&mut lab, 9_000);
        lab.put(b, &y, "new");
        [500_000, 1_000_000, 1_500_000].into_iter().for_each(|us| stabilise(&mut lab, us));
        assert_eq!(lab.store(server(0, 1)).chain(&y).count(), 1, "the old one is gone");
        lab.restart(server(0, 0)); // which has received no record
        lab.rotx(reader, &[&x, &y])
    }
    assert_eq!((read().as_str(), without(&[STABLE_SURVIVES], read).as_str()), ("- new", "- -"));
}

/// D3, and erratum E-13.
#[test]
fn d3_a_session_moves_at_once_and_its_reads_wait_for_all_that_it_has_seen() {
    fn moved() -> (Past, String) {
        let mut lab = lab(2, 1);
        let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
        lab.put(a, &x, "mine");
        let token = lab.token(a);
        lab.adopt(b, token);
        assert_eq!(lab.outcome(b), Some(Outcome::Adopted));
        let past = lab.token(b).past;
        lab.begin(b, Op::Get { key: x });
        lab.deliver_all();
        (past, text(&lab.finish(b)))
    }
    assert_eq!(moved(), (past(&[1_000], &[1_000]), "mine".into()));
    assert_eq!(without(&[MOVED_READS_WAIT], moved), (past(&[], &[1_000]), "-".into()));
}

/// D5.
#[test]
fn d5_a_conditional_update_waits_as_a_get_does_and_depends_on_what_it_saw() {
    let mut lab = pocc(2, 1);
    let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
    remember(&mut lab, a, past(&[0, 8_000], &[0, 8_000]));
    let write = Write::Assign((*b"2").into());
    let update = Update { write, condition: Condition::IfAbsent, returns_previous: false, command: None };
    lab.begin(a, Op::Put { key: x.clone(), update });
    assert_eq!(lab.outcome(a), None);
    lab.set_clock(server(1, 0), 8_000);
    lab.put(b, &x, "1");
    lab.deliver(server(1, 0), server(0, 0));
    assert_eq!(text(&lab.finish(a)), "not written");
    lab.remove(b, &x);
    lab.deliver(server(1, 0), server(0, 0));
    let ut = lab.put_new(a, &x, "2").expect("a tombstone is nothing");
    let meta = lab.store(server(0, 0)).chain(&x).next().expect("stored").meta.clone();
    assert!(ut > at(8_000).next() && meta[B] == at(8_000).next());
}

/// D6.
#[test]
fn d6_collection_stays_below_running_snapshots() {
    let mut lab = pocc(1, 2);
    let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.put(s, &y, "old");
    stabilise(&mut lab, 9_000);
    lab.begin(t, Op::Rotx { keys: vec![x, y.clone()] });
    let (root, leaf) = (server(0, 0), server(0, 1));
    // The slice is slow: everything else overtakes it.
    for us in [500_000, 1_000_000, 1_500_000] {
        lab.set_clocks(us);
        lab.put(s, &y, "new");
        for timer in [Timer::Delta, Timer::Delta, Timer::Theta] {
            lab.fire(leaf, timer);
            lab.fire(root, timer);
            lab.deliver_message(leaf, root);
        }
        lab.overtake(root, leaf);
    }
    lab.fire(leaf, Timer::Theta);
    assert_eq!(text(&lab.finish(t)), "- old");
    [2_000_000, 2_500_000, 3_000_000].into_iter().for_each(|us| stabilise(&mut lab, us));
    assert_eq!(lab.store(leaf).chain(&y).count(), 1);
}

#[test]
fn a_walk_finds_what_get_finds_and_its_session_depends_on_it() {
    let mut lab = pocc(2, 1);
    let (a, b, t) = (lab.client(0), lab.client(1), lab.client(0));
    for key in ["mine", "gone", "theirs"] {
        lab.put(if key == "theirs" { b } else { a }, &Key::from(key), "v");
    }
    lab.remove(a, &Key::from("gone"));
    assert_eq!(lab.scan(t, 0), "mine 1");
    lab.deliver_all();
    assert_eq!(lab.scan(t, 0), "mine theirs 2");
    assert_eq!(lab.token(t).past.dv[B], at(1_000));
    let reply =
        lab.ask(server(0, 0), Request(Op::Count { partition: Default::default() }, past(&[0, 9_000], &[])));
    assert!(reply.is_none(), "it waits as a GET does");
}
