//! Checking groups, through Redis clients: `TIDE.CHECKING` under ACCF.

use crate::support::{Client, Cluster, eventually};
use std::sync::Arc;

/// Two regions of two partitions: one group for the first partition, and one for everything.
fn accf() -> Cluster {
    let all: &[u16] = &[0, 1];
    Cluster::start("accf", &[(0, all), (1, all)], |config| {
        let mut cluster = (*config.cluster).clone();
        cluster.params = serde_json::json!({
            "checking": { "first": ["*/0"], "wide": ["*"] },
            "wait_limit_us": 500_000,
        });
        config.cluster = Arc::new(cluster);
    })
}

/// Keys of the first and of the second partition: slots 5061 and 12182 of 16384.
const KEYS: (&str, &str) = ("bar", "foo");

#[test]
fn a_group_waits_for_its_own_servers_alone() {
    let cluster = accf();
    let (mut a, mut b) = (cluster.client(0), cluster.client(1));
    let wide = |client: &mut Client| client.text(&["TIDE.CHECKING", "wide", "GET", KEYS.0]);
    let first = |client: &mut Client| client.text(&["TIDE.CHECKING", "first", "GET", KEYS.0]);
    a.ok(&["SET", KEYS.0, "before"]);
    eventually("the first write everywhere", || wide(&mut cluster.client(1)) == "before");
    // The second partition's servers hear no more of each other: that is how far everything together is.
    for node in [0, 1] {
        cluster.admin(node, "/admin/cut", r#"{"from": "A/1", "to": "B/1"}"#);
    }
    a.ok(&["SET", KEYS.0, "after"]);
    eventually("the write in the group that it concerns", || first(&mut cluster.client(1)) == "after");
    assert_eq!(wide(&mut cluster.client(1)), "before");
    assert_eq!(first(&mut b), "after");
    assert_eq!(wide(&mut b), "after", "who has seen it keeps seeing it");
    assert!(
        b.text(&["GET", KEYS.1]).starts_with("!UNAVAILABLE what this session depends on has not arrived")
    );
    assert_eq!(cluster.client(1).text(&["GET", KEYS.1]), "-", "who has seen nothing waits for nothing");
    for node in [0, 1] {
        cluster.admin(node, "/admin/heal", "{}");
    }
    eventually("the write everywhere", || wide(&mut cluster.client(1)) == "after");
    assert_eq!(b.text(&["MGET", KEYS.0, KEYS.1]), cluster.client(1).text(&["MGET", KEYS.0, KEYS.1]));
}

#[test]
fn a_connection_chooses_for_all_that_follows_and_is_told_what_there_is() {
    let cluster = accf();
    let mut client = cluster.client(0);
    let chosen = |client: &mut Client| format!("{:?}", client.call(&["TIDE.CHECKING"]));
    assert!(chosen(&mut client).contains("first") && chosen(&mut client).contains("wide"));
    let at_first = chosen(&mut client);
    client.ok(&["TIDE.CHECKING", "WIDE,first"]);
    assert_ne!(chosen(&mut client), at_first);
    client.ok(&["SET", KEYS.0, "1"]);
    assert_eq!(client.text(&["GET", KEYS.0]), "1");
    assert_eq!(client.list(&["MGET", KEYS.0, KEYS.1]), ["1", "-"]);
    let unknown = client.text(&["TIDE.CHECKING", "wide,narrow"]);
    assert_eq!(unknown, "!ERR no checking group is called 'narrow'; there are first, wide");
    assert!(client.text(&["TIDE.CHECKING", "narrow", "GET", KEYS.0]).starts_with("!ERR no checking group"));
    client.ok(&["TIDE.CHECKING", "*"]);
    assert_eq!(chosen(&mut client), at_first);
    client.ok(&["TIDE.CHECKING", "first"]);
    assert_eq!(client.text(&["RESET"]), "RESET");
    assert_eq!(chosen(&mut client), at_first);
    let mut other = Cluster::regions("causal", 1, 1);
    let refused = other.client(0).text(&["TIDE.CHECKING", "A"]);
    assert_eq!(refused, "!ERR tidemark has no checking groups");
    other.stop(0);
}

/// What was written and what every group had survive a restart of all nodes, in groupings of all kinds.
#[test]
fn everything_is_there_after_a_restart() {
    let all: &[u16] = &[0, 1];
    for (tracking, checking) in [("server", "server"), ("system", "region"), ("partition", "system")] {
        let mut cluster = Cluster::start("accf", &[(0, all), (1, all)], |config| {
            let mut cluster = (*config.cluster).clone();
            cluster.params = serde_json::json!({ "tracking": tracking, "checking": checking });
            config.cluster = Arc::new(cluster);
        });
        let mut a = cluster.client(0);
        (0..50).for_each(|n| a.ok(&["SET", &format!("k{n}"), &n.to_string()]));
        eventually("everything in B", || cluster.client(1).text(&["GET", "k49"]) == "49");
        (0..2).for_each(|node| cluster.stop(node));
        (0..2).for_each(|node| cluster.restart(node));
        for node in 0..2 {
            for n in 0..50 {
                let key = format!("k{n}");
                eventually("what was written", || cluster.client(node).text(&["GET", &key]) == n.to_string());
            }
        }
    }
}

/// What is stored names tracking groups by their numbers.
#[test]
fn a_directory_of_another_tracking_is_refused() {
    let mut cluster = accf();
    cluster.client(0).ok(&["SET", "k", "1"]);
    cluster.stop(0);
    cluster.configure(0, |config| {
        let mut cluster = (*config.cluster).clone();
        cluster.params = serde_json::json!({ "tracking": "system" });
        config.cluster = Arc::new(cluster);
    });
    let started = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| cluster.restart(0)));
    let why = started.expect_err("it does not start");
    let why = why.downcast_ref::<String>().expect("what it said");
    assert!(why.contains("tracking region, this server is configured with"), "{why}");
}
