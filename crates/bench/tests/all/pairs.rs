//! Clients that wait for each other, and what connections name before they begin.

use crate::servers::{Ask, Do, answered, fake, plan, play, play_until};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tidemark_bench::{Limit, Phase, Plan};

/// So often the other region looks at a key in vain when it has been written.
const LOOKS: u64 = 5;
/// The pause of a client before it looks again, unless it is told otherwise.
const POLL_US: u64 = 1_000;

/// The last write of a region to a key, and what the other sees of it.
struct Written {
    by: usize,
    value: String,
    /// The value that the other sees until it has looked so often.
    before: Option<String>,
    looks: u64,
}

/// A request to a region: its number, whether that was a write, and of which key.
type Asked = (usize, bool, String);

/// The values of regions, and the requests to them, in this order.
type State = (HashMap<String, Written>, Vec<Asked>);

/// Two regions that see each other's writes when they have looked for them in vain for `looks` times.
#[derive(Clone)]
struct Store {
    looks: u64,
    state: Arc<Mutex<State>>,
}

impl Store {
    fn new(looks: u64) -> Self {
        Self { looks, state: Arc::default() }
    }

    /// The addresses of both.
    fn regions(&self) -> [String; 2] {
        [0, 1].map(|me| {
            let store = self.clone();
            fake(move |ask: &Ask| match &ask.words[..] {
                [set, key, value] if set == "SET" => {
                    store.set(me, key, value);
                    Do::Answer("+OK\r\n".into())
                }
                [get, key] if get == "GET" => Do::Answer(
                    store
                        .get(me, key)
                        .map_or("$-1\r\n".into(), |text| format!("${}\r\n{text}\r\n", text.len())),
                ),
                other => panic!("{other:?}"),
            })
        })
    }

    fn set(&self, me: usize, key: &str, value: &str) {
        let (keys, log) = &mut *self.state.lock().unwrap();
        log.push((me, true, key.to_string()));
        let before = keys.remove(key).map(|written| written.value);
        let written = Written { by: me, value: value.to_string(), before, looks: self.looks };
        keys.insert(key.to_string(), written);
    }

    fn get(&self, me: usize, key: &str) -> Option<String> {
        let (keys, log) = &mut *self.state.lock().unwrap();
        log.push((me, false, key.to_string()));
        let written = keys.get_mut(key)?;
        if written.by != me && written.looks > 0 {
            written.looks -= 1;
            return written.before.clone();
        }
        Some(written.value.clone())
    }

    /// Returns the requests so far.
    fn log(&self) -> Vec<Asked> {
        self.state.lock().unwrap().1.clone()
    }
}

/// Whether a key is one in which turns are counted. Of each pair's three keys the third is that of the other application.
fn counts_turns(key: &str) -> bool {
    let (_, index) = key.split_once(':').unwrap();
    index.parse::<u64>().unwrap() % 3 != 2
}

/// Counts writes of turns, and reads and writes of the other application.
fn counts(log: &[Asked]) -> [u64; 3] {
    let count = |one: fn(&&Asked) -> bool| log.iter().filter(one).count() as u64;
    [
        count(|(_, writes, key)| *writes && counts_turns(key)),
        count(|(_, writes, key)| !*writes && !counts_turns(key)),
        count(|(_, writes, key)| *writes && !counts_turns(key)),
    ]
}

/// Both applications, for as long as it takes.
fn apps(addresses: &[String; 2], connections: usize, swap_after_us: &str) -> Plan {
    let addresses = addresses.each_ref().map(String::as_str);
    let mut plan = plan("apps", &addresses, Limit::Time(Duration::from_secs(600)));
    plan.workload.set("pause-us", "2000").unwrap();
    plan.workload.set("think-us", "200").unwrap();
    plan.workload.set("swap-after-us", swap_after_us).unwrap();
    (plan.connections, plan.threads) = (connections, 1);
    plan
}

#[test]
fn a_turn_takes_as_many_looks_as_a_write_takes_to_show() {
    let store = Store::new(LOOKS);
    let addresses = store.regions();
    let addresses = addresses.each_ref().map(String::as_str);
    let mut plan = plan("turns", &addresses, Limit::Operations(700));
    (plan.connections, plan.threads) = (2, 1);
    let report = play(&plan);
    assert!(report.is_whole());
    let (log, turn) = (store.log(), report.summary.requests["turn"]);
    let writes: Vec<usize> = (0..log.len()).filter(|at| log[*at].1).collect();
    assert_eq!(answered(&report, "put"), turn.count);
    assert_eq!((writes.len() as u64, log.len() as u64), (turn.count, turn.count + answered(&report, "get")));
    assert!(turn.count > 20, "{turn:?}");
    for turns in writes.windows(2) {
        let (first, next) = (&log[turns[0]], &log[turns[1]]);
        assert_ne!(first.0, next.0, "they take turns");
        let looks = log[turns[0]..turns[1]].iter().filter(|(who, _, key)| *who == next.0 && *key == first.2);
        assert_eq!(looks.count() as u64, LOOKS + 1, "clients look again until it shows, and no longer");
    }
    assert!(turn.p50_us >= LOOKS * POLL_US, "a pause after each look in vain: {turn:?}");
}

#[test]
fn both_applications_are_played_at_once() {
    let store = Store::new(LOOKS);
    let plan = apps(&store.regions(), 4, "0");
    let report = play_until(&plan, |_| {
        let [turns, reads, writes] = counts(&store.log());
        turns >= 5 && reads >= 20 && writes >= 20
    });
    assert!(report.is_whole());
    let [turns, reads, writes] = counts(&store.log());
    let request = |kind: &str| report.summary.requests[kind].count;
    // Both that take turns look where they left off.
    assert_eq!((request("turn"), request("read"), request("update")), (turns, reads + 2, writes));
}

#[test]
fn a_pair_plays_one_application_after_the_other() {
    let store = Store::new(LOOKS);
    let mut plan = apps(&store.regions(), 2, "200000");
    // The warm-up is part of the time after which they swap.
    plan.warm_up = Duration::from_millis(300);
    let mut before = None;
    let report = play_until(&plan, |tick| {
        if tick.phase != Phase::Measure {
            return false;
        }
        // What comes from now on counts, but for a request of each client that began before.
        let now = counts(&store.log());
        let before = before.get_or_insert(now);
        now[1] >= before[1] + 22 && now[2] >= before[2] + 22
    });
    let requests = &report.summary.requests;
    assert!(!requests.contains_key("turn"), "they swapped before it counted: {requests:?}");
    assert!(requests["read"].count >= 20 && requests["update"].count >= 20, "{requests:?}");
    for client in 0..2 {
        let log = store.log().into_iter().filter(|(who, ..)| *who == client);
        let turns: Vec<bool> = log.map(|(.., key)| counts_turns(&key)).collect();
        assert!(turns.is_sorted_by(|one, next| one >= next), "no turn after they have swapped: {turns:?}");
    }
}

#[test]
fn nobody_waits_for_a_turn_when_the_pairs_have_swapped() {
    // Nothing that is written ever shows.
    let store = Store::new(u64::MAX);
    let report = play_until(&apps(&store.regions(), 2, "200000"), |_| {
        let [_, reads, writes] = counts(&store.log());
        reads >= 20 && writes >= 20
    });
    let requests = &report.summary.requests;
    assert!(requests["read"].count >= 20 && requests["update"].count >= 20, "{requests:?}");
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
