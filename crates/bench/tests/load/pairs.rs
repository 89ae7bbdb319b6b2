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
