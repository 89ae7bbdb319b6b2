//! Keyspace notifications.

use crate::support::{Client, Cluster, eventually, text};

/// The payloads of so many messages, each behind its channel.
fn messages(client: &mut Client, count: usize) -> Vec<String> {
    let message = |_| {
        let reply = client.reply().expect("the connection stands");
        let words: Vec<String> = reply.items().expect("a message").iter().map(text).collect();
        format!("{} {}", words[words.len() - 2].split("@0__:").last().unwrap(), words[words.len() - 1])
    };
    (0..count).map(message).collect()
}

fn subscriber(cluster: &Cluster, node: usize, pattern: &str) -> Client {
    let mut client = cluster.client(node);
    client.call(&["PSUBSCRIBE", pattern]);
    client
}

#[test]
fn commands_cause_the_events_of_redis() {
    // Of two nodes: the key "foo" lies at the other one.
    let cluster = Cluster::start("causal", &[(0, &[0]), (0, &[1])], |_| ());
    cluster.meet(&["{foo}met", "{bar}met"]);
    let mut client = cluster.client(0);
    let mut subscriber = subscriber(&cluster, 0, "__keyevent@0__:*");
    client.ok(&["SET", "before", "1"]);
    client.ok(&["CONFIG", "SET", "notify-keyspace-events", "EA"]);
    for (command, expected) in [
        ("SET foo 1", "set foo"),
        ("SET foo 1 EX 100", "set foo, expire foo"),
        ("INCR foo", "incrby foo"),
        ("MSET foo 1 bar 2", "set foo, set bar"),
        ("DEL foo bar", "del foo, del bar"),
        ("HSET foo f 1", "hset foo"),
        ("HSET bar f 1", "hset bar"),
        ("EXPIRE bar 100", "expire bar"),
        ("RENAME bar {bar}2", "rename_from bar, rename_to {bar}2"),
        ("SADD s 1", "sadd s"),
        ("ZADD z 1 m", "zadd z"),
        ("ZADD z INCR 1 m", "zincr z"),
        ("BZPOPMIN z 0", "zpopmin z"),
        ("RPUSH l 1 2 3", "rpush l"),
        ("LMOVE l {l}2 LEFT RIGHT", "lpop l, rpush {l}2"),
        ("BLMPOP 0 2 x l LEFT", "lpop l"),
        ("SINTERSTORE {s}d s", "sinterstore {s}d"),
        ("SINTERSTORE {s}d {s}none", "del {s}d"),
        ("TIDE.DOC PUT doc a", "tide.doc.put doc"),
        ("TIDE.DOC COMPACT doc b UPTO *", "tide.doc.compact doc"),
        ("TIDE.BCOUNTER CREATE stock 0 1", "tide.bcounter.create stock"),
        ("TIDE.BCOUNTER DECRBY stock 1", "tide.bcounter.decrby stock"),
        (
            "EVAL return{redis.call('set',KEYS[1],'1'),redis.call('sadd',KEYS[2],'x'),redis.call('sadd',KEYS[2],'x')} 2 {foo}a {foo}b",
            "set {foo}a, sadd {foo}b",
        ),
    ] {
        client.call(&command.split(' ').collect::<Vec<_>>());
        let expected: Vec<&str> = expected.split(", ").collect();
        assert_eq!(messages(&mut subscriber, expected.len()), expected, "{command}");
    }
    // Commands that change nothing cause none; the next message is that of the last command.
    for command in [
        "SADD s 1",
        "DEL none",
        "GET foo",
        "SET l x XX GET",
        "LPOP none",
        "TIDE.BCOUNTER DECRBY stock 1",
        "XADD t 1-1 a b",
    ] {
        client.call(&command.split(' ').collect::<Vec<_>>());
    }
    assert_eq!(messages(&mut subscriber, 1), ["xadd t"]);
}

#[test]
fn classes_and_kinds_of_channels_are_chosen() {
    let cluster = Cluster::start("causal", &[(0, &[0])], |_| ());
    let mut client = cluster.client(0);
    let mut subscriber = subscriber(&cluster, 0, "__key*");
    client.ok(&["CONFIG", "SET", "notify-keyspace-events", "Kl"]);
    client.ok(&["SET", "k", "1"]);
    client.call(&["RPUSH", "l", "1"]);
    assert_eq!(messages(&mut subscriber, 1), ["l rpush"]);
    client.ok(&["CONFIG", "SET", "notify-keyspace-events", "KE$"]);
    client.call(&["RPUSH", "l", "1"]);
    client.ok(&["SET", "k", "1"]);
    assert_eq!(messages(&mut subscriber, 2), ["k set", "set k"]);
    client.ok(&["CONFIG", "SET", "notify-keyspace-events", "KEA"]);
    // One who waits is served after the push, and so are the events.
    let mut waiter = cluster.client(0);
    waiter.send(b"BLPOP q 0\r\n");
    eventually("it waits", || client.text(&["INFO", "clients"]).contains("blocked_clients:1"));
    client.call(&["RPUSH", "q", "1"]);
    assert_eq!(messages(&mut subscriber, 4), ["q rpush", "rpush q", "q lpop", "lpop q"]);
    client.ok(&["CONFIG", "SET", "notify-keyspace-events", ""]);
    client.ok(&["SET", "k", "1"]);
    client.call(&["PUBLISH", "__keyend", "end"]);
    assert_eq!(messages(&mut subscriber, 1), ["__keyend end"]);
}

#[test]
fn changes_of_another_region_cause_events_when_they_become_visible() {
    let cluster = Cluster::regions("causal", 2, 2);
    cluster.meet(&["{foo}met", "{bar}met"]);
    let (mut a, mut b) = (cluster.client(0), cluster.client(1));
    for key in ["{foo}last", "{bar}last"] {
        a.ok(&["SET", key, "1"]);
        eventually("what was written before is there", || b.text(&["GET", key]) == "1");
    }
    b.ok(&["CONFIG", "SET", "notify-keyspace-events", "EA"]);
    let mut subscriber = subscriber(&cluster, 1, "__keyevent@0__:*");
    for (command, expected) in [
        ("SET foo 1", "set foo"),
        ("SET foo 2 EX 100", "set foo, expire foo"),
        ("INCRBY foo 5", "incrby foo"),
        ("PERSIST foo", "persist foo"),
        ("DEL foo", "del foo"),
        ("HSET h f 1 g 2", "hset h"),
        ("HINCRBY h f 1", "hincrby h"),
        ("HDEL h f", "hdel h"),
        ("SADD s a b", "sadd s"),
        ("SREM s a", "srem s"),
        ("ZADD z 1 m", "zadd z"),
        ("ZREM z m", "zrem z"),
        ("RPUSH l b", "rpush l"),
        ("LPOP l", "lrem l"),
        ("XADD x 1-1 f v", "xadd x"),
        ("APPEND t abc", "setrange t"),
        ("TIDE.DOC PUT doc a", "tide.doc.put doc"),
    ] {
        a.call(&command.split(' ').collect::<Vec<_>>());
        let expected: Vec<&str> = expected.split(", ").collect();
        assert_eq!(messages(&mut subscriber, expected.len()), expected, "{command}");
    }
    // A deadline passes in each region by itself.
    a.call(&["SET", "short", "v", "PX", "50"]);
    assert_eq!(messages(&mut subscriber, 3), ["set short", "expire short", "expired short"]);
    // A reader finds what an event tells of.
    for round in 0..100 {
        let value = round.to_string();
        a.ok(&["SET", "bar", &value]);
        assert_eq!(messages(&mut subscriber, 1), ["set bar"]);
        assert_eq!(b.text(&["GET", "bar"]), value);
    }
}
