//! Clients that wait for each other, and what connections name before they begin.

use crate::servers::{Ask, Do, answered, fake, plan, play};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tidemark_bench::Limit;

/// For each key its value and who wrote it when, and the one before that others still see.
type Store = Arc<Mutex<HashMap<String, Vec<(String, usize, Instant)>>>>;

/// A region that sees what the other has written after `delay`.
fn region(me: usize, store: &Store, delay: Duration) -> String {
    let store = Arc::clone(store);
    fake(move |ask: &Ask| {
        let mut store = store.lock().unwrap();
        match &ask.words[..] {
            [set, key, value] if set == "SET" => {
                store.entry(key.clone()).or_default().push((value.clone(), me, Instant::now()));
                Do::Answer("+OK\r\n".into())
            }
            [get, key] if get == "GET" => {
                let shows = |(_, from, at): &&(String, usize, Instant)| *from == me || at.elapsed() >= delay;
                let value = store.get(key).and_then(|versions| versions.iter().rev().find(shows));
                Do::Answer(
                    value.map_or("$-1\r\n".into(), |(text, ..)| format!("${}\r\n{text}\r\n", text.len())),
                )
            }
            other => panic!("{other:?}"),
        }
    })
}

#[test]
fn a_turn_takes_as_long_as_a_write_takes_to_show() {
    let delay = Duration::from_millis(40);
    let store = Store::default();
    let addresses = [0, 1].map(|me| region(me, &store, delay));
    let addresses = addresses.each_ref().map(String::as_str);
    let mut plan = plan("turns", &addresses, Limit::Time(Duration::from_millis(1_200)));
    (plan.connections, plan.threads) = (2, 1);
    let report = play(&plan);
    assert!(report.is_whole());
    let turns = report.summary.requests["turn"].count;
    assert!((10..=30).contains(&turns), "{turns} turns in 1.2 s, where each takes 40 ms");
    let looks = answered(&report, "get");
    assert!(looks > 3 * turns, "{looks} looks for {turns} turns: clients look again until it shows");
    assert!(answered(&report, "put").abs_diff(turns) <= 1);
}

/// A pair that takes turns and one that alternates, or one pair that does both, half a second after it began.
#[test]
fn both_applications_are_played_at_once_or_one_after_the_other() {
    let delay = Duration::from_millis(40);
    let counts = |connections, swap_after_us: &str| {
        let store = Store::default();
        let addresses = [0, 1].map(|me| region(me, &store, delay));
        let addresses = addresses.each_ref().map(String::as_str);
        let mut plan = plan("apps", &addresses, Limit::Time(Duration::from_millis(600)));
        plan.workload.set("pause-us", "2000").unwrap();
        plan.workload.set("think-us", "200").unwrap();
        plan.workload.set("swap-after-us", swap_after_us).unwrap();
        (plan.connections, plan.threads, plan.warm_up) = (connections, 1, Duration::from_millis(300));
        let report = play(&plan);
        assert!(report.is_whole());
        ["turn", "read", "update"].map(|kind| report.summary.requests.get(kind).map_or(0, |all| all.count))
    };
    let [turns, reads, writes] = counts(4, "0");
    assert!((5..=16).contains(&turns), "{turns} turns in 0.6 s, where each takes 40 ms");
    assert!(reads > 50 && writes > 20, "{reads} reads and {writes} writes of the other pair");
    // The warm-up is part of the time after which they swap.
    let [turns, reads, writes] = counts(2, "500000");
    assert!((1..=7).contains(&turns), "{turns} turns in 0.2 s, and the last");
    assert!(reads > 20 && writes > 10, "{reads} reads and {writes} writes of the same pair");
}

#[test]
fn nobody_waits_for_a_turn_when_the_pairs_have_swapped() {
    // Nothing that is written ever shows.
    let address =
        fake(|ask: &Ask| Do::Answer(if ask.words[0] == "SET" { "+OK\r\n" } else { "$-1\r\n" }.into()));
    let mut plan = plan("apps", &[&address], Limit::Time(Duration::from_millis(300)));
    plan.workload.set("swap-after-us", "400000").unwrap();
    plan.workload.set("think-us", "200").unwrap();
    (plan.connections, plan.warm_up) = (2, Duration::from_millis(300));
    let requests = play(&plan).summary.requests;
    assert!(requests["read"].count > 20 && requests["update"].count > 20, "{requests:?}");
}

#[test]
fn every_connection_names_its_checking_groups_once() {
    let heard: Arc<Mutex<Vec<Vec<String>>>> = Arc::default();
    let listener = Arc::clone(&heard);
    let address = fake(move |ask: &Ask| {
        if ask.words[0].starts_with("TIDE.") {
            listener.lock().unwrap().push(ask.words.clone());
            return Do::Answer("+OK\r\n".into());
        }
        Do::Answer("$1\r\nx\r\n".into())
    });
    let mut plan = plan("ycsb-c", &[&address], Limit::Operations(40));
    plan.workload.set("checking", "left, right").unwrap();
    assert!(play(&plan).is_whole());
    assert_eq!(*heard.lock().unwrap(), vec![["TIDE.CHECKING", "left,right"]; 4]);
    plan.workload.set("checking", "*").unwrap();
    play(&plan);
    assert_eq!(heard.lock().unwrap().len(), 4, "who names none says nothing");
}
