//! A region that spans two nodes.

use crate::support::{Cluster, eventually};
use std::collections::BTreeSet;
use std::sync::Arc;

const SHAPE: &[(u8, &[u16])] = &[(0, &[0, 2]), (0, &[1, 3]), (1, &[0, 1, 2, 3])];

/// Waits until every node of the region can ask the other.
fn whole(protocol: &str) -> Cluster {
    let cluster = Cluster::start(protocol, SHAPE, |_| ());
    (0..2).for_each(|node| knows_all(&cluster, node));
    cluster
}

fn knows_all(cluster: &Cluster, node: usize) {
    let mut client = cluster.client(node);
    eventually("the nodes know each other", || client.call(&["DBSIZE"]).integer().is_some());
}

#[test]
fn every_node_serves_every_key() {
    for protocol in ["eventual", "causal", "cc-lo"] {
        let cluster = whole(protocol);
        let (mut x, mut y) = (cluster.client(0), cluster.client(1));
        let keys: BTreeSet<String> = (0..200).map(|i| format!("k{i}")).collect();
        for key in &keys {
            x.ok(&["SET", key, key]);
            assert_eq!(x.text(&["GET", key]), *key);
        }
        for key in &keys {
            eventually("the other node's answer", || y.text(&["GET", key]) == *key);
        }
        let all: Vec<&str> = std::iter::once("MGET").chain(keys.iter().map(String::as_str)).collect();
        assert_eq!(x.list(&all), keys.iter().cloned().collect::<Vec<_>>());
        assert_eq!(x.text(&["DBSIZE"]), "200");
        assert_eq!(x.list(&["KEYS", "*"]).into_iter().collect::<BTreeSet<_>>(), keys);
        assert_eq!(x.text(&["EXISTS", "k1", "k2", "k3", "k4", "none"]), "4");
        assert_eq!(x.text(&["DEL", "k1", "k2", "k3", "k4", "none"]), "4");
        assert_eq!(x.text(&["SETNX", "k1", "x"]), "1");
        let mut far = cluster.client(2);
        eventually("the other region", || far.text(&["DBSIZE"]) == "197");
        x.ok(&["FLUSHALL"]);
        assert_eq!(x.text(&["DBSIZE"]), "0");
        eventually("the flush in the other region", || far.text(&["DBSIZE"]) == "0");
    }
}

#[test]
fn pipelined_commands_are_answered_in_order_wherever_they_go() {
    let cluster = whole("causal");
    let mut client = cluster.client(0);
    let mut bytes = Vec::new();
    for i in 0..2_000 {
        let key = format!("k{}", i % 50);
        tidemark_wire::resp::encode_request(&mut bytes, &["SET", &key, &i.to_string()]);
        tidemark_wire::resp::encode_request(&mut bytes, &["GET", &key]);
    }
    client.send(&bytes);
    for i in 0..2_000 {
        assert_eq!(crate::support::text(&client.reply().unwrap()), "OK");
        assert_eq!(crate::support::text(&client.reply().unwrap()), i.to_string());
    }
}

#[test]
fn without_the_other_node_its_keys_are_unavailable_and_the_rest_is_served() {
    let mut cluster = Cluster::start("causal", SHAPE, |config| config.op_deadline_us = 1_000_000);
    let mut client = cluster.client(0);
    // "bar" is in slot 5061: partition 1 of 4, on the second node; slot 0 is the empty key, partition 0.
    eventually("the nodes know each other", || client.text(&["SET", "bar", "1"]) == "OK");
    cluster.stop(1);
    eventually("the loss is noticed", || {
        let text = client.text(&["GET", "bar"]);
        text.starts_with("!UNAVAILABLE")
    });
    eventually("the rest is served", || client.text(&["SET", "", "here"]) == "OK");
    let write = client.text(&["SET", "bar", "2"]);
    assert!(write.starts_with("!UNAVAILABLE"), "nothing was sent: {write}");
    cluster.restart(1);
    eventually("it is back", || client.text(&["GET", "bar"]) == "1");
    eventually("it takes writes", || client.text(&["SET", "bar", "3"]) == "OK");
    eventually("what was written is there", || client.text(&["GET", "bar"]) == "3");
}

/// Contrarian in one and a half rounds: the node that a session asks lets the others answer. One of those stops while
/// transactions run, and is started again: what comes late, or not at all, is never taken for the answer of another one.
#[test]
fn a_question_that_several_nodes_answer_survives_the_stop_of_one() {
    let shape: &[(u8, &[u16])] = &[(0, &[0]), (0, &[1]), (0, &[2])];
    let mut cluster = Cluster::start("contrarian", shape, |config| {
        config.op_deadline_us = 200_000;
        Arc::make_mut(&mut config.cluster).params = serde_json::json!({ "rounds": "one-and-a-half" });
    });
    (0..3).for_each(|node| knows_all(&cluster, node));
    let mut client = cluster.client(0);
    let keys: Vec<String> = (0..60).map(|i| format!("k{i}")).collect();
    keys.iter().for_each(|key| eventually("it is set", || client.text(&["SET", key, key]) == "OK"));
    let mut read = |from: usize| {
        let asked: Vec<&str> = (0..12).map(|i| keys[(from + 7 * i) % keys.len()].as_str()).collect();
        let command: Vec<&str> = std::iter::once("MGET").chain(asked.iter().copied()).collect();
        let reply = client.call(&command);
        match reply.items() {
            Some(found) => assert_eq!(found.iter().map(crate::support::text).collect::<Vec<_>>(), asked),
            None => assert!(crate::support::text(&reply).starts_with("!UNAVAILABLE"), "{reply:?}"),
        }
        reply.items().is_some()
    };
    let mut from = 0..;
    let mut answered = 0;
    eventually("a hundred are answered", || {
        answered += from.by_ref().take(10).filter(|from| read(*from)).count();
        answered >= 100
    });
    let stopping = cluster.stopping(2);
    eventually("it is gone", || !from.by_ref().take(10).any(&mut read));
    stopping.join().expect("no panic").expect("a clean end");
    cluster.restart(2);
    answered = 0;
    eventually("it is back, and a hundred more are answered", || {
        answered += from.by_ref().take(10).filter(|from| read(*from)).count();
        answered >= 100
    });
}
