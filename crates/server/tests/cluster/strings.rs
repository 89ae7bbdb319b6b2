//! The strings surface on one node.

use crate::support::{Cluster, eventually, text};
use std::collections::BTreeSet;
use tidemark_server::ClusterLayout;

#[test]
fn strings_behave_as_in_redis() {
    let cluster = Cluster::regions("causal", 1, 3);
    let mut c = cluster.client(0);
    let table: &[(&[&str], &str)] = &[
        (&["GET", "a"], "-"),
        (&["SET", "a", "1"], "OK"),
        (&["GET", "a"], "1"),
        (&["SET", "a", "2", "NX"], "-"),
        (&["SET", "b", "2", "XX"], "-"),
        (&["SET", "b", "2", "NX"], "OK"),
        (&["SET", "b", "3", "XX", "GET"], "2"),
        (&["SET", "new", "3", "GET"], "-"),
        (&["GET", "b"], "3"),
        (&["GETSET", "b", "four"], "3"),
        (&["STRLEN", "b"], "4"),
        (&["STRLEN", "none"], "0"),
        (&["SETNX", "b", "x"], "0"),
        (&["SETNX", "c", "x"], "1"),
        (&["TYPE", "c"], "string"),
        (&["TYPE", "none"], "none"),
        (&["OBJECT", "ENCODING", "c"], "embstr"),
        (&["EXISTS", "a", "b", "none", "a"], "3"),
        (&["DBSIZE"], "4"),
        (&["DEL", "a", "none", "b"], "2"),
        (&["GET", "a"], "-"),
        (&["UNLINK", "a"], "0"),
        (&["MSET", "x", "1", "y", "2"], "OK"),
        (&["DBSIZE"], "4"),
        (&["FLUSHALL"], "OK"),
        (&["DBSIZE"], "0"),
        (&["GET", "x"], "-"),
        (&["SCAN", "999999999999999999"], "!ERR invalid cursor"),
    ];
    for (command, expected) in table {
        assert_eq!(c.text(command), *expected, "{command:?}");
    }
    assert!(c.call(&["MEMORY", "USAGE", "x"]) == tidemark_wire::resp::Reply::Null);
    c.ok(&["SET", "x", "12345"]);
    assert!(c.call(&["MEMORY", "USAGE", "x"]).integer().unwrap() > 6);
}

#[test]
fn a_read_of_many_keys_sees_the_sessions_own_writes() {
    for protocol in ["eventual", "causal"] {
        let cluster = Cluster::regions(protocol, 1, 4);
        let mut c = cluster.client(0);
        c.ok(&["MSET", "a", "1", "b", "2", "c", "3"]);
        assert_eq!(c.list(&["MGET", "a", "b", "none", "c", "a"]), ["1", "2", "-", "3", "1"], "{protocol}");
    }
}

#[test]
fn a_scan_returns_every_key_once_and_only_what_matches() {
    let cluster = Cluster::regions("causal", 1, 4);
    let mut c = cluster.client(0);
    let keys: BTreeSet<String> = (0..500).map(|i| format!("key:{i}")).collect();
    keys.iter().for_each(|key| c.ok(&["SET", key, "v"]));
    c.ok(&["SET", "other", "v"]);
    let mut scan = |options: &[&str]| {
        let (mut cursor, mut found, mut rounds) = ("0".to_string(), Vec::new(), 0);
        loop {
            let command: Vec<&str> = ["SCAN", &cursor].into_iter().chain(options.iter().copied()).collect();
            let reply = c.call(&command);
            let items = reply.items().unwrap();
            found.extend(items[1].items().unwrap().iter().map(text));
            rounds += 1;
            cursor = text(&items[0]);
            if cursor == "0" {
                return (found, rounds);
            }
        }
    };
    let (found, rounds) = scan(&["MATCH", "key:*", "COUNT", "10"]);
    assert_eq!(found.len(), keys.len());
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), keys);
    assert!(rounds > 20, "COUNT decides the pieces: {rounds}");
    assert_eq!(scan(&["COUNT", "100000"]).0.len(), 501);
    assert_eq!(scan(&["TYPE", "hash"]).0.len(), 0);
    assert_eq!(c.list(&["KEYS", "key:12?"]).len(), 10);
    assert_eq!(c.list(&["KEYS", "*"]).len(), 501);
}

#[test]
fn what_was_acknowledged_is_there_after_a_restart() {
    let mut cluster = Cluster::regions("causal", 1, 2);
    let mut c = cluster.client(0);
    (0..1000).for_each(|i| c.ok(&["SET", &format!("k{i}"), &i.to_string()]));
    c.ok(&["SET", "k7", "seven"]);
    assert_eq!(c.text(&["DEL", "k8"]), "1");
    drop(c);
    cluster.stop(0);
    cluster.restart(0);
    let mut c = cluster.client(0);
    assert_eq!(c.text(&["DBSIZE"]), "999");
    for (key, value) in [("k7", "seven"), ("k8", "-"), ("k999", "999")] {
        assert_eq!(c.text(&["GET", key]), value, "a GET sees at once what was acknowledged here");
    }
    // A snapshot of a new session may be a stabilisation older; one that includes what it has read is not.
    assert_eq!(c.list(&["MGET", "k7", "k999"]), ["seven", "999"]);
    let mut fresh = cluster.client(0);
    eventually("the snapshot", || fresh.list(&["MGET", "k7", "k8", "k999"]) == ["seven", "-", "999"]);
}

#[test]
fn unknown_protocols_are_refused_with_the_names_of_those_there_are() {
    let layout = ClusterLayout::single("paxos", 1);
    let address = ([127, 0, 0, 1], 0).into();
    let config = tidemark_server::NodeConfig::new(
        layout.into(),
        tidemark_server::NodeId(0),
        std::env::temp_dir(),
        address,
    );
    let error = tidemark_server::run_node(config).unwrap_err().to_string();
    assert!(error.contains("paxos") && error.contains("eventual"), "{error}");
}
