//! Strangers, floods and passwords.

use crate::support::{Client, Cluster, eventually, text};
use tidemark_server::{NodeConfig, run_node};
use tidemark_store::log::Fsync;
use tidemark_wire::resp::{Reply, encode_request};

fn one(adjust: impl Fn(&mut NodeConfig)) -> Cluster {
    Cluster::start("causal", &[(0, &[0])], adjust)
}

#[test]
fn ten_thousand_pipelined_commands_are_answered_in_order() {
    for fsync in [Fsync::EverySec, Fsync::Always] {
        let cluster = one(|config| config.fsync = fsync);
        let mut client = cluster.client(0);
        let mut bytes = Vec::new();
        (0..10_000).for_each(|i| encode_request(&mut bytes, &["SET", &format!("k{i}"), &i.to_string()]));
        (0..10_000).for_each(|i| encode_request(&mut bytes, &["GET", &format!("k{i}")]));
        let mut write = client.stream.try_clone().unwrap();
        let writer = std::thread::spawn(move || std::io::Write::write_all(&mut write, &bytes).unwrap());
        (0..10_000).for_each(|_| assert_eq!(client.reply(), Some(Reply::Simple("OK".into()))));
        (0..10_000).for_each(|i| assert_eq!(text(&client.reply().unwrap()), i.to_string()));
        writer.join().unwrap();
    }
}

#[test]
fn a_client_that_does_not_read_is_held_back_and_served_when_it_does() {
    let cluster = one(|_| ());
    let mut client = cluster.client(0);
    let value = "x".repeat(100_000);
    client.ok(&["SET", "k", &value]);
    let mut bytes = Vec::new();
    (0..500).for_each(|_| encode_request(&mut bytes, &["GET", "k"]));
    client.send(&bytes);
    cluster.client(0).ok(&["SET", "others", "are served"]);
    (0..500).for_each(|_| assert_eq!(client.reply().unwrap().bytes().unwrap().len(), value.len()));
}

#[test]
fn a_password_is_needed_and_checked() {
    let cluster = one(|config| config.requirepass = Some("secret".into()));
    let mut client = Client::connect(cluster.nodes[0].config.redis_listen);
    assert!(client.text(&["GET", "k"]).starts_with("!NOAUTH"));
    assert!(client.text(&["AUTH", "wrong"]).starts_with("!WRONGPASS"));
    client.ok(&["AUTH", "secret"]);
    client.ok(&["SET", "k", "v"]);
    let mut stranger = Client::connect(cluster.nodes[0].config.redis_listen);
    stranger.send(b"*11\r\n");
    assert!(text(&stranger.reply().unwrap()).contains("unauthenticated multibulk length"));
    assert_eq!(stranger.reply(), None, "the connection is closed");
}

#[test]
fn other_addresses_than_loopback_need_a_password_and_a_secret() {
    let cluster = one(|_| ());
    let refused = |change: fn(&mut NodeConfig)| {
        let mut config = cluster.nodes[0].config.clone();
        change(&mut config);
        run_node(config).unwrap_err().to_string()
    };
    let error = refused(|config| config.redis_listen = ([0, 0, 0, 0], 0).into());
    assert!(error.contains("requirepass"), "{error}");
    let error = refused(|config| config.peer_listen = Some(([0, 0, 0, 0], 0).into()));
    assert!(error.contains("peer_secret"), "{error}");
    let error = refused(|config| config.admin_listen = Some(([0, 0, 0, 0], 0).into()));
    assert!(error.contains("requirepass"), "{error}");
}

#[test]
fn hostile_input_ends_its_own_connection_only() {
    let cluster = one(|_| ());
    let mut good = cluster.client(0);
    let hostile: &[&[u8]] = &[
        b"*1\r\n$-5\r\n",
        b"*99999999999999\r\n",
        b"*1\r\n:3\r\n",
        b"*2\r\n$3\r\nGET\r\n$9999999999\r\n",
        b"GET \"unbalanced\r\n",
        &[0xff; 70_000],
        b"*1\r\n$3\r\nGET",
        b"\0\0\0\0\n*3\r\n",
    ];
    for bytes in hostile {
        let mut bad = cluster.client(0);
        bad.send(bytes);
        bad.stream.shutdown(std::net::Shutdown::Write).unwrap();
        while bad.reply().is_some() {}
    }
    good.ok(&["SET", "k", "v"]);
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..50 {
        let bytes: Vec<u8> = (0..random.usize(1..2_000)).map(|_| random.u8(..)).collect();
        let mut bad = cluster.client(0);
        // Both may fail: the server closes as soon as it has seen enough.
        let _ = std::io::Write::write_all(&mut bad.stream, &bytes);
        let mut peer = Client::connect(cluster.nodes[0].config.peer_listen.unwrap());
        let _ = std::io::Write::write_all(&mut peer.stream, &bytes);
    }
    assert_eq!(good.text(&["GET", "k"]), "v");
    eventually("the strangers are gone", || {
        good.text(&["CLIENT", "LIST"]).lines().filter(|line| !line.is_empty()).count() == 1
    });
}

#[test]
fn too_many_clients_are_turned_away() {
    let cluster = one(|config| config.max_clients = 2);
    let (mut first, _second) = (cluster.client(0), cluster.client(0));
    first.ok(&["SET", "k", "v"]);
    let mut third = Client::connect(cluster.nodes[0].config.redis_listen);
    assert!(text(&third.reply().unwrap()).contains("max number of clients"));
    drop(_second);
    eventually("a place", || {
        let mut client = Client::connect(cluster.nodes[0].config.redis_listen);
        client.send(b"PING\r\n");
        client.reply() == Some(Reply::Simple("PONG".into()))
    });
}

#[test]
fn a_killed_client_is_closed() {
    let cluster = one(|_| ());
    let (mut victim, mut killer) = (cluster.client(0), cluster.client(0));
    let id = victim.text(&["CLIENT", "ID"]);
    assert_eq!(killer.text(&["CLIENT", "KILL", "ID", &id]), "1");
    assert_eq!(victim.reply(), None);
    killer.ok(&["SET", "k", "v"]);
}

#[test]
fn peers_with_another_secret_are_refused() {
    let cluster = Cluster::start("eventual", &[(0, &[0]), (1, &[0])], |config| {
        config.peer_secret = Some(format!("secret {}", config.me.0));
    });
    eventually("the refusal", || cluster.page(0, "/status").contains("secret"));
    cluster.client(0).ok(&["SET", "k", "v"]);
    assert_eq!(cluster.client(1).text(&["GET", "k"]), "-");
}

#[test]
fn quit_answers_before_it_closes() {
    let cluster = one(|_| ());
    let mut client = cluster.client(0);
    client.send(b"SET k v\r\nQUIT\r\nSET k w\r\n");
    assert_eq!(client.reply(), Some(Reply::Simple("OK".into())));
    assert_eq!(client.reply(), Some(Reply::Simple("OK".into())));
    assert_eq!(client.reply(), None);
    assert_eq!(cluster.client(0).text(&["GET", "k"]), "v");
}

/// It was accepted and changed nothing.
#[test]
fn config_set_maxclients_counts_at_once() {
    let cluster = one(|_| ());
    let mut first = cluster.client(0);
    first.ok(&["CONFIG", "SET", "maxclients", "1"]);
    let turned_away = || {
        let mut client = Client::connect(cluster.nodes[0].config.redis_listen);
        client.send(b"PING\r\n");
        text(&client.reply().unwrap()).contains("max number of clients")
    };
    assert!(turned_away());
    first.ok(&["SET", "k", "those who are in stay"]);
    first.ok(&["CONFIG", "SET", "maxclients", "2"]);
    eventually("a place", || !turned_away());
    for wrong in ["0", "1000001"] {
        assert!(first.text(&["CONFIG", "SET", "maxclients", wrong]).contains("between 1 and 1000000"));
    }
}
