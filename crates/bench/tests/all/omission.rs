//! Coordinated omission: a server that stalls once has to show in everything that arrived meanwhile, if requests
//! arrive whether or not there is an answer. A closed loop asks less while it waits, and hardly sees it.

use crate::servers::{Ask, fake, plan, play, usual};
use std::sync::Mutex;
use std::time::Duration;
use tidemark_bench::{Arrivals, Limit, Pace, Report};
use tidemark_workload::Latency;

// time: it is how long a server stalls, and nobody waits for it
const STALL: Duration = Duration::from_millis(200);

/// A server that answers at once, but the 500th request and all that come meanwhile after 200 ms.
fn stalls_once() -> String {
    let gate = Mutex::new(());
    fake(move |ask: &Ask| {
        let _open = gate.lock().unwrap();
        if ask.number == 500 {
            std::thread::sleep(STALL);
        }
        usual(ask)
    })
}

/// A server that takes its time for each request of a connection.
fn slow(each: Duration) -> String {
    fake(move |ask: &Ask| {
        std::thread::sleep(each);
        usual(ask)
    })
}

/// Two thousand reads of that server; how long they took, and whether the latencies of one connection overlap.
pub(crate) fn read(pace: Pace) -> (Report, Latency, bool) {
    let mut plan = plan("ycsb-c", &[&stalls_once()], Limit::Operations(2000));
    plan.pace = pace;
    let report = play(&plan);
    assert!(report.is_whole());
    let get = report.summary.operations["get"];
    assert_eq!(get.count, 2000, "all that arrive are sent, only later");
    // Histograms have three digits.
    let overlap = get.mean_us * 2000.0 > 1.01 * plan.connections as f64 * report.summary.duration_us as f64;
    (report, get, overlap)
}

#[test]
fn an_open_loop_shows_a_stall_in_every_request_that_arrived_during_it() {
    for arrivals in [Arrivals::Fixed, Arrivals::Poisson] {
        let (report, get, overlap) = read(Pace::Open { per_second: 1000.0, arrivals });
        // A tenth of all requests arrive during the stall, and have to wait for the rest of it. A busy machine answers them, and those
        // after them, only later.
        assert!(get.p99_us > 150_000, "{get:?}");
        assert!(get.p95_us > 70_000, "{get:?}");
        let waited = report.waited.expect("in an open loop there is a queue");
        assert!(waited.p99_us > 150_000, "they waited on this side: {waited:?}");
        assert!(overlap, "requests wait that arrive while others do: {get:?}");
    }
}

#[test]
fn a_closed_loop_sees_a_stall_once_a_connection() {
    let (report, get, overlap) = read(Pace::Closed);
    assert!(get.max_us > 150_000, "{get:?}");
    assert!(!overlap, "a request begins when the one before has been answered: {get:?}");
    assert!(report.waited.is_none());
}

/// Requests that arrived in the warm-up and are sent later do not count: on a busy machine a number of operations was used up by
/// such ones, and nothing was measured.
#[test]
fn as_many_operations_are_measured_as_were_asked_for_if_the_warm_up_leaves_a_queue() {
    let mut plan = plan("ycsb-c", &[&slow(Duration::from_millis(5))], Limit::Operations(50));
    plan.warm_up = Duration::from_millis(200);
    // Four connections manage 800 at most.
    plan.pace = Pace::Open { per_second: 2000.0, arrivals: Arrivals::Fixed };
    let report = play(&plan);
    assert_eq!(report.summary.operations["get"].count, 50);
}

#[test]
fn a_rate_that_cannot_be_kept_is_said() {
    let slow = slow(Duration::from_millis(20));
    let mut plan = plan("ycsb-c", &[&slow], Limit::Time(Duration::from_secs(1)));
    plan.pace = Pace::Open { per_second: 2000.0, arrivals: Arrivals::Fixed };
    let report = play(&plan);
    // Four connections that take 20 ms a request manage 200 of the 2000, and on a busy machine fewer: then more is unsent.
    assert!(report.unsent > 1500, "{}", report.unsent);
    assert_eq!(
        report.unsent + report.summary.operations["get"].count,
        2000,
        "every arrival is accounted for"
    );
    assert!(report.text().contains("had arrived and were never sent"));
}
