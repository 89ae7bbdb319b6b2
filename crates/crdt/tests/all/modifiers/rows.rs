//! The rows of the table, in every order of delivery.

use crate::typed::{command, words};
use tidemark_core::{DcId, Hlc, Stamp};
use tidemark_crdt::shape::Plain;
use tidemark_crdt::{Effect, Moment, State, evaluate};

fn at(time: u64, origin: u8, line: &str, state: &State) -> (Stamp, Effect) {
    let time = Hlc(1000 + time);
    let moment = Moment {
        time,
        origin: DcId(origin),
        floor: Hlc::ZERO,
        expiring: false,
        alone: false,
        past: None,
        longest: tidemark_core::Limit::VALUE_BYTES,
    };
    let prepared = evaluate(&command(&words(line)).1, state, moment);
    (Stamp::new(time, DcId(origin)), Effect { floor: Hlc::ZERO, changes: prepared.changes })
}

fn shown(state: &State) -> Option<String> {
    match state.shown() {
        Some(Plain::String(value)) => Some(value.escape_ascii().to_string()),
        _ => None,
    }
}

/// Each list of a region's commands in turn, all after `before`; the result in every order of delivery, also settled.
fn merged(before: &[&str], regions: &[&[&str]]) -> Option<String> {
    let mut base = State::default();
    for (time, line) in before.iter().enumerate() {
        let (stamp, effect) = at(time as u64, 9, line, &base);
        base.apply(stamp, &effect, None);
    }
    let feeds: Vec<Vec<(Stamp, Effect)>> =
        regions.iter().enumerate().map(|(origin, lines)| feed(&base, origin, lines)).collect();
    let mut results = Vec::new();
    deliver(&base, &mut vec![0; feeds.len()], &feeds, &mut results);
    assert!(results.iter().all(|result| *result == results[0]), "{before:?} {regions:?}: {results:?}");
    results.pop().expect("there is an order")
}

fn feed(base: &State, origin: usize, lines: &[&str]) -> Vec<(Stamp, Effect)> {
    let mut state = base.clone();
    let run = |(number, line): (usize, &&str)| {
        let operation = at(100 + 10 * number as u64 + origin as u64, origin as u8, line, &state);
        state.apply(operation.0, &operation.1, None);
        operation
    };
    lines.iter().enumerate().map(run).collect()
}

fn deliver(
    state: &State,
    next: &mut Vec<usize>,
    feeds: &[Vec<(Stamp, Effect)>],
    results: &mut Vec<Option<String>>,
) {
    let mut ends = true;
    for from in 0..feeds.len() {
        let Some((stamp, effect)) = feeds[from].get(next[from]) else { continue };
        ends = false;
        let mut state = state.clone();
        state.apply(*stamp, effect, None);
        next[from] += 1;
        deliver(&state, next, feeds, results);
        next[from] -= 1;
    }
    if ends {
        let before = shown(state);
        for upto in 1000..1200 {
            let mut settled = state.clone();
            settled.settle(Hlc(upto), usize::MAX);
            assert_eq!(shown(&settled), before, "settled up to {upto}");
            settled.settle(Hlc(1200), usize::MAX);
            assert_eq!(shown(&settled), before, "settled up to {upto}, then wholly");
            assert!(settled.is_settled());
        }
        results.push(before);
    }
}

fn text(before: &[&str], regions: &[&[&str]]) -> String {
    merged(before, regions).expect("a string")
}

#[test]
fn s9_concurrent_appends_both_count() {
    assert_eq!(text(&["SET k a"], &[&["APPEND k x"], &["APPEND k y"]]), "axy");
    assert_eq!(text(&[], &[&["APPEND k 1", "APPEND k 2"], &["APPEND k 3"]]), "132");
}

#[test]
fn s10_an_append_follows_a_set_that_has_not_observed_it() {
    assert_eq!(text(&["SET k a"], &[&["SET k v"], &["APPEND k x"]]), "vx");
    assert_eq!(text(&["SET k a"], &[&["APPEND k x"], &["SET k v"]]), "vx");
    assert_eq!(text(&["SET k a", "APPEND k o"], &[&["SET k v"], &["APPEND k x"]]), "vx");
    assert_eq!(text(&["SET k a"], &[&["APPEND k x", "SET k v"], &["APPEND k y"]]), "vy");
}

#[test]
fn s11_concurrent_patches_merge_by_byte_and_by_bit() {
    assert_eq!(text(&["SET k abcdef"], &[&["SETRANGE k 0 XX"], &["SETRANGE k 4 YY"]]), "XXcdYY");
    assert_eq!(text(&["SET k abcdef"], &[&["SETRANGE k 0 ZZZ"], &["SETRANGE k 2 YY"]]), "ZZYYef");
    assert_eq!(text(&["SET k abcdef"], &[&["SETRANGE k 6 1"], &["SET k v"]]), "v\\x00\\x00\\x00\\x00\\x001");
    assert_eq!(text(&[], &[&["SETBIT k 1 1"], &["SETBIT k 7 1"]]), "A");
    assert_eq!(text(&["SET k A"], &[&["SETBIT k 7 0"], &["SETBIT k 6 1"]]), "B");
    let fields: &[&[&str]] = &[&["BITFIELD k SET u4 0 6"], &["BITFIELD k SET u4 4 1"]];
    assert_eq!(text(&[], fields), "a");
    let sums: &[&[&str]] = &[&["BITFIELD k INCRBY u8 0 5"], &["BITFIELD k INCRBY u8 0 1"]];
    assert_eq!(text(&["SET k a"], sums), "b", "the later one's bits, not a counter");
}

#[test]
fn s12_concurrent_additions_to_a_sketch_all_count() {
    let one = merged(&[], &[&["PFADD k a b c d"]]);
    assert_eq!(merged(&[], &[&["PFADD k a b"], &["PFADD k c d"]]), one);
    assert_eq!(merged(&["PFADD k a"], &[&["PFADD k b"], &["PFADD k c"], &["PFADD k d"]]), one);
    let alone = merged(&[], &[&["PFADD k b"]]);
    assert_eq!(merged(&["PFADD k a"], &[&["DEL k"], &["PFADD k b"]]), alone);
    assert_eq!(text(&["PFADD k a"], &[&["SET k plain"], &["PFADD k b"]]), "plain", "it cannot be applied");
}

#[test]
fn kinds_of_changes_meet() {
    assert_eq!(text(&["SET k 10"], &[&["INCR k"], &["APPEND k 0"]]), "110");
    assert_eq!(text(&["SET k 10"], &[&["APPEND k 0"], &["INCR k"]]), "101");
    assert_eq!(text(&["SET k 10"], &[&["APPEND k x"], &["INCR k"]]), "10x", "the increment is not shown");
    assert_eq!(text(&["SET k 10"], &[&["INCR k", "APPEND k 0", "INCR k"], &["INCR k"]]), "121");
    assert_eq!(text(&["SET k ab"], &[&["APPEND k x", "SETRANGE k 0 Z"], &["SETRANGE k 1 Y"]]), "ZYx");
    assert_eq!(merged(&["SET k a"], &[&["APPEND k x", "DEL k"], &["DEL k"]]), None);
    assert_eq!(text(&["SET k a"], &[&["DEL k"], &["APPEND k x"]]), "x");
}

#[test]
fn one_region_answers_as_redis_does() {
    crate::typed::Region::replay(include_str!("../../transcripts/strings_random.txt"));
}

/// Sums are rounded as in redis-server, also when they are added up from what is settled.
#[test]
fn fractions_reply_as_redis() {
    // But for the very last reply: numbers of 80 bits go on to 1.1e4932.
    crate::typed::Region::replay(include_str!("../../transcripts/floats_random.txt"));
}
