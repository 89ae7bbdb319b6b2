//! TIDE.BEGIN SNAPSHOT REGIONS: what several regions have whole.

use crate::support::{Client, Cluster, eventually};
use crate::transactions::ask;
use std::sync::Arc;

/// Three regions that keep snapshots of which two have everything, or one.
fn started() -> (Cluster, [Client; 3]) {
    let all: &[u16] = &[0, 1];
    let cluster = Cluster::start("tidemark", &[(0, all), (1, all), (2, all)], |config| {
        Arc::make_mut(&mut config.cluster).params =
            serde_json::json!({ "base_regions": 2, "tell_us": 20_000 });
    });
    let mut clients = [0, 1, 2].map(|node| cluster.client(node));
    for client in &mut clients {
        eventually("the regions have met", || {
            base(client, "a b") == "[0 0]" || {
                ask(client, "MSET a 0 b 0");
                false
            }
        });
    }
    (cluster, clients)
}

/// What keys are in the base of two.
fn base(client: &mut Client, keys: &str) -> String {
    if ask(client, "TIDE.BEGIN SNAPSHOT REGIONS 2") != "OK" {
        return "none".into();
    }
    let found = ask(client, &format!("MGET {keys}"));
    assert_eq!(ask(client, "TIDE.COMMIT"), "OK");
    found
}

fn cut(cluster: &Cluster, node: usize, from: &str, to: &str) {
    let order = format!(r#"{{"from": "{from}", "to": "{to}"}}"#);
    assert!(cluster.admin(node, "/admin/cut", &order).contains("200 OK"));
}

/// C is cut off: what it writes is in no base of two, in no region. What A and B write goes on to be.
#[test]
fn a_base_has_what_two_regions_have() {
    let (cluster, [mut a, mut b, mut c]) = started();
    for (node, from, to) in [(0, "A", "C"), (1, "B", "C"), (2, "C", "A"), (2, "C", "B")] {
        cut(&cluster, node, from, to);
    }
    assert_eq!(ask(&mut c, "MSET a lonely b lonely"), "OK");
    assert_eq!(ask(&mut a, "MSET a both b both"), "OK");
    eventually("A's base has it", || base(&mut a, "a b") == "[both both]");
    eventually("B's base has it", || base(&mut b, "a b") == "[both both]");
    assert_eq!(base(&mut c, "a b"), "[0 0]", "A has written, and C, and nobody else knows of it");
    assert_eq!(ask(&mut c, "MGET a b"), "[lonely lonely]");
    for node in 0..3 {
        assert!(cluster.admin(node, "/admin/heal", "{}").contains("200 OK"));
    }
    let values: Vec<String> = [&mut a, &mut b, &mut c]
        .map(|client| {
            eventually("the base has what is newest", || base(client, "a b") == ask(client, "MGET a b"));
            base(client, "a b")
        })
        .to_vec();
    assert!(values.iter().all(|value| *value == values[0]), "{values:?}");
}

#[test]
fn a_base_stays_what_it_is_while_it_is_read() {
    let (cluster, [mut a, mut b, _c]) = started();
    assert_eq!(ask(&mut a, "TIDE.BEGIN SNAPSHOT REGIONS 2"), "OK");
    assert_eq!(ask(&mut a, "GET a"), "0");
    assert_eq!(ask(&mut b, "MSET a 1 b 1"), "OK");
    eventually("the base of B has it", || base(&mut b, "a b") == "[1 1]");
    let mut other = cluster.client(0);
    eventually("and that of A", || base(&mut other, "a b") == "[1 1]");
    assert_eq!(ask(&mut a, "MGET a b"), "[0 0]", "it goes on in its snapshot");
    assert_eq!(
        ask(&mut a, "SET a 2"),
        "!ERR the transaction only reads: it was begun with TIDE.BEGIN SNAPSHOT"
    );
    assert_eq!(ask(&mut a, "TIDE.COMMIT"), "OK");
}

#[test]
fn what_is_wrong_is_said() {
    let (cluster, [mut a, ..]) = started();
    for (line, expected) in [
        ("TIDE.BEGIN REGIONS 2", "!ERR syntax error"),
        ("TIDE.BEGIN SNAPSHOT REGIONS", "!ERR syntax error"),
        ("TIDE.BEGIN SNAPSHOT REGIONS 0", "!ERR REGIONS needs a number of regions, 1 or more"),
        ("TIDE.BEGIN SNAPSHOT REGIONS many", "!ERR REGIONS needs a number of regions, 1 or more"),
        (
            "TIDE.BEGIN SNAPSHOT REGIONS 3",
            "!ERR this cluster keeps snapshots that up to 2 regions have: base_regions in [protocol]",
        ),
    ] {
        assert_eq!(ask(&mut a, line), expected, "{line}");
    }
    drop(cluster);
    for (protocol, why) in [
        (
            "tidemark",
            "!ERR this cluster keeps no snapshots that several regions have: base_regions in [protocol] is 0",
        ),
        ("cure", "!ERR this protocol does not know what several regions have: begin without REGIONS"),
    ] {
        let cluster = Cluster::regions(protocol, 1, 2);
        assert_eq!(ask(&mut cluster.client(0), "TIDE.BEGIN SNAPSHOT REGIONS 1"), why);
    }
}
