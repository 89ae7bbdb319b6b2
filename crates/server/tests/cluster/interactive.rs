//! TIDE.BEGIN, TIDE.COMMIT and TIDE.ROLLBACK: what a transaction sees, what others see of it, and what ends it.

use crate::blocking::waiting;
use crate::support::{Client, Cluster, eventually};
use crate::transactions::{ask, shown};

/// Two partitions at two nodes, which have met; and two clients.
fn started(protocol: &str, regions: usize) -> (Cluster, Client, Client) {
    let cluster = Cluster::regions(protocol, regions, 4);
    let (mut client, other) = (cluster.client(0), cluster.client(0));
    eventually("the partitions have met", || ask(&mut client, "MSET a 0 b 0 c 0") == "OK");
    (cluster, client, other)
}

fn all(client: &mut Client, lines: &[(&str, &str)]) {
    for (line, expected) in lines {
        assert_eq!(ask(client, line), *expected, "{line}");
    }
}

#[test]
fn it_reads_one_snapshot_with_its_own_writes_and_others_see_all_of_them_at_once() {
    for protocol in ["causal", "cure", "wren"] {
        let (cluster, mut client, mut other) = started(protocol, 2);
        let mut far = cluster.client(1);
        eventually("the other region has that", || ask(&mut far, "MGET a b c") == "[0 0 0]");
        all(&mut client, &[("TIDE.BEGIN", "OK"), ("GET a", "0")]);
        all(&mut other, &[("SET a other", "OK"), ("SET b other", "OK")]);
        all(
            &mut client,
            &[
                ("GET b", "0"),
                ("SET b mine", "OK"),
                ("MSET c mine d mine", "OK"),
                ("MGET a b c d", "[0 mine mine mine]"),
                ("DEL d", "1"),
                ("SET d again NX", "OK"),
                ("GET d", "again"),
            ],
        );
        assert_eq!(ask(&mut other, "MGET a b c d"), "[other other 0 -]", "{protocol}");
        all(&mut client, &[("TIDE.COMMIT", "OK"), ("MGET b c d", "[mine mine again]")]);
        eventually("others see it", || ask(&mut other, "MGET a b c d") == "[other mine mine again]");
        eventually("other regions do", || ask(&mut far, "MGET a b c d") == "[other mine mine again]");
    }
}

#[test]
fn data_types_are_read_in_the_snapshot_and_merge_with_what_others_write() {
    let (_cluster, mut client, mut other) = started("causal", 1);
    all(&mut other, &[("RPUSH list x", "1"), ("HSET hash f 1", "1"), ("SADD set a b", "2")]);
    all(
        &mut client,
        &[
            ("TIDE.BEGIN", "OK"),
            ("INCR a", "1"),
            ("RPUSH list mine", "2"),
            ("LRANGE list 0 -1", "[x mine]"),
            ("HINCRBY hash f 5", "6"),
            ("SMOVE set other a", "1"),
            ("SMEMBERS other", "[a]"),
            ("EXPIRE hash 100", "1"),
            ("TTL hash", "100"),
            ("BLPOP nothing 0", "-"),
            ("TYPE list", "list"),
            ("LPUSH hash x", "!WRONGTYPE Operation against a key holding the wrong kind of value"),
        ],
    );
    all(&mut other, &[("INCRBY a 10", "10"), ("RPUSH list theirs", "2"), ("SCARD set", "2")]);
    all(&mut client, &[("TIDE.COMMIT", "OK"), ("GET a", "11"), ("LLEN list", "3"), ("HGET hash f", "6")]);
    all(&mut other, &[("GET a", "11"), ("SMEMBERS set", "[b]"), ("SMEMBERS other", "[a]")]);
}

/// A waiter of another connection hears of a commit, and so does who caches a key.
#[test]
fn a_commit_wakes_who_waits_for_its_keys() {
    let (cluster, mut client, mut other) = started("causal", 1);
    all(&mut client, &[("TIDE.BEGIN", "OK"), ("RPUSH queue job", "1")]);
    let mut waits = waiting(&cluster, &mut other, &["BLPOP", "queue", "0"]);
    all(&mut client, &[("TIDE.COMMIT", "OK")]);
    assert_eq!(waits.reply().map(|reply| shown(&reply)).as_deref(), Some("[queue job]"));
}

#[test]
fn a_rollback_and_the_end_of_a_connection_leave_nothing() {
    let (cluster, mut client, mut other) = started("causal", 1);
    all(&mut client, &[("TIDE.BEGIN", "OK"), ("SET a 1", "OK"), ("TIDE.ROLLBACK", "OK"), ("GET a", "0")]);
    let mut gone = cluster.client(0);
    all(&mut gone, &[("TIDE.BEGIN", "OK"), ("SET a 1", "OK")]);
    drop(gone);
    all(&mut client, &[("TIDE.BEGIN", "OK"), ("SET a 1", "OK"), ("RESET", "RESET"), ("GET a", "0")]);
    all(&mut other, &[("GET a", "0")]);
}

/// As long as a snapshot is held, nothing that is in it is collected.
#[test]
fn reset_gives_the_snapshot_back() {
    let (cluster, mut client, mut other) = started("causal", 1);
    all(&mut client, &[("TIDE.BEGIN", "OK"), ("GET a", "0")]);
    let versions = || -> u64 {
        let page = cluster.page(0, "/metrics");
        let of_partitions = page.lines().filter(|line| line.starts_with("tidemark_versions{"));
        of_partitions.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() as u64).sum()
    };
    let overwrite = |other: &mut Client| (0..300).for_each(|n| drop(ask(other, &format!("SET a {n}"))));
    overwrite(&mut other);
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(versions() > 200, "what is newer than the snapshot is kept: {}", versions());
    all(&mut client, &[("RESET", "RESET")]);
    eventually("nothing is kept any more", || versions() < 50);
}

#[test]
fn a_checked_commit_writes_nothing_if_what_it_has_read_was_changed() {
    let (_cluster, mut client, mut other) = started("causal", 1);
    all(&mut client, &[("TIDE.BEGIN", "OK"), ("GET a", "0"), ("SET b 1", "OK"), ("TIDE.COMMIT CHECK", "OK")]);
    all(&mut client, &[("TIDE.BEGIN", "OK"), ("GET a", "0"), ("SET b 2", "OK")]);
    all(&mut other, &[("SET a 1", "OK"), ("SET c 1", "OK")]);
    all(&mut client, &[("TIDE.COMMIT CHECK", "-"), ("GET b", "1")]);
    all(&mut client, &[("TIDE.BEGIN", "OK"), ("GET a", "1"), ("INCR b", "2")]);
    all(&mut other, &[("SET c 2", "OK")]);
    all(&mut client, &[("TIDE.COMMIT CHECK", "OK"), ("GET b", "2")]);
    // Nothing is written, and something is checked.
    all(&mut client, &[("TIDE.BEGIN", "OK"), ("MGET a b", "[1 2]"), ("TIDE.COMMIT CHECK", "OK")]);
}

/// Of clients that check, each increment counts: one that has read an old value begins again.
#[test]
fn no_increment_of_checked_transactions_is_lost() {
    const EACH: usize = 50;
    let cluster = Cluster::start("causal", &[(0, &[0, 1]), (0, &[2, 3])], |_| ());
    let mut client = cluster.client(0);
    eventually("the partitions have met", || ask(&mut client, "MSET a 0 b 0") == "OK");
    std::thread::scope(|scope| {
        for n in 0..3 {
            let mut client = cluster.client(n % 2);
            scope.spawn(move || {
                let mut done = 0;
                while done < EACH {
                    ask(&mut client, "TIDE.BEGIN");
                    let next = ask(&mut client, "GET a").parse::<usize>().unwrap() + 1;
                    assert_eq!(ask(&mut client, "GET b"), (next - 1).to_string(), "one snapshot");
                    ask(&mut client, &format!("MSET a {next} b {next}"));
                    match ask(&mut client, "TIDE.COMMIT CHECK").as_str() {
                        "OK" => done += 1,
                        "-" => {}
                        other => panic!("{other}"),
                    }
                }
            });
        }
    });
    let expected = (3 * EACH).to_string();
    assert_eq!(ask(&mut client, "MGET a b"), format!("[{expected} {expected}]"));
}

#[test]
fn what_is_wrong_is_said() {
    let (cluster, mut client, _) = started("causal", 1);
    let inside = "!ERR Command not allowed inside TIDE.BEGIN: end it with TIDE.COMMIT or TIDE.ROLLBACK";
    all(
        &mut client,
        &[
            ("TIDE.COMMIT", "!ERR TIDE.COMMIT without TIDE.BEGIN"),
            ("TIDE.ROLLBACK", "!ERR TIDE.ROLLBACK without TIDE.BEGIN"),
            ("TIDE.BEGIN NOW", "!ERR syntax error"),
            ("TIDE.BEGIN SNAPSHOT", "OK"),
            ("GET a", "0"),
            ("SET a 1", "!ERR the transaction only reads: it was begun with TIDE.BEGIN SNAPSHOT"),
            ("INCR a", "!ERR the transaction only reads: it was begun with TIDE.BEGIN SNAPSHOT"),
            ("TIDE.COMMIT", "OK"),
            ("TIDE.BEGIN", "OK"),
            ("TIDE.BEGIN", "!ERR TIDE.BEGIN calls can not be nested"),
            ("MULTI", inside),
            ("WATCH a", inside),
            ("EVAL return(1) 1 a", "!ERR no script or function runs in an interactive transaction"),
            ("FCALL f 0", "!ERR no script or function runs in an interactive transaction"),
            ("DBSIZE", "!ERR an interactive transaction reads and writes the keys that its commands name"),
            ("TIDE.COMMIT MAYBE", "!ERR syntax error"),
            ("TIDE.COMMIT", "OK"),
            ("MULTI", "OK"),
            ("TIDE.BEGIN", "!ERR Command not allowed inside a transaction"),
            ("DISCARD", "OK"),
        ],
    );
    drop(cluster);
    let cluster = Cluster::regions("gentlerain", 1, 2);
    let mut client = cluster.client(0);
    all(&mut client, &[("TIDE.BEGIN", "!ERR gentlerain has no interactive transactions"), ("SET a 1", "OK")]);
    drop(cluster);
    let cluster = Cluster::regions("cure", 1, 2);
    let mut client = cluster.client(0);
    all(
        &mut client,
        &[
            ("TIDE.BEGIN", "OK"),
            ("INCR a", "!ERR data types are not supported under this protocol"),
            ("GET a", "-"),
            (
                "TIDE.COMMIT CHECK",
                "!ERR this protocol cannot check at COMMIT whether what was read has changed",
            ),
            ("TIDE.COMMIT", "!ERR TIDE.COMMIT without TIDE.BEGIN"),
        ],
    );
}
