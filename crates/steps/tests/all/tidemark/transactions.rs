//! Write transactions (PROTOCOLS §19.1), step by step, and what each rule is for.

use super::*;
use crate::stabilised::of_what_was_deleted_beside_a_prepared_transaction;
use tidemark_contract::core::{Command, Op, PartitionId, ServerId, Stamp, Verb};
use tidemark_protocols::tidemark::{
    ANNOUNCES_BELOW_PREPARED, ANSWERS_WHEN_SHOWN, APPLYING_TAKES_NEED, DECIDED_SURVIVES, DEPENDS_ON_SEEN,
    DS_HAS_TIME, MOVERS_WAIT_FOR_L, PREPARED_SURVIVES, TIMES_ARRIVE_WHOLE, TOMBSTONES_UNTIL_L,
    TRANSACTIONS_HAVE_CAUSES, UPTO_IS_ANNOUNCED,
};

pub(super) const ROOT: ServerId = ServerId { dc: DcId(0), partition: PartitionId(0) };
pub(super) const LEAF: ServerId = ServerId { dc: DcId(0), partition: PartitionId(1) };

pub(super) fn put_all(keys: &[&Key], value: &str) -> Op {
    let write = || Write::Assign(value.as_bytes().into());
    Op::PutAll { writes: keys.iter().map(|key| ((*key).clone(), write())).collect() }
}

pub(super) fn stamp(outcome: &Outcome) -> Stamp {
    match outcome {
        Outcome::Written { stamp: Some(stamp), .. } => *stamp,
        other => panic!("{other:?}"),
    }
}

/// A transaction of both that `client` began at A/0: prepared at both, and not decided.
fn prepared(lab: &mut Lab<Tidemark>, client: usize, x: &Key, y: &Key) {
    lab.begin(client, put_all(&[x, y], "both"));
    assert!(lab.deliver_message(ROOT, ROOT) && lab.deliver_message(ROOT, LEAF));
}

/// And decided: nobody has heard of it but A/0.
pub(super) fn decided(lab: &mut Lab<Tidemark>, client: usize, x: &Key, y: &Key) {
    prepared(lab, client, x, y);
    assert!(lab.deliver_message(ROOT, ROOT) && lab.deliver_message(LEAF, ROOT));
}

pub(super) fn two() -> (Lab<Tidemark>, Key, Key) {
    let lab = sound(2, 2);
    let (x, y) = (lab.key("x", 0), lab.key("y", 1));
    (lab, x, y)
}

#[test]
fn t1_each_partition_with_a_key_is_asked_to_prepare_its_writes() {
    let (mut lab, x, y) = two();
    let s = lab.client(0);
    remember(&mut lab, s, past(&[70, 80], &[0, 60]));
    lab.begin(s, put_all(&[&x, &y], "both"));
    let asked = lab.transcript.lines().filter(|line| line.contains("Prepare("));
    assert_eq!(asked.count(), 2);
    assert!(lab.transcript.contains("Past { ds: [70 80], dsv: [0 60], l: 0"), "{}", lab.transcript);
}

#[test]
fn t2_a_proposal_is_above_the_clock_and_the_causes_and_nothing_above_it_is_announced() {
    let (mut lab, x, y) = two();
    let s = lab.client(0);
    remember(&mut lab, s, past(&[0, 3_000], &[]));
    prepared(&mut lab, s, &x, &y);
    let pt = at(3_000).next();
    assert!(lab.hard(LEAF).undone.prepared.iter().all(|(_, time, ..)| *time == pt), "{:?}", lab.hard(LEAF));
    stabilise(&mut lab, 900_000);
    assert!(lab.transcript.contains(&format!("A/1 heartbeat {}", pt.prev())), "{}", lab.transcript);
}

#[test]
fn t3_and_t6_it_commits_at_the_latest_proposal_and_depends_on_itself() {
    let (mut lab, x, y) = two();
    let s = lab.client(0);
    lab.jump_clock(LEAF, 7_000);
    let written = stamp(&lab.run(s, put_all(&[&x, &y], "both")));
    assert_eq!((written.ts, written.seq), (at(7_000), 1));
    for (server, key) in [(ROOT, &x), (LEAF, &y)] {
        let version = lab.store(server).chain(key).next().expect("it is applied");
        let need = Need { stable: v(&[0]), local: at(7_000), upto: Hlc::ZERO };
        assert_eq!((version.stamp, &version.meta.ds), (written, &v(&[7_000])));
        let there = version.meta.need.as_deref().expect("it needs L");
        assert_eq!((there.local, there.upto), (need.local, need.upto));
    }
}

#[test]
fn t7_a_version_is_hidden_here_until_l_has_come_to_its_time() {
    let (mut lab, x, y) = two();
    let (s, t) = (lab.client(0), lab.client(0));
    decided(&mut lab, s, &x, &y);
    assert!(lab.deliver_message(ROOT, ROOT), "A/0 applies");
    assert_eq!((lab.store(ROOT).chain(&x).count(), lab.store(LEAF).chain(&y).count()), (1, 0));
    assert_eq!(lab.get(t, &x), "-");
    stamp(&lab.finish(s));
    assert_eq!((lab.get(t, &x), lab.get(t, &y)), ("both".into(), "both".into()));
}

#[test]
fn t8_the_coordinator_hears_what_is_announced_and_tells_the_least() {
    let lab = sound(1, 3);
    let keys = [("x", 0), ("y", 1)].map(|(name, partition)| lab.key(name, partition));
    let mut lab = lab;
    let s = lab.client(0);
    lab.run(s, put_all(&[&keys[0], &keys[1]], "both"));
    let count = |what: &str| lab.transcript.lines().filter(|line| line.contains(what)).count();
    assert_eq!(count("-> A/2 Own(Lift"), 1, "who takes no part is lifted:\n{}", lab.transcript);
    assert_eq!(count("Own(Stable("), 3 * 2, "each is told once: sent and received");
}

#[test]
fn t9_and_t10_the_client_is_answered_when_all_participants_have_made_l_durable() {
    let (mut lab, x, y) = two();
    let s = lab.client(0);
    decided(&mut lab, s, &x, &y);
    let ct = lab.hard(ROOT).undone.latest;
    assert!(ct > Hlc::ZERO);
    while lab.deliver_message(ROOT, ROOT) || lab.deliver_message(ROOT, LEAF) {}
    assert_eq!(lab.outcome(s), None);
    stamp(&lab.finish(s));
    let l = |server: ServerId| lab.hard(server).times.stable.entries()[2];
    assert!(l(ROOT) >= ct && l(LEAF) >= ct);
    assert_eq!(lab.token(s).past, Past { l: ct, ..past(&[ct.micros()], &[]) });
}

#[test]
fn d8_keys_of_one_partition_are_one_version_and_no_transaction() {
    let lab = sound(2, 2);
    let (x, z) = (lab.key("x", 0), lab.key("z", 0));
    let mut lab = lab;
    let (s, t, far) = (lab.client(0), lab.client(0), lab.client(1));
    let written = stamp(&lab.run(s, put_all(&[&x, &z, &x], "both")));
    assert_eq!((written.ts, written.seq), (at(1_000), 0));
    assert_eq!(lab.rotx(t, &[&x, &z]), "both both");
    assert!(!lab.transcript.contains("Prepare("));
    assert!(lab.deliver(ROOT, server(1, 0)) && !lab.deliver(ROOT, server(1, 0)), "one record");
    assert_eq!((lab.get(far, &x), lab.get(far, &z)), ("both".into(), "both".into()));
}

#[test]
fn d10_it_is_refused_at_once_if_l_is_far_behind() {
    let (mut lab, x, y) = two();
    let s = lab.client(0);
    lab.set_clocks(1_001_001);
    assert_eq!(text(&lab.run(s, put_all(&[&x, &y], "1"))), "unavailable");
    stabilise(&mut lab, 1_001_002);
    stamp(&lab.run(s, put_all(&[&x, &y], "2")));
}

/// T10: a client is not kept waiting for a partition that is gone, and is not told that nothing has happened.
#[test]
fn t10_a_transaction_that_does_not_show_in_time_is_indefinite() {
    let (mut lab, x, y) = two();
    let s = lab.client(0);
    decided(&mut lab, s, &x, &y);
    lab.lose_messages(ROOT, LEAF);
    lab.set_clocks(2_100_000);
    lab.fire(ROOT, Timer::Theta);
    let outcome = lab.outcome(s);
    assert!(
        matches!(outcome, Some(Outcome::Failed(tidemark_contract::core::Failure::Indefinite(_)))),
        "{outcome:?}"
    );
}

/// 2', DS_HAS_TIME: abroad, a version shows with its sibling or not at all.
#[test]
fn t6_is_why_a_transaction_shows_whole_abroad() {
    fn seen() -> [String; 2] {
        let (mut lab, x, y) = two();
        let (s, far) = (lab.client(0), lab.client(1));
        lab.run(s, put_all(&[&x, &y], "both"));
        while lab.deliver(ROOT, server(1, 0)) {}
        [lab.get(far, &x), lab.get(far, &y)]
    }
    assert_eq!(seen(), ["-", "-"]);
    assert_eq!(without(&[DS_HAS_TIME], seen), ["both", "-"]);
}

/// T2: what is prepared is not announced over, by heartbeats and by what is written meanwhile.
#[test]
fn t2_and_7_are_why_abroad_nothing_is_stable_above_what_is_prepared() {
    fn announced() -> (Hlc, Hlc) {
        let (mut lab, x, y) = two();
        let (s, t) = (lab.client(0), lab.client(0));
        let z = lab.key("z", 1);
        prepared(&mut lab, s, &x, &y);
        lab.set_clocks(5_000);
        lab.put(t, &z, "1");
        assert!(lab.deliver(LEAF, server(1, 1)));
        lab.fire(server(1, 1), Timer::Theta);
        let plain = lab.transcript.lines().rev().find(|line| line.contains("Up(")).map(str::to_string);
        let plain = plain.expect("it reports");
        let of = |us: u64| plain.contains(&format!("stable: [{us}"));
        let heard = if of(5_000) { at(5_000) } else { Hlc::ZERO };
        lab.set_clocks(6_000);
        [LEAF, LEAF].iter().for_each(|server| lab.fire(*server, Timer::Delta));
        let beat = format!("A/1 heartbeat {}", at(6_000));
        (heard, if lab.transcript.contains(&beat) { at(6_000) } else { Hlc::ZERO })
    }
    assert_eq!(announced(), (Hlc::ZERO, Hlc::ZERO));
    assert_eq!(without(&[UPTO_IS_ANNOUNCED], announced), (at(5_000), Hlc::ZERO));
    assert_eq!(without(&[ANNOUNCES_BELOW_PREPARED], announced), (at(5_000), at(6_000)));
}

/// T10: what is answered too early, the session may not find.
#[test]
fn t10_is_why_a_session_finds_its_own_transaction() {
    fn answered() -> bool {
        let (mut lab, x, y) = two();
        let s = lab.client(0);
        decided(&mut lab, s, &x, &y);
        lab.outcome(s).is_some()
    }
    assert!(!answered() && without(&[ANSWERS_WHEN_SHOWN], answered));
}

/// A crash of a participant, or of the coordinator, at each point: both have it in the end, or neither.
#[test]
fn crashes_at_any_point_leave_a_transaction_whole() {
    for crashes in [ROOT, LEAF] {
        for step in 0..12 {
            let (mut lab, x, y) = two();
            let (s, t) = (lab.client(0), lab.client(0));
            lab.begin(s, put_all(&[&x, &y], "both"));
            let ways = [(ROOT, ROOT), (ROOT, LEAF), (LEAF, ROOT), (LEAF, LEAF)];
            let mut left = step;
            'deliver: loop {
                let mut moved = false;
                for (from, to) in ways {
                    if left == 0 {
                        break 'deliver;
                    }
                    if lab.deliver_message(from, to) {
                        (left, moved) = (left - 1, true);
                    }
                }
                if !moved {
                    break;
                }
            }
            lab.restart(crashes);
            for us in [100_000, 200_000, 300_000, 400_000] {
                stabilise(&mut lab, us);
            }
            let seen = (lab.get(t, &x), lab.get(t, &y));
            assert!(seen.0 == seen.1, "{crashes} after {step}: {seen:?}\n{}", lab.transcript);
            let (root, leaf) = (&lab.hard(ROOT).undone, &lab.hard(LEAF).undone);
            assert!(root.prepared.is_empty() && leaf.prepared.is_empty(), "{crashes} after {step}");
        }
    }
}

/// What is decided is not forgotten, and what is prepared neither.
#[test]
fn prepared_and_decided_are_durable() {
    fn after(crashes: ServerId) -> (String, String) {
        let (mut lab, x, y) = two();
        let (s, t) = (lab.client(0), lab.client(0));
        decided(&mut lab, s, &x, &y);
        assert!(lab.deliver_message(ROOT, ROOT));
        lab.lose_messages(ROOT, LEAF);
        lab.restart(crashes);
        for us in [100_000, 200_000, 300_000] {
            stabilise(&mut lab, us);
        }
        (lab.get(t, &x), lab.get(t, &y))
    }
    let both = || ("both".to_string(), "both".to_string());
    assert_eq!((after(ROOT), after(LEAF)), (both(), both()));
    assert_ne!(without(&[DECIDED_SURVIVES], || after(ROOT)), both());
    assert_ne!(without(&[PREPARED_SURVIVES], || after(LEAF)), both());
}

/// T7: a participant that restarted shows with a transaction what the transaction depends on.
#[test]
fn t7_a_participant_takes_over_what_a_transaction_needs() {
    fn cause() -> String {
        let mut lab = lab(2, 2);
        let (c0, c1, c2) = (lab.client(0), lab.client(1), lab.client(0));
        let (x, y, z, w) = (lab.key("x", 1), lab.key("y", 0), lab.key("z", 1), lab.key("w", 0));
        lab.put(c1, &y, "first");
        lab.put(c1, &z, "remote");
        lab.put(c1, &y, "remote");
        lab.deliver_all();
        stabilise_root_of_a(&mut lab, 9_000);
        lab.lose_messages(ROOT, LEAF);
        assert_eq!(lab.get(c0, &y), "remote");
        lab.jump_clock(LEAF, 50_000); // it is not sure
        decided(&mut lab, c0, &w, &x);
        lab.restart(LEAF);
        lab.fire(LEAF, Timer::Theta);
        assert!(lab.report(LEAF, ROOT), "what it has received");
        lab.lose_messages(ROOT, LEAF);
        assert!(lab.deliver_message(LEAF, ROOT), "that it is in doubt");
        stamp(&lab.finish(c0));
        assert_eq!(lab.get(c2, &x), "both");
        lab.get(c2, &z)
    }
    assert_eq!((cause(), without(&[APPLYING_TAKES_NEED], cause)), ("remote".into(), "-".into()));
}

/// T14: what a session read elsewhere of this data centre says nothing of transactions that were prepared here before.
#[test]
fn t14_a_session_that_moves_waits_for_l_of_what_was_written_here() {
    /// A transaction is prepared, but A/1 has written z since; a session that has read z in B comes to A.
    fn seen() -> Option<[String; 2]> {
        let (mut lab, x, y) = two();
        let (s, t, far, back) = (lab.client(0), lab.client(0), lab.client(1), lab.client(0));
        let z = lab.key("z", 1);
        prepared(&mut lab, s, &x, &y);
        lab.set_clocks(5_000);
        lab.put(t, &z, "1");
        assert!(lab.deliver(LEAF, server(1, 1)));
        assert_eq!(lab.get(far, &z), "1");
        lab.adopt(back, lab.token(far));
        lab.outcome(back)?;
        Some([lab.get(back, &x), lab.get(back, &y)])
    }
    assert_eq!(seen(), None);
    let undecided = Some(["both".into(), "both".into()]);
    assert_eq!(without(&[MOVERS_WAIT_FOR_L], seen), undecided);
}

/// A prepared transaction may commit below the clock. A deletion that is later than it must not be forgotten before: it would come back
/// to life.
#[test]
fn what_was_deleted_later_than_a_prepared_transaction_stays_deleted() {
    let in_the_end = || of_what_was_deleted_beside_a_prepared_transaction::<Tidemark>(true);
    assert_eq!(in_the_end(), ["-", "-"]);
    assert_eq!(without(&[TOMBSTONES_UNTIL_L], in_the_end), ["older", "-"]);
}

#[test]
fn t1_a_transaction_has_the_causes_of_its_session() {
    fn causes() -> tidemark_contract::core::Vector {
        let (mut lab, x, y) = two();
        let s = lab.client(0);
        remember(&mut lab, s, past(&[70, 80], &[0, 60]));
        stamp(&lab.run(s, put_all(&[&x, &y], "both")));
        meta(&lab, 0, 1, &y).ds
    }
    assert_eq!(causes()[DcId(1)], at(80));
    assert_eq!(without(&[TRANSACTIONS_HAVE_CAUSES], causes)[DcId(1)], Hlc::ZERO);
}

/// What a command on keys of several partitions has seen is in the past of what it writes.
#[test]
fn t2_a_transaction_has_the_causes_of_what_it_has_seen() {
    fn causes() -> tidemark_contract::core::Vector {
        let (mut lab, x, y) = two();
        let (s, far) = (lab.client(0), lab.client(1));
        let written = lab.put(far, &x, "1");
        lab.deliver_all();
        stabilise(&mut lab, 9_000);
        let rename = Command { keys: vec![y.clone()], ..Command::new(Verb::Rename, Vec::new()) };
        stamp(&lab.run(s, Op::Put { key: x.clone(), update: Update::call(rename) }));
        let mut causes = meta(&lab, 0, 1, &y).ds;
        causes[DcId(0)] = Hlc::ZERO;
        assert!(causes[DcId(1)] <= written);
        causes
    }
    assert!(causes()[DcId(1)] > Hlc::ZERO);
    assert_eq!(without(&[DEPENDS_ON_SEEN], causes)[DcId(1)], Hlc::ZERO);
}

/// Another version of its time may follow.
#[test]
fn t7_a_version_of_a_transaction_announces_less_than_its_time() {
    let stamp = Stamp { ts: at(70), origin: DcId(1), seq: 1 };
    let announced =
        || Tidemark::EXTENSIONS.announced(stamp, &Meta { ds: v(&[0, 70]), need: None, edge: None });
    assert_eq!(announced(), at(70).prev());
    assert_eq!(without(&[TIMES_ARRIVE_WHOLE], announced), at(70));
}
