//! Rates and latencies in real time, as they are on a machine that does nothing else.

use crate::omission;
use crate::servers::{Redis, plan, play};
use crate::visibility::{DISTANCES_MS, pair, three_regions};
use std::time::Duration;
use tidemark_bench::{Arrivals, Limit, Pace, Visibility};

#[test]
#[ignore = "a latency on an idle machine: nightly"]
fn a_closed_loop_hardly_sees_a_stall() {
    let (_, get, _) = omission::read(Pace::Closed);
    assert!(get.p99_us < 150_000, "{get:?}");
}

#[test]
#[ignore = "a rate on an idle machine: nightly"]
fn an_open_loop_sends_almost_all_before_the_end() {
    let Some(redis) = Redis::start(&[]) else { return };
    let mut plan = plan("ycsb-a", &[&redis.address], Limit::Time(Duration::from_secs(2)));
    (plan.connections, plan.pipeline) = (10, 4);
    plan.pace = Pace::Open { per_second: 500.0, arrivals: Arrivals::Fixed };
    let report = play(&plan);
    assert!(report.unsent < 100, "{}", report.unsent);
}

#[test]
#[ignore = "a rate on an idle machine: nightly"]
fn clients_that_think_ask_again_when_they_have_thought() {
    let Some(redis) = Redis::start(&[]) else { return };
    let mut plan = plan("ycsb-a", &[&redis.address], Limit::Time(Duration::from_secs(1)));
    plan.workload.set("think-us", "20000").unwrap();
    let report = play(&plan);
    let operations: u64 = report.summary.operations.values().map(|latency| latency.count).sum();
    assert!((150..=204).contains(&operations), "{operations}");
}

/// Writes are seen soon after they show, and writers keep their pace.
#[test]
#[ignore = "latencies on an idle machine: nightly"]
fn what_shows_in_another_region_is_seen_soon() {
    let addresses = three_regions();
    let addresses = addresses.each_ref().map(String::as_str);
    let mut plan = plan("ycsb-a", &addresses, Limit::Time(Duration::from_secs(1)));
    plan.connections = 0;
    let patience = Duration::from_millis(500);
    plan.visibility = Some(Visibility { per_second: 50.0, patience, ..Visibility::default() });
    let report = play(&plan);
    for (from, to, distance_ms) in DISTANCES_MS {
        let pair = pair(&report, from, to);
        assert!(pair.times.count >= 40 && pair.never == 0, "{pair:?}");
        assert!(pair.times.p50_us < (distance_ms + 20) * 1_000, "{from} to {to}: {:?}", pair.times);
    }
}
