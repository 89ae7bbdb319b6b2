//! Functions in two regions of two nodes each: a library reaches every node, lasts, and is found by no command on keys.

use crate::support::{Client, Cluster, eventually, text};
use tidemark_wire::resp::Reply;

const LIBRARY: &str = "#!lua name=counters\n\
     local function bump(keys, args) \
       redis.call('set', keys[1], (redis.call('get', keys[1]) or 0) + args[1]) \
       return redis.call('get', keys[1]) \
     end \
     redis.register_function('bump', bump) \
     redis.register_function{function_name='look', flags={'no-writes'}, \
       callback=function(keys) return redis.call('get', keys[1]) end}";

/// Two regions of two nodes, each with one partition.
fn cluster() -> Cluster {
    Cluster::start("tidemark", &[(0, &[0]), (0, &[1]), (1, &[0]), (1, &[1])], |_| ())
}

fn clients(cluster: &Cluster) -> Vec<Client> {
    (0..cluster.nodes.len()).map(|node| cluster.client(node)).collect()
}

/// A library whose only function, `name`, returns `value`.
fn returning(library: &str, name: &str, value: &str) -> String {
    format!("#!lua name={library}\nredis.register_function('{name}', function() return '{value}' end)")
}

fn libraries(client: &mut Client) -> Vec<String> {
    let listed = client.call(&["FUNCTION", "LIST"]);
    listed.items().expect("a list").iter().map(|library| text(&library.items().expect("pairs")[1])).collect()
}

#[test]
fn a_library_is_called_at_every_node_where_the_keys_live() {
    let cluster = cluster();
    let mut clients = clients(&cluster);
    cluster.meet(&["a", "b", "c", "d", "e", "f"]);
    assert_eq!(clients[0].text(&["FUNCTION", "LOAD", LIBRARY]), "counters");
    assert_eq!(
        clients[0].text(&["FCALL", "bump", "1", "own", "1"]),
        "1",
        "it is there for its own session at once"
    );
    for (node, client) in clients.iter_mut().enumerate() {
        eventually("every node has the library", || libraries(client) == ["counters"]);
        for key in ["a", "b", "c", "d"] {
            let own = format!("n:{node}:{key}");
            assert_eq!(client.text(&["FCALL", "BUMP", "1", &own, "5"]), "5");
            assert_eq!(client.text(&["FCALL_RO", "look", "1", &own]), "5");
        }
    }
    eventually("what a function wrote is there", || clients[3].text(&["GET", "n:0:a"]) == "5");
    clients[3].ok(&["FUNCTION", "DELETE", "counters"]);
    for client in &mut clients {
        eventually("every node has lost it", || {
            client.text(&["FCALL", "bump", "1", "own", "1"]) == "!ERR Function not found"
        });
    }
}

#[test]
fn a_session_that_depends_on_a_load_sees_its_function() {
    let cluster = cluster();
    let (mut a, mut b) = (cluster.client(0), cluster.client(3));
    cluster.meet(&["a", "b", "c"]);
    for round in 0..20 {
        let round = round.to_string();
        a.text(&["FUNCTION", "LOAD", "REPLACE", &returning("lib", "round", &round)]);
        a.ok(&["SET", "loaded", &round]);
        eventually("region B sees the key", || b.text(&["GET", "loaded"]) == round);
        assert_eq!(b.text(&["FCALL", "round", "0"]), round);
    }
}

#[test]
fn libraries_outlast_flushall_and_a_restart_and_no_command_finds_them() {
    let mut cluster = Cluster::regions("tidemark", 1, 2);
    let mut client = cluster.client(0);
    client.text(&["FUNCTION", "LOAD", LIBRARY]);
    client.text(&["FCALL", "bump", "1", "k", "2"]);
    assert_eq!((client.list(&["KEYS", "*"]), client.text(&["DBSIZE"])), (vec!["k".into()], "1".into()));
    client.ok(&["FLUSHALL"]);
    assert_eq!((client.text(&["DBSIZE"]), client.text(&["RANDOMKEY"])), ("0".into(), "-".into()));
    let scanned = client.call(&["SCAN", "0", "COUNT", "1000"]);
    assert_eq!(scanned.items().expect("a pair")[1].items().map(<[Reply]>::len), Some(0));
    assert_eq!(client.text(&["FCALL_RO", "look", "1", "k"]), "-");
    cluster.stop(0);
    cluster.restart(0);
    let mut client = cluster.client(0);
    eventually("the node is back", || client.text(&["FCALL", "bump", "1", "k", "3"]) == "3");
    assert_eq!(client.text(&["DBSIZE"]), "1");
    let hash = "\0tidemark:functions";
    let refused = "!ERR keys that begin with '\\x00tidemark:' are reserved";
    client.ok(&["SET", "k", hash]);
    for command in [
        &["HGETALL", hash][..],
        &["DEL", "k", hash],
        &["GET", hash],
        &["SET", hash, "x"],
        &["EVAL", "return 1", "1", hash],
        &["FCALL", "bump", "1", hash, "1"],
        &["WATCH", hash],
    ] {
        assert_eq!(client.text(command), refused, "{command:?}");
    }
    assert_eq!(client.text(&["DEL", "k"]), "1");
    client.ok(&["FUNCTION", "FLUSH"]);
    assert_eq!((libraries(&mut client).len(), client.text(&["DBSIZE"])), (0, "0".into()));
}

#[test]
fn loads_of_two_regions_at_once_converge() {
    let cluster = cluster();
    let mut clients = clients(&cluster);
    cluster.meet(&["a", "b", "c", "d"]);
    for node in [0, 1] {
        assert!(cluster.admin(node, "/admin/cut", r#"{"from": "A", "to": "B"}"#).contains("200 OK"));
        eventually("the link is down", || {
            let page = cluster.page(node, "/status");
            page.contains(r#""stream_in":false"#) && page.contains(r#""stream_out":false"#)
        });
    }
    clients[0].text(&["FUNCTION", "LOAD", &returning("same", "f", "A")]);
    clients[0].text(&["FUNCTION", "LOAD", &returning("first", "shared", "A")]);
    clients[2].text(&["FUNCTION", "LOAD", &returning("same", "f", "B")]);
    clients[2].text(&["FUNCTION", "LOAD", &returning("second", "shared", "B")]);
    assert_eq!(
        (clients[1].text(&["FCALL", "f", "0"]), clients[3].text(&["FCALL", "f", "0"])),
        ("A".into(), "B".into())
    );
    for node in [0, 1] {
        assert!(cluster.admin(node, "/admin/heal", "{}").contains("200 OK"));
    }
    for client in &mut clients {
        eventually("all have all libraries", || libraries(client) == ["first", "same", "second"]);
        assert_eq!(client.text(&["FCALL", "f", "0"]), "B", "the later load wins whole");
        assert_eq!(
            client.text(&["FCALL", "shared", "0"]),
            "B",
            "the library that was loaded later has the function"
        );
    }
    clients[0].ok(&["FUNCTION", "DELETE", "second"]);
    assert_eq!(clients[0].text(&["FCALL", "shared", "0"]), "A", "the other one has it now");
    let taken = clients[0].text(&["FUNCTION", "LOAD", &returning("third", "SHARED", "C")]);
    assert_eq!(taken, "!ERR Function SHARED already exists");
}

#[test]
fn loads_of_one_library_at_once_in_a_region_load_it_once() {
    let cluster = Cluster::start("tidemark", &[(0, &[0]), (0, &[1])], |_| ());
    cluster.meet(&["a", "b", "c"]);
    for round in 0..10 {
        let threads: Vec<_> = (0..4)
            .map(|at| {
                let mut client = cluster.client(at % 2);
                let code = returning("one", "f", &at.to_string());
                std::thread::spawn(move || client.text(&["FUNCTION", "LOAD", &code]))
            })
            .collect();
        let replies: Vec<String> =
            threads.into_iter().map(|thread| thread.join().expect("a reply")).collect();
        let loaded = replies.iter().filter(|reply| *reply == "one").count();
        assert_eq!(loaded, 1, "round {round}: {replies:?}");
        cluster.client(0).ok(&["FUNCTION", "FLUSH"]);
    }
}

#[test]
fn transactions_call_functions() {
    let cluster = Cluster::start("tidemark", &[(0, &[0]), (0, &[1])], |_| ());
    let mut client = cluster.client(0);
    cluster.meet(&["a", "b", "c"]);
    client.text(&["FUNCTION", "LOAD", LIBRARY]);
    for key in ["t:a", "t:b", "t:c", "t:d"] {
        client.ok(&["MULTI"]);
        for request in [
            &["FCALL", "bump", "1", key, "2"][..],
            &["INCR", key],
            &["FCALL_RO", "bump", "1", key, "2"],
            &["FCALL", "nothing", "1", key],
            &["FCALL_RO", "look", "1", key],
        ] {
            assert_eq!(client.text(request), "QUEUED");
        }
        let replies = client.call(&["EXEC"]);
        let replies: Vec<String> = replies.items().expect("replies").iter().map(text).collect();
        let refused = "!ERR Can not execute a script with write flag using *_ro command.";
        assert_eq!(replies, ["2", "3", refused, "!ERR Function not found", "3"]);
    }
    client.ok(&["WATCH", "t:a"]);
    client.ok(&["MULTI"]);
    client.text(&["FCALL", "bump", "1", "t:a", "2"]);
    cluster.client(1).ok(&["SET", "t:a", "9"]);
    assert_eq!(client.call(&["EXEC"]), Reply::Null);
    assert_eq!(client.text(&["GET", "t:a"]), "9");
    client.ok(&["MULTI"]);
    assert_eq!(client.text(&["FUNCTION", "LOAD", &returning("lib", "f", "x")]), "QUEUED");
    assert_eq!(client.text(&["FCALL", "bump", "1", "t:a", "1"]), "QUEUED");
    let replies = client.list(&["EXEC"]);
    assert_eq!(replies, ["lib", "10"]);
    assert_eq!(client.text(&["FCALL", "f", "0"]), "x");
}

#[test]
fn a_function_that_is_stopped_has_done_nothing_and_refusals_are_those_of_redis() {
    let cluster = Cluster::regions("tidemark", 1, 2);
    let mut client = cluster.client(0);
    let endless = "#!lua name=endless\nredis.register_function('endless', function(keys) \
                   redis.call('set', keys[1], 'x') while true do end end)";
    client.text(&["FUNCTION", "LOAD", endless]);
    let stopped = client.text(&["FCALL", "endless", "1", "k"]);
    assert!(stopped.ends_with("computed for 50 ms (busy-reply-threshold); it has done nothing"), "{stopped}");
    assert_eq!(client.text(&["EXISTS", "k"]), "0");
    let timeout = client.text(&["FUNCTION", "LOAD", "#!lua name=l\nwhile true do end"]);
    assert_eq!(timeout, "!ERR Error registering functions: ERR FUNCTION LOAD timeout");
    client.text(&["FUNCTION", "LOAD", LIBRARY]);
    for (request, error) in [
        (&["FCALL", "nothing", "x"][..], "ERR Function not found"),
        (&["FCALL_RO", "bump", "x"], "ERR Bad number of keys provided"),
        (&["FCALL", "bump", "-1"], "ERR Number of keys can't be negative"),
        (&["FCALL", "bump", "2", "k"], "ERR Number of keys can't be greater than number of args"),
        (&["FUNCTION", "KILL"], "NOTBUSY No scripts in execution right now."),
        (&["FUNCTION", "LOAD", LIBRARY], "ERR Library 'counters' already exists"),
        (&["FUNCTION", "DELETE", "COUNTERS"], "ERR Library not found"),
        (&["FUNCTION", "RESTORE", "x"], "ERR DUMP payload version or checksum are wrong"),
    ] {
        assert_eq!(client.text(request), format!("!{error}"), "{request:?}");
    }
    let script = client.text(&["EVAL", "return redis.call('fcall', 'bump', 1, KEYS[1])", "1", "k"]);
    assert!(script.starts_with("!ERR This Redis command is not allowed from script"), "{script}");
}
