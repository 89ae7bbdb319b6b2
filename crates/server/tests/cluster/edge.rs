//! Edge clients over WebSockets: beside Redis clients, over failovers, restarts, cuts and garbage.

mod app;
mod lists;

use crate::support::{Client, Cluster, eventually};
use crate::transactions::ask;
pub(crate) use app::App;
use app::{Raw, string};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidemark_edge::client::{Report, Status};
use tidemark_edge::frames::OperationKind::{Add, Delete, MapDelete, MapSet, Set, SetAdd, SetRemove};
use tidemark_edge::frames::Value;

/// Three regions of two nodes each, or of one, that take edge clients.
pub(crate) fn started(nodes: usize) -> (Cluster, Vec<Client>) {
    retaining(nodes, 120_000_000)
}

/// The same with regions that accept transactions for `retain_us` after their time.
pub(crate) fn retaining(nodes: usize, retain_us: u64) -> (Cluster, Vec<Client>) {
    let shape: Vec<(u8, &[u16])> = match nodes {
        1 => (0..3).map(|dc| (dc, &[0, 1][..])).collect(),
        _ => (0..3).flat_map(|dc| [(dc, &[0][..]), (dc, &[1][..])]).collect(),
    };
    let cluster = Cluster::start("tidemark", &shape, |config| {
        let cluster = Arc::make_mut(&mut config.cluster);
        cluster.replicas = 1;
        cluster.params =
            serde_json::json!({ "base_regions": 3, "tell_us": 20_000, "edge_retain_us": retain_us });
        config.edge_listen = Some("127.0.0.1:1".parse().unwrap()); // a free port is taken in its place
    });
    // A transaction that begins before two nodes of a region have met waits until it is given up.
    cluster.meet(&["met-a", "met-b"]);
    let mut clients: Vec<Client> = (0..3).map(|region| cluster.client(region * nodes)).collect();
    for client in &mut clients {
        eventually("the regions have met", || ask(client, "MSET met-a 1 met-b 1") == "OK");
    }
    (cluster, clients)
}

fn cut(cluster: &Cluster, from: &str, to: &str) {
    for node in 0..cluster.nodes.len() {
        for (from, to) in [(from, to), (to, from)] {
            let order = format!(r#"{{"from": "{from}", "to": "{to}"}}"#);
            assert!(cluster.admin(node, "/admin/cut", &order).contains("200 OK"));
        }
    }
}

fn heal(cluster: &Cluster) {
    for node in 0..cluster.nodes.len() {
        assert!(cluster.admin(node, "/admin/heal", "{}").contains("200 OK"));
    }
}

#[test]
fn what_edge_clients_write_redis_clients_read_and_the_other_way_round() {
    let (cluster, mut redis) = started(2);
    for (n, key) in ["counter", "hash", "set", "string", "typed"].into_iter().enumerate() {
        assert!(!ask(&mut redis[n % 3], &format!("DEL {key}")).starts_with('!'));
    }
    assert_eq!(ask(&mut redis[1], "HSET hash of redis"), "1");
    let mut app = App::new(&cluster, &[0, 1, 2], 2);
    app.load(&["counter", "hash", "set", "string", "typed"]);
    app.until("Redis's field is there", |app| app.field("hash", "of") == "redis");
    app.commit(&[
        ("counter", Add(5)),
        ("hash", MapSet("f".into(), "1".into())),
        ("set", SetAdd("m".into())),
        ("string", Set("text".into())),
    ]);
    assert_eq!(app.text("counter"), "5", "its own is there at once");
    app.until("it is in the base of two", |app| app.client().pending() == 0);
    for client in &mut redis {
        eventually("it is everywhere", || ask(client, "GET string") == "text");
        assert_eq!(ask(client, "GET counter"), "5");
        assert_eq!(ask(client, "HGET hash f"), "1");
        assert_eq!(ask(client, "SMEMBERS set"), "[m]");
    }
    assert_eq!(ask(&mut redis[2], "INCRBY counter 2"), "7");
    assert_eq!(ask(&mut redis[2], "HDEL hash of"), "1");
    app.until("what Redis clients did is there", |app| {
        app.text("counter") == "7" && app.field("hash", "of").is_empty()
    });
    app.commit(&[("set", SetRemove("m".into())), ("hash", MapDelete("f".into())), ("string", Delete)]);
    app.until("the removal is in the base", |app| app.client().pending() == 0);
    assert_eq!(ask(&mut redis[0], "EXISTS set hash string"), "0");
    // What has no effect is said, and the rest of the transaction is there.
    assert_eq!(ask(&mut redis[0], "ZADD typed 1 x"), "1");
    app.until("it is a zset", |app| app.client().read(b"typed") == Some(Value::Other("zset".into())));
    app.commit(&[("typed", SetAdd("m".into())), ("counter", Add(1))]);
    app.until("it is refused", |app| {
        app.reports
            .iter()
            .any(|report| matches!(report, Report::Refused { operation: 0, code, .. } if code == "WRONGTYPE"))
    });
    app.until("the rest is in the base", |app| app.client().pending() == 0 && app.text("counter") == "8");
}

/// Two clients count in a cluster whose nodes stop and start, whose regions are cut off, and whose connections break: each increment
/// counts once.
#[test]
fn each_transaction_counts_once_over_failovers_restarts_and_cuts() {
    let (mut cluster, mut redis) = started(1);
    let mut apps = [App::new(&cluster, &[0, 1, 2], 2), App::new(&cluster, &[2, 0, 1], 1)];
    apps.iter_mut().for_each(|app| app.load(&["count", "last"]));
    let mut committed = 0;
    for round in 0..8 {
        for n in 0..20 {
            for (at, app) in apps.iter_mut().enumerate() {
                app.commit(&[("count", Add(1)), ("last", Set(format!("{at} {round} {n}").into()))]);
                committed += 1;
                app.run(Duration::from_millis(3));
            }
        }
        match round {
            1 => cluster.stop(0),
            2 => cluster.restart(0),
            3 => cut(&cluster, "A", "B"),
            4 => heal(&cluster),
            5 => apps.iter_mut().for_each(App::break_off),
            6 => {
                apps[0].crash();
                apps[0].load(&["count", "last"]);
            }
            _ => {}
        }
    }
    // Each is driven while the test waits for it.
    for app in &mut apps {
        app.until("all of it is in the base", |app| app.client().pending() == 0);
    }
    for app in &mut apps {
        app.until("all is counted", |app| app.text("count") == committed.to_string());
    }
    drop(redis.remove(0));
    let mut a = cluster.client(0);
    for client in std::iter::once(&mut a).chain(&mut redis) {
        eventually("all is counted here", || ask(client, "GET count") == committed.to_string());
    }
    let last = apps[0].text("last");
    apps[1].until("they see the same", |app| app.text("last") == last);
}

/// A client that is cut off goes on; when it is back it has its own and what others did, and both in one order.
#[test]
fn offline_clients_merge_what_they_did() {
    let (cluster, mut redis) = started(1);
    let mut app = App::new(&cluster, &[0, 1], 2);
    app.load(&["hash", "string"]);
    app.offline();
    app.commit(&[("hash", MapSet("mine".into(), "1".into())), ("string", Set("mine".into()))]);
    app.commit(&[("hash", MapSet("both".into(), "mine".into()))]);
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(ask(&mut redis[1], "HSET hash theirs 1 both theirs"), "2");
    assert_eq!((app.field("hash", "both"), app.client().status()), ("mine".into(), Status::Offline));
    app.online();
    app.until("both are there", |app| app.client().pending() == 0 && app.field("hash", "theirs") == "1");
    assert_eq!(
        (app.field("hash", "mine"), app.field("hash", "both")),
        ("1".into(), "theirs".into()),
        "the later one"
    );
    for client in &mut redis {
        eventually("it is the same everywhere", || ask(client, "HGET hash both") == "theirs");
        assert_eq!(ask(client, "GET string"), "mine");
    }
}

/// While only one region has them, writes are in no base of two; whoever has the base of two never loses what is in it.
#[test]
fn a_base_stands_still_while_its_regions_are_apart() {
    let (cluster, mut redis) = started(1);
    let (mut two, mut one) = (App::new(&cluster, &[0], 2), App::new(&cluster, &[0], 1));
    for app in [&mut two, &mut one] {
        app.load(&["key", "other"]);
    }
    cut(&cluster, "A", "B");
    cut(&cluster, "A", "C");
    assert_eq!(ask(&mut redis[0], "SET key lonely"), "OK");
    one.until("a base of one has it", |app| app.text("key") == "lonely");
    two.commit(&[("other", Set("own".into()))]);
    two.run(Duration::from_millis(500));
    assert_eq!((two.text("key"), two.text("other"), two.client().pending()), ("".into(), "own".into(), 1));
    heal(&cluster);
    two.until("two have it", |app| app.text("key") == "lonely" && app.client().pending() == 0);
}

/// Who wants bases of two regions leaves one that is cut off; who knows no other lowers K, if it is told to, for as long as that is so.
#[test]
fn an_isolated_region_is_left_or_k_is_lowered() {
    let (cluster, mut redis) = started(1);
    let (mut leaves, mut lowers) = (App::new(&cluster, &[2, 0], 2), App::lowering(&cluster, &[2], 2));
    let mut stays = App::new(&cluster, &[2], 2);
    for app in [&mut leaves, &mut lowers, &mut stays] {
        app.load(&["key", "other"]);
    }
    cut(&cluster, "C", "A");
    cut(&cluster, "C", "B");
    assert_eq!(ask(&mut redis[2], "SET key lonely"), "OK");
    leaves.until("it is at A", |app| (app.client().endpoint(), app.client().status()) == (1, Status::Live));
    leaves.commit(&[("other", Set("shared".into()))]);
    leaves.until("A and B have it", |app| app.client().pending() == 0);
    lowers.until("K is 1", |app| app.text("key") == "lonely" && app.client().base_regions() == 1);
    stays.run(Duration::from_millis(100));
    assert_eq!([&leaves, &stays].map(|app| app.text("key")), ["", ""]);
    heal(&cluster);
    for app in [&mut leaves, &mut lowers, &mut stays] {
        let all = |app: &App| app.text("key") == "lonely" && app.text("other") == "shared";
        app.until("all share it again", |app| all(app) && app.client().base_regions() == 2);
    }
}

#[test]
fn garbage_ends_its_connection_and_nothing_else() {
    let (cluster, mut redis) = started(1);
    let address = cluster.nodes[0].config.edge_listen.unwrap();
    let mut app = App::new(&cluster, &[0], 1);
    app.load(&["key"]);
    for frame in [&b""[..], &[1], &[2, 1, 1], &[255; 40], &[6], &[0; 100_000]] {
        let said = Raw::connect(address).send(frame);
        assert!(said.contains("MALFORMED"), "{frame:?}: {said}");
    }
    assert!(Raw::connect(address).text("hello").is_empty(), "nobody sends text");
    // Half an HTTP request, and one that is none.
    drop(TcpStream::connect(address).unwrap());
    let mut plain = Client::connect(address);
    plain.send(b"GET /edge HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut plain.stream, &mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 426") && answer.contains("WebSocket"), "{answer}");
    app.commit(&[("key", Set("fine".into()))]);
    app.until("others are served", |app| app.client().pending() == 0);
    assert_eq!(ask(&mut redis[0], "GET key"), "fine");
    // Guards are no keys of clients.
    let guard = [&b"\0tidemark:edge:"[..], &app.client().cid()].concat();
    let set = [&b"*3\r\n$3\r\nSET\r\n$31\r\n"[..], &guard, b"\r\n$1\r\nx\r\n"].concat();
    redis[0].send(&set);
    assert!(format!("{:?}", redis[0].reply()).contains("reserved"));
    assert_eq!(ask(&mut redis[0], "KEYS *tidemark*"), "[]");
}

#[test]
fn a_password_is_asked_of_edge_clients_too() {
    let cluster = Cluster::start("tidemark", &[(0, &[0])], |config| {
        Arc::make_mut(&mut config.cluster).params =
            serde_json::json!({ "base_regions": 1, "edge_retain_us": 120_000_000 });
        config.requirepass = Some("secret".into());
        config.edge_listen = Some("127.0.0.1:1".parse().unwrap());
    });
    let mut app = App::with_token(&cluster, &[0], 1, "wrong");
    app.until("it is told", |app| {
        app.reports.iter().any(|report| matches!(report, Report::Error { code, .. } if code == "NOAUTH"))
    });
    let mut app = App::with_token(&cluster, &[0], 1, "secret");
    app.load(&["key"]);
    app.commit(&[("key", Set("1".into()))]);
    app.until("it is in the base", |app| app.client().pending() == 0);
}

/// A new client, and one that comes back after others did much: it is sent what is different, and no more.
#[test]
fn a_client_that_comes_back_is_sent_what_changed() {
    let (cluster, mut redis) = started(1);
    for n in 0..200 {
        assert_eq!(ask(&mut redis[0], &format!("SET key:{n} {}", "x".repeat(1_000))), "OK");
    }
    let keys: Vec<String> = (0..200).map(|n| format!("key:{n}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let mut app = App::new(&cluster, &[0], 2);
    app.load(&keys);
    app.until("it has all", |app| string(app.client().read(b"key:199")).len() == 1_000);
    let whole = app.received();
    app.offline();
    for n in 0..3 {
        assert_eq!(ask(&mut redis[1], &format!("SET key:{n} changed")), "OK");
    }
    app.online();
    app.until("it has what changed", |app| app.text("key:2") == "changed" && app.text("key:0") == "changed");
    let then = app.received() - whole;
    assert!(whole > 200_000 && then < 2_000, "{whole} bytes at first, and then {then}");
}

/// Failover: how long until a client whose region has gone reads and delivers at another one.
#[test]
fn a_client_fails_over_when_its_region_goes() {
    let (mut cluster, mut redis) = started(1);
    let mut app = App::new(&cluster, &[0, 1], 2);
    app.load(&["key"]);
    app.commit(&[("key", Set("1".into()))]);
    app.until("it is in the base", |app| app.client().pending() == 0);
    cluster.stop(0);
    let begun = Instant::now();
    app.commit(&[("key", Set("2".into()))]);
    eventually("it is delivered at B", || {
        app.run(Duration::from_millis(5));
        ask(&mut redis[1], "GET key") == "2"
    });
    println!("delivered after {:?}", begun.elapsed());
    app.until("B and C are two", |app| app.client().pending() == 0);
}
