//! Commands that wait until a list or a sorted set has something.

use crate::support::{Client, Cluster, eventually, text};
use std::time::{Duration, Instant};
use tidemark_wire::resp::{Reply, encode_request};

pub(crate) fn one() -> Cluster {
    Cluster::start("causal", &[(0, &[0, 1])], |_| ())
}

/// Sends a command and does not wait for its reply.
pub(crate) fn send(client: &mut Client, command: &[&str]) {
    let mut bytes = Vec::new();
    encode_request(&mut bytes, command);
    client.send(&bytes);
}

/// A client that has sent a command which waits, as `admin` can see.
pub(crate) fn waiting(cluster: &Cluster, admin: &mut Client, command: &[&str]) -> Client {
    let before = blocked(admin);
    let mut client = cluster.client(0);
    send(&mut client, command);
    eventually("it waits", || blocked(admin) == before + 1);
    client
}

pub(crate) fn blocked(admin: &mut Client) -> usize {
    let info = admin.text(&["INFO", "clients"]);
    let line = info.lines().find_map(|line| line.strip_prefix("blocked_clients:")).expect("the line");
    line.trim().parse().unwrap()
}

/// Every item of a reply, flat.
pub(crate) fn flat(reply: &Reply) -> String {
    match reply.items() {
        Some(items) => items.iter().map(flat).collect::<Vec<_>>().join(" "),
        None => text(reply),
    }
}

#[test]
fn each_command_takes_what_is_there_or_waits_for_it() {
    let cluster = one();
    let mut admin = cluster.client(0);
    // "{b}d" lies in the partition of "b", "a" in the other one.
    for (command, give, expected) in [
        ("BLPOP a b 0", "RPUSH b 1 2", "b 1"),
        ("BRPOP a b 0", "RPUSH b 1 2", "b 2"),
        ("BLMOVE b {b}d RIGHT LEFT 0", "RPUSH b 1 2", "2"),
        ("BRPOPLPUSH b {b}d 0", "RPUSH b 1 2", "2"),
        ("BLMPOP 0 2 a b LEFT COUNT 5", "RPUSH b 1 2", "b 1 2"),
        ("BZPOPMIN a b 0", "ZADD b 1.5 x 2 y", "b x 1.5"),
        ("BZPOPMAX a b 0", "ZADD b 1.5 x 2 y", "b y 2"),
        ("BZMPOP 0 2 a b MIN COUNT 5", "ZADD b 1.5 x 2 y", "b x 1.5 y 2"),
    ] {
        let (command, give): (Vec<_>, Vec<_>) = (command.split(' ').collect(), give.split(' ').collect());
        admin.call(&["FLUSHALL"]);
        admin.call(&give);
        assert_eq!(flat(&admin.call(&command)), expected, "{command:?} at once");
        admin.call(&["FLUSHALL"]);
        let mut waiter = waiting(&cluster, &mut admin, &command);
        assert_eq!(admin.text(&give), "2");
        assert_eq!(flat(&waiter.reply().unwrap()), expected, "{command:?} after a while");
        assert_eq!(blocked(&mut admin), 0);
        if command[0].starts_with("BLMO") || command[0] == "BRPOPLPUSH" {
            assert_eq!(admin.list(&["LRANGE", "{b}d", "0", "-1"]), ["2"]);
        }
    }
}

#[test]
fn a_wait_ends_with_its_timeout() {
    let cluster = one();
    let mut client = cluster.client(0);
    for version in ["2", "3"] {
        client.call(&["HELLO", version]);
        for command in [
            "BLPOP a 0.05",
            "BRPOP a b 0.05",
            "BLMOVE a {a} LEFT LEFT 0.05",
            "BRPOPLPUSH a {a} 0.05",
            "BLMPOP 0.05 1 a LEFT",
            "BZPOPMIN a 0.05",
            "BZPOPMAX a 0.05",
            "BZMPOP 0.05 1 a MIN",
        ] {
            let start = Instant::now();
            // A null array in RESP2, as redis-server answers all of them.
            assert_eq!(client.call(&command.split(' ').collect::<Vec<_>>()), Reply::Null, "{command}");
            assert!(start.elapsed() >= Duration::from_millis(50), "{command}"); // time: a wait ends no sooner than it was asked to
        }
    }
    client.call(&["HELLO", "2"]);
    client.send(b"BLMOVE a {a} LEFT LEFT 0.01\r\n");
    let mut raw = [0; 5];
    std::io::Read::read_exact(&mut client.stream, &mut raw).unwrap();
    assert_eq!(&raw, b"*-1\r\n");
}

#[test]
fn wrong_requests_are_refused_in_the_words_of_redis() {
    let cluster = one();
    let mut client = cluster.client(0);
    client.ok(&["SET", "s", "1"]);
    client.call(&["RPUSH", "{s}list", "1"]);
    let wrong = "!WRONGTYPE Operation against a key holding the wrong kind of value";
    for (command, error) in [
        ("BLPOP a x", "!ERR timeout is not a float or out of range"),
        ("BLPOP a -1", "!ERR timeout is negative"),
        ("BLMOVE a b foo LEFT x", "!ERR syntax error"),
        ("BLMOVE a b LEFT LEFT x", "!ERR timeout is not a float or out of range"),
        ("BLMPOP x 1 k LEFT", "!ERR timeout is not a float or out of range"),
        ("BZMPOP -1 1 k MAX COUNT 1", "!ERR timeout is negative"),
        ("BLMPOP x a k LEFT", "!ERR numkeys should be greater than 0"),
        ("BLMPOP x 1 k LEFT COUNT 0", "!ERR count should be greater than 0"),
        ("BLMPOP x 1 k LEFT COUNT 1 1", "!ERR syntax error"),
        ("BZMPOP x 1 k foo", "!ERR syntax error"),
        ("BLMPOP 0 a k LEFT", "!ERR numkeys should be greater than 0"),
        ("BLMPOP 0 0 k LEFT", "!ERR numkeys should be greater than 0"),
        ("BLMPOP 0 5 k LEFT", "!ERR syntax error"),
        ("BLMPOP 0 1 k foo", "!ERR syntax error"),
        ("BLMPOP 0 1 k LEFT COUNT 0", "!ERR count should be greater than 0"),
        ("BZMPOP 0 1 k MIN COUNT x", "!ERR count should be greater than 0"),
        ("BZMPOP 0 1 k LEFT", "!ERR syntax error"),
        ("BLPOP s 0", wrong),
        ("BZPOPMIN s 0", wrong),
        ("BLMOVE s {s}d LEFT LEFT 0", wrong),
        ("BLMOVE {s}list s LEFT LEFT 0", wrong),
        ("BLPOP 0", "!ERR wrong number of arguments for 'blpop' command"),
    ] {
        assert_eq!(client.text(&command.split(' ').collect::<Vec<_>>()), error, "{command}");
    }
}

#[test]
fn those_who_wait_are_served_in_order() {
    let cluster = one();
    let mut admin = cluster.client(0);
    let keys = [["k", "j", "0"], ["j", "k", "0"], ["k", "q", "0"], ["k", "k", "0"]];
    let mut waiters: Vec<Client> =
        keys.iter().map(|keys| waiting(&cluster, &mut admin, &[&["BLPOP"], &keys[..]].concat())).collect();
    // All in one command; what is left stays.
    assert_eq!(admin.text(&["RPUSH", "k", "1", "2", "3"]), "3");
    for (waiter, expected) in waiters.iter_mut().zip(["k 1", "k 2", "k 3"]) {
        assert_eq!(flat(&waiter.reply().unwrap()), expected);
    }
    assert_eq!(blocked(&mut admin), 1);
    // Between two commands of a pipeline.
    admin.send(b"RPUSH k 4 5\r\nLPOP k\r\nLLEN k\r\n");
    let replies: Vec<String> = (0..3).map(|_| text(&admin.reply().unwrap())).collect();
    assert_eq!(replies, ["2", "5", "0"]);
    assert_eq!(flat(&waiters[3].reply().unwrap()), "k 4");
    // A chain: the element that one moves is taken by the next.
    let mut last = waiting(&cluster, &mut admin, &["BLPOP", "{k}2", "0"]);
    let mut first = waiting(&cluster, &mut admin, &["BLMOVE", "k", "{k}2", "LEFT", "RIGHT", "0"]);
    admin.call(&["RPUSH", "k", "x"]);
    assert_eq!(text(&first.reply().unwrap()), "x");
    assert_eq!(flat(&last.reply().unwrap()), "{k}2 x");
}

#[test]
fn what_a_client_sends_while_it_waits_comes_later() {
    let cluster = one();
    let mut admin = cluster.client(0);
    let mut waiter = waiting(&cluster, &mut admin, &["BLPOP", "k", "0"]);
    waiter.send(b"SET after 1\r\nGET after\r\n");
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(admin.text(&["GET", "after"]), "-");
    assert!(admin.text(&["CLIENT", "LIST"]).lines().any(|line| line.contains(" flags=b ")));
    admin.call(&["LPUSH", "k", "v"]);
    assert_eq!(flat(&waiter.reply().unwrap()), "k v");
    assert_eq!(text(&waiter.reply().unwrap()), "OK");
    assert_eq!(text(&waiter.reply().unwrap()), "1");
    assert!(!admin.text(&["CLIENT", "LIST"]).contains(" flags=b "));
}

#[test]
fn a_key_of_another_type_is_passed_over_while_one_waits() {
    let cluster = one();
    let mut admin = cluster.client(0);
    let mut list = waiting(&cluster, &mut admin, &["BLPOP", "k", "0"]);
    let mut sorted = waiting(&cluster, &mut admin, &["BZPOPMIN", "k", "0"]);
    let mut moved = waiting(&cluster, &mut admin, &["BLMOVE", "k", "{k}s", "LEFT", "LEFT", "0"]);
    admin.ok(&["SET", "k", "text"]);
    admin.ok(&["SET", "{k}s", "text"]);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(blocked(&mut admin), 3);
    assert_eq!(admin.text(&["DEL", "k"]), "1");
    admin.call(&["ZADD", "k", "1", "m"]);
    assert_eq!(flat(&sorted.reply().unwrap()), "k m 1");
    assert_eq!(blocked(&mut admin), 2);
    admin.call(&["RPUSH", "{k}l", "a", "b"]);
    admin.ok(&["RENAME", "{k}l", "k"]);
    assert_eq!(flat(&list.reply().unwrap()), "k a");
    // Its destination has the wrong type: that is an error even now.
    assert!(text(&moved.reply().unwrap()).starts_with("!WRONGTYPE"));
    assert_eq!(admin.list(&["LRANGE", "k", "0", "-1"]), ["b"]);
}

#[test]
fn a_wait_can_be_ended_by_order() {
    let cluster = one();
    let mut admin = cluster.client(0);
    for (reason, expected) in [
        (&[][..], "-"),
        (&["TIMEOUT"][..], "-"),
        (&["ERROR"][..], "!UNBLOCKED client unblocked via CLIENT UNBLOCK"),
    ] {
        let mut waiter = cluster.client(0);
        let id = waiter.text(&["CLIENT", "ID"]);
        assert_eq!(admin.text(&["CLIENT", "UNBLOCK", &id]), "0", "it does not wait yet");
        send(&mut waiter, &["BRPOP", "k", "0"]);
        eventually("it waits", || blocked(&mut admin) == 1);
        assert_eq!(admin.text(&[&["CLIENT", "UNBLOCK", &id], reason].concat()), "1");
        assert_eq!(text(&waiter.reply().unwrap()), expected);
        assert_eq!(waiter.text(&["ECHO", "on"]), "on");
        assert_eq!((blocked(&mut admin), admin.text(&["RPUSH", "k", "v"])), (0, "1".to_string()));
        admin.call(&["DEL", "k"]);
    }
}

#[test]
fn one_who_is_killed_or_leaves_takes_nothing() {
    let cluster = one();
    let mut admin = cluster.client(0);
    let mut killed = cluster.client(0);
    let id = killed.text(&["CLIENT", "ID"]);
    send(&mut killed, &["BLPOP", "k", "0"]);
    eventually("it waits", || blocked(&mut admin) == 1);
    let mut stays = waiting(&cluster, &mut admin, &["BLPOP", "k", "0"]);
    let mut bytes = Vec::new();
    encode_request(&mut bytes, &["CLIENT", "KILL", "ID", &id]);
    encode_request(&mut bytes, &["RPUSH", "k", "1"]);
    admin.send(&bytes);
    assert_eq!((text(&admin.reply().unwrap()), text(&admin.reply().unwrap())), ("1".into(), "1".into()));
    assert_eq!(killed.reply(), None);
    assert_eq!(flat(&stays.reply().unwrap()), "k 1");
    let leaves = waiting(&cluster, &mut admin, &["BLPOP", "k", "0"]);
    drop(leaves);
    eventually("its end is noticed", || blocked(&mut admin) == 0);
    assert_eq!(admin.text(&["RPUSH", "k", "2"]), "1");
    assert_eq!(admin.list(&["LRANGE", "k", "0", "-1"]), ["2"]);
}

#[test]
fn a_pause_holds_back_those_who_wait() {
    let cluster = one();
    let mut admin = cluster.client(0);
    let mut pusher = waiting(&cluster, &mut admin, &["BLPOP", "k", "0"]);
    let start = Instant::now();
    admin.send(b"RPUSH {k}l v\r\nCLIENT PAUSE 300 WRITE\r\n");
    assert_eq!((text(&admin.reply().unwrap()), text(&admin.reply().unwrap())), ("1".into(), "OK".into()));
    admin.call(&["RENAME", "{k}l", "k"]);
    assert_eq!(flat(&pusher.reply().unwrap()), "k v");
    assert!(start.elapsed() >= Duration::from_millis(300)); // time: a pause lasts
}

#[test]
fn a_push_elsewhere_wakes_one_who_waits_here() {
    // Another node of the region, and another region.
    let shape: &[(u8, &[u16])] = &[(0, &[0]), (0, &[1]), (1, &[0, 1])];
    let cluster = Cluster::start("causal", shape, |_| ());
    cluster.meet(&["{foo}met", "{bar}met"]);
    let mut admin = cluster.client(0);
    for (node, key) in [(1, "foo"), (1, "bar"), (2, "foo"), (2, "bar")] {
        let mut waiter = waiting(&cluster, &mut admin, &["BLPOP", "other", key, "0"]);
        assert_eq!(cluster.client(node).text(&["RPUSH", key, "v"]), "1", "{key} at {node}");
        assert_eq!(flat(&waiter.reply().unwrap()), format!("{key} v"), "pushed at {node}");
        eventually("it is popped everywhere", || {
            (0..3).all(|node| cluster.client(node).text(&["LLEN", key]) == "0")
        });
    }
}

#[test]
fn one_who_waits_is_woken_under_every_protocol() {
    for protocol in tidemark_registry::NAMES {
        let cluster = Cluster::regions(protocol, 2, 2);
        cluster.meet(&["{foo}met", "{bar}met"]);
        let mut admin = cluster.client(0);
        if admin.text(&["RPUSH", "probe", "v"]).contains("data types are not supported") {
            continue;
        }
        // Each round has a key of its own: the other region may not have heard of the last pop yet.
        for (node, key) in [(0, "{foo}a"), (0, "{bar}a"), (1, "{foo}b"), (1, "{bar}b")] {
            let mut waiter = waiting(&cluster, &mut admin, &["BLPOP", "other", key, "0"]);
            assert_eq!(cluster.client(node).text(&["RPUSH", key, "v"]), "1", "{key} at {node}, {protocol}");
            assert_eq!(flat(&waiter.reply().unwrap()), format!("{key} v"), "{key} at {node}, {protocol}");
            eventually("it is popped everywhere", || {
                (0..2).all(|node| cluster.client(node).text(&["LLEN", key]) == "0")
            });
        }
    }
}
