//! CLIENT: names, lists, kills and silence; and the greetings of the clients that people use.

use crate::harness::{Server, answer};

#[test]
fn one_request_one_answer() {
    for (request, reply) in [
        ("client id", ":1\r\n"),
        ("client getname", "$-1\r\n"),
        ("client setname abc", "+OK\r\n"),
        (
            "client setname a\nb",
            "-ERR Client names cannot contain spaces, newlines or special characters.\r\n",
        ),
        ("client setinfo LIB-NAME x", "+OK\r\n"),
        ("client setinfo lib-ver 1.0", "+OK\r\n"),
        ("client setinfo lib-foo 1.0", "-ERR Unrecognized option 'lib-foo'\r\n"),
        (
            "client setinfo lib-ver 1\n0",
            "-ERR lib-ver cannot contain spaces, newlines or special characters.\r\n",
        ),
        ("client no-evict on", "+OK\r\n"),
        ("client no-evict foo", "-ERR syntax error\r\n"),
        ("client no-touch off", "+OK\r\n"),
        ("client kill 1.2.3.4:5", "-ERR No such client\r\n"),
        ("client kill id x", "-ERR client-id should be greater than 0\r\n"),
        ("client kill id 0", "-ERR client-id should be greater than 0\r\n"),
        ("client kill id 999", ":0\r\n"),
        ("client kill foo bar", "-ERR syntax error\r\n"),
        ("client kill addr a id 5 foo", "-ERR syntax error\r\n"),
        ("client kill type foo", "-ERR Unknown client type 'foo'\r\n"),
        ("client kill type normal", ":0\r\n"),
        ("client kill skipme foo", "-ERR syntax error\r\n"),
        ("client kill user foo", "-ERR No such user 'foo'\r\n"),
        ("client list foo", "-ERR syntax error\r\n"),
        ("client list type foo", "-ERR Unknown client type 'foo'\r\n"),
        ("client list type pubsub", "$0\r\n\r\n"),
        ("client list id 7 8", "$0\r\n\r\n"),
        ("client list id x", "-ERR Invalid client ID\r\n"),
        ("client list id", "-ERR syntax error\r\n"),
        ("client getredir", ":-1\r\n"),
        (
            "client trackinginfo",
            "*6\r\n$5\r\nflags\r\n*1\r\n$3\r\noff\r\n$8\r\nredirect\r\n:-1\r\n$8\r\nprefixes\r\n*0\r\n",
        ),
        ("client pause x", "-ERR timeout is not an integer or out of range\r\n"),
        ("client pause -1", "-ERR timeout is negative\r\n"),
        ("client pause 10 foo", "-ERR CLIENT PAUSE mode must be WRITE or ALL\r\n"),
        ("client pause 10 write", "+OK\r\n"),
        ("client unpause", "+OK\r\n"),
        ("client unblock 5", ":0\r\n"),
        ("client unblock x", "-ERR value is not an integer or out of range\r\n"),
        ("client unblock 5 error", ":0\r\n"),
        ("client unblock 5 foo", "-ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR\r\n"),
        ("client reply foo", "-ERR syntax error\r\n"),
        ("client reply on", "+OK\r\n"),
    ] {
        assert_eq!(answer(request), reply, "{request}");
    }
}

#[test]
fn a_list_has_a_line_for_each_connection() {
    let mut server = Server::new();
    let mut first = server.connect();
    server.now += 5_000_000;
    let mut second = server.connect();
    server.send(&mut first, "hello 3 setname joe");
    server.send(&mut second, "client setinfo lib-name redis-py");
    let list = server.ask(&mut second, "client list");
    let text = String::from_utf8(list.bytes().unwrap().to_vec()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(
        lines[0].starts_with(
            "id=1 addr=127.0.0.1:1000 laddr=127.0.0.1:6379 fd=-1 name=joe age=5 idle=0 flags=N "
        )
    );
    assert!(lines[0].ends_with(" cmd=hello user=default redir=-1 resp=3 lib-name= lib-ver="));
    assert!(lines[1].contains("name= age=0") && lines[1].contains("cmd=client|list"));
    assert!(lines[1].ends_with("resp=2 lib-name=redis-py lib-ver="));
    let info = server.ask(&mut second, "client info");
    let only = server.ask(&mut second, "client list id 2");
    let without_command = |reply: tidemark_wire::resp::Reply| {
        String::from_utf8(reply.bytes().unwrap().to_vec()).unwrap().replace("|list", "").replace("|info", "")
    };
    assert_eq!(without_command(info), without_command(only));
}

#[test]
fn kills_reach_others_and_oneself() {
    let mut server = Server::new();
    let mut me = server.connect();
    let (other, third) = (server.connect(), server.connect());
    assert_eq!(server.send(&mut me, &format!("client kill id {}", other.connection.id())), ":1\r\n");
    assert_eq!(server.registry.take_killed(), [2]);
    assert!(server.registry.is_killed(2) && !me.closed);
    server.registry.remove(2);
    assert_eq!(server.send(&mut me, "client kill addr 127.0.0.1:1002 skipme yes"), ":1\r\n");
    assert_eq!(server.registry.take_killed(), [third.connection.id()]);
    assert_eq!(server.send(&mut me, "client kill laddr 127.0.0.1:6379 skipme no"), ":1\r\n");
    assert!(me.closed);
    let mut again = server.connect();
    let address = server.registry.get(again.connection.id()).unwrap().address.clone();
    assert_eq!(server.send(&mut again, &format!("client kill {address}")), "+OK\r\n");
    assert!(again.closed);
}

#[test]
fn replies_can_be_turned_off_or_skipped() {
    for (requests, replies) in [
        (&["client reply off", "ping", "client reply on", "ping"][..], "+OK\r\n+PONG\r\n"),
        (&["client reply skip", "ping", "ping"], "+PONG\r\n"),
        (&["client reply skip", "client reply skip", "ping", "ping", "ping"], "+PONG\r\n+PONG\r\n"),
        (
            &["client reply off", "foo", "client reply skip", "ping", "client reply on", "ping"],
            "+OK\r\n+PONG\r\n",
        ),
        (&["client reply off", "set k", "client reply on"], "+OK\r\n"),
        (&["client reply skip", "get k", "get k"], "$-1\r\n"),
        (&["client reply skip", "client reply on"], "+OK\r\n"),
        (&["client reply off", "reset", "ping"], "+RESET\r\n+PONG\r\n"),
        (&["client reply skip", "quit"], ""),
    ] {
        let mut server = Server::new();
        let mut client = server.connect();
        let got: String = requests.iter().map(|request| server.send(&mut client, request)).collect();
        assert_eq!(got, replies, "{requests:?}");
    }
}

/// What each client sends when it connects, and whether it gets on with what it is told.
#[test]
fn clients_connect() {
    let setinfo = ["CLIENT SETINFO LIB-NAME x", "CLIENT SETINFO LIB-VER 1.0"];
    let greetings: &[(&str, &[&str])] = &[
        ("redis-cli -3", &["HELLO 3"]),
        ("redis-cli, interactive", &["COMMAND DOCS"]),
        ("redis-benchmark", &["CONFIG GET save", "CONFIG GET appendonly", "PING"]),
        ("redis-py, Lettuce, node-redis", &["HELLO 3", setinfo[0], setinfo[1]]),
        ("ioredis", &["hello 3", setinfo[0], setinfo[1], "info", "quit"]),
        (
            "go-redis",
            &["hello 3", "client setinfo lib-name go-redis(,go1.24)", setinfo[1], "ping", "flushdb"],
        ),
        ("Jedis", &["HELLO 3", setinfo[0], setinfo[1]]),
        ("redis-rs", &setinfo),
    ];
    for (who, requests) in greetings {
        let mut server = Server::new();
        let mut client = server.connect();
        for request in *requests {
            let reply = server.ask(&mut client, request);
            assert_eq!(reply.error(), None, "{who}: {request}");
        }
        if !client.closed {
            let refused = server.ask(&mut client, "CLIENT MAINT_NOTIFICATIONS ON moving-endpoint-type none");
            assert!(refused.error().unwrap().starts_with(b"ERR unknown subcommand"), "{who}");
        }
    }
}

#[test]
fn subscribers_are_a_type_of_their_own() {
    let mut server = Server::new();
    let (mut subscriber, mut other) = (server.connect(), server.connect());
    server.send(&mut subscriber, "subscribe a");
    let ids = |server: &mut Server, other: &mut crate::harness::Client, kind: &str| -> Vec<String> {
        let list = server.send(other, &format!("client list type {kind}"));
        let lines = list.lines().filter(|line| line.starts_with("id="));
        lines.map(|line| line.split(' ').next().unwrap().to_string()).collect()
    };
    assert_eq!(ids(&mut server, &mut other, "pubsub"), ["id=1"]);
    assert_eq!(ids(&mut server, &mut other, "normal"), ["id=2"]);
    assert!(ids(&mut server, &mut other, "replica").is_empty());
    assert_eq!(server.send(&mut other, "client kill type normal id 1"), ":0\r\n");
    assert_eq!(
        server.send(&mut other, "client kill type pubsub laddr 127.0.0.1:6379 user default"),
        ":1\r\n"
    );
    assert_eq!(server.send(&mut other, "client kill type normal skipme no"), ":1\r\n");
    assert!(other.closed);
}
