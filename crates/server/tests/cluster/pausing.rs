//! CLIENT PAUSE: commands that wait.

use crate::support::{Cluster, eventually, text};
use std::time::{Duration, Instant};

#[test]
fn a_pause_of_writes_lets_reads_pass_and_ends_by_order() {
    let cluster = Cluster::start("causal", &[(0, &[0])], |_| ());
    let (mut admin, mut writer) = (cluster.client(0), cluster.client(0));
    let mut monitor = cluster.client(0);
    monitor.ok(&["MONITOR"]);
    admin.ok(&["CLIENT", "PAUSE", "600000", "WRITE"]);
    writer.send(b"GET k\r\nSET k v\r\nGET k\r\n");
    assert_eq!(text(&writer.reply().unwrap()), "-");
    eventually("the write waits", || admin.text(&["INFO", "clients"]).contains("blocked_clients:1"));
    assert_eq!(admin.text(&["GET", "k"]), "-");
    assert!(admin.text(&["CLIENT", "LIST"]).lines().any(|line| line.contains(" flags=b ")));
    admin.ok(&["CLIENT", "UNPAUSE"]);
    assert_eq!(text(&writer.reply().unwrap()), "OK");
    assert_eq!(text(&writer.reply().unwrap()), "v", "commands stay in order");
    assert!(admin.text(&["INFO", "clients"]).contains("blocked_clients:0"));
    admin.call(&["ECHO", "end"]);
    let lines = std::iter::from_fn(|| monitor.reply()).map(|line| text(&line));
    let shown: Vec<String> = lines.take_while(|line| !line.ends_with(r#""ECHO" "end""#)).collect();
    assert_eq!(shown.iter().filter(|line| line.ends_with(r#""SET" "k" "v""#)).count(), 1, "{shown:?}");
}

/// Found by hand: EXEC wrote during a pause of writes.
#[test]
fn a_pause_of_writes_holds_transactions_that_write() {
    let cluster = Cluster::start("causal", &[(0, &[0])], |_| ());
    let (mut admin, mut other) = (cluster.client(0), cluster.client(0));
    admin.ok(&["CLIENT", "PAUSE", "600000", "WRITE"]);
    other.send(b"MULTI\r\nGET k\r\nPING\r\nEXEC\r\n");
    let replies: Vec<String> = (0..3).map(|_| text(&other.reply().unwrap())).collect();
    assert_eq!(replies, ["OK", "QUEUED", "QUEUED"]);
    assert_eq!(other.reply().unwrap().items().map(<[_]>::len), Some(2), "one that only reads passes");
    other.send(b"MULTI\r\nGET k\r\nSET k v\r\nEXEC\r\n");
    (0..3).for_each(|_| drop(other.reply().unwrap()));
    eventually("the transaction waits", || admin.text(&["INFO", "clients"]).contains("blocked_clients:1"));
    assert_eq!(admin.text(&["GET", "k"]), "-");
    admin.ok(&["CLIENT", "UNPAUSE"]);
    assert_eq!(other.reply().unwrap().items().map(<[_]>::len), Some(2));
    assert_eq!(admin.text(&["GET", "k"]), "v");
}

#[test]
fn a_pause_of_everything_ends_by_itself() {
    let cluster = Cluster::start("causal", &[(0, &[0])], |_| ());
    let (mut admin, mut other) = (cluster.client(0), cluster.client(0));
    let start = Instant::now();
    admin.ok(&["CLIENT", "PAUSE", "300"]);
    admin.ok(&["SET", "k", "v"]);
    assert!(start.elapsed() >= Duration::from_millis(300)); // time: a pause lasts
    // A pause is never made shorter.
    let start = Instant::now();
    admin.ok(&["CLIENT", "PAUSE", "300", "WRITE"]);
    admin.ok(&["CLIENT", "PAUSE", "1", "WRITE"]);
    assert_eq!(other.text(&["PUBLISH", "a", "b"]), "0");
    // time: a pause lasts
    assert!(start.elapsed() >= Duration::from_millis(300), "PUBLISH counts as a write, as in Redis");
}

#[test]
fn a_client_that_waits_can_be_killed_and_can_leave() {
    let cluster = Cluster::start("causal", &[(0, &[0])], |_| ());
    let mut admin = cluster.client(0);
    let mut killed = cluster.client(0);
    let id = killed.text(&["CLIENT", "ID"]);
    let mut left = cluster.client(0);
    left.call(&["PING"]);
    admin.ok(&["CLIENT", "PAUSE", "600000", "WRITE"]);
    killed.send(b"SET k v\r\n");
    left.send(b"SET k v\r\n");
    eventually("both wait", || admin.text(&["INFO", "clients"]).contains("blocked_clients:2"));
    assert_eq!(admin.text(&["CLIENT", "KILL", "ID", &id]), "1");
    assert_eq!(killed.reply(), None);
    drop(left);
    admin.ok(&["CLIENT", "UNPAUSE"]);
    eventually("both are gone", || admin.text(&["INFO", "clients"]).contains("connected_clients:1"));
    assert_eq!(admin.text(&["INFO", "clients"]).matches("blocked_clients:0").count(), 1);
}

#[test]
fn a_pause_of_writes_holds_the_commit_of_an_interactive_transaction() {
    let cluster = Cluster::start("tidemark", &[(0, &[0])], |_| ());
    let (mut admin, mut other) = (cluster.client(0), cluster.client(0));
    other.ok(&["TIDE.BEGIN"]);
    other.ok(&["SET", "k", "v"]);
    admin.ok(&["CLIENT", "PAUSE", "600000", "WRITE"]);
    other.send(b"TIDE.COMMIT\r\n");
    eventually("the commit waits", || admin.text(&["INFO", "clients"]).contains("blocked_clients:1"));
    assert_eq!(admin.text(&["GET", "k"]), "-");
    admin.ok(&["CLIENT", "UNPAUSE"]);
    assert_eq!(text(&other.reply().unwrap()), "OK");
    assert_eq!(admin.text(&["GET", "k"]), "v");
}
