//! Publish and subscribe, within one node. Raw replies are what redis-server 7.0 sent; in RESP3 a message to the
//! publisher itself follows the reply, as in 7.2.

use crate::harness::{Client, Server};

fn run(server: &mut Server, client: &mut Client, requests: &[(&str, &str)]) {
    for (request, reply) in requests {
        assert_eq!(server.send(client, request), *reply, "{request}");
    }
}

/// A confirmation in RESP2, or in RESP3 with the other mark.
fn confirmed(mark: char, word: &str, name: &str, count: usize) -> String {
    format!("{mark}3\r\n${}\r\n{word}\r\n${}\r\n{name}\r\n:{count}\r\n", word.len(), name.len())
}

#[test]
fn subscriptions_are_counted_and_confirmed() {
    let mut server = Server::new();
    let mut client = server.connect();
    let mut send = |request: &str| server.send(&mut client, request);
    let two = |word, one, two| confirmed('*', word, "a", one) + &confirmed('*', word, "b", two);
    assert_eq!(send("subscribe a b"), two("subscribe", 1, 2));
    assert_eq!(send("subscribe a a"), confirmed('*', "subscribe", "a", 2).repeat(2));
    assert_eq!(send("psubscribe a*"), confirmed('*', "psubscribe", "a*", 3));
    assert_eq!(send("ssubscribe a"), confirmed('*', "ssubscribe", "a", 1));
    assert_eq!(send("unsubscribe x"), confirmed('*', "unsubscribe", "x", 3));
    assert_eq!(send("unsubscribe"), two("unsubscribe", 2, 1));
    assert_eq!(send("punsubscribe"), confirmed('*', "punsubscribe", "a*", 0));
    assert_eq!(send("unsubscribe"), "*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n");
    assert!(send("get k").starts_with("-ERR Can't execute 'get'"), "the shard channel is left");
    assert_eq!(send("sunsubscribe"), confirmed('*', "sunsubscribe", "a", 0));
    assert_eq!(send("sunsubscribe"), "*3\r\n$12\r\nsunsubscribe\r\n$-1\r\n:0\r\n");
    assert_eq!(send("punsubscribe"), "*3\r\n$12\r\npunsubscribe\r\n$-1\r\n:0\r\n");
    assert_eq!(send("get k"), "$-1\r\n");
}

#[test]
fn messages_reach_channels_patterns_and_shards_apart() {
    let mut server = Server::new();
    let (mut first, mut second) = (server.connect(), server.connect());
    let mut publisher = server.connect();
    server.send(&mut first, "subscribe news.a");
    server.send(&mut second, "psubscribe news.* *a");
    server.send(&mut second, "ssubscribe news.a");
    run(
        &mut server,
        &mut publisher,
        &[
            ("publish news.a hello", ":3\r\n"),
            ("publish News.b hello", ":0\r\n"),
            ("spublish news.a shard", ":1\r\n"),
            ("spublish a shard", ":0\r\n"),
        ],
    );
    assert_eq!(server.inbox(&first), "*3\r\n$7\r\nmessage\r\n$6\r\nnews.a\r\n$5\r\nhello\r\n");
    let pattern = |pattern: &str| {
        format!("*4\r\n$8\r\npmessage\r\n${}\r\n{pattern}\r\n$6\r\nnews.a\r\n$5\r\nhello\r\n", pattern.len())
    };
    assert_eq!(
        server.inbox(&second),
        pattern("*a") + &pattern("news.*") + "*3\r\n$8\r\nsmessage\r\n$6\r\nnews.a\r\n$5\r\nshard\r\n"
    );
    assert_eq!(server.inbox(&publisher), "");
}

#[test]
fn a_subscriber_of_resp2_may_send_little_else() {
    let refused = |name: &str| {
        format!(
            "-ERR Can't execute '{name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed \
             in this context\r\n"
        )
    };
    let mut server = Server::new();
    let mut client = server.connect();
    server.send(&mut client, "subscribe a");
    run(
        &mut server,
        &mut client,
        &[
            ("get x", &refused("get")),
            ("publish a b", &refused("publish")),
            ("pubsub numpat", &refused("pubsub|numpat")),
            ("client id", &refused("client|id")),
            ("hello 3", &refused("hello")),
            ("foo", "-ERR unknown command 'foo', with args beginning with: \r\n"),
            ("get", "-ERR wrong number of arguments for 'get' command\r\n"),
            ("ping", "*2\r\n$4\r\npong\r\n$0\r\n\r\n"),
            ("ping hi", "*2\r\n$4\r\npong\r\n$2\r\nhi\r\n"),
            ("ping a b", "-ERR wrong number of arguments for 'ping' command\r\n"),
            ("reset", "+RESET\r\n"),
            ("ping", "+PONG\r\n"),
            ("get x", "$-1\r\n"),
            ("publish a b", ":0\r\n"),
        ],
    );
    server.send(&mut client, "subscribe a");
    assert_eq!(server.send(&mut client, "quit"), "+OK\r\n");
    assert!(client.closed);
}

#[test]
fn a_subscriber_of_resp3_gets_pushes_and_may_send_anything() {
    let mut server = Server::new();
    let mut client = server.connect();
    server.send(&mut client, "hello 3");
    run(
        &mut server,
        &mut client,
        &[
            ("subscribe a", &confirmed('>', "subscribe", "a", 1)),
            ("get x", "_\r\n"),
            ("ping", "+PONG\r\n"),
            ("publish a hi", ":1\r\n"),
            ("sunsubscribe", ">3\r\n$12\r\nsunsubscribe\r\n_\r\n:0\r\n"),
        ],
    );
    assert_eq!(server.inbox(&client), ">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\nhi\r\n");
}

#[test]
fn confirmations_and_messages_pass_client_reply_off() {
    let mut server = Server::new();
    let mut client = server.connect();
    let mut other = server.connect();
    run(
        &mut server,
        &mut client,
        &[
            ("hello 3", &hello()),
            ("client reply off", ""),
            ("subscribe a", &confirmed('>', "subscribe", "a", 1)),
            ("ping", ""),
        ],
    );
    server.send(&mut other, "publish a hi");
    assert!(server.inbox(&client).contains("message"));
}

fn hello() -> String {
    let mut server = Server::new();
    let mut client = server.connect();
    server.send(&mut client, "hello 3")
}

#[test]
fn pubsub_tells_of_subscriptions() {
    let mut server = Server::new();
    let (mut first, mut second, mut other) = (server.connect(), server.connect(), server.connect());
    server.send(&mut first, "subscribe b a");
    server.send(&mut first, "psubscribe x* y*");
    server.send(&mut second, "subscribe a");
    server.send(&mut second, "psubscribe x*");
    server.send(&mut second, "ssubscribe s");
    run(
        &mut server,
        &mut other,
        &[
            ("pubsub channels", "*2\r\n$1\r\na\r\n$1\r\nb\r\n"),
            ("pubsub channels a*", "*1\r\n$1\r\na\r\n"),
            (
                "pubsub channels a b",
                "-ERR unknown subcommand or wrong number of arguments for 'channels'. Try PUBSUB HELP.\r\n",
            ),
            ("pubsub numsub", "*0\r\n"),
            ("pubsub numsub a b s", "*6\r\n$1\r\na\r\n:2\r\n$1\r\nb\r\n:1\r\n$1\r\ns\r\n:0\r\n"),
            ("pubsub numpat", ":2\r\n"),
            ("pubsub numpat x", "-ERR wrong number of arguments for 'pubsub|numpat' command\r\n"),
            ("pubsub shardchannels", "*1\r\n$1\r\ns\r\n"),
            ("pubsub shardchannels t*", "*0\r\n"),
            ("pubsub shardnumsub s a", "*4\r\n$1\r\ns\r\n:1\r\n$1\r\na\r\n:0\r\n"),
            ("pubsub foo", "-ERR unknown subcommand 'foo'. Try PUBSUB HELP.\r\n"),
        ],
    );
    let list = server.send(&mut other, "client list");
    let lines: Vec<&str> = list.lines().filter(|line| line.starts_with("id=")).collect();
    assert!(lines[0].contains(" flags=P db=0 sub=2 psub=2 ssub=0 "), "{}", lines[0]);
    assert!(lines[1].contains(" flags=P db=0 sub=1 psub=1 ssub=1 "), "{}", lines[1]);
    assert!(lines[2].contains(" flags=N db=0 sub=0 psub=0 ssub=0 "), "{}", lines[2]);
    server.send(&mut first, "reset");
    server.shared.forget(second.connection.id());
    run(&mut server, &mut other, &[("pubsub channels", "*0\r\n"), ("pubsub numpat", ":0\r\n")]);
}
