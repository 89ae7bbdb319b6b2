//! Client-side caching, over nodes and regions.

use crate::support::{Client, Cluster, eventually, text};

/// A connection that caches: RESP3, so that it is told by pushes.
fn caching(cluster: &Cluster, node: usize, options: &[&str]) -> Client {
    let mut client = cluster.client(node);
    client.call(&["HELLO", "3"]);
    client.ok(&[&["CLIENT", "TRACKING", "ON"], options].concat());
    client
}

/// What it is told next: keys, or `all`.
fn told(client: &mut Client) -> Vec<String> {
    let reply = client.reply().expect("the connection stands");
    let words = reply.items().expect("a push");
    assert_eq!(text(&words[0]), "invalidate", "{reply:?}");
    words[1].items().map_or(vec!["all".to_string()], |keys| keys.iter().map(text).collect())
}

/// The next replies until one that is no push; and how many keys were told before it, of these.
fn reply_behind(client: &mut Client, command: &[&str], keys: &[&str]) -> (String, Vec<String>) {
    let line = format!("{}\r\n", command.join(" "));
    client.send(line.as_bytes());
    let mut before = Vec::new();
    loop {
        let reply = client.reply().expect("the connection stands");
        match reply.items() {
            Some(words) if words.first().is_some_and(|word| text(word) == "invalidate") => {
                let told = words[1].items();
                let all = told.map_or(keys.iter().map(ToString::to_string).collect(), |told| {
                    told.iter().map(text).collect::<Vec<String>>()
                });
                before.extend(all.into_iter().filter(|key| keys.contains(&key.as_str())));
            }
            _ => return (text(&reply), before),
        }
    }
}

/// A region that begins to listen does not know what was hidden: it says once that anything may have changed.
fn settle(client: &mut Client) {
    assert_eq!(told(client), ["all"]);
}

#[test]
fn a_change_of_another_region_is_told_when_it_becomes_visible() {
    let cluster = Cluster::regions("causal", 2, 2);
    cluster.meet(&["met", "{x}met"]);
    let (mut a, mut b) = (cluster.client(0), caching(&cluster, 1, &[]));
    settle(&mut b);
    for command in ["SET k 1", "HSET h f 1", "LPUSH l 1", "ZINCRBY z 1 m"] {
        let command: Vec<&str> = command.split(' ').collect();
        let key = command[1];
        a.call(&command);
        eventually("it is there", || reply_behind(&mut b, &["TYPE", key], &[]).0 != "none");
        // What was told while it was waited for does not count: it is read once more.
        reply_behind(&mut b, &["TYPE", key], &[]);
        assert!(cluster.admin(0, "/admin/cut", r#"{"from": "A", "to": "B"}"#).contains("200 OK"));
        a.call(&command);
        assert_eq!(reply_behind(&mut b, &["PING"], &[key]), ("PONG".into(), vec![]), "it is cut off");
        assert!(cluster.admin(0, "/admin/heal", "{}").contains("200 OK"));
        assert_eq!(told(&mut b), [key]);
    }
    // Keys that have expired are told by the region's own clock.
    let mut milliseconds = 1_000;
    eventually("it is read before its time is over", || {
        if a.text(&["EXISTS", "short"]) == "0" {
            milliseconds *= 2;
            a.call(&["SET", "short", "v", "PX", &milliseconds.to_string()]);
        }
        reply_behind(&mut b, &["GET", "short"], &[]).0 == "v"
    });
    assert_eq!(told(&mut b), ["short"]);
}

/// Who sees an effect has been told of its cause before, also if both arrive with one batch.
#[test]
fn a_key_is_told_before_any_reply_that_its_writer_wrote_later() {
    let cluster = Cluster::regions("causal", 2, 2);
    cluster.meet(&["{foo}met", "{bar}met"]);
    let (mut a, mut b) = (cluster.client(0), caching(&cluster, 1, &[]));
    for round in 1..500_u32 {
        let value = format!("v{round}");
        let cached = reply_behind(&mut b, &["GET", "foo"], &[]).0;
        a.send(format!("SET foo {value}\r\nSET {{foo}}2 {value}\r\nSET bar {value}\r\n").as_bytes());
        let mut stale = cached != value;
        loop {
            let (seen, told) = reply_behind(&mut b, &["GET", "bar"], &["foo"]);
            stale &= told.is_empty();
            if seen == value {
                break;
            }
        }
        assert!(!stale, "foo is still cached as {cached}, and bar is {value}");
        (0..3).for_each(|_| assert_eq!(text(&a.reply().expect("it stands")), "OK"));
    }
}

/// The key lies at another node of the region.
#[test]
fn changes_at_another_node_of_the_region_are_told_and_so_is_its_restart() {
    let mut cluster = Cluster::start("causal", &[(0, &[0]), (0, &[1])], |_| ());
    cluster.meet(&["{foo}met", "{bar}met"]);
    let mut writer = cluster.client(1);
    let (mut one, mut broadcast) =
        (caching(&cluster, 0, &[]), caching(&cluster, 0, &["BCAST", "PREFIX", "fo"]));
    // It hears from that node for the first time.
    assert_eq!((told(&mut one), told(&mut broadcast)), (vec!["all".to_string()], vec!["all".to_string()]));
    let mut rounds = 0;
    eventually("fifty changes are told", || {
        // A node that stands still for two seconds is taken for silent, and anything may have changed there.
        for client in [&mut one, &mut broadcast] {
            reply_behind(client, &["GET", "foo"], &[]);
        }
        writer.ok(&["SET", "foo", "1"]);
        let told = [told(&mut one), told(&mut broadcast)];
        assert!(told.iter().all(|told| told == &["foo"] || told == &["all"]), "{told:?}");
        rounds += usize::from(told.iter().all(|told| told == &["foo"]));
        rounds == 50
    });
    reply_behind(&mut one, &["GET", "foo"], &[]);
    cluster.stop(1);
    // It is silent: nobody knows what happens there.
    assert_eq!(told(&mut one), ["all"]);
    cluster.restart(1);
    assert_eq!(told(&mut one), ["all"]);
}

#[test]
fn own_changes_are_told_behind_the_reply_or_not_at_all() {
    let cluster = Cluster::start("causal", &[(0, &[0, 1])], |_| ());
    let (mut loud, mut quiet) = (caching(&cluster, 0, &[]), caching(&cluster, 0, &["NOLOOP"]));
    for client in [&mut loud, &mut quiet] {
        assert_eq!(reply_behind(client, &["GET", "k"], &["k"]), ("-".into(), vec![]));
    }
    assert_eq!(reply_behind(&mut loud, &["SET", "k", "1"], &["k"]), ("OK".into(), vec![]));
    assert_eq!((told(&mut loud), told(&mut quiet)), (vec!["k".to_string()], vec!["k".to_string()]));
    quiet.call(&["GET", "k"]);
    quiet.ok(&["SET", "k", "2"]);
    quiet.ok(&["SET", "k", "3"]);
    assert_eq!(quiet.text(&["GET", "k"]), "3");
    loud.ok(&["SET", "k", "4"]);
    assert_eq!(told(&mut quiet), ["k"]);
}

#[test]
fn protocols_without_data_types_refuse() {
    let cluster = Cluster::regions("cops", 1, 1);
    let answer = cluster.client(0).text(&["CLIENT", "TRACKING", "ON"]);
    assert!(answer.starts_with("!ERR CLIENT TRACKING is not supported under this protocol"), "{answer}");
}
