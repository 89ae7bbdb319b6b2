//! Publications between nodes and regions: in order, at most once, and with the past of their publishers.

use crate::support::{Client, Cluster, eventually, text};
use tidemark_wire::resp::{Reply, encode_request};

/// The words of the next message.
fn message(client: &mut Client) -> Vec<String> {
    let reply = client.reply().expect("the connection stands");
    assert!(matches!(reply, Reply::Push(_)), "{reply:?}");
    reply.items().unwrap().iter().map(text).collect()
}

/// A subscriber that may send any command, once messages from the publisher's node reach it.
fn subscriber(cluster: &Cluster, node: usize, publisher: &mut Client) -> Client {
    let mut client = cluster.client(node);
    client.call(&["HELLO", "3"]);
    client.call(&["SUBSCRIBE", "news"]);
    let mut probe = cluster.client(node);
    probe.call(&["HELLO", "3"]);
    probe.call(&["SUBSCRIBE", "probe"]);
    probe.stream.set_nonblocking(true).unwrap();
    eventually("the nodes are connected", || {
        publisher.call(&["PUBLISH", "probe", "x"]);
        std::thread::sleep(std::time::Duration::from_millis(20));
        let mut byte = [0];
        probe.stream.peek(&mut byte).is_ok()
    });
    client
}

#[test]
fn messages_reach_every_region_in_order_and_once() {
    let cluster = Cluster::regions("tidemark", 3, 2);
    let mut publisher = cluster.client(0);
    let mut subscribers: Vec<Client> =
        (0..3).map(|node| subscriber(&cluster, node, &mut publisher)).collect();
    let mut bytes = Vec::new();
    (0..1_000).for_each(|i| encode_request(&mut bytes, &["PUBLISH", "news", &i.to_string()]));
    publisher.send(&bytes);
    // The reply counts those of the publisher's node.
    (0..1_000).for_each(|_| assert_eq!(publisher.reply(), Some(Reply::Integer(1))));
    for subscriber in &mut subscribers {
        (0..1_000).for_each(|i| assert_eq!(message(subscriber), ["message", "news", &i.to_string()]));
        assert_eq!(subscriber.text(&["PING"]), "PONG", "nothing else came");
    }
    let mut shards = cluster.client(2);
    shards.call(&["SSUBSCRIBE", "news"]);
    publisher.call(&["SPUBLISH", "news", "shard"]);
    let words: Vec<String> = shards.reply().unwrap().items().unwrap().iter().map(text).collect();
    assert_eq!(words, ["smessage", "news", "shard"]);
}

/// A message that says "look at k" is useless if k is not there yet.
#[test]
fn what_a_message_talks_about_is_there() {
    for protocol in ["tidemark", "causal", "cure", "cops", "wren", "pocc"] {
        let cluster = Cluster::regions(protocol, 2, 2);
        let mut publisher = cluster.client(0);
        let mut here = subscriber(&cluster, 0, &mut publisher);
        let mut there = subscriber(&cluster, 1, &mut publisher);
        for round in 0..50 {
            let (key, value) = (format!("k{round}"), round.to_string());
            publisher.ok(&["SET", &key, &value]);
            publisher.call(&["PUBLISH", "news", &key]);
            for subscriber in [&mut here, &mut there] {
                assert_eq!(message(subscriber)[2], key);
                assert_eq!(subscriber.text(&["GET", &key]), value, "{protocol}");
            }
        }
    }
}

/// The past goes on with the message of whoever has heard one: it is causal, not only from publisher to subscriber.
#[test]
fn a_publisher_passes_on_what_it_has_heard() {
    let cluster = Cluster::regions("tidemark", 3, 2);
    let mut first = cluster.client(0);
    let mut second = subscriber(&cluster, 1, &mut first);
    let mut relay = cluster.client(1);
    let mut third = subscriber(&cluster, 2, &mut relay);
    third.call(&["UNSUBSCRIBE", "news"]);
    third.call(&["SUBSCRIBE", "answers"]);
    for round in 0..50 {
        let key = format!("k{round}");
        first.ok(&["SET", &key, "v"]);
        first.call(&["PUBLISH", "news", &key]);
        assert_eq!(message(&mut second)[2], key);
        second.call(&["PUBLISH", "answers", &key]);
        assert_eq!(message(&mut third)[2], key);
        assert_eq!(third.text(&["GET", &key]), "v");
    }
}

#[test]
fn nodes_of_one_region_hear_each_other() {
    let cluster = Cluster::start("tidemark", &[(0, &[0]), (0, &[1])], |_| ());
    let mut publisher = cluster.client(0);
    let mut subscriber = subscriber(&cluster, 1, &mut publisher);
    for round in 0..50 {
        let key = format!("k{round}");
        publisher.ok(&["SET", &key, "v"]);
        publisher.call(&["PUBLISH", "news", &key]);
        assert_eq!(message(&mut subscriber)[2], key);
        assert_eq!(subscriber.text(&["GET", &key]), "v");
    }
}

#[test]
fn a_node_that_is_down_misses_messages_and_hears_later_ones() {
    let mut cluster = Cluster::regions("tidemark", 2, 1);
    let mut publisher = cluster.client(0);
    drop(subscriber(&cluster, 1, &mut publisher));
    cluster.stop(1);
    publisher.call(&["PUBLISH", "news", "lost"]);
    cluster.restart(1);
    let mut subscriber = subscriber(&cluster, 1, &mut publisher);
    publisher.call(&["PUBLISH", "news", "found"]);
    assert_eq!(message(&mut subscriber), ["message", "news", "found"]);
}

#[test]
fn members_of_a_group_hear_each_other() {
    let cluster = Cluster::start("tidemark", &[(0, &[0]), (0, &[0]), (0, &[0])], |_| ());
    let mut publisher = cluster.client(0);
    for node in 0..3 {
        let mut subscriber = subscriber(&cluster, node, &mut publisher);
        let key = format!("k{node}");
        eventually("a leader", || publisher.text(&["SET", &key, "v"]) == "OK");
        publisher.call(&["PUBLISH", "news", &key]);
        assert_eq!(message(&mut subscriber)[2], key);
        assert_eq!(subscriber.text(&["GET", &key]), "v");
    }
}
