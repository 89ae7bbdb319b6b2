//! Commands on keys of any type and on many keys, over the partitions of a region.

use crate::support::{Client, Cluster, text};
use std::collections::BTreeSet;
use tidemark_wire::resp::{Reply, encode_request};

/// A reply as the transcript shows it.
fn shown(reply: &Reply) -> String {
    match reply.items() {
        Some(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(" ")),
        None => text(reply),
    }
}

fn ask(client: &mut Client, line: &str) -> String {
    shown(&client.call(&line.split(' ').collect::<Vec<_>>()))
}

/// `BY`, `GET` and `STORE` of SORT with keys in other partitions, TOUCH, OBJECT, and errors.
#[test]
fn replies_are_those_of_redis() {
    for protocol in ["causal", "gentlerain"] {
        let cluster = Cluster::regions(protocol, 1, 4);
        let mut client = cluster.client(0);
        let mut wrong = Vec::new();
        for line in include_str!("keys.txt").lines().filter(|line| !line.starts_with('#')) {
            let (command, expected) = line.split_once(" => ").expect("a command and a reply");
            let reply = ask(&mut client, command);
            if reply != expected {
                wrong.push(format!("{command}\n  is:     {reply}\n  should: {expected}"));
            }
        }
        assert!(wrong.is_empty(), "{protocol}\n{}", wrong.join("\n"));
    }
}

#[test]
fn every_key_is_drawn_at_random() {
    let cluster = Cluster::regions("causal", 1, 4);
    let mut client = cluster.client(0);
    let keys: BTreeSet<String> = (0..20).map(|number| format!("k{number}")).collect();
    keys.iter().for_each(|key| client.ok(&["SET", key, "v"]));
    let drawn: BTreeSet<String> = (0..500).map(|_| client.text(&["RANDOMKEY"])).collect();
    assert_eq!(drawn, keys);
    keys.iter().skip(1).for_each(|key| assert_eq!(client.text(&["DEL", key]), "1"));
    assert_eq!(Some(client.text(&["RANDOMKEY"])), keys.first().cloned());
}

/// Applications look at the first reply alone. Keys that were deleted, and partitions without keys, made it incomplete.
#[test]
fn one_scan_returns_all_of_few_keys() {
    let cluster = Cluster::regions("causal", 1, 4);
    let mut client = cluster.client(0);
    for number in 0..100 {
        client.text(&["SET", &format!("old{number}"), "v"]);
    }
    client.text(&["FLUSHALL"]);
    ["a", "b", "c"].iter().for_each(|key| client.ok(&["SET", key, "v"]));
    assert_eq!(ask(&mut client, "SCAN 0").split_once(' ').unwrap().0, "[0");
    let reply = client.call(&["SCAN", "0"]);
    let keys: BTreeSet<String> = reply.items().unwrap()[1].items().unwrap().iter().map(text).collect();
    assert_eq!(keys, BTreeSet::from(["a", "b", "c"].map(String::from)));
}

#[test]
fn a_scan_returns_the_keys_of_one_type() {
    let cluster = Cluster::regions("causal", 1, 3);
    let mut client = cluster.client(0);
    for number in 0..30 {
        let (number, kind) = (number.to_string(), number % 6);
        let key = format!("k{number}");
        match kind {
            0 => client.text(&["SET", &key, "v"]),
            1 => client.text(&["HSET", &key, "f", "v"]),
            2 => client.text(&["SADD", &key, "m"]),
            3 => client.text(&["ZADD", &key, "1", "m"]),
            4 => client.text(&["RPUSH", &key, "v"]),
            _ => client.text(&["XADD", &key, "*", "f", "v"]),
        };
    }
    for (kind, first) in
        [("string", 0), ("HASH", 1), ("set", 2), ("zset", 3), ("list", 4), ("stream", 5), ("none", 99)]
    {
        let (mut cursor, mut found) = (String::new(), BTreeSet::new());
        loop {
            let page = client.call(&["SCAN", &cursor, "TYPE", kind, "MATCH", "k*", "COUNT", "7"]);
            let page = page.items().expect("a cursor and keys");
            found.extend(page[1].items().expect("keys").iter().map(text));
            cursor = text(&page[0]);
            if cursor == "0" {
                break;
            }
        }
        let there: BTreeSet<String> = (first..30).step_by(6).map(|number| format!("k{number}")).collect();
        assert_eq!(found, there, "{kind}");
    }
}

#[test]
fn a_value_is_dumped_in_one_cluster_and_restored_in_another() {
    let (from, to) = (Cluster::regions("causal", 1, 2), Cluster::regions("gentlerain", 1, 3));
    let (mut from, mut to) = (from.client(0), to.client(0));
    for (make, show) in [
        ("SET k v", "GET k"),
        ("RPUSH k a 1 b", "LRANGE k 0 -1"),
        ("SADD k 1 2 3", "SMEMBERS k"),
        ("HSET k f v g w", "HGETALL k"),
        ("ZADD k 1.5 a -inf b", "ZRANGE k 0 -1 WITHSCORES"),
        ("XADD k 5-5 f v", "XRANGE k - +"),
    ] {
        from.call(&["DEL", "k"]);
        ask(&mut from, make);
        let dump = from.call(&["DUMP", "k"]);
        let payload = dump.bytes().expect("a payload");
        let mut request = Vec::new();
        let until = b"32503680000000".as_slice();
        encode_request(&mut request, &[b"RESTORE".as_slice(), b"k", until, payload, b"REPLACE", b"ABSTTL"]);
        to.send(&request);
        assert_eq!(to.reply(), Some(Reply::Simple("OK".into())), "{make}");
        assert_eq!(ask(&mut to, show), ask(&mut from, show));
        assert_eq!(ask(&mut to, "EXPIRETIME k"), "32503680000");
    }
}
