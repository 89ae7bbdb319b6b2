//! Eiger (PROTOCOLS §3): the steps of its read-only transactions, its deviations, and what each rule is for. What it
//! shares with COPS and COPS-GT is tested in `dependency_checked.rs`.

mod transactions;

use tidemark_contract::core::{Hlc, Key, Micros};
use tidemark_contract::lab::{rotx, server, text};
use tidemark_contract::{Lab, Protocol, without};
use tidemark_protocols::Eiger;
use tidemark_protocols::eiger::{
    EVT_IS_LOCAL, FLOOR_SURVIVES, LATE_ASKS_LIFT, PEERS_LIFT, Params, REFUSES_DROPPED, Reply, Request,
    SECOND_ROUND, SIBLINGS_LIFT, Timer,
};

fn lab(dcs: usize, partitions: usize) -> Lab<Eiger> {
    Lab::new(dcs, partitions, Params::default())
}

fn sound(dcs: usize, partitions: usize) -> Lab<Eiger> {
    lab(dcs, partitions)
}

fn keys(lab: &Lab<Eiger>) -> [Key; 2] {
    [lab.key("x", 0), lab.key("y", 1)]
}

/// θ everywhere, and everything arrives; twice, for what is told of what was told.
fn tell(lab: &mut Lab<Eiger>, us: Micros) {
    (0..2).for_each(|round| lab.round(us + round * 1_000, &[Timer::Theta]));
}

/// A transaction over x and y that x's server answers before `meanwhile`, and y's after it.
fn halves(lab: &mut Lab<Eiger>, meanwhile: impl FnOnce(&mut Lab<Eiger>)) -> String {
    let [x, y] = keys(lab);
    let session = lab.client(0);
    lab.hold(session, server(0, 1));
    lab.begin(session, rotx(&[&x, &y]));
    meanwhile(lab);
    lab.release(session);
    text(&lab.outcome(session).expect("nobody is waited for"))
}

/// The EVT of each key, and the LVT of all, that partition `p` of `dc` tells a session of no past.
fn times(lab: &mut Lab<Eiger>, dc: u8, p: u16, keys: &[&Key]) -> (Vec<Hlc>, Hlc) {
    let asked = Request::Read(Hlc::ZERO, keys.iter().map(|key| (*key).clone()).collect());
    match lab.ask(server(dc, p), asked) {
        Some(Reply::Slice(got, lvt, _)) => (got.into_iter().map(|got| got.evt).collect(), lvt),
        other => panic!("{other:?}"),
    }
}

/// Reference: PROTOCOLS §3, step 1: what shows now, since when, and that it did until now; what shows later has a later EVT.
#[test]
fn step_1_a_version_is_answered_with_the_times_of_which_it_is_certain() {
    let mut lab = sound(1, 2);
    let ([x, y], a) = (keys(&lab), lab.client(0));
    let first = lab.put(a, &x, "1");
    lab.set_clocks(9_000);
    let absent = lab.key("absent", 0);
    let (evt, lvt) = times(&mut lab, 0, 0, &[&x, &absent]);
    assert_eq!((evt, lvt), (vec![first, Hlc::ZERO], Hlc::at(9_000)));
    assert!(lab.put(a, &x, "2") > lvt);
    let (evt, _) = times(&mut lab, 0, 1, &[&y]);
    assert_eq!(evt, [Hlc::ZERO], "nothing shows since ever");
}

/// Reference: PROTOCOLS §3, step 1: the server's clock comes up to the session's, so that a second round is rare.
#[test]
fn step_1_a_server_comes_up_to_the_clock_of_the_session() {
    let mut lab = sound(1, 2);
    let ([x, y], a) = (keys(&lab), lab.client(0));
    lab.set_clock(server(0, 0), 50_000);
    let first = lab.put(a, &x, "1");
    lab.get(a, &y);
    assert!(times(&mut lab, 0, 1, &[&y]).1 >= first);
}

/// Reference: PROTOCOLS §3, step 2.
#[test]
fn step_2_one_round_is_enough_if_all_that_was_found_shows_at_one_time() {
    let mut lab = sound(2, 2);
    let ([x, y], a, b) = (keys(&lab), lab.client(0), lab.client(0));
    lab.put(a, &x, "x");
    lab.put(a, &y, "y");
    lab.set_clocks(9_000);
    assert_eq!(lab.rotx(b, &[&y, &x, &y]), "y x y");
    assert_eq!(lab.rotx(b, &[]), "");
    assert!(!lab.transcript.contains("ReadAt"));
    assert_eq!(lab.token(b).past.near.len(), 2, "it is in the context");
}

/// Reference: PROTOCOLS §3, step 3: the rest is read as of the latest EVT.
#[test]
fn step_3_what_may_have_changed_is_read_as_of_the_time_of_the_transaction() {
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
    assert_eq!(read(), "x2 y2", "not x3, which shows later than y2");
    assert_eq!(without(&[SECOND_ROUND], read), "x1 y2");
}

/// Reference: PROTOCOLS §3, step 3: `clock = max(clock, effT)`, or what was answered could change yet.
#[test]
fn step_3_after_an_answer_as_of_a_time_nothing_comes_to_show_at_that_time() {
    fn later() -> bool {
        let mut lab = lab(1, 1);
        let (a, x, time) = (lab.client(0), lab.key("x", 0), Hlc::at(70_000));
        assert!(lab.ask(server(0, 0), Request::ReadAt(time, vec![x.clone()])).is_some());
        lab.put(a, &x, "1") > time
    }
    assert!(later());
    assert!(!without(&[LATE_ASKS_LIFT], later));
}

/// I1: what is asked of a sibling comes with a clock, and so does its answer.
#[test]
fn i1_a_version_shows_later_than_what_it_depends_on_whatever_the_clocks() {
    fn in_order() -> bool {
        let mut lab = lab(2, 2);
        let ([x, y], a) = (keys(&lab), lab.client(0));
        lab.set_clock(server(1, 0), 90_000);
        lab.put(a, &x, "1");
        lab.put(a, &y, "2");
        lab.deliver_all();
        let ((x, _), (y, _)) = (times(&mut lab, 1, 0, &[&x]), times(&mut lab, 1, 1, &[&y]));
        assert!(y[0] > Hlc::ZERO);
        x < y
    }
    assert!(in_order());
    assert!(!without(&[SIBLINGS_LIFT], in_order));
}

/// I2: a version from elsewhere shows since it does, not since it was written.
#[test]
fn i2_what_was_written_long_ago_comes_to_show_now() {
    fn evt_is_later() -> bool {
        let mut lab = lab(2, 1);
        let (a, x) = (lab.client(0), lab.key("x", 0));
        lab.put(a, &x, "1");
        lab.set_clocks(60_000);
        let (_, lvt) = times(&mut lab, 1, 0, &[&x]);
        lab.deliver_all();
        times(&mut lab, 1, 0, &[&x]).0[0] > lvt
    }
    assert!(evt_is_later());
    assert!(!without(&[EVT_IS_LOCAL], evt_is_later));
}

/// D1: what is applied everywhere is no dependency any more; who forgets it writes what shows later.
#[test]
fn d1_what_is_forgotten_came_to_show_earlier_everywhere() {
    fn in_order() -> bool {
        let mut lab = lab(2, 2);
        let ([x, y], a) = (keys(&lab), lab.client(0));
        lab.set_clock(server(1, 0), 90_000);
        lab.put(a, &x, "1");
        lab.deliver_all();
        for at in [server(0, 0), server(1, 0), server(0, 0)] {
            lab.fire(at, Timer::Theta);
            lab.deliver_all();
        }
        lab.get(a, &x);
        assert!(PEERS_LIFT.kept() || lab.token(a).past.near.is_empty());
        lab.put(a, &y, "2");
        lab.deliver_all();
        times(&mut lab, 1, 0, &[&x]).0 < times(&mut lab, 1, 1, &[&y]).0
    }
    assert!(in_order());
    assert!(!without(&[PEERS_LIFT], in_order));
}

/// D3: old versions are kept for the time that a transaction may take, and then refused.
#[test]
fn d3_a_version_is_kept_for_a_while_and_refused_afterwards() {
    fn read(late_us: Micros) -> (String, bool) {
        let mut lab = lab(1, 2);
        let ([x, y], a) = (keys(&lab), lab.client(0));
        let read = halves(&mut lab, |lab| {
            lab.put(a, &x, "x1");
            lab.put(a, &y, "y1");
            lab.put(a, &x, "x2");
            (0..=4).for_each(|round| tell(lab, 10_000 + late_us * round / 4));
        });
        (read, lab.transcript.contains("TooOld"))
    }
    assert_eq!(read(4_900_000), ("x1 y1".into(), false));
    assert_eq!(read(5_200_000), ("x2 y1".into(), true));
    assert_eq!(
        without(&[REFUSES_DROPPED], || read(5_200_000)),
        ("- y1".into(), false),
        "a hole where a version was"
    );
}

/// D3: who comes back may have to find out again what shows, and says of it that it shows since then.
#[test]
fn d3_a_restarted_server_answers_for_no_earlier_time() {
    fn read() -> (String, bool) {
        let mut lab = lab(2, 2);
        let ([x, y], a, b) = (keys(&lab), lab.client(1), lab.client(0));
        let read = halves(&mut lab, |lab| {
            lab.put(a, &x, "x1");
            lab.deliver_all();
            lab.get(b, &x);
            lab.put(b, &y, "y1");
            lab.restart(server(0, 0));
        });
        (read, lab.transcript.contains("TooOld"))
    }
    assert_eq!(read(), ("x1 y1".into(), true));
    assert_eq!(
        without(&[FLOOR_SURVIVES], read),
        ("- y1".into(), false),
        "it was applied again, later than y1"
    );
}

/// D3: collection takes tombstones, too.
#[test]
fn d3_a_tombstone_that_is_gone_is_absence() {
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

/// As in COPS: a conditional update and a scan depend on what they saw, tombstones included.
#[test]
fn what_decided_an_update_or_a_scan_is_depended_on() {
    let mut lab = sound(1, 2);
    let ([x, y], a, b, c) = (keys(&lab), lab.client(0), lab.client(0), lab.client(0));
    lab.put(a, &x, "1");
    lab.put(a, &y, "2");
    assert_eq!(lab.put_new(b, &y, "3"), None);
    assert_eq!(lab.token(b).past.near.len(), 1);
    lab.remove(a, &x);
    assert_eq!((lab.scan(c, 0).as_str(), lab.token(c).past.near.len()), (" 0", 1));
    assert_eq!(lab.scan(c, 1), format!("{y} 1"));
}
