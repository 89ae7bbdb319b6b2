//! What clients can have a node do, and what it tells of itself, through sockets.

use crate::support::{Client, Cluster, eventually};
use std::time::{SystemTime, UNIX_EPOCH};
use tidemark_wire::resp::Reply;

fn one() -> Cluster {
    Cluster::start("causal", &[(0, &[0])], |_| ())
}

/// A line of INFO.
fn figure(client: &mut Client, section: &str, name: &str) -> String {
    let text = client.text(&["INFO", section]);
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name}:")));
    line.unwrap_or_else(|| panic!("{name} in {text}")).to_string()
}

fn number(client: &mut Client, section: &str, name: &str) -> u64 {
    figure(client, section, name).parse().unwrap()
}

#[test]
fn info_counts_what_happens() {
    let cluster = one();
    let mut client = cluster.client(0);
    client.ok(&["CONFIG", "RESETSTAT"]);
    client.ok(&["SET", "k", "v"]);
    client.call(&["GET", "k"]);
    client.call(&["MGET", "k", "none", "none2"]);
    client.call(&["EXISTS", "none"]);
    assert_eq!(number(&mut client, "stats", "keyspace_hits"), 2);
    assert_eq!(number(&mut client, "stats", "keyspace_misses"), 3);
    let (input, output) = (number(&mut client, "stats", "total_net_input_bytes"), "total_net_output_bytes");
    let before = number(&mut client, "stats", output);
    client.ok(&["SET", "k", &"x".repeat(100_000)]);
    client.call(&["GET", "k"]);
    assert!(number(&mut client, "stats", "total_net_input_bytes") >= input + 100_000);
    assert!(number(&mut client, "stats", output) >= before + 100_000);
    assert!(number(&mut client, "memory", "used_memory") > 1_000_000);
    assert!(number(&mut client, "memory", "total_system_memory") > 100_000_000);
    assert!(number(&mut client, "memory", "used_memory_dataset") >= 100_000);
    assert!(number(&mut client, "persistence", "aof_current_size") > 0);
    assert!(figure(&mut client, "cpu", "used_cpu_user").parse::<f64>().unwrap() >= 0.0);
    let mut subscriber = cluster.client(0);
    subscriber.call(&["PSUBSCRIBE", "a*"]);
    assert_eq!(number(&mut client, "clients", "pubsub_clients"), 1);
    assert_eq!(number(&mut client, "stats", "pubsub_patterns"), 1);
    eventually("a rate is counted", || {
        (0..100).for_each(|_| drop(client.call(&["PING"])));
        number(&mut client, "stats", "instantaneous_ops_per_sec") > 10
    });
}

#[test]
fn commands_and_errors_are_counted_as_in_redis() {
    let cluster = one();
    let mut client = cluster.client(0);
    client.ok(&["CONFIG", "RESETSTAT"]);
    client.call(&["AUTH", "k"]);
    client.call(&["SET", "k"]);
    client.ok(&["SET", "k", "v"]);
    client.call(&["SET", "k", "v", "nonsense"]);
    client.call(&["asdf"]);
    client.call(&["AUTH", "a", "b"]);
    let stats = |client: &mut Client, name: &str| figure(client, "commandstats", &format!("cmdstat_{name}"));
    let auth = stats(&mut client, "auth");
    assert!(
        auth.starts_with("calls=2,usec=") && auth.ends_with(",rejected_calls=0,failed_calls=2"),
        "{auth}"
    );
    let set = stats(&mut client, "set");
    assert!(set.starts_with("calls=2,usec=") && set.ends_with(",rejected_calls=1,failed_calls=1"), "{set}");
    assert!(set.contains(",usec_per_call="));
    assert!(stats(&mut client, "config|resetstat").starts_with("calls=1,"));
    assert_eq!(figure(&mut client, "errorstats", "errorstat_ERR"), "count=4");
    assert_eq!(figure(&mut client, "errorstats", "errorstat_WRONGPASS"), "count=1");
    assert_eq!(number(&mut client, "stats", "total_error_replies"), 5);
    let latencies = figure(&mut client, "latencystats", "latency_percentiles_usec_set");
    assert!(latencies.starts_with("p50=") && latencies.contains(",p99=") && latencies.contains(",p99.9="));
    client.ok(&["CONFIG", "SET", "latency-tracking-info-percentiles", "0.0 100.0"]);
    let latencies = figure(&mut client, "latencystats", "latency_percentiles_usec_set");
    assert!(latencies.starts_with("p0=") && latencies.contains(",p100="), "{latencies}");
    client.ok(&["CONFIG", "RESETSTAT"]);
    assert!(!client.text(&["INFO", "errorstats"]).contains("errorstat_"));
}

#[test]
fn a_snapshot_is_taken_when_a_client_asks_for_one() {
    let cluster = one();
    let mut client = cluster.client(0);
    let started = client.text(&["LASTSAVE"]).parse::<u64>().unwrap();
    client.ok(&["SET", "k", "v"]);
    let second = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    eventually("another second", || second() > started);
    assert_eq!(client.call(&["BGSAVE"]), Reply::Simple("Background saving started".into()));
    eventually("the snapshot", || client.text(&["LASTSAVE"]).parse::<u64>().unwrap() > started);
    eventually("its end", || number(&mut client, "persistence", "rdb_bgsave_in_progress") == 0);
    assert_eq!(figure(&mut client, "persistence", "rdb_last_bgsave_status"), "ok");
    let rewriting = client.call(&["BGREWRITEAOF"]);
    assert_eq!(rewriting, Reply::Simple("Background append only file rewriting started".into()));
    let again = client.text(&["BGSAVE", "SCHEDULE"]);
    assert!(again == "Background saving started" || again == "!ERR Background save already in progress");
}

#[test]
fn shutdown_stops_the_node_well() {
    let mut cluster = one();
    let mut client = cluster.client(0);
    client.ok(&["SET", "k", "v"]);
    client.send(b"SHUTDOWN NOSAVE\r\n");
    assert_eq!(client.reply(), None, "the connection is closed without a reply");
    cluster.stop(0);
    cluster.restart(0);
    assert_eq!(cluster.client(0).text(&["GET", "k"]), "v");
}
