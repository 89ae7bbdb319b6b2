//! Commands of a pipeline that stand one behind the other, of one kind and on one key: they become one version where nobody can tell.

use crate::support::{Client, Cluster, eventually, text};
use tidemark_wire::resp::{Reply, encode_request};

fn one() -> Cluster {
    Cluster::regions("tidemark", 1, 1)
}

/// Sends commands at once; their replies.
fn pipeline(client: &mut Client, commands: &[Vec<String>]) -> Vec<Reply> {
    let mut bytes = Vec::new();
    commands.iter().for_each(|words| encode_request(&mut bytes, words));
    client.send(&bytes);
    commands.iter().map(|_| client.reply().expect("the connection stands")).collect()
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_string).collect()
}

fn repeated(line: &str, times: usize) -> Vec<Vec<String>> {
    vec![words(line); times]
}

fn shown(replies: &[Reply]) -> Vec<String> {
    replies.iter().map(text).collect()
}

/// How many versions the only partition has written.
fn written(cluster: &Cluster) -> u64 {
    cluster.status(0)["host"]["partitions"][0]["written"].as_u64().expect("a number")
}

#[test]
fn a_run_of_commands_becomes_one_version() {
    let cluster = one();
    let mut client = cluster.client(0);
    let before = written(&cluster);
    let pushes: Vec<Vec<String>> = (0..10).map(|n| words(&format!("LPUSH k {n}"))).collect();
    let replies = pipeline(&mut client, &pushes);
    assert_eq!(shown(&replies), ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]);
    assert_eq!(written(&cluster), before + 1);
    assert_eq!(client.list(&["LRANGE", "k", "0", "2"]), ["9", "8", "7"]);
    // Each of them is counted.
    assert!(client.text(&["INFO", "commandstats"]).contains("cmdstat_lpush:calls=10,"));

    let popped = pipeline(&mut client, &repeated("RPOP k", 12));
    assert_eq!(shown(&popped), ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "-", "-"]);
    assert_eq!(client.text(&["EXISTS", "k"]), "0");
    // Others stand between them.
    let mixed = ["SADD s a", "SADD s a", "SADD other a", "SADD s b", "SADD s c d", "SADD s b", "sadd s b"];
    let mixed = pipeline(&mut client, &mixed.map(words));
    assert_eq!(shown(&mixed), ["1", "0", "1", "1", "2", "0", "0"]);
}

#[test]
fn each_command_of_a_run_fails_with_an_error_of_its_own() {
    let cluster = one();
    let mut client = cluster.client(0);
    client.ok(&["SET", "k", "text"]);
    let replies = shown(&pipeline(&mut client, &repeated("HSET k f v", 5)));
    assert!(replies.iter().all(|reply| reply.starts_with("!WRONGTYPE")) && replies.len() == 5);
    let stats = client.text(&["INFO", "commandstats"]);
    assert!(
        stats
            .lines()
            .any(|line| line.starts_with("cmdstat_hset:calls=5,") && line.contains("failed_calls=5"))
    );
    assert!(client.text(&["INFO", "errorstats"]).contains("errorstat_WRONGTYPE:count=5"));
    // A key that nobody may write, and an argument that is missing.
    let mut commands = repeated("LPUSH k", 2);
    commands.extend(repeated("LPUSH l a", 2));
    let replies = shown(&pipeline(&mut client, &commands));
    assert!(replies[..2].iter().all(|reply| reply.starts_with("!ERR wrong number")), "{replies:?}");
    assert_eq!(replies[2..], ["1", "2"]);
}

#[test]
fn counters_of_one_partition_become_one_version() {
    let cluster = one();
    let mut client = cluster.client(0);
    client.call(&["SADD", "c3", "a"]);
    let before = written(&cluster);
    let counts: Vec<Vec<String>> = (0..6).map(|n| words(&format!("INCR c{n}"))).collect();
    let mut replies = shown(&pipeline(&mut client, &counts));
    assert!(replies.remove(3).starts_with("!WRONGTYPE"));
    assert_eq!(replies, ["1"; 5]);
    assert_eq!(written(&cluster), before + 1);
    let stats = client.text(&["INFO", "commandstats"]);
    assert!(
        stats
            .lines()
            .any(|line| line.starts_with("cmdstat_incr:calls=6,") && line.contains("failed_calls=1"))
    );
    // A reserved key is refused, wherever it stands.
    let reserved = ["INCR r1", "INCR \0tidemark:r2", "INCR r3"].map(words);
    let replies = shown(&pipeline(&mut client, &reserved));
    assert!(replies[1].contains("reserved") && replies[0] == "1" && replies[2] == "1", "{replies:?}");
    // One that comes again begins another version.
    let again = ["INCRBY c1 5", "INCRBY c2 5", "INCRBY c1 5", "INCRBY c4 x", "INCRBY c5 1"].map(words);
    let before = written(&cluster);
    let replies = shown(&pipeline(&mut client, &again));
    assert_eq!(replies[..3], ["6", "6", "11"]);
    assert!(replies[3].starts_with("!ERR value is not an integer") && replies[4] == "2", "{replies:?}");
    assert_eq!(written(&cluster), before + 2);
}

/// Somebody is told of each command, or each change.
#[test]
fn a_run_is_carried_out_one_by_one_where_somebody_can_tell() {
    let cluster = one();
    let (mut client, mut other) = (cluster.client(0), cluster.client(0));
    let count = |client: &mut Client, commands: &[Vec<String>]| {
        let before = written(&cluster);
        let replies = pipeline(client, commands);
        (shown(&replies), written(&cluster) - before)
    };
    // Who waits gets what was pushed first.
    let waits = b"*3\r\n$5\r\nBLPOP\r\n$1\r\nk\r\n$1\r\n0\r\n";
    other.send(waits);
    eventually("it waits", || client.text(&["CLIENT", "LIST"]).contains("flags=b"));
    let pushes: Vec<Vec<String>> = ["a", "b", "c"].map(|value| words(&format!("LPUSH k {value}"))).into();
    assert_eq!(shown(&pipeline(&mut client, &pushes)), ["1", "1", "2"]);
    assert_eq!(text(&other.reply().unwrap().items().unwrap()[1]), "a");

    // In a transaction they are queued.
    let mut all = vec![words("MULTI")];
    all.extend(repeated("SADD s a", 3));
    all.push(words("EXEC"));
    let replies = pipeline(&mut client, &all);
    assert_eq!(replies[4].items().unwrap().iter().map(text).collect::<Vec<_>>(), ["1", "0", "0"]);

    client.ok(&["CONFIG", "SET", "notify-keyspace-events", "KEA"]);
    other.call(&["SUBSCRIBE", "__keyevent@0__:rpush"]);
    assert_eq!(
        count(&mut client, &repeated("RPUSH told a", 3)),
        (["1", "2", "3"].map(String::from).into(), 3)
    );
    for _ in 0..3 {
        assert_eq!(text(&other.reply().unwrap().items().unwrap()[2]), "told");
    }
    client.ok(&["CONFIG", "SET", "notify-keyspace-events", ""]);

    let mut monitor = cluster.client(0);
    monitor.ok(&["MONITOR"]);
    pipeline(&mut client, &repeated("RPUSH shown a", 3));
    for _ in 0..3 {
        let line = loop {
            let line = text(&monitor.reply().unwrap());
            if line.contains("shown") || !format!("{line:?}").contains("CONFIG") {
                break line;
            }
        };
        assert!(line.contains("shown"), "{line}");
    }
    drop(monitor);

    // Nobody is told anything any more.
    other.call(&["UNSUBSCRIBE"]);
    eventually("it is one version", || count(&mut client, &repeated("RPUSH last a", 4)).1 == 1);
}

const KINDS: [&str; 15] = [
    "LPUSH", "RPUSH", "SADD", "HSET", "LPOP", "RPOP", "ZPOPMIN", "ZPOPMAX", "ZADD", "DEL", "SET", "INCR",
    "INCRBY", "SADD", "DECR",
];

/// Random runs of commands, twice: on the keys of one side, and on those of the other, each with a key in the same partition.
fn drawn(rng: &mut fastrand::Rng, round: usize) -> [Vec<Vec<String>>; 2] {
    let mut sides = [Vec::new(), Vec::new()];
    for _ in 0..rng.usize(1..6) {
        let (kind, number) = (KINDS[rng.usize(..KINDS.len())], rng.u8(..4));
        let counts = kind.starts_with("INCR") || kind == "DECR";
        for _ in 0..rng.usize(1..8) {
            // Counters stand on a key each.
            let number = if counts { rng.u8(..4) } else { number };
            let mut value = || rng.char('a'..='e').to_string();
            let args: Vec<String> = match kind {
                "LPUSH" | "RPUSH" | "SADD" | "SET" => vec![value()],
                "HSET" => vec![value(), value()],
                "ZADD" => vec!["1".into(), value()],
                "INCRBY" => vec!["3".into()],
                _ => Vec::new(),
            };
            for (commands, whose) in sides.iter_mut().zip(SIDES) {
                commands.push([vec![kind.to_string(), key(whose, round, number)], args.clone()].concat());
            }
        }
    }
    sides
}

const SIDES: [&str; 2] = ["one", "other"];

/// Each round has keys of its own.
fn key(whose: &str, round: usize, number: u8) -> String {
    format!("{whose}:{round}:{{{number}}}")
}

/// All that a key holds, in order where it has none.
fn content(client: &mut Client, key: &str) -> Vec<String> {
    let read: &[&str] = match &text(&client.call(&["TYPE", key]))[..] {
        kind if kind.contains("list") => &["LRANGE", key, "0", "-1"],
        kind if kind.contains("hash") => &["HGETALL", key],
        kind if kind.contains("zset") => &["ZRANGE", key, "0", "-1", "WITHSCORES"],
        kind if kind.contains("set") => &["SMEMBERS", key],
        kind if kind.contains("string") => &["GET", key],
        _ => return Vec::new(),
    };
    let reply = client.call(read);
    let mut all: Vec<String> =
        reply.items().map_or_else(|| vec![text(&reply)], |all| all.iter().map(text).collect());
    if read[0] == "SMEMBERS" || read[0] == "HGETALL" {
        all.sort();
    }
    all
}

/// Runs of random commands, at nodes that hold the key and at others, in two regions: as they would be one by one.
#[test]
fn runs_answer_what_their_commands_answer_one_by_one() {
    let shape: [(u8, &[u16]); 4] = [(0, &[0]), (0, &[1]), (1, &[0]), (1, &[1])];
    let cluster = Cluster::start("tidemark", &shape, |_| ());
    cluster.meet(&["a", "b", "c"]);
    let mut rng = fastrand::Rng::with_seed(11);
    let (mut together, mut apart) = (cluster.client(0), cluster.client(0));
    for client in [&mut together, &mut apart] {
        client.call(&["HELLO", "3"]);
    }
    for round in 0..150 {
        let [runs, singles] = drawn(&mut rng, round);
        let replies = pipeline(&mut together, &runs);
        let one = |single| pipeline(&mut apart, std::slice::from_ref(single));
        let expected: Vec<Reply> = singles.iter().flat_map(one).collect();
        assert_eq!(replies, expected, "{runs:?}");
    }
    // The other region has the same of both.
    let (mut near, mut far) = (cluster.client(0), cluster.client(3));
    let mut compared = 0;
    for (round, number) in (0..150).flat_map(|round| (0..4).map(move |number| (round, number))) {
        let keys = SIDES.map(|whose| key(whose, round, number));
        let here = content(&mut near, &keys[1]);
        assert_eq!(content(&mut near, &keys[0]), here, "{keys:?}");
        for key in &keys {
            eventually("the other region has it", || content(&mut far, key) == here);
        }
        compared += usize::from(!here.is_empty());
    }
    assert!(compared > 150, "{compared}");
}
