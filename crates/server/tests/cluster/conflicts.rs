//! Conflicts that the application decides (GentleRain §4.4), through Redis clients.

use crate::support::{Client, Cluster, eventually};
use std::sync::Arc;
use tidemark_server::NodeConfig;
use tidemark_wire::resp::Reply;

fn resolving(resolver: &'static str) -> impl Fn(&mut NodeConfig) {
    move |config| {
        let mut cluster = (*config.cluster).clone();
        cluster.params = serde_json::json!({ "resolver": resolver });
        config.cluster = Arc::new(cluster);
    }
}

/// Keys in conflict, each with its values and the regions that wrote them.
fn conflicts(client: &mut Client) -> Vec<(String, Vec<String>)> {
    let array = |reply: Reply| match reply {
        Reply::Array(items) => items,
        other => panic!("{other:?} is no array"),
    };
    let one = |reply: Reply| {
        let [key, versions] = <[Reply; 2]>::try_from(array(reply)).expect("a key and its versions");
        let told = |version: Reply| {
            let [value, region, time] = <[Reply; 3]>::try_from(array(version)).expect("three parts");
            let [value, region, time] = [value, region, time].map(|part| crate::support::text(&part));
            assert!(time.parse::<f64>().expect("seconds") > 1e9, "{time}");
            format!("{value} of {region}")
        };
        (crate::support::text(&key), array(versions).into_iter().map(told).collect())
    };
    array(client.call(&["TIDE.CONFLICTS"])).into_iter().map(one).collect()
}

/// Both regions write while they are cut off from each other; afterwards B's write is the later one.
fn both_write(cluster: &Cluster, a: &mut Client, b: &mut Client) {
    a.ok(&["SET", "k", "before"]);
    eventually("it is everywhere", || b.text(&["GET", "k"]) == "before");
    for node in 0..2 {
        cluster.admin(node, "/admin/cut", r#"{"from": "A", "to": "B"}"#);
        cluster.admin(node, "/admin/cut", r#"{"from": "B", "to": "A"}"#);
    }
    a.ok(&["SET", "k", "9"]);
    std::thread::sleep(std::time::Duration::from_millis(5));
    b.ok(&["SET", "k", "1"]);
    (0..2).for_each(|node| drop(cluster.admin(node, "/admin/heal", "{}")));
}

#[test]
fn an_application_sees_both_versions_and_decides() {
    let all: &[u16] = &[0, 1];
    let cluster = Cluster::start("gentlerain", &[(0, all), (1, all)], resolving("application"));
    let (mut a, mut b) = (cluster.client(0), cluster.client(1));
    assert_eq!(conflicts(&mut a), []);
    both_write(&cluster, &mut a, &mut b);
    let both = vec![("k".to_string(), vec!["1 of B".to_string(), "9 of A".to_string()])];
    for client in [&mut a, &mut b] {
        eventually("both versions", || conflicts(client) == both);
        assert_eq!(client.text(&["GET", "k"]), "1", "the last writer's");
    }
    a.ok(&["SET", "k", "10"]);
    for client in [&mut a, &mut b] {
        eventually("it is settled", || client.text(&["GET", "k"]) == "10" && conflicts(client).is_empty());
    }
}

#[test]
fn a_resolver_that_the_file_names_decides_in_every_region() {
    for (resolver, wins) in [("largest-value", "9"), ("smallest-value", "1")] {
        let all: &[u16] = &[0];
        let cluster = Cluster::start("gentlerain", &[(0, all), (1, all)], resolving(resolver));
        let (mut a, mut b) = (cluster.client(0), cluster.client(1));
        both_write(&cluster, &mut a, &mut b);
        for client in [&mut a, &mut b] {
            eventually("both versions", || conflicts(client).len() == 1);
            assert_eq!(client.text(&["GET", "k"]), wins, "{resolver}");
        }
    }
}

#[test]
fn where_the_last_writer_wins_nothing_is_listed() {
    for (protocol, why) in [
        ("gentlerain", "!ERR the last writer wins, and conflicts are not kept: set resolver in [protocol]"),
        ("tidemark", "!ERR under tidemark the last writer wins, and conflicts are not kept"),
    ] {
        let cluster = Cluster::regions(protocol, 1, 1);
        assert_eq!(cluster.client(0).text(&["TIDE.CONFLICTS"]), why);
    }
}
