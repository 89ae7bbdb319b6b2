//! Wren: starting, reading, preparing, committing, applying and announcing step by step, the client's cache, the deviations
//! of the file, and what each rule is for.

mod cache;
mod lasting;

use crate::at;
use tidemark_contract::core::{
    Condition, DcId, Hlc, Key, Micros, Op, Outcome, ServerId, Stamp, Update, Write,
};
use tidemark_contract::lab::{put, server, text};
use tidemark_contract::{Lab, Protocol, Token, without};
use tidemark_protocols::Wren;
use tidemark_protocols::wren::{
    ANNOUNCE_BELOW_PENDING, COMMIT_ABOVE_HWT, DEPENDS_ON_RDT, OTHERS_WAIT_FOR_OWN, Params, Past,
    READS_OWN_WRITES, REMOTE_BELOW_LOCAL, STABLE_STAYS_HOME, START_COVERS_SESSION, Timer,
};

const A: DcId = DcId(0);
const B: DcId = DcId(1);

fn lab(dcs: usize, partitions: usize) -> Lab<Wren> {
    Lab::new(dcs, partitions, Params::default())
}

fn sound(dcs: usize, partitions: usize) -> Lab<Wren> {
    lab(dcs, partitions)
}

/// Heartbeats everywhere at `us`, then θ.
fn stabilise(lab: &mut Lab<Wren>, us: Micros) {
    lab.round(us, &[Timer::Delta, Timer::Theta]);
}

/// The local and the remote time of a session's last snapshot.
fn seen(lab: &Lab<Wren>, session: usize) -> (Hlc, Hlc) {
    let seen = lab.token(session).past.seen;
    (seen[A], seen[B]) // the first entry and the second
}

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

/// The stamp and the remote dependency time of the newest version.
fn newest(lab: &Lab<Wren>, at: ServerId, key: &Key) -> Option<(Stamp, Hlc)> {
    lab.store(at).chain(key).next().map(|version| (version.stamp, version.meta))
}

/// Two partitions of A, with a transaction of both that `client` began at A/0: prepared, and not decided.
fn prepared(lab: &mut Lab<Wren>, client: usize, x: &Key, y: &Key) {
    lab.begin(client, put_all(&[x, y], "both"));
    assert!(
        lab.deliver_message(server(0, 0), server(0, 0)) && lab.deliver_message(server(0, 0), server(0, 1))
    );
}

/// A/0 knows that everything up to `us` is at both servers of A; the message that tells A/1 is on its way.
fn tell_the_root(lab: &mut Lab<Wren>, us: Micros) {
    lab.set_clocks(us);
    [0, 1].iter().for_each(|partition| lab.fire(server(0, *partition), Timer::Delta));
    lab.fire(server(0, 1), Timer::Theta);
    while lab.report(server(0, 1), server(0, 0)) {}
}

#[test]
fn start_the_snapshot_is_what_all_servers_have_and_covers_the_session() {
    fn read() -> ([Hlc; 3], String) {
        let mut lab = lab(2, 2);
        let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
        lab.put(s, &y, "1");
        lab.get(s, &x);
        let first = seen(&lab, s).0;
        tell_the_root(&mut lab, 9_000);
        lab.get(s, &x);
        let second = seen(&lab, s).0;
        let value = lab.get(s, &y); // at A/1, which lags behind the session; the cache is empty again
        ([first, second, seen(&lab, s).0], value)
    }
    assert_eq!(read(), ([Hlc::ZERO, at(9_000), at(9_000)], "1".to_string()));
    assert_eq!(without(&[START_COVERS_SESSION], read).1, "-");
}

/// I2: a snapshot's remote time is below its local one, whatever has arrived from elsewhere.
#[test]
fn start_the_remote_time_is_below_the_local_one() {
    fn snapshot() -> (Hlc, Hlc) {
        let mut lab = lab(2, 1);
        let (s, x) = (lab.client(0), lab.key("x", 0));
        lab.set_clock(server(1, 0), 9_000);
        lab.fire(server(1, 0), Timer::Delta);
        lab.fire(server(0, 0), Timer::Delta);
        lab.deliver_between(1, 0);
        lab.fire(server(0, 0), Timer::Theta);
        lab.get(s, &x);
        seen(&lab, s)
    }
    assert_eq!(snapshot(), (at(1_000), at(1_000).prev()));
    assert_eq!(without(&[REMOTE_BELOW_LOCAL], snapshot), (at(1_000), at(9_000)));
}

#[test]
fn read_waits_for_nothing_that_is_prepared_or_for_any_clock() {
    let mut lab = sound(2, 2);
    let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.put(s, &x, "old");
    lab.put(s, &y, "old");
    stabilise(&mut lab, 5_000);
    prepared(&mut lab, s, &x, &y);
    lab.set_clock(server(0, 0), 90_000);
    lab.begin(t, Op::Get { key: y.clone() });
    assert_eq!(lab.outcome(t).map(|outcome| text(&outcome)).as_deref(), Some("old"));
    assert!(lab.protocol(server(0, 1)).status().blocked > 0, "the transaction is open");
    assert_eq!(lab.rotx(t, &[&x, &y]), "old old");
}

#[test]
fn read_sees_what_was_written_elsewhere_once_it_has_arrived_everywhere() {
    let mut lab = sound(2, 2);
    let (s, t, x, y) = (lab.client(1), lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.put(s, &x, "cause");
    lab.set_clocks(2_000);
    lab.put(s, &y, "effect");
    lab.deliver(server(1, 1), server(0, 1));
    assert_eq!(lab.rotx(t, &[&x, &y]), "- -");
    lab.deliver_all();
    stabilise(&mut lab, 9_000);
    assert_eq!(lab.rotx(t, &[&x, &y]), "cause effect");
}

/// A/1 restarts, and knows less of B, which is silent, than when x was written: x may depend on what it does not show.
#[test]
fn read_sees_nothing_whose_remote_dependencies_it_does_not() {
    fn read() -> String {
        let mut lab = lab(2, 2);
        let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
        stabilise(&mut lab, 5_000);
        lab.put(s, &x, "1");
        assert_eq!(newest(&lab, server(0, 0), &x).map(|newest| newest.1), Some(at(5_000).prev()));
        lab.restart(server(0, 1));
        tell_the_root(&mut lab, 9_000);
        lab.deliver_within(A);
        lab.rotx(t, &[&y, &x])
    }
    assert_eq!(read(), "- -");
    assert_eq!(without(&[DEPENDS_ON_RDT], read), "- 1");
}

/// WC: what a session has just written is in no snapshot, and it reads it all the same.
#[test]
fn read_own_writes_come_from_the_cache_until_snapshots_have_them() {
    fn reads() -> [String; 3] {
        let mut lab = lab(2, 2);
        let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
        lab.run(s, put_all(&[&x, &y], "mine"));
        lab.deliver_within(A);
        let own = [lab.get(s, &x), lab.rotx(s, &[&y, &x])];
        assert_eq!(lab.rotx(t, &[&x, &y]), "- -", "for others it is not stable");
        stabilise(&mut lab, 5_000);
        lab.put(t, &x, "theirs");
        stabilise(&mut lab, 9_000);
        assert_eq!(lab.get(s, &x), "theirs", "the cache has dropped it");
        let [get, both] = own;
        [get, both, lab.rotx(s, &[&x, &y])]
    }
    assert_eq!(reads(), ["mine", "mine mine", "theirs mine"]);
    assert_eq!(without(&[READS_OWN_WRITES], reads), ["-", "- -", "theirs mine"]);
}

#[test]
fn prepare_above_what_the_session_has_written() {
    fn writes() -> (Hlc, Hlc) {
        let mut lab = lab(2, 2);
        let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
        lab.set_clock(server(0, 0), 9_000);
        let first = lab.put(s, &x, "1");
        (first, lab.put(s, &y, "2"))
    }
    let (first, second) = writes();
    assert_eq!((first, second), (at(9_000), first.next()));
    assert_eq!(without(&[COMMIT_ABOVE_HWT], writes).1, at(1_000));
}

#[test]
fn commit_at_the_latest_proposal_and_no_clock_is_waited_for() {
    let mut lab = sound(2, 2);
    let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.set_clock(server(0, 1), 3_000);
    let written = stamp(&lab.run(s, put_all(&[&x, &y], "both")));
    assert_eq!(written, Stamp { ts: at(3_000), origin: A, seq: 1 });
    assert_eq!(lab.token(s).past.hwt, at(3_000));
    lab.deliver_within(A);
    assert_eq!(newest(&lab, server(0, 1), &y).map(|newest| newest.0), Some(written));
    assert_eq!(newest(&lab, server(0, 0), &x).map(|newest| newest.0), Some(written), "its clock was behind");
    assert_eq!(lab.protocol(server(0, 0)).status().blocked, 0, "all have applied it");
    assert!(lab.put(s, &x, "after") > at(3_000));
}

#[test]
fn apply_in_the_order_of_commit_times() {
    let mut lab = sound(2, 2);
    let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
    prepared(&mut lab, s, &x, &y);
    lab.set_clocks(2_000);
    lab.begin(t, put(&y, "after"));
    assert_eq!(lab.outcome(t), None, "what is prepared may commit before it");
    assert_eq!(newest(&lab, server(0, 1), &y), None);
    lab.deliver_within(A);
    let after = stamp(&lab.outcome(t).expect("both are applied"));
    let order: Vec<Hlc> = lab.store(server(0, 1)).chain(&y).map(|version| version.stamp.ts).collect();
    assert!(order[0] == after.ts && order[1] < after.ts, "{order:?}");
}

#[test]
fn announce_no_time_at_or_above_anything_pending() {
    fn announced() -> Hlc {
        let mut lab = lab(2, 2);
        let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
        prepared(&mut lab, s, &x, &y);
        tell_the_root(&mut lab, 5_000);
        lab.get(t, &x);
        seen(&lab, t).0
    }
    assert_eq!(announced(), at(1_000).prev());
    assert_eq!(without(&[ANNOUNCE_BELOW_PENDING], announced), at(5_000));
}

#[test]
fn a_partition_too_far_behind_the_session_refuses_and_all_abort() {
    let mut lab = sound(2, 2);
    let (s, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.set_clock(server(0, 0), 9_000);
    lab.put(s, &x, "1");
    lab.set_max_skew(3_000);
    assert_eq!(text(&lab.run(s, put_all(&[&x, &y], "both"))), "clock skew");
    lab.deliver_within(A);
    assert!([0, 1].iter().all(|p| lab.protocol(server(0, *p)).status().blocked == 0));
    assert_eq!(newest(&lab, server(0, 1), &y), None);
    assert_eq!(lab.get(s, &x), "1", "what was refused is not in the cache");
    assert_eq!(text(&lab.run(s, put(&y, "2"))), "clock skew");
}

/// D2: what looks otherwise than the cache can answer.
#[test]
fn d2_a_conditional_update_waits_until_snapshots_have_what_its_session_wrote() {
    fn at_once() -> Option<String> {
        let mut lab = lab(2, 2);
        let (s, x) = (lab.client(0), lab.key("x", 0));
        lab.put(s, &x, "1");
        let update = Update {
            write: Write::Assign((*b"2").into()),
            condition: Condition::IfAbsent,
            returns_previous: false,
            command: None,
        };
        lab.begin(s, Op::Put { key: x, update });
        let at_once = lab.outcome(s).map(|outcome| text(&outcome));
        if at_once.is_none() {
            assert_eq!(lab.protocol(server(0, 0)).status().blocked, 1);
            stabilise(&mut lab, 5_000);
            assert!(matches!(lab.outcome(s), Some(Outcome::Written { stamp: None, .. })), "there is one");
        }
        at_once
    }
    assert_eq!(at_once(), None);
    assert!(without(&[OTHERS_WAIT_FOR_OWN], at_once).is_some(), "as if x were absent");
}

#[test]
fn d2_scans_and_counts_have_what_their_session_wrote() {
    let mut lab = sound(2, 1);
    let (s, t, x, y) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 0));
    lab.run(s, put_all(&[&x, &y], "both"));
    lab.deliver_within(A);
    assert_eq!(lab.scan(t, 0), " 0", "they are not stable");
    lab.begin(s, Op::Count { partition: Default::default() });
    assert_eq!(lab.outcome(s), None);
    stabilise(&mut lab, 5_000);
    assert_eq!(lab.outcome(s), Some(Outcome::Count(2)));
    assert_eq!(lab.scan(s, 0), format!("{x} {y} 2"));
}

/// D2: a token carries no values, so whoever takes it over waits for snapshots that have them.
#[test]
fn d2_who_takes_over_a_session_here_waits_until_snapshots_have_what_it_wrote() {
    fn read() -> String {
        let mut lab = lab(2, 1);
        let (s, t, x) = (lab.client(0), lab.client(0), lab.key("x", 0));
        lab.put(s, &x, "1");
        let token = lab.token(s);
        lab.adopt(t, token);
        if lab.outcome(t).is_none() {
            stabilise(&mut lab, 5_000);
            assert_eq!(lab.outcome(t), Some(Outcome::Adopted));
        }
        lab.get(t, &x)
    }
    assert_eq!(read(), "1");
    assert_eq!(without(&[OTHERS_WAIT_FOR_OWN], read), "-");
}

/// Found by the simulator: the server that let the session in knew snapshots with all that it had taken over, and the next
/// one did not.
#[test]
fn d2_what_a_session_has_taken_over_is_in_all_its_snapshots() {
    let mut lab = sound(2, 2);
    let (s, t, y) = (lab.client(0), lab.client(0), lab.key("y", 1));
    lab.put(s, &y, "1");
    tell_the_root(&mut lab, 9_000);
    let token = lab.token(s);
    lab.adopt(t, token);
    assert_eq!(lab.outcome(t), Some(Outcome::Adopted), "A/0 knows that it is stable");
    assert_eq!(seen(&lab, t).0, at(9_000));
    assert_eq!(lab.get(t, &y), "1", "A/1 does not");
}

#[test]
fn what_waits_too_long_is_refused_and_did_not_happen() {
    let mut lab = sound(2, 2);
    let (s, x) = (lab.client(0), lab.key("x", 0));
    lab.put(s, &x, "1");
    lab.begin(s, Op::Count { partition: Default::default() });
    lab.set_clocks(2_002_000);
    lab.fire(server(0, 0), Timer::Theta);
    assert_eq!(lab.outcome(s).map(|outcome| text(&outcome)).as_deref(), Some("stale session"));
}

/// D6: elsewhere, all that a session has seen is remote, or was written there.
#[test]
fn d6_a_session_that_moves_waits_until_the_region_has_what_it_has_seen() {
    fn moved() -> Option<String> {
        let mut lab = lab(2, 1);
        let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
        stabilise(&mut lab, 5_000);
        lab.put(a, &x, "1");
        let token: Token<Past> = lab.token(a);
        for us in [5_001, 5_002] {
            lab.set_clock(server(1, 0), us); // B goes on, and hears nothing from A
            lab.fire(server(1, 0), Timer::Delta);
            lab.fire(server(1, 0), Timer::Theta);
        }
        lab.adopt(b, token);
        if lab.outcome(b).is_some() {
            return Some(lab.get(b, &x));
        }
        stabilise(&mut lab, 9_000);
        stabilise(&mut lab, 9_001);
        assert_eq!(lab.outcome(b), Some(Outcome::Adopted));
        assert_eq!(lab.get(b, &x), "1");
        None
    }
    assert_eq!(moved(), None);
    assert_eq!(without(&[STABLE_STAYS_HOME], moved).as_deref(), Some("-"));
}
