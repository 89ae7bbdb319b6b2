//! Without the hybrid clock: D10.

use super::*;
use tidemark_protocols::nukv::{PUT_ABOVE_DT, PUT_ABOVE_OBSERVED};

/// D10. Reference: §14, without HLC: the write is blocked at the leader until sv >= hrv or hwv, as far as it asks.
#[test]
fn d10_without_a_hybrid_clock_a_write_waits_for_what_it_follows_to_arrive() {
    /// Whether a write waits for what its session has written (or read) in another region, and does no more when that is there.
    fn waits(reads: bool, level: Guarantees) -> bool {
        let mut lab = lab::<false>(2, 1);
        let (a, x, p) = (lab.client(0), lab.key("x", 0), server(1, 0));
        lab.set_clock(p, 9_000);
        lab.put(a, &x, "first");
        let from = if reads { lab.client(0) } else { a };
        lab.get(from, &x);
        let away = moved(&mut lab, from, 1);
        lab.asks(away, level);
        lab.begin(away, put(&x, "second"));
        let before = lab.protocol(p).status().blocked > 0;
        lab.deliver_all();
        assert!(lab.outcome(away).is_some());
        before
    }
    assert!(waits(false, MW) && waits(true, WFR));
    assert!(!waits(true, MW), "it has written nothing");
    assert!(!waits(false, RYW), "that is about reads");
}

/// D10. Reference: §14, without HLC: the write is blocked at the leader until PC > dt.
#[test]
fn d10_without_a_hybrid_clock_a_write_waits_until_physical_time_is_above_dt() {
    let mut lab = lab::<false>(2, 1);
    let (a, x, p) = (lab.client(0), lab.key("x", 0), server(1, 0));
    lab.set_clock(server(0, 0), 9_000);
    assert_eq!(lab.put(a, &x, "first"), at(9_000));
    let away = moved(&mut lab, a, 1);
    lab.deliver_all();
    lab.begin(away, put(&x, "second"));
    assert_eq!((lab.outcome(away), lab.due(p, Timer)), (None, Some(9_001)));
    for (now, waits) in [(8_000, true), (9_000, true), (9_001, false)] {
        lab.set_clock(p, now);
        lab.fire(p, Timer);
        assert_eq!(lab.protocol(p).status().blocked > 0, waits, "at {now}");
    }
    let outcome = lab.outcome(away).expect("its time has come");
    assert_eq!(text(&outcome), "9001@B#1");
    lab.deliver_all();
    assert_eq!(lab.get(a, &x), "second");
}

/// Once, each write that came to wait put off those before it, by 100 µs.
#[test]
fn d10_a_write_that_waits_is_not_put_off_by_those_that_come_later() {
    let mut lab = lab::<false>(2, 1);
    let (x, p) = (lab.key("x", 0), server(1, 0));
    let mut begin = |now: u64| {
        let a = lab.client(0);
        lab.set_clock(server(0, 0), 5_000 + now);
        lab.put(a, &x, "first");
        let away = moved(&mut lab, a, 1);
        lab.deliver_all();
        lab.set_clock(p, now);
        lab.begin(away, put(&x, "second"));
        lab.due(p, Timer)
    };
    assert_eq!([4_000, 4_100, 8_950].map(&mut begin), [Some(9_001); 3]);
}

#[test]
fn d10_a_write_that_does_not_wait_loses_and_one_that_asks_for_nothing_may() {
    fn wins(level: Guarantees) -> (usize, String) {
        let mut lab = lab::<false>(2, 1);
        let (a, x) = (lab.client(0), lab.key("x", 0));
        lab.set_clock(server(0, 0), 9_000);
        lab.put(a, &x, "first");
        let away = moved(&mut lab, a, 1);
        lab.asks(away, level);
        lab.begin(away, put(&x, "second"));
        lab.deliver_all();
        (lab.protocol(server(1, 0)).status().blocked, lab.get(a, &x))
    }
    assert_eq!(wins(MW), (1, "first".into()), "the second is not written yet");
    assert_eq!(wins(WFR), (0, "first".into()));
    assert_eq!(without(&[PUT_ABOVE_DT], || wins(MW)), (0, "first".into()), "and stays there");
}

/// D10: the clock may jump; how long a write waits is measured on the other one.
#[test]
fn d10_a_write_whose_time_does_not_come_is_refused() {
    let mut lab = lab::<false>(1, 1);
    let (x, p) = (lab.key("x", 0), server(0, 0));
    let s = with_past(&mut lab, 0, Past { dt_w: at(5_000_000), ..Past::default() });
    lab.begin(s, put(&x, "1"));
    assert_eq!(lab.due(p, Timer), Some(2_001_000), "its patience ends before its time comes");
    lab.set_clock(p, 2_001_000);
    lab.jump_clock(p, 500);
    lab.fire(p, Timer);
    assert_eq!(lab.outcome(s).as_ref().map(text), Some("clock skew".into()));
    assert_eq!((lab.protocol(p).status().blocked, lab.store(p).totals().versions), (0, 0));
    lab.set_max_skew(1_000);
    assert_eq!(text(&lab.run(s, put(&x, "2"))), "clock skew", "nobody waits for a clock that is so far off");
}

/// D10, D3: what is written within one microsecond is told apart by its index.
#[test]
fn d10_writes_of_one_microsecond_win_in_the_order_of_their_indexes() {
    let mut lab = lab::<false>(2, 1);
    let (a, x) = (lab.client(0), lab.key("x", 0));
    lab.asks(a, Guarantees::NONE);
    assert_eq!(lab.put(a, &x, "1"), lab.put(a, &x, "2"));
    lab.deliver_all();
    let b = lab.client(1);
    assert_eq!((lab.get(a, &x).as_str(), lab.get(b, &x).as_str()), ("2", "2"));
}

/// D7, D10: a conditional update is above what it observed, whatever it asks for.
#[test]
fn d10_a_conditional_update_waits_until_it_wins_over_what_it_observed() {
    fn swaps() -> (usize, String) {
        let mut lab = lab::<false>(2, 1);
        let (a, b, x, p) = (lab.client(0), lab.client(1), lab.key("x", 0), server(1, 0));
        lab.set_clock(server(0, 0), 9_000);
        lab.put(a, &x, "first");
        lab.deliver_all();
        lab.asks(b, Guarantees::NONE);
        let write = Write::Assign((*b"second").into());
        let update = Update { write, condition: Condition::IfPresent, returns_previous: true, command: None };
        lab.begin(b, Op::Put { key: x.clone(), update });
        let waits = lab.protocol(p).status().blocked;
        lab.set_clock(p, 9_500);
        lab.fire(p, Timer);
        (waits, lab.get(b, &x))
    }
    assert_eq!(swaps(), (1, "second".into()));
    assert_eq!(without(&[PUT_ABOVE_OBSERVED], swaps), (0, "first".into()));
}
