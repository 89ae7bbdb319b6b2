//! When writes show elsewhere: regions whose distance is known, one that never hears, and real replication.

use crate::servers::{Ask, Do, Redis, fake, plan, play};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tidemark_bench::{Limit, Report, Visibility};

/// Which region wrote a key, and when.
type Written = Arc<Mutex<HashMap<String, (usize, Instant)>>>;

/// A region that sees what others have written after `delay(from, to)`.
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
                written.insert(key.clone(), (me, Instant::now()));
                Do::Answer("+OK\r\n".into())
            }
            [get, key] if get == "GET" => {
                let shows = written
                    .get(key)
                    .is_some_and(|(from, at)| delay(*from, me).is_some_and(|delay| at.elapsed() >= delay));
                Do::Answer(if shows { "$4\r\nseen\r\n".into() } else { "$-1\r\n".into() })
            }
            other => panic!("{other:?}"),
        }
    })
}

fn pair<'a>(report: &'a Report, from: &str, to: &str) -> &'a tidemark_bench::Pair {
    report.visibility.iter().find(|pair| pair.from == from && pair.to == to).unwrap()
}

#[test]
fn each_ordered_pair_of_regions_has_its_own_distance() {
    // From a to b 60 ms, back 120 ms; nothing from c is ever seen, and everything is seen in c at once.
    let delay = |from, to| match (from, to) {
        (0, 1) => Some(Duration::from_millis(60)),
        (1, 0) => Some(Duration::from_millis(120)),
        (2, _) => None,
        _ => Some(Duration::ZERO),
    };
    let written = Written::default();
    let addresses = [0, 1, 2].map(|me| region(me, &written, delay));
    let addresses = addresses.each_ref().map(String::as_str);
    let mut plan = plan("ycsb-a", &addresses, Limit::Time(Duration::from_secs(1)));
    plan.connections = 0;
    let patience = Duration::from_millis(500);
    plan.visibility = Some(Visibility { per_second: 50.0, patience, ..Visibility::default() });
    let report = play(&plan);
    assert!(report.is_whole());
    assert_eq!(report.visibility.len(), 6);
    for (from, to, least_ms) in [("a", "b", 60), ("b", "a", 120), ("a", "c", 0), ("b", "c", 0)] {
        let pair = pair(&report, from, to);
        assert!(pair.times.count >= 20 && pair.never == 0, "{pair:?}");
        // The acknowledgement arrives after the write, on a busy machine some milliseconds.
        assert!(pair.times.p50_us > least_ms * 800, "{from} to {to}: {:?}", pair.times);
        assert_eq!(pair.cdf.last().unwrap().share, 1.0);
    }
    let quick = pair(&report, "a", "c").times.p50_us;
    assert!(quick < pair(&report, "a", "b").times.p50_us, "{quick}");
    for to in ["a", "b"] {
        let never = pair(&report, "c", to);
        assert!(never.times.count == 0 && never.never >= 20, "{never:?}");
    }
    assert!(report.text().contains("a → b") && report.text().contains("never"));
}

#[test]
fn what_a_replica_refuses_is_said_and_what_reaches_it_is_measured() {
    let Some(primary) = Redis::start(&["--repl-diskless-sync-delay", "0"]) else { return };
    let Some(replica) = Redis::start(&["--replicaof", &primary.address.replace(':', " ")]) else { return };
    let began = Instant::now();
    while !replica.ask(&["INFO", "replication"]).contains("master_link_status:up") {
        assert!(began.elapsed() < Duration::from_secs(30), "the replica does not find its primary");
        std::thread::sleep(Duration::from_millis(50));
    }
    // Reads only, because a replica takes no writes; the probes are writes nevertheless.
    let mut plan = plan("ycsb-c", &[&primary.address, &replica.address], Limit::Time(Duration::from_secs(1)));
    plan.visibility = Some(Visibility { per_second: 50.0, ..Visibility::default() });
    let report = play(&plan);
    let there = pair(&report, "a", "b");
    assert!(there.times.count >= 20 && there.never == 0, "{there:?}");
    assert_eq!(pair(&report, "b", "a").times.count, 0);
    assert!(!report.is_whole());
    let problem = &report.visibility_problems[0];
    assert!(problem.contains("writing in b, 0 acknowledged") && problem.contains("READONLY"), "{problem}");
    assert!(report.summary.operations["get"].count > 0, "the load went on beside");
}
