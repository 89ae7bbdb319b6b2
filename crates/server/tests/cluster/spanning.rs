//! The default protocol: commands on keys of several partitions, carried out at once.

use crate::several::partitions;
use crate::support::{Cluster, eventually};
use crate::transactions::{ask, exec, shown};

/// Commands, each with its answer, on keys that lie apart, and what is there then.
const WRITES: &[(&[&str], &str)] = &[
    (&["SADD", "a", "1", "2"], "2"),
    (&["SADD", "b", "2", "3"], "2"),
    (&["SINTERSTORE", "c", "a", "b"], "1"),
    (&["SMEMBERS", "c"], "[2]"),
    (&["SMOVE", "a", "b", "1"], "1"),
    (&["SCARD", "b"], "3"),
    (&["RENAME", "a", "d"], "OK"),
    (&["EXISTS", "a", "d"], "1"),
    (&["COPY", "d", "e"], "1"),
    (&["SMEMBERS", "e"], "[2]"),
    (&["RENAMENX", "d", "e"], "0"),
    (&["MSETNX", "a", "1", "e", "1"], "0"),
    (&["MSETNX", "a", "1", "f", "2"], "1"),
    (&["MGET", "a", "f"], "[1 2]"),
    (&["BITOP", "OR", "g", "a", "f"], "1"),
    (&["GET", "g"], "3"),
    (&["RPUSH", "l", "x", "y"], "2"),
    (&["LMOVE", "l", "m", "LEFT", "RIGHT"], "x"),
    (&["LRANGE", "m", "0", "-1"], "[x]"),
    (&["PFADD", "p", "1"], "1"),
    (&["PFMERGE", "q", "p"], "OK"),
    (&["PFCOUNT", "q"], "1"),
    (&["EVAL", "redis.call('INCR', KEYS[1]); return redis.call('INCRBY', KEYS[2], 5)", "2", "a", "f"], "7"),
    (&["MGET", "a", "f"], "[2 7]"),
    (&["RENAME", "none", "a"], "!ERR no such key"),
    (&["SMOVE", "a", "b", "1"], "!WRONGTYPE Operation against a key holding the wrong kind of value"),
];

/// Under the default protocol it does not matter to a command in which partitions its keys are.
#[test]
fn commands_that_write_change_keys_of_several_partitions_at_once() {
    let cluster = Cluster::regions("causal", 2, 4);
    assert!(partitions(&["a", "b", "c", "d", "e", "f"], 4) > 2);
    let (mut client, mut far) = (cluster.client(0), cluster.client(1));
    eventually("the nodes have met", || client.text(&["MSET", "a", "1", "b", "1", "c", "1"]) == "OK");
    client.text(&["DEL", "a", "b", "c"]);
    for (command, expected) in WRITES {
        assert_eq!(shown(&client.call(command)), *expected, "{command:?}");
    }
    eventually("all of it is in the other region", || {
        far.list(&["MGET", "a", "f", "g"]) == ["2", "7", "3"] && far.text(&["SCARD", "b"]) == "3"
    });
}

/// Under the default protocol a transaction may name keys of any partitions.
#[test]
fn a_transaction_spans_partitions_and_is_watched_over() {
    let cluster = Cluster::regions("causal", 1, 4);
    let (mut client, mut other) = (cluster.client(0), cluster.client(0));
    eventually("the partitions have met", || ask(&mut client, "MSET a 0 b 0 c 0") == "OK");
    let all = ["SET a x", "RPUSH list 1 2", "HSET h f v", "INCR n", "GET a", "LPOP list", "DBSIZE"];
    assert_eq!(exec(&mut client, &all), "[OK 2 1 1 x 1 6]");
    assert_eq!(ask(&mut client, "MGET a n"), "[x 1]");
    client.ok(&["WATCH", "b", "none"]);
    assert_eq!(exec(&mut client, &["SET a y", "SET none 1"]), "[OK OK]");
    client.ok(&["WATCH", "b", "a"]);
    other.ok(&["SET", "b", "1"]);
    assert_eq!(exec(&mut client, &["SET a z", "SET c z"]), "-");
    assert_eq!(ask(&mut client, "MGET a b c"), "[y 1 0]");
    assert_eq!(
        exec(&mut client, &["INCR a", "SET c 1"]),
        "[!ERR value is not an integer or out of range OK]"
    );
    assert_eq!(ask(&mut client, "GET c"), "1", "an error takes nothing back");
}

/// What two clients do to the same keys at once is done one after the other: no increment is lost.
#[test]
fn transactions_of_several_clients_on_the_same_keys_are_carried_out_one_after_the_other() {
    const EACH: usize = 100;
    // Partitions of one node do not run side by side.
    let cluster = Cluster::start("causal", &[(0, &[0, 1]), (0, &[2, 3])], |_| ());
    let mut client = cluster.client(0);
    eventually("the partitions have met", || ask(&mut client, "MSET a 0 b 0 c 0") == "OK");
    std::thread::scope(|scope| {
        for n in 0..4 {
            let mut client = cluster.client(n % 2);
            scope.spawn(move || {
                let script = "local x = redis.call('GET', KEYS[1]) redis.call('SET', KEYS[1], x + 1) \
                    redis.call('SET', KEYS[2], x + 1) return x + 1";
                let keys = if n % 2 == 0 { ["a", "b"] } else { ["b", "a"] };
                for _ in 0..EACH {
                    let answer = client.text(&["EVAL", script, "2", keys[0], keys[1]]);
                    assert!(answer.parse::<usize>().is_ok(), "{answer}");
                }
            });
        }
    });
    let expected = (4 * EACH).to_string();
    assert_eq!(ask(&mut client, "MGET a b"), format!("[{expected} {expected}]"));
}

/// A transaction that only overwrites keys looks at none of them: protocols with write transactions need no data types for it.
#[test]
fn a_transaction_that_overwrites_keys_is_a_write_transaction() {
    for protocol in ["causal", "cure", "wren", "eiger", "occult"] {
        let cluster = Cluster::regions(protocol, 2, 4);
        let (mut client, mut far) = (cluster.client(0), cluster.client(1));
        eventually("the partitions have met", || ask(&mut client, "MSET a 0 b 0 c 0") == "OK");
        let all = ["SET a 1", "PING", "SET b 1", "SET c 1", "SET b 2", "SET c"];
        assert_eq!(client.text(&["MULTI"]), "OK");
        let queued: Vec<String> = all.iter().map(|line| ask(&mut client, line)).collect();
        assert!(queued[5].starts_with("!ERR wrong number"), "{queued:?}");
        assert!(ask(&mut client, "EXEC").starts_with("!EXECABORT"), "nothing happens");
        assert_eq!(exec(&mut client, &all[..5]), "[OK PONG OK OK OK]", "{protocol}");
        eventually("it is seen", || ask(&mut client, "MGET a b c") == "[1 2 1]");
        eventually("in the other region", || ask(&mut far, "MGET a b c") == "[1 2 1]");
    }
}
