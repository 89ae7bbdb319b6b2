//! Concurrent commands on a sorted set: the rows Z1 to Z6 of the table in docs/types.md.

use crate::harness::{Desk, Version, show};

/// When the concurrent commands run, in microseconds after the beginning.
const EARLIER: u64 = 100_000;
const LATER: u64 = 200_000;

/// Two regions that see the same run one command each, which are then delivered in every order. Returns the members and scores
/// that all regions agree on.
fn merge(start: &[&str], settled: bool, [first, second]: [&str; 2]) -> String {
    let mut desks: [Desk; 4] = std::array::from_fn(|region| Desk::new(region as u8, false));
    let written: Vec<Version> = start.iter().filter_map(|line| desks[0].tell(line).1).collect();
    for desk in &mut desks[1..] {
        written.iter().for_each(|version| desk.receive("k", version));
    }
    if settled {
        desks.iter_mut().for_each(|desk| desk.settle(EARLIER / 2));
    }
    let first = desks[0].at(EARLIER).tell(first).1.expect("it writes");
    let second = desks[1].at(LATER).tell(second).1.expect("it writes");
    desks[0].receive("k", &second);
    desks[1].receive("k", &first);
    [&first, &second].iter().for_each(|version| desks[2].receive("k", version));
    [&second, &first].iter().for_each(|version| desks[3].receive("k", version));
    let agreed = |desks: &[Desk]| desks.iter().all(|desk| desk.inside("k") == desks[0].inside("k"));
    assert!(agreed(&desks), "{first:?} {second:?}");
    let list =
        |desk: &mut Desk| show(&desk.at(3 * LATER).run("zrange k 0 -1 withscores"), 2).replace('"', "");
    let shown = list(&mut desks[0]);
    desks.iter_mut().for_each(|desk| desk.settle(2 * LATER));
    assert!(agreed(&desks) && desks.iter_mut().all(|desk| list(desk) == shown), "settling changes nothing");
    shown
}

/// Both commands in both orders of stamps, on elements with dots and without: `first` if the command `a` is the earlier one.
#[track_caller]
fn both(start: &[&str], a: &str, b: &str, [first, second]: [&str; 2]) {
    for settled in [false, true] {
        assert_eq!(merge(start, settled, [a, b]), first, "{a} || {b}, settled: {settled}");
        assert_eq!(merge(start, settled, [b, a]), second, "{b} || {a}, settled: {settled}");
    }
}

#[track_caller]
fn same(start: &[&str], a: &str, b: &str, expected: &str) {
    both(start, a, b, [expected, expected]);
}

#[test]
fn z1_of_two_scores_the_later_shows() {
    both(&[], "zadd k 1.1 x", "zadd k 2.1 x", ["[x 2.1]", "[x 1.1]"]);
    both(&["zadd k 4 x 5 y"], "zadd k 1.1 x", "zadd k 2.1 x", ["[x 2.1 y 5]", "[x 1.1 y 5]"]);
    same(&[], "zadd k 1 x", "zadd k 2 y", "[x 1 y 2]");
}

#[test]
fn z2_increments_add_up() {
    same(&[], "zincrby k 1.5 x", "zincrby k 2 x", "[x 3.5]");
    same(&["zadd k 10 x"], "zincrby k 1 x", "zadd k incr 2 x", "[x 13]");
    same(&["zadd k 4 x"], "zadd k 10 x", "zincrby k 2 x", "[x 12]");
    same(&["zincrby k 4 x"], "zadd k 10 x", "zincrby k 2 x", "[x 12]");
    same(&["zadd k 1 x"], "zincrby k inf x", "zincrby k -inf x", "[x 0]");
    same(&["zadd k inf x"], "zincrby k 5 x", "zadd k 1 x", "[x 6]");
}

#[test]
fn z3_an_increment_survives_a_removal() {
    same(&["zadd k 4.1 x"], "zrem k x", "zincrby k 2 x", "[x 2]");
    same(&["zincrby k 4.1 x"], "zrem k x", "zincrby k 2 x", "[x 2]");
    same(&["zadd k 4.1 x", "zincrby k 1 x"], "zrem k x", "zincrby k 0 x", "[x 0]");
}

#[test]
fn z4_the_best_of_two_bounds_shows() {
    same(&[], "zadd k gt 5 x", "zadd k gt 7 x", "[x 7]");
    same(&["zadd k 1 x"], "zadd k gt 5 x", "zadd k gt 7 x", "[x 7]");
    same(&["zadd k 9 x"], "zadd k lt 5 x", "zadd k lt 7 x", "[x 5]");
    same(&[], "zadd k lt 5 x", "zadd k lt 7 x", "[x 5]");
    same(&["zadd k 1 x"], "zadd k gt 7 x", "zadd k 5 x", "[x 7]");
    both(&["zadd k 1 x"], "zadd k gt 7 x", "zadd k 9 x", ["[x 9]", "[x 7]"]);
    same(&["zadd k 9 x"], "zadd k lt 3 x", "zadd k 5 x", "[x 3]");
    same(&["zadd k 1 x"], "zadd k gt 7 x", "zincrby k 2 x", "[x 9]");
    same(&["zadd k 1 x"], "zadd k gt 7 x", "zrem k x", "[x 7]");
}

#[test]
fn z4_a_later_command_that_saw_a_bound_overwrites_it() {
    same(&["zadd k gt 7 x", "zadd k 2 x"], "zadd k 1 y", "zadd k 1 z", "[y 1 z 1 x 2]");
}

#[test]
fn z5_a_pop_takes_what_it_saw() {
    same(&["zadd k 1 x 2 y"], "zpopmin k", "zpopmin k", "[y 2]");
    same(&["zadd k 1 x 2 y"], "zpopmin k", "zpopmax k", "[]");
    same(&["zadd k 1 x 2 y"], "zpopmin k", "zadd k 3 x", "[y 2 x 3]");
    same(&["zadd k 1 x 2 y"], "zpopmin k", "zadd k 1 x", "[x 1 y 2]");
    same(&["zadd k 1 x"], "zpopmin k", "zadd k 0 new", "[new 0]");
}

#[test]
fn z6_what_is_added_into_a_range_that_is_removed_stays() {
    let start = ["zadd k 1 a 2 b 3 c"];
    same(&start, "zremrangebyscore k 1 2", "zadd k 1.5 new", "[new 1.5 c 3]");
    same(&start, "zremrangebyrank k 0 1", "zadd k 1.5 new", "[new 1.5 c 3]");
    same(&start, "zremrangebyscore k 1 2", "zadd k 2 b", "[b 2 c 3]");
    same(&start, "zremrangebyscore k 1 2", "zadd k 1 c", "[c 1]");
    same(&["zadd k 0 a 0 b"], "zremrangebylex k - +", "zadd k 0 ab", "[ab 0]");
    same(&start, "zrem k a b c", "geoadd k 0 0 place", "[place 3377699720527872]");
}
