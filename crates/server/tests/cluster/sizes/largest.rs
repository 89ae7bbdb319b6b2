//! Values of 512 MiB: they take gigabytes of memory and minutes, so this is run by hand.

use crate::support::{Client, Cluster, eventually};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use tidemark_core::Limit;

/// The most that the process has had in memory, in MiB.
fn peak_mib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() >> 10
}

/// Does something, and returns how long it took and the longest that a PING of any node did meanwhile.
fn timed(cluster: &Cluster, what: impl FnOnce()) -> (Duration, Duration) {
    std::thread::scope(|scope| {
        let mut running = Vec::new();
        let pings = (0..cluster.nodes.len()).map(|node| {
            let (mut client, (run, stopped)) = (cluster.client(node), mpsc::channel::<()>());
            running.push(run);
            scope.spawn(move || {
                let mut longest = Duration::ZERO;
                let pace = Duration::from_millis(2); // time: between two questions
                while stopped.recv_timeout(pace) == Err(RecvTimeoutError::Timeout) {
                    let start = Instant::now();
                    assert_eq!(client.text(&["PING"]), "PONG");
                    longest = longest.max(start.elapsed());
                }
                longest
            })
        });
        let pings: Vec<_> = pings.collect();
        let start = Instant::now();
        what();
        let took = start.elapsed();
        running.clear();
        (took, pings.into_iter().map(|ping| ping.join().unwrap()).max().unwrap())
    })
}

fn measure(name: &str, shape: &[(u8, &[u16])], value: usize) {
    let cluster = Cluster::start("tidemark", shape, |config| {
        config.log_segment_bytes = 64 << 20;
        config.election_timeout_us = 1_000_000;
    });
    cluster.meet(&["k", "copy", "range"]);
    let term = || cluster.status(0)["group"]["term"].clone();
    let (before, mut client) = (term(), cluster.client(0));
    let mut others: Vec<Client> = (1..cluster.nodes.len()).map(|node| cluster.client(node)).collect();
    let mut everywhere = |key: &str, length: usize| {
        for other in &mut others {
            eventually("it is everywhere", || other.text(&["STRLEN", key]) == length.to_string());
        }
    };
    let mut step = |what: &str, key: &str, length: usize, command: &[&str]| {
        let (took, ping) = timed(&cluster, || {
            let said = client.text(command);
            assert!(!said.starts_with('!'), "{what}: {said}");
        });
        let (spread, later) = timed(&cluster, || everywhere(key, length));
        println!(
            "{name}, {} MiB, {what}: {took:.2?}, PING {ping:.2?}; everywhere after {spread:.2?} more, PING {later:.2?}; peak {} MiB",
            length >> 20,
            peak_mib()
        );
    };
    let most = "v".repeat(value);
    step("SET", "{k}", value, &["SET", "{k}", &most]);
    step("COPY", "{k}copy", value, &["COPY", "{k}", "{k}copy"]);
    step("SETRANGE", "{k}range", value, &["SETRANGE", "{k}range", &(value - 1).to_string(), "x"]);
    step("SET of half", "{k}", value / 2, &["SET", "{k}", &most[..value / 2]]);
    step("APPEND", "{k}", value, &["APPEND", "{k}", &most[..value / 2]]);
    println!("{name}: term {before} before, {} after", term());
    if value == Limit::VALUE_BYTES {
        assert!(client.text(&["APPEND", "{k}", "x"]).starts_with("!ERR string exceeds"));
        assert!(
            client.text(&["SETRANGE", "{k}", &value.to_string(), "x"]).starts_with("!ERR string exceeds")
        );
    }
}

#[test]
#[ignore = "it takes gigabytes of memory"]
fn values_of_64_and_of_512_mebibytes() {
    let one: &[u16] = &[0];
    for value in [64 << 20, Limit::VALUE_BYTES] {
        measure("two regions of one node", &[(0, one), (1, one)], value);
        measure("a group of three", &[(0, one), (0, one), (0, one)], value);
        measure("two nodes of a region", &[(0, &[0]), (0, &[1])], value);
    }
}
