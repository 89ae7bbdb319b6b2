//! Coordinated omission: a server that stalls once has to show in everything that arrived meanwhile, if requests
//! arrive whether or not there is an answer. A closed loop asks less while it waits, and hardly sees it.

use crate::servers::{Ask, fake, plan, play, usual};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tidemark_bench::{Arrivals, Limit, Pace};

const STALL: Duration = Duration::from_millis(200);

/// A server that answers at once, but not at all from 500 to 700 ms after its first request.
fn stalls_once() -> String {
    let began = OnceLock::<Instant>::new();
    fake(move |ask: &Ask| {
        let age = began.get_or_init(Instant::now).elapsed();
        let stall = Duration::from_millis(500)..Duration::from_millis(500) + STALL;
        if stall.contains(&age) {
            std::thread::sleep(stall.end - age);
        }
        usual(ask)
    })
}

#[test]
fn an_open_loop_shows_a_stall_in_every_request_that_arrived_during_it() {
    for arrivals in [Arrivals::Fixed, Arrivals::Poisson] {
        let mut plan = plan("ycsb-c", &[&stalls_once()], Limit::Time(Duration::from_secs(2)));
        plan.pace = Pace::Open { per_second: 1000.0, arrivals };
        let report = play(&plan);
        let get = report.summary.operations["get"];
        // A tenth of all requests arrive during the stall, and have to wait for the rest of it.
        assert!(get.p99_us > 150_000, "{get:?}");
        assert!(get.p95_us > 70_000, "{get:?}");
        assert!(get.count > 1700, "all that arrive are sent, only later: {get:?}");
        let waited = report.waited.expect("in an open loop there is a queue");
        assert!(waited.p99_us > 150_000, "they waited on this side: {waited:?}");
        assert!(report.is_whole());
    }
}

#[test]
fn a_closed_loop_sees_a_stall_once_a_connection() {
    // Far more operations than fit before the stall, so that it is among them.
    let report = play(&plan("ycsb-c", &[&stalls_once()], Limit::Time(Duration::from_secs(2))));
    let get = report.summary.operations["get"];
    assert!(get.max_us > 150_000, "{get:?}");
    assert!(get.p99_us < 150_000, "{get:?}");
    assert!(report.waited.is_none());
}

#[test]
fn a_rate_that_cannot_be_kept_is_said() {
    let slow = fake(|ask: &Ask| {
        std::thread::sleep(Duration::from_millis(20));
        usual(ask)
    });
    let mut plan = plan("ycsb-c", &[&slow], Limit::Time(Duration::from_secs(1)));
    plan.pace = Pace::Open { per_second: 2000.0, arrivals: Arrivals::Fixed };
    let report = play(&plan);
    // Four connections that take 20 ms a request manage 200 of the 2000.
    assert!(report.unsent > 1500, "{}", report.unsent);
    assert_eq!(
        report.unsent + report.summary.operations["get"].count,
        2000,
        "every arrival is accounted for"
    );
    assert!(report.text().contains("had arrived and were never sent"));
}
