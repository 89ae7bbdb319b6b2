//! Eiger: the steps of its write transactions, where it departs from the paper in them, and what each rule is for.

use super::*;
use tidemark_contract::core::{Condition, DcId, Op, Outcome, Stamp, Update, Write};
use tidemark_contract::lab::put;
use tidemark_protocols::eiger::{
    ANNOUNCES_BELOW_PENDING, ANSWERS_WHEN_SHOWN, ASKS_COORDINATORS, COMMITS_ABOVE_CLOCK, DECIDED_SURVIVES,
    DEPS_TRAVEL, ONE_EVT, PENDING_LIMITS_LVT, PREPARED_SURVIVES, TIME_COVERS_SESSION, UPDATES_ASK_TOO,
    WAITS_FOR_PARTS,
};

const B: DcId = DcId(1);

fn put_all(keys: &[&Key], value: &str) -> Op {
    let write = || Write::Assign(value.as_bytes().into());
    Op::PutAll { writes: keys.iter().map(|key| ((*key).clone(), write())).collect() }
}

fn stamp(outcome: &Outcome) -> Stamp {
    match outcome {
        Outcome::Written { stamp: Some(stamp), .. } => *stamp,
        other => panic!("{other:?}"),
    }
}

/// The stamp and the EVT of the newest version.
fn newest(lab: &Lab<Eiger>, dc: u8, p: u16, key: &Key) -> Option<(Stamp, Hlc)> {
    lab.store(server(dc, p)).chain(key).next().map(|version| (version.stamp, version.meta.evt))
}

/// A transaction of x and y that `client` begins at A/0: both servers have voted, and A/0 has not heard.
fn voted(lab: &mut Lab<Eiger>, client: usize) -> [Key; 2] {
    let [x, y] = keys(lab);
    lab.begin(client, put_all(&[&x, &y], "both"));
    assert!(lab.deliver_message(server(0, 0), server(0, 0)));
    assert!(lab.deliver_message(server(0, 0), server(0, 1)));
    [x, y]
}

/// The same, decided and committed at A/0. What A/1 is told is on its way.
fn half_committed(lab: &mut Lab<Eiger>, client: usize) -> [Key; 2] {
    let keys = voted(lab, client);
    lab.deliver_message(server(0, 0), server(0, 0)); // its vote
    lab.deliver_message(server(0, 1), server(0, 0));
    lab.deliver_message(server(0, 0), server(0, 0)); // its decision
    assert!(newest(lab, 0, 0, &keys[0]).is_some() && newest(lab, 0, 1, &keys[1]).is_none());
    keys
}

#[test]
fn w1_to_w4_all_parts_have_one_stamp_and_show_since_its_time() {
    let mut lab = sound(1, 2);
    let ([x, y], s) = (keys(&lab), lab.client(0));
    let written = stamp(&lab.run(s, put_all(&[&x, &y, &x], "both")));
    assert_eq!(lab.token(s).past.near.len(), 1, "one part stands for all");
    assert_eq!(newest(&lab, 0, 0, &x), Some((written, written.ts)));
    assert_eq!(newest(&lab, 0, 1, &y), Some((written, written.ts)));
    assert_eq!((lab.get(s, &x), lab.rotx(s, &[&x, &y])), ("both".into(), "both both".into()));
}

#[test]
fn w2_a_cohort_votes_with_a_time_above_its_clock() {
    let mut lab = sound(1, 2);
    let ([x, y], s) = (keys(&lab), lab.client(0));
    lab.set_clock(server(0, 1), 90_000);
    let (_, lvt) = times(&mut lab, 0, 1, &[&y]);
    assert!(stamp(&lab.run(s, put_all(&[&x, &y], "both"))).ts > lvt);
}

#[test]
fn w3_the_coordinator_commits_above_its_clock() {
    fn above() -> bool {
        let mut lab = lab(1, 2);
        let s = lab.client(0);
        let [x, _] = voted(&mut lab, s);
        let other = lab.key("other", 0);
        lab.ask(server(0, 0), Request::Read(Hlc::at(70_000), vec![other]));
        stamp(&lab.finish(s)).ts > Hlc::at(70_000) && newest(&lab, 0, 0, &x).is_some()
    }
    assert!(above());
    assert!(!without(&[COMMITS_ABOVE_CLOCK], above));
}

#[test]
fn w4_all_parts_show_since_one_time() {
    fn same() -> bool {
        let mut lab = lab(1, 2);
        let ([x, y], s) = (keys(&lab), lab.client(0));
        lab.run(s, put_all(&[&x, &y], "both"));
        newest(&lab, 0, 0, &x) == newest(&lab, 0, 1, &y)
    }
    assert!(same());
    assert!(!without(&[ONE_EVT], same));
}

/// What B reads while all but what A/2 wrote has reached it, and what it reads in the end.
fn without_its_cause() -> (String, String) {
    let mut lab = lab(2, 3);
    let ([x, y], z) = (keys(&lab), lab.key("z", 2));
    let (s, t) = (lab.client(0), lab.client(1));
    lab.put(s, &z, "cause");
    lab.run(s, put_all(&[&x, &y], "both"));
    for p in [0, 1] {
        while lab.deliver(server(0, p), server(1, p)) {}
    }
    lab.deliver_within(B);
    let early = lab.rotx(t, &[&x, &y, &z]);
    while lab.deliver(server(0, 2), server(1, 2)) {}
    lab.deliver_within(B);
    (early, lab.rotx(t, &[&x, &y, &z]))
}

#[test]
fn w5_what_the_transaction_depends_on_is_checked_by_the_peer_of_its_coordinator() {
    assert_eq!(without_its_cause(), ("- - -".into(), "both both cause".into()));
    assert_eq!(without(&[DEPS_TRAVEL], without_its_cause).0, "both both -");
}

/// The transaction is at B, as far as partition 0 is concerned.
fn part_arrived() -> (Lab<Eiger>, [Key; 2], usize) {
    let mut lab = lab(2, 2);
    let ([x, y], s, t) = (keys(&lab), lab.client(0), lab.client(1));
    lab.run(s, put_all(&[&x, &y], "both"));
    while lab.deliver(server(0, 0), server(1, 0)) {}
    lab.deliver_within(B);
    (lab, [x, y], t)
}

#[test]
fn w6_no_part_shows_before_all_have_arrived() {
    fn shown() -> String {
        let (mut lab, [x, y], t) = part_arrived();
        let early = lab.get(t, &x);
        lab.deliver_all();
        lab.round(600_000, &[Timer::Theta, Timer::Retry]);
        format!("{early}, {}", lab.rotx(t, &[&x, &y]))
    }
    assert_eq!(shown(), "-, both both");
    assert_eq!(without(&[WAITS_FOR_PARTS], shown), "both, both -");
}

#[test]
fn w6_elsewhere_it_shows_at_one_time_of_its_own_and_keeps_its_stamp() {
    let mut lab = sound(2, 2);
    let ([x, y], s) = (keys(&lab), lab.client(0));
    lab.set_clock(server(1, 1), 50_000);
    let written = stamp(&lab.run(s, put_all(&[&y, &x], "both")));
    lab.deliver_all();
    let shown = newest(&lab, 1, 0, &x).expect("it has arrived");
    assert_eq!((shown.0, Some(shown)), (written, newest(&lab, 1, 1, &y)));
    assert!(shown.1 > Hlc::at(50_000));
    assert_eq!([0, 1].map(|p| lab.protocol(server(1, p)).status().blocked), [0, 0]);
}

/// What a transaction over both reads while A/1 has not heard that it commits.
fn while_half_committed() -> String {
    let mut lab = lab(1, 2);
    let (s, t) = (lab.client(0), lab.client(0));
    let [x, y] = half_committed(&mut lab, s);
    lab.set_clocks(9_000);
    lab.begin(t, rotx(&[&x, &y]));
    while lab.deliver_message(server(0, 1), server(0, 0)) {}
    // What A/0 replies comes before what it decided.
    lab.overtake(server(0, 0), server(0, 1));
    text(&lab.outcome(t).unwrap_or_else(|| lab.finish(t)))
}

#[test]
fn w7_what_is_pending_limits_what_is_certain() {
    assert_eq!(while_half_committed(), "both both");
    assert_eq!(without(&[PENDING_LIMITS_LVT], while_half_committed), "both -");
}

#[test]
fn w8_the_coordinator_is_asked_whether_it_commits_up_to_a_time() {
    assert_eq!(without(&[ASKS_COORDINATORS], while_half_committed), "both -");
}

#[test]
fn w8_what_is_not_decided_commits_later_and_nobody_waits_for_it() {
    let mut lab = sound(1, 2);
    let (s, t) = (lab.client(0), lab.client(0));
    lab.set_clocks(2_000);
    let z = lab.key("z", 1);
    let [x, y] = voted(&mut lab, s);
    let read = lab.put(t, &z, "later than what is pending");
    lab.begin(t, rotx(&[&x, &y]));
    assert_eq!(lab.outcome(t), None, "both servers have to ask");
    lab.overtake(server(0, 1), server(0, 0));
    lab.overtake(server(0, 0), server(0, 0));
    lab.deliver_message(server(0, 0), server(0, 1));
    assert_eq!(text(&lab.outcome(t).expect("it is known that nothing commits up to then")), "- -");
    assert!(stamp(&lab.finish(s)).ts > read);
}

/// Who has seen one part finds the others, by whatever it reads or decides.
#[test]
fn d2_a_session_that_has_seen_a_part_finds_the_others() {
    fn read(second: fn(&Key) -> Op) -> String {
        let mut lab = lab(1, 2);
        let (s, t) = (lab.client(0), lab.client(0));
        let [x, y] = half_committed(&mut lab, s);
        assert_eq!(lab.get(t, &x), "both");
        lab.begin(t, second(&y));
        while lab.deliver_message(server(0, 1), server(0, 0)) {}
        lab.overtake(server(0, 0), server(0, 1));
        text(&lab.outcome(t).unwrap_or_else(|| lab.finish(t)))
    }
    fn get() -> String {
        read(|key| Op::Get { key: key.clone() })
    }
    fn put_new() -> String {
        read(|key| match put(key, "new") {
            Op::Put { key, update } => {
                Op::Put { key, update: Update { condition: Condition::IfAbsent, ..update } }
            }
            other => other,
        })
    }
    assert_eq!((get(), put_new()), ("both".into(), "not written".into()));
    assert_eq!(without(&[TIME_COVERS_SESSION], get), "-");
    assert_ne!(without(&[UPDATES_ASK_TOO], put_new), "not written");
}

#[test]
fn d7_what_is_acknowledged_shows_everywhere_in_its_data_centre() {
    fn read() -> String {
        let mut lab = lab(1, 2);
        let (s, t) = (lab.client(0), lab.client(0));
        let [_, y] = half_committed(&mut lab, s);
        if lab.outcome(s).is_none() {
            lab.finish(s);
        }
        lab.get(t, &y)
    }
    assert_eq!(read(), "both");
    assert_eq!(without(&[ANSWERS_WHEN_SHOWN], read), "-");
}

/// What y is in the end, if `server` crashes while A/1 has not heard the decision, and never does.
fn crashed(p: u16) -> String {
    let mut lab = lab(1, 2);
    let (s, t) = (lab.client(0), lab.client(0));
    let [x, y] = half_committed(&mut lab, s);
    lab.lose_messages(server(0, 0), server(0, 1));
    lab.restart(server(0, p));
    [500_000, 1_000_000].iter().for_each(|us| lab.round(*us, &[Timer::Theta, Timer::Retry]));
    assert!([0, 1].iter().all(|p| lab.protocol(server(0, *p)).status().blocked == 0));
    assert_eq!(lab.get(t, &x), "both");
    lab.rotx(t, &[&y])
}

#[test]
fn d8_what_is_prepared_and_what_is_decided_survive() {
    assert_eq!([crashed(0), crashed(1)], ["both", "both"]);
    assert_eq!(without(&[DECIDED_SURVIVES], || crashed(0)), "-");
    assert_eq!(without(&[PREPARED_SURVIVES], || crashed(1)), "-");
}

/// D8: the coordinator crashes before it decides: all abort, and nothing is remembered.
#[test]
fn d8_what_was_not_decided_is_aborted() {
    let mut lab = sound(1, 2);
    let s = lab.client(0);
    let [x, y] = voted(&mut lab, s);
    lab.lose_messages(server(0, 1), server(0, 0));
    lab.lose_messages(server(0, 0), server(0, 0));
    lab.restart(server(0, 0));
    lab.round(500_000, &[Timer::Theta]);
    assert_eq!((newest(&lab, 0, 0, &x), newest(&lab, 0, 1, &y)), (None, None));
    assert_eq!(lab.hard(server(0, 1)).undone.prepared, vec![]);
}

/// D8: elsewhere the coordinator's peer crashes at each step, or the cohort's does.
#[test]
fn d8_elsewhere_it_is_begun_again_until_it_shows() {
    for (crashes, delivered) in [0, 1].iter().flat_map(|p| (0..12).map(move |n| (*p, n))) {
        let (mut lab, [x, y], t) = part_arrived();
        while lab.deliver(server(0, 1), server(1, 1)) {}
        let channels = [(0, 0), (0, 1), (1, 0)].map(|(from, to)| (server(1, from), server(1, to)));
        let mut left = delivered;
        while left > 0 && channels.iter().any(|(from, to)| lab.deliver_message(*from, *to)) {
            left -= 1;
        }
        lab.restart(server(1, crashes));
        (1..=3).for_each(|s| lab.round(s * 600_000, &[Timer::Theta, Timer::Retry]));
        assert_eq!(lab.rotx(t, &[&x, &y]), "both both", "B/{crashes} crashes after {delivered} messages");
        assert_eq!(newest(&lab, 1, 0, &x), newest(&lab, 1, 1, &y));
        assert_eq!([0, 1].map(|p| lab.protocol(server(1, p)).status().blocked), [0, 0]);
    }
}

/// D9: y's server writes z, above the time with which it has voted; z is in B, and y is not. Then a consequence of y comes to B.
#[test]
fn d9_what_is_pending_is_not_taken_for_received() {
    fn read() -> String {
        let mut lab = lab(2, 2);
        let (s, t) = (lab.client(0), lab.client(1));
        let z = lab.key("z", 1);
        let [x, y] = voted(&mut lab, s);
        lab.set_clock(server(0, 1), 9_000);
        let other = lab.client(0);
        lab.put(other, &z, "1");
        while lab.deliver(server(0, 1), server(1, 1)) {}
        lab.finish(s);
        lab.get(other, &y);
        lab.put(other, &x, "consequence");
        while lab.deliver(server(0, 0), server(1, 0)) {}
        lab.deliver_within(B);
        lab.get(t, &x)
    }
    assert_eq!(read(), "-");
    assert_eq!(without(&[ANNOUNCES_BELOW_PENDING], read), "consequence");
}

#[test]
fn d10_what_one_partition_writes_is_one_version_without_a_second_phase() {
    let mut lab = sound(2, 1);
    let ([x, y], s, t) = ([lab.key("x", 0), lab.key("y", 0)], lab.client(0), lab.client(1));
    lab.begin(s, put_all(&[&x, &y], "both"));
    assert!(lab.outcome(s).is_some(), "at once");
    assert!(lab.deliver(server(0, 0), server(1, 0)) && !lab.deliver(server(0, 0), server(1, 0)));
    assert_eq!(lab.rotx(t, &[&x, &y]), "both both");
    lab.restart(server(1, 0));
    assert_eq!(lab.rotx(t, &[&x, &y]), "both both");
}
