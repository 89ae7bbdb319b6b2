//! Occult's write transactions: what masters agree to, what of it shows, in which order masters write, and what crashes leave.

use super::*;
use tidemark_contract::core::ServerId;
use tidemark_protocols::occult::{
    COMMIT_TIMES_DIFFER, DECIDED_SURVIVES, NAMES_ALL_SHARDS, PREPARED_SURVIVES, SHARDS_ARRIVE_WHOLE,
    WRITES_ABOVE_CT, WRITES_IN_ORDER,
};

/// The masters of partitions 0 and 1, and the slave of each.
const X: ServerId = ServerId { dc: DcId(0), partition: PartitionId(0) };
const Y: ServerId = ServerId { dc: DcId(1), partition: PartitionId(1) };
const X_IN_B: ServerId = ServerId { dc: DcId(1), partition: PartitionId(0) };
const Y_IN_A: ServerId = ServerId { dc: DcId(0), partition: PartitionId(1) };

fn put_all(keys: &[&Key], value: &str) -> Op {
    let write = || Write::Assign(value.as_bytes().into());
    Op::PutAll { writes: keys.iter().map(|key| ((*key).clone(), write())).collect() }
}

/// Delivers what masters say to each other, and nothing to slaves.
fn agree(lab: &mut Lab<Occult>) {
    while [X, Y].iter().any(|from| [X, Y].iter().any(|to| lab.deliver_message(*from, *to))) {}
}

/// Both have proposed, and X has decided: its message to Y is on its way.
fn decided(lab: &mut Lab<Occult>, client: usize, keys: &[&Key]) {
    lab.begin(client, put_all(keys, "both"));
    for (from, to) in [(X, X), (X, Y), (Y, X), (X, X)] {
        assert!(lab.deliver_message(from, to));
    }
    assert!(matches!(lab.outcome(client), Some(Outcome::Written { stamp: Some(_), .. })));
}

fn two() -> (Lab<Occult>, Key, Key) {
    let lab = lab(2, 2);
    let (x, y) = (lab.key("x", 0), lab.key("y", 1));
    (lab, x, y)
}

/// Reference: the paper's commit: masters say which shardstamps the writes will have, and the commit timestamp has all of them.
#[test]
fn masters_propose_and_versions_name_all_shards_with_the_latest_time() {
    let (mut lab, x, y) = two();
    let s = lab.client(1);
    lab.put(s, &y, "before");
    lab.set_clock(Y, 3_000);
    lab.begin(s, put_all(&[&x, &y], "both"));
    assert!(lab.transcript.contains("A/0 <- s0 PutAll("), "the master of the first key coordinates");
    agree(&mut lab);
    let written = match lab.outcome(s) {
        Some(Outcome::Written { stamp: Some(stamp), .. }) => stamp,
        other => panic!("{other:?}"),
    };
    assert_eq!((written.ts.micros(), written.origin, written.seq), (3_000, DcId(0), 1));
    for (master, key) in [(X, &x), (Y, &y)] {
        let version = lab.store(master).chain(key).next().expect("it is written");
        assert_eq!((version.stamp, ct(&version.meta)), (written, [written.ts; 2]));
    }
    assert_eq!(ct(&lab.token(s)), [written.ts; 2]);
    assert!([X, Y].iter().all(|master| lab.protocol(*master).status().blocked == 0));
    assert!(lab.put(s, &x, "after") > written.ts);
}

/// I4. Reference: the paper's observable atomicity: who reads one write finds a slave without the others stale.
#[test]
fn i4_who_has_seen_one_write_does_not_miss_the_others() {
    fn read() -> (bool, String) {
        let (mut lab, x, y) = two();
        let (s, t) = (lab.client(0), lab.client(0));
        lab.begin(s, put_all(&[&x, &y], "both"));
        agree(&mut lab);
        assert_eq!(lab.get(t, &x), "both");
        lab.begin(t, Op::Get { key: y });
        let blocked = lab.protocol(Y_IN_A).status().blocked > 0;
        lab.deliver_all();
        (blocked, text(&lab.finish(t)))
    }
    assert_eq!(read(), (true, "both".into()));
    assert_eq!(without(&[NAMES_ALL_SHARDS], read), (false, "-".into()));
}

/// I4: or who reads them together.
#[test]
fn i4_a_set_of_reads_has_all_writes_or_none() {
    fn read() -> String {
        let (mut lab, x, y) = two();
        let (s, t) = (lab.client(0), lab.client(0));
        lab.begin(s, put_all(&[&x, &y], "both"));
        agree(&mut lab);
        lab.begin(t, rotx(&[&x, &y]));
        lab.deliver_all();
        text(&lab.finish(t))
    }
    assert_eq!(read(), "both both");
    assert_eq!(without(&[NAMES_ALL_SHARDS], read), "both -");
}

/// I1: what comes after a transaction that is in doubt has its turn after it, and so has a reader who knows of it.
#[test]
fn i1_a_master_writes_nothing_before_what_it_has_agreed_to() {
    fn read() -> (bool, String) {
        let (mut lab, x, y) = two();
        let (s, t, u, z) = (lab.client(0), lab.client(1), lab.client(1), lab.key("z", 1));
        decided(&mut lab, s, &[&x, &y]);
        assert!(lab.deliver_message(X, X) && lab.deliver(X, X_IN_B));
        lab.set_clock(Y, 9_000);
        lab.begin(u, put(&z, "later"));
        let waits = lab.outcome(u).is_none();
        assert_eq!(lab.get(t, &x), "both");
        lab.begin(t, Op::Get { key: y });
        assert_eq!(lab.outcome(t).is_none(), waits);
        if !waits {
            return (waits, lab.get(t, &lab.key("y", 1)));
        }
        agree(&mut lab);
        assert!(matches!(lab.outcome(u), Some(Outcome::Written { stamp: Some(_), .. })));
        assert_eq!(lab.get(u, &z), "later");
        (waits, text(&lab.finish(t)))
    }
    assert_eq!(read(), (true, "both".into()));
    assert_eq!(without(&[WRITES_IN_ORDER], read), (false, "-".into()));
}

/// I1: two transactions whose masters propose the same times do not commit at one: a slave that has one of them would seem to
/// have both.
#[test]
fn i1_no_two_transactions_have_one_time() {
    fn at_once() -> bool {
        let (mut lab, x, y) = two();
        let (s, t, c) = (lab.client(0), lab.client(1), lab.client(1));
        let (x2, y2) = (lab.key("w", 0), lab.key("z", 1));
        lab.begin(s, put_all(&[&x, &y], "1"));
        lab.begin(t, put_all(&[&y2, &x2], "2"));
        for (from, to) in [(X, X), (Y, Y), (X, Y), (Y, X)] {
            assert!(lab.deliver_message(from, to), "{from} asks {to}");
        }
        agree(&mut lab);
        assert_eq!((lab.get(c, &y), lab.get(c, &y2)), ("1".into(), "2".into()));
        assert!(lab.deliver(X, X_IN_B), "one of them arrives, and the other is late");
        lab.begin(c, rotx(&[&x, &x2]));
        let at_once = lab.outcome(c);
        lab.deliver_all();
        assert!(at_once.is_some() || text(&lab.finish(c)) == "1 2");
        at_once.is_some()
    }
    assert!(!at_once());
    assert!(without(&[COMMIT_TIMES_DIFFER], at_once));
}

/// I5. Found by the simulator: the clock of X is ahead, the transaction commits at its time, and the session writes again at Y before Y
/// hears of that. Its write was older than what it had written before.
#[test]
fn i5_what_a_session_writes_after_a_transaction_is_newer() {
    fn last(again: fn(&[&Key; 2]) -> Op) -> String {
        let (mut lab, x, y) = two();
        let s = lab.client(1);
        lab.set_clock(X, 7_000);
        decided(&mut lab, s, &[&x, &y]);
        lab.begin(s, again(&[&y, &x]));
        while [Y, X].iter().any(|from| [Y, X].iter().any(|to| lab.deliver_message(*from, *to))) {}
        assert!(matches!(lab.outcome(s), Some(Outcome::Written { stamp: Some(_), .. })));
        lab.get(s, &y)
    }
    let again: [fn(&[&Key; 2]) -> Op; 2] =
        [|keys| put(keys[0], "again"), |keys| put_all(&keys[..1], "again")];
    for again in again {
        assert_eq!(last(again), "again");
        assert_eq!(without(&[WRITES_ABOVE_CT], || last(again)), "both");
    }
}

/// D8, I3.
#[test]
fn d8_what_is_written_at_one_shard_arrives_whole() {
    fn read() -> String {
        let (mut lab, x, _) = two();
        let (s, t, w) = (lab.client(0), lab.client(1), lab.key("w", 0));
        for value in ["old", "both"] {
            lab.run(s, put_all(&[&x, &w], value));
            lab.deliver_within(DcId(0));
            if value == "old" {
                while lab.deliver(X, X_IN_B) {}
            }
        }
        assert_eq!(lab.store(X).totals().versions, 2, "one of each key");
        lab.deliver(X, X_IN_B);
        lab.rotx(t, &[&w, &x])
    }
    assert_eq!(read(), "both both");
    assert_eq!(without(&[SHARDS_ARRIVE_WHOLE], read), "both old");
}

/// D5.
#[test]
fn d5_a_conditional_update_of_what_a_transaction_wrote_depends_on_all_of_it() {
    let (mut lab, x, y) = two();
    let (s, t) = (lab.client(0), lab.client(0));
    lab.begin(s, put_all(&[&x, &y], "both"));
    agree(&mut lab);
    assert_eq!(lab.put_new(t, &x, "2"), None);
    assert_eq!(lab.token(t), lab.token(s));
}

#[test]
fn a_slave_coordinates_nothing() {
    let (mut lab, x, y) = two();
    let writes = [&x, &y].map(|key| (key.clone(), Write::Remove)).into();
    let reply = lab.ask(X_IN_B, Request::PutAll(writes, Shardstamps::default()));
    assert!(matches!(reply, Some(Reply::Put(Outcome::Failed(_), _))), "{reply:?}");
}

/// At `us`, whoever looks after transactions does.
fn tend(lab: &mut Lab<Occult>, us: Micros) {
    lab.set_clocks(us);
    [X, Y].iter().for_each(|master| lab.fire(*master, Timer));
    agree(lab);
}

#[test]
fn a_transaction_whose_masters_do_not_answer_is_given_up_and_the_rest_goes_on() {
    let (mut lab, x, y) = two();
    let (s, t) = (lab.client(0), lab.client(0));
    lab.begin(s, put_all(&[&x, &y], "both"));
    assert!(lab.deliver_message(X, X));
    lab.begin(t, put(&x, "later"));
    assert_eq!((lab.outcome(t), lab.protocol(X).status().blocked), (None, 2));
    lab.lose_messages(X, Y);
    tend(&mut lab, 2_001_000);
    assert_eq!(lab.outcome(s).map(|outcome| text(&outcome)).as_deref(), Some("unavailable"));
    tend(&mut lab, 2_100_000);
    assert!(matches!(lab.outcome(t), Some(Outcome::Written { stamp: Some(_), .. })));
    assert_eq!((lab.get(t, &x).as_str(), lab.get(s, &y).as_str()), ("later", "-"));
    assert_eq!([X, Y].map(|master| lab.due(master, Timer)), [None, None], "there is nothing to look after");
}

/// What B reads of a transaction in the end that X has decided, where `crashed` restarts before Y hears of it.
fn after_a_crash(crashed: ServerId) -> String {
    let (mut lab, x, y) = two();
    let (s, t) = (lab.client(0), lab.client(1));
    decided(&mut lab, s, &[&x, &y]);
    lab.lose_messages(X, X);
    lab.lose_messages(X, Y);
    lab.restart(crashed);
    agree(&mut lab);
    [60_000, 120_000, 180_000].iter().for_each(|us| tend(&mut lab, *us));
    assert!([X, Y].iter().all(|master| lab.protocol(*master).status().blocked == 0));
    lab.get(t, &y)
}

/// D9.
#[test]
fn d9_what_is_prepared_survives_and_is_asked_about() {
    assert_eq!(after_a_crash(Y), "both");
    assert_eq!(without(&[PREPARED_SURVIVES], || after_a_crash(Y)), "-", "acknowledged, and lost");
}

/// D9.
#[test]
fn d9_what_was_decided_survives_until_all_have_written_it() {
    assert_eq!(after_a_crash(X), "both");
    assert_eq!(without(&[DECIDED_SURVIVES], || after_a_crash(X)), "-", "acknowledged, and aborted");
}

/// D9: a master whose clock is behind proposes above what it had agreed to before.
#[test]
fn d9_shardstamps_are_above_what_was_prepared_before_a_restart() {
    let (mut lab, x, y) = two();
    let (s, t) = (lab.client(0), lab.client(0));
    lab.set_clock(X, 5_000);
    lab.begin(s, put_all(&[&x, &y], "both"));
    assert!(lab.deliver_message(X, X));
    lab.jump_clock(X, 1_000);
    lab.restart(X);
    lab.begin(t, put(&x, "later"));
    assert_eq!(lab.outcome(t), None);
    agree(&mut lab);
    [60_000, 2_100_000, 2_200_000].iter().for_each(|us| tend(&mut lab, *us));
    let later = lab.outcome(t).map(|outcome| text(&outcome));
    assert_eq!(later.as_deref(), Some("5000+1@A"), "the transaction is aborted");
}
