//! Keys that expire: their memory comes free without anybody touching them, also while a region is cut off.

use crate::support::{Client, Cluster, eventually, text};
use tidemark_wire::resp::encode_request;

/// A figure of all partitions of a node.
fn sum(cluster: &Cluster, node: usize, figure: &str) -> u64 {
    let status = cluster.status(node);
    let partitions = status["host"]["partitions"].as_array().expect("it serves its partitions").clone();
    partitions.iter().map(|partition| partition[figure].as_u64().expect("a number")).sum()
}

/// What a node holds: keys, versions, bytes.
fn held(cluster: &Cluster, node: usize) -> [u64; 3] {
    ["keys", "versions", "bytes"].map(|figure| sum(cluster, node, figure))
}

/// How many keys with deadlines have content at a node.
fn with_deadlines(cluster: &Cluster, node: usize) -> u64 {
    sum(cluster, node, "with_deadlines")
}

/// A line of INFO.
fn info(client: &mut Client, name: &str) -> String {
    let info = client.text(&["INFO"]);
    let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("{name} is not in INFO")).to_string()
}

/// Sets so many keys that expire soon.
fn fill(client: &mut Client, keys: usize, ms: &str) {
    let mut bytes = Vec::new();
    for key in 0..keys {
        let key = format!("key {key}");
        match key.len() % 2 {
            0 => encode_request(&mut bytes, &["SET", &key, "a value of some bytes", "PX", ms]),
            _ => encode_request(&mut bytes, &["PSETEX", &key, ms, "a value of some bytes"]),
        }
    }
    let mut write = client.stream.try_clone().unwrap();
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut write, &bytes).unwrap());
    (0..keys).for_each(|_| assert_eq!(text(&client.reply().unwrap()), "OK"));
    writer.join().unwrap();
}

#[test]
fn keys_that_nobody_touches_are_freed_in_every_region() {
    for regions in [1, 2] {
        let cluster = Cluster::regions("tidemark", regions, 2);
        let mut client = cluster.client(0);
        client.ok(&["SET", "stays", "v"]);
        client.ok(&["SET", "stays for long", "v", "EX", "1000"]);
        fill(&mut client, 100_000, "200");
        for node in 0..regions {
            // What a key of a data type has come to is no version any more.
            let left = [2, 1, "staysstays for long".len() as u64 + 1];
            eventually("nothing is left of them", || held(&cluster, node) == left);
            let mut there = cluster.client(node);
            assert_eq!(info(&mut there, "expired_keys"), "100000", "in region {node}");
            assert_eq!(info(&mut there, "db0"), "keys=2,expires=1,avg_ttl=0");
        }
        assert_eq!(client.text(&["GET", "stays for long"]), "v");
    }
}

fn with_grace(seconds: u64) -> Cluster {
    Cluster::start("tidemark", &[(0, &[0, 1]), (1, &[0, 1])], |config| {
        config.expire_grace_us = seconds * 1_000_000;
    })
}

fn cut(cluster: &Cluster) {
    for pair in [r#"{"from": "A", "to": "B"}"#, r#"{"from": "B", "to": "A"}"#] {
        assert!(cluster.admin(0, "/admin/cut", pair).contains("200 OK"));
    }
    eventually("the link is down", || {
        let page = cluster.page(0, "/status");
        page.contains(r#""stream_in":false"#) && page.contains(r#""stream_out":false"#)
    });
}

fn heal(cluster: &Cluster) {
    assert!(cluster.admin(0, "/admin/heal", "{}").contains("200 OK"));
}

/// Sets the clock of a node beyond deadlines of 600 s.
fn put_ahead(cluster: &Cluster, node: usize) {
    assert!(cluster.admin(node, "/admin/skew", r#"{"ms": 700000}"#).contains("200 OK"));
}

#[test]
fn content_that_expired_during_a_cut_is_purged_after_the_grace() {
    let cluster = with_grace(1);
    let (mut a, mut b) = (cluster.client(0), cluster.client(1));
    a.ok(&["SET", "before", "v"]);
    eventually("it is in the other region", || b.text(&["GET", "before"]) == "v");
    cut(&cluster);
    fill(&mut a, 2_000, "100");
    a.text(&["HSET", "hash", "f", "v"]);
    a.text(&["PEXPIRE", "hash", "100"]);
    a.ok(&["SET", "later", "v", "PX", "600000"]);
    eventually("what has expired is gone, all but its keys", || with_deadlines(&cluster, 0) == 1);
    assert!(held(&cluster, 0)[0] > 2_000, "what is left of keys waits for the other region");
    heal(&cluster);
    eventually("keys are gone, too", || held(&cluster, 0)[0] == 2 && held(&cluster, 1)[0] == 2);
    assert_eq!([a.text(&["GET", "later"]), b.text(&["GET", "later"])], ["v", "v"]);
    assert_eq!([a.text(&["EXISTS", "hash"]), b.text(&["EXISTS", "hash"])], ["0", "0"]);
}

/// The other region changes the key before it expires there, and has purged nothing when it hears of the purge: what it has added
/// expires with the key.
#[test]
fn what_was_added_before_the_deadline_does_not_outlive_it_because_of_a_purge() {
    let mut cluster = with_grace(1);
    cluster.stop(1);
    cluster.configure(1, |config| config.expire_grace_us = 3_600_000_000);
    cluster.restart(1);
    let (mut a, mut b) = (cluster.client(0), cluster.client(1));
    eventually("the regions have met", || {
        a.text(&["HSET", "session", "f", "v"]);
        b.text(&["HGET", "session", "f"]) == "v"
    });
    a.text(&["EXPIRE", "session", "600"]);
    eventually("the deadline is in the other region", || {
        b.text(&["PTTL", "session"]).parse::<i64>().is_ok_and(|left| left > 0)
    });
    cut(&cluster);
    assert_eq!(b.text(&["HSET", "session", "g", "w"]), "1");
    (0..2).for_each(|node| put_ahead(&cluster, node));
    eventually("it is purged", || with_deadlines(&cluster, 0) == 0);
    assert_eq!(with_deadlines(&cluster, 1), 1);
    heal(&cluster);
    put_ahead(&cluster, 0); // what is healed has the right time, too
    eventually("it is dropped in both regions", || held(&cluster, 0)[0] == 0 && held(&cluster, 1)[0] == 0);
    assert_eq!([a.text(&["HGETALL", "session"]), b.text(&["HGETALL", "session"])], ["Array([])"; 2]);
}
