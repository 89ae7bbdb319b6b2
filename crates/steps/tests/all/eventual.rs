//! Eventual consistency: what it does, and that it is no more than its name says.

use crate::at;
use tidemark_contract::Lab;
use tidemark_contract::lab::server;
use tidemark_protocols::Eventual;

#[test]
fn the_larger_stamp_wins_everywhere_whatever_arrives_first() {
    let mut lab = Lab::<Eventual>::new(3, 1, ());
    let k = lab.key("k", 0);
    let (a, b, c) = (lab.client(0), lab.client(1), lab.client(2));
    lab.set_clock(server(1, 0), 2_000);
    assert_eq!((lab.put(a, &k, "a"), lab.put(b, &k, "b")), (at(1_000), at(2_000)));
    lab.deliver_between(1, 2);
    lab.deliver_between(0, 2);
    lab.deliver_all();
    assert_eq!([a, b, c].map(|s| lab.get(s, &k)), ["b", "b", "b"]);
}

#[test]
fn i1_a_chain_holds_one_version() {
    let mut lab = Lab::<Eventual>::new(2, 1, ());
    let (k, s) = (lab.key("k", 0), lab.client(0));
    for value in ["1", "2", "3"] {
        lab.put(s, &k, value);
    }
    lab.remove(s, &k);
    lab.deliver_all();
    for dc in 0..2 {
        assert_eq!(lab.store(server(dc, 0)).totals().versions, 1);
    }
    assert_eq!(lab.scan(s, 0), " 0");
}

#[test]
fn i2_a_write_wins_over_all_that_it_could_replace_even_after_a_restart_with_a_slow_clock() {
    let mut lab = Lab::<Eventual>::new(2, 1, ());
    let (k, a, b) = (lab.key("k", 0), lab.client(0), lab.client(1));
    lab.set_clock(server(1, 0), 5_000);
    lab.put(b, &k, "theirs");
    lab.deliver_between(1, 0);
    lab.restart(server(0, 0));
    assert_eq!(lab.put(a, &k, "mine"), at(5_000).next());
    assert_eq!(lab.get(a, &k), "mine");
}

#[test]
fn d1_a_multi_read_is_no_snapshot_and_causality_is_not_kept() {
    let mut lab = Lab::<Eventual>::new(2, 2, ());
    let (cause, effect) = (lab.key("cause", 0), lab.key("effect", 1));
    let (a, b) = (lab.client(0), lab.client(1));
    lab.put(a, &cause, "1");
    lab.put(a, &effect, "2");
    while lab.deliver(server(0, 1), server(1, 1)) {}
    assert_eq!(lab.rotx(b, &[&cause, &effect, &cause]), "- 2 -");
}

#[test]
fn a_condition_is_decided_where_the_key_lives() {
    let mut lab = Lab::<Eventual>::new(1, 1, ());
    let (k, s) = (lab.key("k", 0), lab.client(0));
    assert!(lab.put_new(s, &k, "first").is_some());
    assert_eq!(lab.put_new(s, &k, "second"), None);
    lab.remove(s, &k);
    assert!(lab.put_new(s, &k, "third").is_some());
    assert_eq!(lab.get(s, &k), "third");
}
