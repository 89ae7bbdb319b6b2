//! What the file decides where the paper says nothing: D6 to D9.

use super::*;

/// D6.
#[test]
fn d6_a_read_that_has_waited_in_vain_says_that_the_region_is_behind() {
    let mut lab = nukv(2, 1);
    let (a, x, p) = (lab.client(0), lab.key("x", 0), server(1, 0));
    lab.put(a, &x, "1");
    let (first, second) = (moved(&mut lab, a, 1), moved(&mut lab, a, 1));
    assert_eq!(try_get(&mut lab, first, &x), None);
    lab.set_clock(p, 1_000_000);
    assert_eq!(try_get(&mut lab, second, &x), None);
    assert_eq!(lab.due(p, Timer), Some(2_001_000), "the first of them");
    lab.set_clock(p, 2_001_000);
    lab.fire(p, Timer);
    assert_eq!(lab.outcome(first).as_ref().map(text), Some("stale session".into()));
    assert_eq!((lab.outcome(second), lab.protocol(p).status().blocked), (None, 1));
    assert_eq!(lab.due(p, Timer), Some(3_000_000));
    lab.deliver_all();
    assert_eq!(lab.outcome(second).as_ref().map(text), Some("1".into()));
    assert_eq!(try_get(&mut lab, first, &x), Some("1".into()), "it may try again");
}

/// D7.
#[test]
fn d7_a_conditional_update_waits_and_looks_as_a_read_does() {
    let mut lab = nukv(2, 1);
    let (a, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 0));
    lab.put(a, &x, "1");
    let away = moved(&mut lab, a, 1);
    lab.put(away, &y, "blind"); // does not look, does not wait
    lab.begin(away, set_new(&x, "2"));
    assert_eq!(lab.outcome(away), None);
    lab.deliver_all();
    let outcome = lab.outcome(away).expect("what it waited for is here");
    let Outcome::Written { stamp: None, previous: Some(previous) } = &outcome else { panic!("{outcome:?}") };
    assert_eq!(previous.value.as_deref(), Some(b"1".as_slice()));
    let past = lab.token(away);
    assert_eq!((past.hrm, past.dt_r), (column(&[1]), at(1_000)), "what decided it was read");
    let eventual = moved(&mut lab, a, 1);
    lab.asks(eventual, Guarantees::NONE);
    let missing = lab.key("z", 0);
    assert!(matches!(lab.run(eventual, set_new(&missing, "3")), Outcome::Written { stamp: Some(_), .. }));
}

/// D7: each key with its guarantees, of however many partitions.
#[test]
fn d7_a_read_of_several_keys_waits_for_each_and_is_no_snapshot() {
    let mut lab = nukv(2, 2);
    let (a, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.put(a, &x, "x1");
    lab.put(a, &y, "y1");
    let away = moved(&mut lab, a, 1);
    lab.begin(away, rotx(&[&y, &x, &y]));
    lab.deliver(server(0, 1), server(1, 1));
    assert_eq!((lab.outcome(away), lab.protocol(server(1, 0)).status().blocked), (None, 1));
    lab.deliver(server(0, 0), server(1, 0));
    assert_eq!(lab.outcome(away).as_ref().map(text), Some("y1 x1 y1".into()));
    let b = lab.client(1);
    lab.asks(b, Guarantees::NONE);
    lab.adopt(b, Past { hrm: column(&[9]), ..Past::default() });
    assert_eq!(lab.outcome(b), Some(Outcome::Adopted));
    assert_eq!(lab.snapshot(b, &[&x, &y]), "x1 y1", "asks for nothing, waits for nothing");
}

#[test]
fn d7_a_read_of_several_keys_fails_as_a_whole_and_leaves_nothing_behind() {
    let mut lab = nukv(2, 2);
    let (a, x, y) = (lab.client(0), lab.key("x", 0), lab.key("y", 1));
    lab.put(a, &x, "x1");
    lab.put(a, &y, "y1");
    lab.deliver(server(0, 1), server(1, 1));
    let away = moved(&mut lab, a, 1);
    lab.begin(away, rotx(&[&x, &y]));
    lab.set_clock(server(1, 0), 3_000_000);
    lab.fire(server(1, 0), Timer);
    assert_eq!(lab.outcome(away).as_ref().map(text), Some("stale session".into()));
    assert_eq!(try_get(&mut lab, away, &y), Some("y1".into()), "the next operation is another one");
    lab.begin(away, rotx(&[&x, &y]));
    lab.lose(away);
    assert_eq!(lab.outcome(away).as_ref().map(text), Some("unavailable".into()));
    assert_eq!(try_get(&mut lab, away, &y), Some("y1".into()));
}

/// D7.
#[test]
fn d7_scan_and_count_read_like_get() {
    let mut lab = nukv(2, 1);
    let (a, x) = (lab.client(0), lab.key("x", 0));
    lab.put(a, &x, "1");
    let away = moved(&mut lab, a, 1);
    lab.begin(away, Op::Count { partition: P0 });
    assert_eq!(lab.outcome(away), None);
    lab.deliver_all();
    assert_eq!(lab.outcome(away), Some(Outcome::Count(1)));
    let b = lab.client(1);
    assert_eq!(lab.scan(b, 0), format!("{x} 1"));
    assert_eq!(lab.token(b).hrm, column(&[1]), "what a scan has shown was read");
}

/// D8, and how far a token reaches.
#[test]
fn d8_a_token_is_the_matrices_and_says_how_far_it_reaches() {
    let mut lab = nukv(3, 2);
    let (a, c) = (lab.client(0), lab.client(2));
    let (x, y) = (lab.key("x", 0), lab.key("y", 1));
    lab.put(a, &x, "1");
    lab.set_clocks(3_000);
    lab.put(c, &y, "2");
    lab.adopt(c, lab.token(a));
    let both = Past {
        hwm: BTreeMap::from([(P0, Indexes(vec![1])), (P1, Indexes(vec![0, 0, 1]))]),
        dt_w: at(3_000),
        ..Past::default()
    };
    assert_eq!(lab.token(c), both);
    let reach = both.reach();
    assert_eq!((reach.latest, reach.dcs, reach.partitions), (at(3_000), 3, 2));
    let read = Past { hrm: column(&[0, 7]), dt_r: at(9_000), ..Past::default() };
    let reach = read.reach();
    assert_eq!((reach.latest, reach.dcs, reach.partitions), (at(9_000), 2, 1));
}

/// D9.
#[test]
fn d9_a_write_wins_over_what_had_arrived_whatever_it_asks_for() {
    let mut lab = nukv(2, 1);
    let (a, b, x) = (lab.client(0), lab.client(1), lab.key("x", 0));
    lab.set_clock(server(0, 0), 9_000);
    lab.put(a, &x, "fast clock");
    lab.deliver_all();
    lab.asks(b, Guarantees::NONE);
    assert_eq!(lab.put(b, &x, "slow clock"), at(9_000).next());
    assert_eq!(lab.get(b, &x), "slow clock");
}
