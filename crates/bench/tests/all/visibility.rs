//! The time until writes show elsewhere: regions whose distance is known, one that never hears, and real replication.

use crate::servers::{Ask, Do, Redis, fake, plan, play_enough};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tidemark_bench::{Limit, Report, Visibility};
use tidemark_patience::{PATIENCE, until};

/// The region that wrote a key, and since when each other one is asked for it.
type Written = Arc<Mutex<HashMap<String, (usize, HashMap<usize, Instant>)>>>;

/// A region that shows what others have written `delay(from, to)` after it was asked for it first: whoever measures from the
/// acknowledgement measures no less, however late that reaches it.
fn region(
    me: usize,
    written: &Written,
    delay: impl Fn(usize, usize) -> Option<Duration> + Send + Sync + 'static,
) -> String {
    let written = Arc::clone(written);
    fake(move |ask: &Ask| {
        let mut written = written.lock().unwrap();
        match &ask.words[..] {
            [set, key, _] if set == "SET" => {
                written.insert(key.clone(), (me, HashMap::new()));
                Do::Answer("+OK\r\n".into())
            }
            [get, key] if get == "GET" => {
                let shows = written.get_mut(key).is_some_and(|(from, asked)| {
                    let since = asked.entry(me).or_insert_with(Instant::now);
                    delay(*from, me).is_some_and(|delay| since.elapsed() >= delay)
                });
                Do::Answer(if shows { "$4\r\nseen\r\n".into() } else { "$-1\r\n".into() })
            }
            other => panic!("{other:?}"),
        }
    })
}

pub(crate) fn pair<'a>(report: &'a Report, from: &str, to: &str) -> &'a tidemark_bench::Pair {
    report.visibility.iter().find(|pair| pair.from == from && pair.to == to).unwrap()
}

/// From one region to another, in milliseconds.
pub(crate) const DISTANCES_MS: [(&str, &str, u64); 6] =
    [("a", "b", 60), ("b", "a", 120), ("a", "c", 0), ("b", "c", 0), ("c", "a", 10), ("c", "b", 20)];

/// The addresses of regions a, b and c, which are so far apart.
pub(crate) fn three_regions() -> [String; 3] {
    let name = |region: usize| ["a", "b", "c"][region];
    let delay = move |from, to| {
        let found = DISTANCES_MS.iter().find(|(one, other, _)| (*one, *other) == (name(from), name(to)));
        found.map(|(_, _, ms)| Duration::from_millis(*ms))
    };
    let written = Written::default();
    [0, 1, 2].map(|me| region(me, &written, delay))
}

#[test]
fn each_ordered_pair_of_regions_has_its_own_distance() {
    let addresses = three_regions();
    let addresses = addresses.each_ref().map(String::as_str);
    let mut plan = plan("ycsb-a", &addresses, Limit::Operations(1));
    plan.connections = 0;
    plan.visibility = Some(Visibility { per_second: 50.0, patience: PATIENCE, ..Visibility::default() });
    let enough = |report: &Report| report.visibility.iter().all(|pair| pair.times.count >= 20);
    let report = play_enough(plan, enough);
    assert!(report.is_whole());
    assert_eq!(report.visibility.len(), 6);
    for (from, to, distance_ms) in DISTANCES_MS {
        let pair = pair(&report, from, to);
        assert_eq!(pair.never, 0, "{pair:?}");
        // Histograms have three digits.
        assert!(pair.times.p50_us >= distance_ms * 995, "{from} to {to}: {:?}", pair.times);
        assert_eq!(pair.cdf.last().unwrap().share, 1.0);
    }
    assert!(report.text().contains("a → b"));
}

#[test]
fn what_never_shows_is_told() {
    let written = Written::default();
    let addresses = [0, 1].map(|me| region(me, &written, |from, _| (from == 0).then_some(Duration::ZERO)));
    let addresses = addresses.each_ref().map(String::as_str);
    let mut plan = plan("ycsb-a", &addresses, Limit::Operations(1));
    plan.connections = 0;
    let patience = Duration::from_millis(500);
    plan.visibility = Some(Visibility { per_second: 50.0, patience, ..Visibility::default() });
    let enough =
        |report: &Report| pair(report, "a", "b").times.count >= 20 && pair(report, "b", "a").never >= 20;
    let report = play_enough(plan, enough);
    assert_eq!(pair(&report, "b", "a").times.count, 0);
    assert!(report.text().contains("never"));
}

#[test]
fn what_a_replica_refuses_is_said_and_what_reaches_it_is_measured() {
    let Some(primary) = Redis::start(&["--repl-diskless-sync-delay", "0"]) else { return };
    let Some(replica) = Redis::start(&["--replicaof", &primary.address.replace(':', " ")]) else { return };
    until("the replica finds its primary", || {
        replica.ask(&["INFO", "replication"]).contains("master_link_status:up")
    });
    // Reads only, because a replica takes no writes; the probes are writes nevertheless.
    let mut plan = plan("ycsb-c", &[&primary.address, &replica.address], Limit::Operations(1));
    plan.visibility = Some(Visibility { per_second: 50.0, patience: PATIENCE, ..Visibility::default() });
    let enough = |report: &Report| {
        pair(report, "a", "b").times.count >= 20 && report.summary.operations.contains_key("get")
    };
    let report = play_enough(plan, enough);
    assert_eq!(pair(&report, "a", "b").never, 0);
    assert_eq!(pair(&report, "b", "a").times.count, 0);
    assert!(!report.is_whole());
    let problem = &report.visibility_problems[0];
    assert!(problem.contains("writing in b, 0 acknowledged") && problem.contains("READONLY"), "{problem}");
    assert!(report.summary.operations["get"].count > 0, "the load went on beside");
}
