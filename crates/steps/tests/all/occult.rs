//! Occult: masters and slaves, what a session compares, the decisions of the file, and what each rule is for.

mod transactions;

use crate::at;
use tidemark_contract::core::{DcId, Hlc, Key, Micros, Op, Outcome, PartitionId, Stamp, Update, Write};
use tidemark_contract::lab::{put, rotx, server, text};
use tidemark_contract::{Lab, Protocol, Reaches, Topology, without};
use tidemark_protocols::Occult;
use tidemark_protocols::occult::{
    CT_MOVES, Params, READS_ARE_VALIDATED, READS_JOIN_CT, ROUNDS, Reply, Request, SETS_ARE_VALIDATED,
    Shardstamps, Timer, UPDATES_DEPEND_ON_CT, What, master,
};

/// Partition 0 has its master in A, partition 1 in B.
fn lab(dcs: usize, partitions: usize) -> Lab<Occult> {
    Lab::new(dcs, partitions, Params::default())
}

fn occult(dcs: usize, partitions: usize) -> Lab<Occult> {
    lab(dcs, partitions)
}

/// The entries of a causal timestamp for the first partitions.
fn ct<const N: usize>(shardstamps: &Shardstamps) -> [Hlc; N] {
    std::array::from_fn(|n| shardstamps.get(PartitionId(n as u16)))
}

/// How often a server was asked for a read.
fn reads(lab: &Lab<Occult>, at: &str) -> usize {
    lab.transcript.matches(&format!("{at} <- s")).count()
}

/// D2.
#[test]
fn d2_every_partition_has_one_master_and_they_are_spread_over_the_data_centres() {
    let topology = Topology::new(3, 7);
    let masters: Vec<u8> = topology.all_partitions().map(|p| master(p, &topology).0).collect();
    assert_eq!(masters, [0, 1, 2, 0, 1, 2, 0]);
}

/// Reference: the paper's writes: the master increments its shardstamp, which with the client's causal timestamp becomes
/// the version's.
#[test]
fn put_goes_to_the_master_whose_shardstamp_becomes_the_versions() {
    let mut lab = occult(2, 2);
    let (a, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.put(a, &x, "1");
    lab.set_clocks(2_000);
    assert_eq!(text(&lab.run(a, put(&y, "2"))), "2000@B");
    let stored = lab.store(server(1, 1)).chain(&y).next().expect("at its master");
    assert_eq!((stored.stamp, ct(&stored.meta)), (Stamp::new(at(2_000), DcId(1)), [at(1_000), at(2_000)]));
    assert_eq!(
        lab.store(server(0, 1)).totals().versions,
        0,
        "the slave in the writer's region has nothing yet"
    );
    assert_eq!(ct(&lab.token(a)), [at(1_000), at(2_000)]);
}

#[test]
fn put_at_a_slave_is_refused() {
    let mut lab = occult(2, 2);
    let update = Update::put(Write::Assign((*b"1").into()));
    let reply = lab.ask(server(1, 0), Request::Put(lab.key("x", 0), update, Shardstamps::default()));
    assert!(matches!(reply, Some(Reply::Put(Outcome::Failed(_), _))), "{reply:?}");
    assert_eq!(lab.store(server(1, 0)).totals().versions, 0);
}

#[test]
fn shardstamps_increase_whatever_the_clock_does() {
    let mut lab = occult(1, 1);
    let (s, x, p) = (lab.client(0), lab.key("x", 0), server(0, 0));
    let mut stamps = Vec::new();
    for now in [1_000, 1_000, 900, 2_000] {
        lab.set_clock(p, now);
        stamps.push(lab.put(s, &x, "v"));
    }
    assert_eq!(stamps, [at(1_000), at(1_000).next(), at(1_000).next().next(), at(2_000)]);
    lab.set_max_skew(500);
    lab.jump_clock(p, 1_000);
    assert_eq!(text(&lab.run(s, put(&x, "far ahead"))), "clock skew");
}

/// Reference: the paper's slaves: applied in order, visible at once, no dependency is checked.
#[test]
fn a_slave_shows_what_arrives_at_once_to_whoever_knows_no_better() {
    let mut lab = occult(2, 2);
    let (a, b, cause, effect) = (lab.client(0), lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.put(a, &cause, "cause");
    lab.put(a, &effect, "effect");
    let c = lab.client(1); // where the effect is, and the cause is not
    assert_eq!((lab.get(c, &cause).as_str(), lab.get(b, &effect).as_str()), ("-", "-"));
    lab.deliver(server(1, 1), server(0, 1));
    assert_eq!(lab.get(b, &effect), "effect");
    assert_eq!(lab.protocol(server(1, 0)).status().blocked + lab.protocol(server(0, 1)).status().blocked, 0);
}

/// D3. Reference: the paper's reads: a stale one is retried, a limited number of times, and then sent to the master.
#[test]
fn d3_a_session_that_knows_better_asks_again_and_the_slave_waits() {
    fn read() -> (usize, String) {
        let mut lab = lab(2, 2);
        let (a, b, cause, effect) = (lab.client(0), lab.client(1), lab.key("x", 0), lab.key("y", 1));
        lab.put(a, &cause, "cause");
        lab.put(a, &effect, "effect");
        assert_eq!(lab.get(b, &effect), "effect");
        lab.begin(b, Op::Get { key: cause });
        let blocked = lab.protocol(server(1, 0)).status().blocked;
        if blocked > 0 {
            assert_eq!(lab.due(server(1, 0), Timer), Some(51_000));
            lab.deliver(server(0, 0), server(1, 0));
        }
        (blocked, text(&lab.finish(b)))
    }
    assert_eq!(read(), (1, "cause".into()));
    for stale in [
        without(&[READS_ARE_VALIDATED], read),
        without(&[READS_JOIN_CT], read),
        without(&[UPDATES_DEPEND_ON_CT], read),
    ] {
        assert_eq!(stale, (0, "-".into()));
    }
}

/// D3.
#[test]
fn d3_a_slave_that_waited_in_vain_says_so_and_the_master_is_asked() {
    let mut lab = occult(2, 1);
    let (a, b, x, slave) = (lab.client(0), lab.client(1), lab.key("x", 0), server(1, 0));
    lab.put(a, &x, "1");
    let token = lab.token(a);
    lab.adopt(b, token);
    assert_eq!(lab.outcome(b), Some(Outcome::Adopted));
    lab.begin(b, Op::Get { key: x });
    let waits: Micros = Params::default().wait_limit_us;
    lab.set_clock(slave, 1_000 + waits - 1);
    lab.fire(slave, Timer);
    assert_eq!((lab.outcome(b), lab.due(slave, Timer)), (None, Some(1_000 + waits)));
    lab.set_clock(slave, 1_000 + waits);
    lab.fire(slave, Timer);
    assert_eq!(text(&lab.finish(b)), "1");
    assert_eq!(
        (reads(&lab, "B/0"), reads(&lab, "A/0")),
        (2, 2),
        "twice here, then at the master once, after the PUT"
    );
}

/// Reference: the title: a slave that is behind delays nobody who does not depend on what it lacks.
#[test]
fn a_slow_partition_slows_no_other() {
    let mut lab = occult(3, 3);
    let (a, b, slow, y) = (lab.client(0), lab.client(2), lab.key("x", 0), lab.key("y", 1));
    lab.put(a, &slow, "1"); // never delivered
    lab.put(a, &y, "2");
    lab.deliver(server(1, 1), server(2, 1));
    assert_eq!((lab.get(b, &y).as_str(), lab.outcome(b)), ("2", None));
    assert_eq!(lab.put(b, &y, "3"), at(1_000).next());
    assert_eq!(reads(&lab, "C/0"), 0);
}

/// D4. Reference: the paper's validation of a read set: every shardstamp is at least what the others depend on.
#[test]
fn d4_keys_that_do_not_fit_together_are_read_again() {
    fn read() -> (bool, String) {
        let mut lab = lab(3, 3);
        let (a, c, cause, effect) = (lab.client(0), lab.client(2), lab.key("x", 0), lab.key("y", 1));
        lab.put(a, &cause, "cause");
        lab.put(a, &effect, "effect");
        lab.deliver(server(1, 1), server(2, 1)); // C has the effect alone
        lab.begin(c, rotx(&[&effect, &cause, &effect]));
        let at_once = lab.outcome(c);
        lab.deliver_all();
        (at_once.is_some(), text(&at_once.unwrap_or_else(|| lab.finish(c))))
    }
    assert_eq!(read(), (false, "effect cause effect".into()));
    assert_eq!(without(&[SETS_ARE_VALIDATED], read), (true, "effect - effect".into()));
}

#[test]
fn d4_each_partition_is_asked_once_if_all_fits() {
    let mut lab = occult(1, 3);
    let (s, t) = (lab.client(0), lab.client(0));
    let keys: Vec<Key> = [("a", 0), ("b", 1), ("c", 2), ("d", 1)].map(|(k, p)| lab.key(k, p)).into();
    for (i, key) in keys.iter().enumerate() {
        lab.put(s, key, &i.to_string());
    }
    let asked: Vec<&Key> = [3, 2, 1, 0, 3].into_iter().map(|i| &keys[i]).collect();
    assert_eq!(lab.rotx(t, &asked), "3 2 1 0 3");
    assert_eq!(lab.transcript.matches("A/1 <- s1 Read").count(), 1);
    assert_eq!(lab.token(t), lab.token(s));
}

/// D4: a master that lost what others depend on does not keep a session forever.
#[test]
fn d4_a_session_gives_up_after_some_rounds() {
    let mut lab = occult(1, 2);
    let (other, s, x) = (lab.client(0), lab.client(0), lab.key("x", 0));
    lab.put(other, &x, "1");
    let beyond = lab.token(other);
    let mut empty = occult(1, 2);
    let t = empty.client(0);
    empty.adopt(t, beyond);
    assert_eq!(text(&empty.run(t, Op::Get { key: x.clone() })), "unavailable");
    assert_eq!(reads(&empty, "A/0"), ROUNDS as usize);
    assert_eq!(lab.get(s, &x), "1");
}

/// D5.
#[test]
fn d5_a_conditional_update_sees_the_master_and_depends_on_what_it_saw() {
    let mut lab = occult(2, 2);
    let (a, b, x, y) = (lab.client(0), lab.client(1), lab.key("x", 0), lab.key("y", 1));
    lab.put(a, &y, "cause");
    lab.put(a, &x, "taken");
    assert_eq!(lab.put_new(b, &x, "2"), None, "though the slave in B knows nothing of it");
    assert_eq!(lab.token(b), lab.token(a));
    lab.remove(a, &x);
    let c = lab.client(1);
    let stamp = lab.put_new(c, &x, "2").expect("a tombstone is nothing");
    assert_eq!(ct(&lab.store(server(0, 0)).chain(&x).next().expect("stored").meta), [stamp, at(1_000)]);
}

/// D5, I3.
#[test]
fn a_walk_is_validated_as_a_get_is() {
    let mut lab = occult(2, 1);
    let (a, b) = (lab.client(0), lab.client(1));
    for key in ["k1", "k2", "k1"] {
        lab.put(a, &Key::from(key), "v");
    }
    lab.remove(a, &Key::from("k2"));
    assert_eq!(lab.store(server(0, 0)).totals().versions, 2, "one version a key, tombstones among them");
    assert_eq!(lab.scan(b, 0), " 0");
    let token = lab.token(a);
    lab.adopt(b, token);
    assert_eq!(lab.outcome(b), Some(Outcome::Adopted));
    lab.begin(b, Op::Count { partition: PartitionId(0) });
    assert_eq!(lab.protocol(server(1, 0)).status().blocked, 1);
    lab.deliver_all();
    assert_eq!(text(&lab.finish(b)), "1");
    assert_eq!(lab.scan(b, 0), "k1 1");
}

/// D6, and errata E-12 and E-13.
#[test]
fn d6_a_restarted_server_knows_how_far_it_is_from_its_log() {
    let mut lab = occult(2, 1);
    let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
    lab.put(a, &x, "1");
    lab.deliver_all();
    for dc in 0..2 {
        lab.set_clock(server(dc, 0), 10);
        lab.restart(server(dc, 0));
        let read = Request::Read(What::Key(x.clone()), at(1_000));
        let Some(Reply::Read(found, ss, _)) = lab.ask(server(dc, 0), read) else { panic!("it waits") };
        assert_eq!((text(&found).as_str(), ss), ("1", at(1_000)));
    }
    assert_eq!(lab.put(b, &x, "2"), at(1_000).next(), "above what was written before the restart");
}

/// D6.
#[test]
fn d6_a_session_moves_at_once_with_all_that_it_depends_on() {
    fn moved() -> usize {
        let mut lab = lab(2, 1);
        let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
        lab.put(a, &x, "1");
        let token = lab.token(a);
        let reach = token.reach();
        assert_eq!((reach.latest, reach.dcs), (at(1_000), 0));
        lab.adopt(b, token);
        assert_eq!(lab.outcome(b), Some(Outcome::Adopted));
        lab.begin(b, Op::Get { key: x });
        lab.protocol(server(1, 0)).status().blocked
    }
    assert_eq!((moved(), without(&[CT_MOVES], moved)), (1, 0));
}
