//! Reads at a physical time and GET-SNAPSHOT, through Redis clients.

use crate::support::{Client, Cluster, eventually};
use std::sync::Arc;
use std::time::Duration;
use tidemark_patience::wait_for;
use tidemark_server::NodeConfig;

/// Versions are kept for an hour.
fn keeping(config: &mut NodeConfig) {
    let mut cluster = (*config.cluster).clone();
    cluster.params = serde_json::json!({ "keep_us": 3_600_000_000_u64 });
    config.cluster = Arc::new(cluster);
}

/// The time of a server, in the words of TIDE.AT. A little later nothing more is written at that time.
fn now(client: &mut Client) -> String {
    let time = client.list(&["TIME"]);
    std::thread::sleep(Duration::from_millis(2));
    format!("{}.{:0>6}", time[0], time[1])
}

fn at(client: &mut Client, time: &str, key: &str) -> String {
    client.text(&["TIDE.AT", time, "GET", key])
}

#[test]
fn what_was_newest_at_a_time_is_returned_in_every_region_again_and_again() {
    for protocol in ["tidemark", "causal-spartan-x", "gentlerain", "nukv"] {
        let all: &[u16] = &[0, 1];
        let cluster = Cluster::start(protocol, &[(0, all), (1, all)], keeping);
        let (mut a, mut b) = (cluster.client(0), cluster.client(1));
        eventually("the regions are connected", || !at(&mut a, "-0", "k").starts_with('!'));
        let before = now(&mut a);
        let mut times = Vec::new();
        for n in 0..5 {
            std::thread::sleep(Duration::from_millis(2));
            let value = n.to_string();
            a.ok(&["SET", "k", &value]);
            b.ok(&["SET", &format!("other{n}"), &value]);
            std::thread::sleep(Duration::from_millis(2));
            times.push((now(&mut b), value));
        }
        assert_eq!(a.text(&["DEL", "k"]), "1");
        let gone = now(&mut a);
        for _ in 0..2 {
            for client in [&mut a, &mut b] {
                assert_eq!(at(client, &before, "k"), "-", "{protocol}");
                for (time, value) in &times {
                    assert_eq!(at(client, time, "k"), *value, "{protocol}");
                    let both =
                        client.list(&["TIDE.AT", time, "MGET", "k", &format!("other{value}"), "other4"]);
                    let other = if value == "4" { "4" } else { "-" };
                    assert_eq!(both, [&**value, value, other], "{protocol}");
                }
                assert_eq!(at(client, &gone, "k"), "-", "{protocol}");
            }
        }
        assert_eq!(a.text(&["GET", "k"]), "-", "a session does not go back");
        for (time, error) in [
            ("4102444800", "!ERR that time lies in the future"),
            ("1000000000", "!ERR that time is before what is kept here"),
            ("-36000", "!ERR that time is before what is kept here"),
            ("1732444800250", "!ERR the time is in seconds"),
            ("noon", "!ERR the time is Unix time in seconds"),
        ] {
            let answer = at(&mut a, time, "k");
            assert!(answer.starts_with(error), "{protocol}: {answer}");
        }
        let usage = a.text(&["TIDE.AT", "-1", "SET", "k", "v"]);
        assert_eq!(usage, "!ERR behind the time stands GET key or MGET key [key ...]");
    }
}

#[test]
fn who_keeps_nothing_or_cannot_says_so() {
    let cluster = Cluster::regions("tidemark", 1, 1);
    let answer = at(&mut cluster.client(0), "-1", "k");
    assert!(answer.contains("ERR no overwritten value is kept") && answer.contains("keep = "), "{answer}");
    drop(cluster);
    let cluster = Cluster::regions("cure", 1, 1);
    assert_eq!(at(&mut cluster.client(0), "-1", "k"), "!ERR cure cannot read at a time");
}

/// The next leader, whose clock may be another, does not write under a time that its predecessor answered for.
#[test]
fn a_group_goes_on_reading_at_times_under_its_next_leader() {
    for protocol in ["tidemark", "nukv"] {
        let all: &[u16] = &[0];
        let mut cluster = Cluster::start(protocol, &[(0, all), (0, all), (0, all)], keeping);
        let mut client = cluster.client(0);
        eventually("a leader", || client.text(&["SET", "k", "1"]) == "OK");
        let then = now(&mut client);
        assert_eq!(at(&mut client, &then, "k"), "1");
        let leading = |node: &usize| cluster.status(*node)["group"]["role"] == "leader";
        let leads = wait_for("one leads", || (0..3).find(leading));
        cluster.stop(leads);
        let mut client = cluster.client((leads + 1) % 3);
        eventually("another leader", || client.text(&["SET", "k", "2"]) == "OK");
        // What was written before it came to lead it does not answer for.
        let refused = at(&mut client, &then, "k");
        assert!(refused.starts_with("!ERR that time is before what is kept here"), "{refused}");
        let mut later = String::new();
        eventually("a time that it answers for", || {
            later = now(&mut client);
            at(&mut client, &later, "k") == "2"
        });
        client.ok(&["SET", "k", "3"]);
        assert_eq!(at(&mut client, &later, "k"), "2", "{protocol}");
    }
}

#[test]
fn a_snapshot_does_not_wait_for_what_its_session_has_written() {
    for protocol in ["gentlerain", "tidemark", "cops", "eventual"] {
        let cluster = Cluster::regions(protocol, 1, 2);
        let mut client = cluster.client(0);
        client.ok(&["SET", "x", "1"]);
        client.ok(&["SET", "y", "2"]);
        eventually("both are stable", || client.list(&["TIDE.SNAPSHOT", "x", "y", "z"]) == ["1", "2", "-"]);
    }
    let all: &[u16] = &[0];
    let cluster = Cluster::start("gentlerain", &[(0, all), (1, all)], |_| ());
    let mut client = cluster.client(0);
    cluster.admin(0, "/admin/cut", r#"{"from": "A", "to": "B", "both_ways": true}"#);
    client.ok(&["SET", "x", "1"]);
    assert_eq!(client.list(&["TIDE.SNAPSHOT", "x"]), ["-"], "MGET would wait for B");
}
