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

/// The messages that have come by now.
fn heard(subscriber: &mut Client) -> Vec<String> {
    subscriber.send(b"PING behind\r\n");
    let mut all = Vec::new();
    loop {
        let reply = subscriber.reply().expect("the connection stands");
        let words: Vec<String> = reply.items().expect("a message").iter().map(text).collect();
        match &words[..] {
            [pong, _] if pong == "pong" => return all,
            words => all.push(words[words.len() - 1].clone()),
        }
    }
}

#[test]
fn new_keys_are_told_before_the_event_of_their_command() {
    let cluster = Cluster::start("causal", &[(0, &[0])], |_| ());
    let mut client = cluster.client(0);
    let mut subscriber = subscriber(&cluster, 0, "__key*");
    client.ok(&["CONFIG", "SET", "notify-keyspace-events", "KEAn"]);
    client.ok(&["SET", "foo", "1"]);
    assert_eq!(messages(&mut subscriber, 4), ["foo new", "new foo", "foo set", "set foo"]);
    client.ok(&["CONFIG", "SET", "notify-keyspace-events", "EAn"]);
    for (command, expected) in [
        ("SET foo 2", "set foo"),
        ("DEL foo", "del foo"),
        ("SET foo 3", "new foo, set foo"),
        ("APPEND foo 3", "append foo"),
        ("MSET foo 1 bar 2", "new bar, set foo, set bar"),
        ("HSET h f 1", "new h, hset h"),
        ("HSET h g 1", "hset h"),
        ("HDEL h f g", "hdel h"),
        ("HSET h f 1", "new h, hset h"),
        ("SADD s a", "new s, sadd s"),
        ("SMOVE s d a", "new d, srem s, sadd d"),
        ("XGROUP CREATE x g $ MKSTREAM", "new x, xgroup-create x"),
        ("COPY d e", "new e, copy_to e"),
        (
            "EVAL return{redis.call('set',KEYS[1],'1'),redis.call('set',KEYS[1],'2')} 1 p",
            "new p, set p, set p",
        ),
    ] {
        client.call(&command.split(' ').collect::<Vec<_>>());
        let expected: Vec<&str> = expected.split(", ").collect();
        assert_eq!(messages(&mut subscriber, expected.len()), expected, "{command}");
    }
    // The deadline of a key has passed, and it comes again.
    client.ok(&["SET", "short", "v", "PX", "1"]);
    assert_eq!(messages(&mut subscriber, 4), ["new short", "set short", "expire short", "expired short"]);
    client.ok(&["SET", "short", "v"]);
    assert_eq!(messages(&mut subscriber, 2), ["new short", "set short"]);
    // They are not among all events.
    client.ok(&["CONFIG", "SET", "notify-keyspace-events", "EA"]);
    client.ok(&["SET", "other", "v"]);
    assert_eq!(messages(&mut subscriber, 1), ["set other"]);
    assert_eq!(heard(&mut subscriber), [""; 0]);
}

#[test]
fn each_node_of_a_region_tells_once_of_a_new_key() {
    let cluster = Cluster::start("causal", &[(0, &[0]), (0, &[1])], |_| ());
    cluster.meet(&["{foo}met", "{bar}met"]);
    let mut clients = [cluster.client(0), cluster.client(1)];
    for client in &mut clients {
        client.ok(&["CONFIG", "SET", "notify-keyspace-events", "En"]);
    }
    let mut subscribers = [0, 1].map(|node| subscriber(&cluster, node, "__keyevent@0__:*"));
    let mut tried = 0;
    for subscriber in &mut subscribers {
        for tag in ["{foo}", "{bar}"] {
            eventually("nodes listen to each other", || {
                tried += 1;
                clients[0].ok(&["SET", &format!("{tag}try{tried}"), "1"]);
                heard(subscriber).iter().any(|key| key.starts_with(tag))
            });
        }
    }
    // Nodes tell each other of changes in their order: behind the last key nothing comes twice.
    for (at, client) in clients.iter_mut().enumerate() {
        let named = |tag: &str| (0..20).map(|key| format!("{tag}{at}-{key}")).collect::<Vec<_>>();
        let all = [named("{foo}"), named("{bar}")];
        for key in all.iter().flatten() {
            client.ok(&["SET", key, "1"]);
            client.ok(&["SET", key, "2"]);
        }
        for tag in ["{foo}", "{bar}"] {
            client.ok(&["SET", &format!("{tag}{at}-end"), "1"]);
        }
        for subscriber in &mut subscribers {
            let mut told = Vec::new();
            eventually("the last keys are told", || {
                told.extend(heard(subscriber));
                told.iter().filter(|key| key.ends_with(&format!("{at}-end"))).count() == 2
            });
            for keys in &all {
                let tag = &keys[0][..5];
                let of: Vec<&String> = told
                    .iter()
                    .filter(|key| key.starts_with(&format!("{tag}{at}-")) && !key.ends_with("end"))
                    .collect();
                assert_eq!(of, keys.iter().collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn new_keys_of_another_region_are_told_when_they_become_visible() {
    let cluster = Cluster::regions("causal", 2, 2);
    cluster.meet(&["{foo}met", "{bar}met"]);
    let (mut a, mut b) = (cluster.client(0), cluster.client(1));
    for key in ["{foo}last", "{bar}last"] {
        a.ok(&["SET", key, "1"]);
        eventually("what was written before is there", || b.text(&["GET", key]) == "1");
    }
    for client in [&mut a, &mut b] {
        client.ok(&["CONFIG", "SET", "notify-keyspace-events", "EAn"]);
    }
    let mut there = subscriber(&cluster, 0, "__keyevent@0__:*");
    let mut here = subscriber(&cluster, 1, "__keyevent@0__:*");
    for (command, expected) in [
        ("SET foo 1", "new foo, set foo"),
        ("SET foo 2", "set foo"),
        ("DEL foo", "del foo"),
        ("SET foo 3", "new foo, set foo"),
        ("HSET h f 1", "new h, hset h"),
        ("HSET h g 1", "hset h"),
        ("HDEL h f g", "hdel h"),
        ("HSET h g 1", "new h, hset h"),
    ] {
        a.call(&command.split(' ').collect::<Vec<_>>());
        let expected: Vec<&str> = expected.split(", ").collect();
        assert_eq!(messages(&mut there, expected.len()), expected, "{command}");
        assert_eq!(messages(&mut here, expected.len()), expected, "{command}");
    }
    // Of several versions that come to show at once the first creates the key.
    a.send(b"SADD s a\r\nSADD s b\r\nSADD s c\r\nSET end 1\r\n");
    for subscriber in [&mut there, &mut here] {
        let mut told = Vec::new();
        eventually("all is told", || {
            told.extend(heard(subscriber));
            told.contains(&"end".to_string())
        });
        assert_eq!(told, ["s", "s", "s", "s", "end", "end"]);
    }
}

#[test]
fn consumers_that_commands_create_are_told() {
    // Of two nodes: the stream lies at the other one.
    let cluster = Cluster::start("causal", &[(0, &[0]), (0, &[1])], |_| ());
    cluster.meet(&["{foo}met", "{bar}met"]);
    let mut client = cluster.client(0);
    let mut subscriber = subscriber(&cluster, 0, "__keyevent@0__:*");
    client.ok(&["CONFIG", "SET", "notify-keyspace-events", "Et"]);
    for (command, expected) in [
        ("XGROUP CREATE foo g $ MKSTREAM", "xgroup-create foo"),
        ("XGROUP CREATECONSUMER foo g bob", "xgroup-createconsumer foo"),
        ("XGROUP CREATECONSUMER foo g bob", ""),
        ("XADD foo 1-1 f v", "xadd foo"),
        ("XREADGROUP GROUP g alice STREAMS foo >", "xgroup-createconsumer foo"),
        ("XREADGROUP GROUP g alice STREAMS foo 0", ""),
        ("XCLAIM foo g mike 0 1-1 FORCE", "xgroup-createconsumer foo"),
        ("XGROUP DELCONSUMER foo g lee", ""),
        ("XAUTOCLAIM foo g bob 0 0", ""),
        ("XAUTOCLAIM foo g eve 0 0", "xgroup-createconsumer foo"),
        ("XGROUP DELCONSUMER foo g bob", "xgroup-delconsumer foo"),
        ("EVAL return(redis.call('xclaim',KEYS[1],'g','kim',0,'1-1')) 1 foo", "xgroup-createconsumer foo"),
        ("XGROUP DELCONSUMER foo g kim", "xgroup-delconsumer foo"),
        ("XGROUP DELCONSUMER foo g kim", ""),
        ("XDEL foo 1-1", "xdel foo"),
    ] {
        client.call(&command.split(' ').collect::<Vec<_>>());
        let expected: Vec<&str> = expected.split(", ").filter(|event| !event.is_empty()).collect();
        assert_eq!(messages(&mut subscriber, expected.len()), expected, "{command}");
    }
    assert_eq!(heard(&mut subscriber), [""; 0]);
}
