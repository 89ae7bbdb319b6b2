//! Publish and subscribe through sockets.

use crate::support::{Client, Cluster, eventually, text};
use tidemark_server::NodeConfig;
use tidemark_wire::resp::{Reply, encode_request};

fn one(adjust: impl Fn(&mut NodeConfig)) -> Cluster {
    Cluster::start("causal", &[(0, &[0])], adjust)
}

/// The words of the next reply or message.
fn words(client: &mut Client) -> Vec<String> {
    client.reply().expect("the connection stands").items().expect("a list").iter().map(text).collect()
}

#[test]
fn messages_reach_every_subscriber_in_order() {
    let cluster = one(|_| ());
    let mut subscribers: Vec<Client> = (0..3).map(|_| cluster.client(0)).collect();
    for subscriber in &mut subscribers {
        assert_eq!(subscriber.list(&["SUBSCRIBE", "a", "b"]), ["subscribe", "a", "1"]);
        assert_eq!(words(subscriber), ["subscribe", "b", "2"]);
    }
    let mut publisher = cluster.client(0);
    let mut bytes = Vec::new();
    (0..5_000).for_each(|i| encode_request(&mut bytes, &["PUBLISH", "a", &i.to_string()]));
    publisher.send(&bytes);
    (0..5_000).for_each(|_| assert_eq!(publisher.reply(), Some(Reply::Integer(3))));
    for subscriber in &mut subscribers {
        (0..5_000).for_each(|i| assert_eq!(words(subscriber), ["message", "a", &i.to_string()]));
    }
}

#[test]
fn a_publisher_in_resp3_gets_its_own_message_behind_the_reply() {
    let cluster = one(|_| ());
    let mut client = cluster.client(0);
    client.call(&["HELLO", "3"]);
    client.call(&["SUBSCRIBE", "a"]);
    client.send(b"PUBLISH a 1\r\nPUBLISH a 2\r\nPING\r\n");
    let message =
        |payload: &'static str| Some(Reply::Push(vec!["message".into(), "a".into(), payload.into()]));
    assert_eq!(client.reply(), Some(Reply::Integer(1)));
    assert_eq!(client.reply(), message("1"));
    assert_eq!(client.reply(), Some(Reply::Integer(1)));
    assert_eq!(client.reply(), message("2"));
    assert_eq!(client.reply(), Some(Reply::Simple("PONG".into())));
}

#[test]
fn a_subscriber_that_disconnects_is_forgotten() {
    let cluster = one(|_| ());
    let mut subscriber = cluster.client(0);
    subscriber.call(&["SUBSCRIBE", "a"]);
    let mut publisher = cluster.client(0);
    assert_eq!(publisher.text(&["PUBLISH", "a", "x"]), "1");
    drop(subscriber);
    eventually("no subscriber", || publisher.text(&["PUBLISH", "a", "x"]) == "0");
    assert!(publisher.list(&["PUBSUB", "CHANNELS"]).is_empty());
}

#[test]
fn a_subscriber_that_does_not_read_is_disconnected() {
    let cluster = one(|_| ());
    let mut subscriber = cluster.client(0);
    subscriber.call(&["SUBSCRIBE", "a"]);
    let mut publisher = cluster.client(0);
    publisher.ok(&["CONFIG", "SET", "client-output-buffer-limit", "pubsub 1mb 0 0"]);
    let payload = "x".repeat(100_000);
    // What the sockets' buffers take does not count.
    eventually("the subscriber is gone", || publisher.text(&["PUBLISH", "a", &payload]) == "0");
    let list = publisher.text(&["CLIENT", "LIST"]);
    assert_eq!(list.lines().filter(|line| line.contains(" flags=P ")).count(), 0, "{list}");
    let mut received = 0;
    let end = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        while subscriber.reply().is_some() {
            received += 1;
        }
    }));
    assert!(end.is_ok() && received > 0);
}

#[test]
fn a_soft_limit_counts_after_a_while() {
    let cluster = one(|_| ());
    let mut subscriber = cluster.client(0);
    subscriber.call(&["SUBSCRIBE", "a"]);
    let mut publisher = cluster.client(0);
    publisher.ok(&["CONFIG", "SET", "client-output-buffer-limit", "pubsub 0 100kb 1"]);
    let payload = "x".repeat(100_000);
    let start = std::time::Instant::now();
    eventually("the subscriber is gone", || publisher.text(&["PUBLISH", "a", &payload]) == "0");
    assert!(start.elapsed() >= std::time::Duration::from_secs(1)); // time: a soft limit may be passed for so long
}
