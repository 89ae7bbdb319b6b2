//! WAIT and WAITAOF: other regions confirm what was written.

use crate::support::{Cluster, eventually};
use std::time::{Duration, Instant};

#[test]
fn wait_counts_regions_that_have_what_was_written() {
    let cluster = Cluster::regions("causal", 2, 2);
    let mut client = cluster.client(0);
    client.ok(&["MSET", "foo", "1", "bar", "1"]);
    assert_eq!(client.text(&["WAIT", "1", "0"]), "1");
    assert!(cluster.admin(1, "/admin/cut", r#"{"from": "A", "to": "B"}"#).contains("200 OK"));
    eventually("the link is down", || {
        let page = cluster.page(0, "/status");
        page.contains(r#""stream_in":false"#) && page.contains(r#""stream_out":false"#)
    });
    client.ok(&["SET", "foo", "2"]);
    let start = Instant::now();
    assert_eq!(client.text(&["WAIT", "1", "200"]), "0");
    assert!(start.elapsed() >= Duration::from_millis(200)); // time: a wait ends no sooner than it was asked to
    assert_eq!(client.text(&["WAIT", "0", "0"]), "0", "nothing is waited for");
    let mut waits = cluster.client(0);
    waits.send(b"WAIT 1 0\r\n");
    eventually("it waits", || client.text(&["INFO", "clients"]).contains("blocked_clients:1"));
    assert!(cluster.admin(1, "/admin/heal", "{}").contains("200 OK"));
    assert_eq!(waits.reply(), Some(tidemark_wire::resp::Reply::Integer(1)));
    assert_eq!(client.text(&["WAIT", "1", "0"]), "1");
    // To have received it is not to show it.
    let mut there = cluster.client(1);
    eventually("it is there", || there.text(&["GET", "foo"]) == "2");
}

#[test]
fn wait_asks_the_other_nodes_of_its_region() {
    let shape: &[(u8, &[u16])] = &[(0, &[0]), (0, &[1]), (1, &[0, 1])];
    let cluster = Cluster::start("causal", shape, |_| ());
    cluster.meet(&["{foo}met", "{bar}met"]);
    let mut client = cluster.client(0);
    // "bar" is in partition 0, "foo" in partition 1.
    client.ok(&["SET", "foo", "1"]);
    assert_eq!(client.text(&["WAIT", "1", "0"]), "1");
    assert_eq!(client.list(&["WAITAOF", "1", "1", "0"]), ["1", "1"]);
    assert!(cluster.admin(1, "/admin/cut", r#"{"from": "A/1", "to": "B/1"}"#).contains("200 OK"));
    client.ok(&["SET", "foo", "2"]);
    assert_eq!(client.text(&["WAIT", "1", "200"]), "0");
    assert!(cluster.admin(1, "/admin/heal", r#"{"from": "A/1", "to": "B/1"}"#).contains("200 OK"));
    assert_eq!(client.text(&["WAIT", "1", "0"]), "1");
}

#[test]
fn waitaof_counts_what_is_synced() {
    for fsync in ["always", "everysec"] {
        let cluster = Cluster::start("causal", &[(0, &[0])], |config| config.fsync = fsync.parse().unwrap());
        let mut client = cluster.client(0);
        // In one batch, too.
        client.send(b"SET k v\r\nWAITAOF 1 0 0\r\n");
        assert!(client.reply().is_some());
        let reply = client.reply().unwrap();
        let counts: Vec<i64> = reply.items().unwrap().iter().map(|item| item.integer().unwrap()).collect();
        assert_eq!(counts, [1, 0], "{fsync}");
        assert_eq!(client.list(&["WAITAOF", "0", "1", "30"]), ["1", "0"]);
    }
    let cluster = Cluster::start("causal", &[(0, &[0])], |config| config.fsync = "no".parse().unwrap());
    let error = cluster.client(0).text(&["WAITAOF", "1", "0", "0"]);
    assert!(error.contains("appendonly is disabled"), "{error}");
}

#[test]
fn a_wait_for_confirmations_can_be_ended() {
    let cluster = Cluster::start("causal", &[(0, &[0])], |_| ());
    let (mut admin, mut client) = (cluster.client(0), cluster.client(0));
    let id = client.text(&["CLIENT", "ID"]);
    for (reason, expected) in [("TIMEOUT", "0"), ("ERROR", "!UNBLOCKED client unblocked via CLIENT UNBLOCK")]
    {
        client.send(b"WAIT 1 0\r\n");
        eventually("it waits", || admin.text(&["CLIENT", "UNBLOCK", &id, reason]) == "1");
        assert_eq!(crate::support::text(&client.reply().unwrap()), expected);
    }
    for (command, error) in [
        ("WAIT x 0", "!ERR value is not an integer or out of range"),
        ("WAIT 0 x", "!ERR timeout is not an integer or out of range"),
        ("WAIT 0 -1", "!ERR timeout is negative"),
        ("WAITAOF 2 0 0", "!ERR value is out of range, value must between 0 and 1"),
        ("WAITAOF 0 -1 0", "!ERR value is out of range, must be positive"),
    ] {
        assert_eq!(admin.text(&command.split(' ').collect::<Vec<_>>()), error, "{command}");
    }
    admin.call(&["CLIENT", "REPLY", "ON"]);
    client.send(b"WAIT 1 0\r\n");
    eventually("it waits", || admin.text(&["INFO", "clients"]).contains("blocked_clients:1"));
    drop(client);
    eventually("it is gone", || admin.text(&["INFO", "clients"]).contains("blocked_clients:0"));
}

#[test]
fn every_member_of_a_group_can_wait() {
    let shape: &[(u8, &[u16])] = &[(0, &[0]), (0, &[0]), (0, &[0]), (1, &[0]), (1, &[0]), (1, &[0])];
    let cluster = Cluster::start("causal", shape, |_| ());
    cluster.meet(&["k"]);
    for node in 0..3 {
        let mut client = cluster.client(node);
        client.ok(&["SET", "k", "v"]);
        assert_eq!(client.text(&["WAIT", "1", "0"]), "1", "at {node}");
    }
}
