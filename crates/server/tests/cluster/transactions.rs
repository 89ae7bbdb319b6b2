//! MULTI, EXEC, DISCARD, WATCH and UNWATCH.

use crate::support::{Client, Cluster, eventually, text};
use tidemark_wire::resp::Reply;

fn one() -> Cluster {
    Cluster::regions("causal", 1, 1)
}

/// A reply in one line.
pub(crate) fn shown(reply: &Reply) -> String {
    match (reply.items(), reply) {
        (Some(items), _) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(" ")),
        (None, Reply::Map(pairs)) => {
            let pair = |(left, right): &(Reply, Reply)| format!("{}: {}", shown(left), shown(right));
            format!("{{{}}}", pairs.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
        _ => text(reply),
    }
}

pub(crate) fn ask(client: &mut Client, line: &str) -> String {
    shown(&client.call(&line.split(' ').collect::<Vec<_>>()))
}

/// Queues the lines, and carries them out.
pub(crate) fn exec(client: &mut Client, lines: &[&str]) -> String {
    client.ok(&["MULTI"]);
    for line in lines {
        assert_eq!(ask(client, line), "QUEUED", "{line}");
    }
    ask(client, "EXEC")
}

#[test]
fn queued_commands_see_what_those_before_them_have_written() {
    let cluster = one();
    let mut client = cluster.client(0);
    let lines = [
        "SET a 1",
        "INCRBY a 4",
        "GET a",
        "RPUSH l x y",
        "LPOP l",
        "LRANGE l 0 -1",
        "HSET h f v",
        "HINCRBY h f 1",
        "HGETALL h",
        "ZADD z 1 m 2 n",
        "ZPOPMIN z",
        "ZRANGE z 0 -1 WITHSCORES",
        "MSET b 2 c 3",
        "MGET a b c none",
        "DEL b c",
        "EXISTS a b",
        "BLPOP none 0",
        "BLPOP l 0",
        "LLEN l",
        "RENAME a d",
        "GET d",
        "GET a",
        "EXPIRE d 100",
        "TTL d",
        "PING",
        "SETBIT bits 7 1",
        "GET bits",
        "SADD s m",
        "SMOVE s t m",
        "SCARD s",
        "SMEMBERS t",
        "XADD x 1-1 f v",
        "XLEN x",
        "XREAD BLOCK 0 STREAMS x 1-1",
        "SET d 1 EX nonsense",
        "APPEND d !",
        "STRLEN d",
        "ECHO end",
    ];
    let expected = "[OK 5 5 2 x [y] 1 !ERR hash value is not an integer {f: v} 2 [m 1] [n 2] OK [5 2 3 -] 2 1 \
        - [l y] 0 OK 5 - 1 100 PONG 0 \u{1} 1 1 0 [m] 1-1 1 - !ERR value is not an integer or out of range 2 2 end]";
    let flat = expected.replace("{f: v}", "[f v]");
    assert_eq!(exec(&mut client, &lines), flat);
    client.ok(&["FLUSHALL"]);
    client.call(&["HELLO", "3"]);
    let resp3 = expected.replace("[m 1]", "[m Double(1.0)]").replace("[n 2]", "[[n Double(2.0)]]");
    assert_eq!(exec(&mut client, &lines), resp3);
    assert_eq!(client.text(&["GET", "d"]), "5!");
}

/// The words of redis-server 7.0.15.
#[test]
fn wrong_requests_end_a_watch_or_fail_alone() {
    let cluster = one();
    let mut client = cluster.client(0);
    // An EXEC with arguments is none, but forgets what is watched.
    client.ok(&["WATCH", "k"]);
    client.ok(&["SET", "k", "v"]);
    let refused = "!EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command";
    assert_eq!(ask(&mut client, "EXEC extra"), refused);
    assert_eq!(exec(&mut client, &["GET k"]), "[v]");
    // A DISCARD that has nothing to discard does not.
    client.ok(&["WATCH", "k"]);
    client.ok(&["SET", "k", "w"]);
    assert_eq!(ask(&mut client, "DISCARD"), "!ERR DISCARD without MULTI");
    assert_eq!(exec(&mut client, &["GET k"]), "-");
    // Of a script that is not there, the number of keys is looked at first, if its digest is as long as one.
    let digest = "0".repeat(40);
    let unknown = "!NOSCRIPT No matching script. Please use EVAL.";
    for (line, error) in [
        (format!("EVALSHA {digest} x k"), "!ERR value is not an integer or out of range"),
        (format!("EVALSHA {digest} -1 k"), "!ERR Number of keys can't be negative"),
        (format!("EVALSHA {digest} 1 k"), unknown),
        ("EVALSHA 00 x k".to_string(), unknown),
    ] {
        assert_eq!(ask(&mut client, &line), error, "{line}");
        assert_eq!(exec(&mut client, &[&line]), format!("[{error}]"), "{line}");
    }
}

/// A command that finds nothing to move answers another null than one that finds nothing to pop.
#[test]
fn what_would_wait_finds_nothing_in_a_transaction() {
    let cluster = one();
    let mut client = cluster.client(0);
    client.call(&["HELLO", "2"]);
    client.ok(&["MULTI"]);
    for line in
        ["BLMOVE none {none} LEFT LEFT 0", "BRPOPLPUSH none {none} 0", "BLPOP none 0", "BLMPOP 0 1 none LEFT"]
    {
        assert_eq!(ask(&mut client, line), "QUEUED", "{line}");
    }
    client.send(b"EXEC\r\n");
    let mut raw = [0; 24];
    std::io::Read::read_exact(&mut client.stream, &mut raw).unwrap();
    assert_eq!(&raw, b"*4\r\n$-1\r\n$-1\r\n*-1\r\n*-1\r\n");
}

#[test]
fn a_transaction_that_cannot_be_queued_is_discarded() {
    let cluster = one();
    let mut client = cluster.client(0);
    for wrong in ["NOSUCH a", "GET", "CLIENT NOSUCH", "SAVE", "SHUTDOWN NOSAVE", "WAIT 0 0"] {
        client.ok(&["MULTI"]);
        assert_eq!(ask(&mut client, "SET k v"), "QUEUED");
        assert!(ask(&mut client, wrong).starts_with("!ERR"), "{wrong}");
        assert_eq!(ask(&mut client, "SET k v"), "QUEUED");
        assert_eq!(ask(&mut client, "EXEC"), "!EXECABORT Transaction discarded because of previous errors.");
        assert_eq!(ask(&mut client, "GET k"), "-", "{wrong}");
    }
    for (line, expected) in [
        ("EXEC", "!ERR EXEC without MULTI"),
        ("DISCARD", "!ERR DISCARD without MULTI"),
        ("UNWATCH", "OK"),
        ("MULTI", "OK"),
        ("MULTI", "!ERR MULTI calls can not be nested"),
        ("WATCH k", "!ERR WATCH inside MULTI is not allowed"),
        ("SET k v", "QUEUED"),
        ("DISCARD", "OK"),
        ("GET k", "-"),
        ("MULTI", "OK"),
        ("EXEC", "[]"),
        ("MULTI", "OK"),
        ("SET k v", "QUEUED"),
        ("RESET", "RESET"),
        ("EXEC", "!ERR EXEC without MULTI"),
        ("GET k", "-"),
    ] {
        assert_eq!(ask(&mut client, line), expected, "{line}");
    }
}

#[test]
fn a_transaction_stays_in_one_partition_unless_it_may_be_torn_apart() {
    let cluster = Cluster::regions("causal-spartan-x", 1, 4);
    let mut client = cluster.client(0);
    let (same, apart) =
        (["SET {a}1 x", "SET {a}2 y", "MGET {a}1 {a}2"], ["SET a x", "SET b y", "SET c z", "DBSIZE"]);
    assert_eq!(exec(&mut client, &same), "[OK OK [x y]]");
    assert!(exec(&mut client, &apart).starts_with("!CROSSSLOT Keys of a transaction"));
    assert_eq!(ask(&mut client, "MGET a b c"), "[- - -]");
    client.ok(&["WATCH", "b"]);
    assert!(exec(&mut client, &same).starts_with("!CROSSSLOT"), "what is watched is a key of it");
    client.ok(&["CONFIG", "SET", "tidemark-multi", "loose"]);
    assert_eq!(exec(&mut client, &apart), "[OK OK OK 5]");
    client.ok(&["WATCH", "a", "b"]);
    assert_eq!(exec(&mut client, &["MSET a 1 b 2", "INCR a", "MGET a b"]), "[OK 2 [2 2]]");
    client.ok(&["WATCH", "a", "b"]);
    cluster.client(0).ok(&["SET", "b", "3"]);
    assert_eq!(exec(&mut client, &["SET a 4", "SET c 4"]), "-");
    assert_eq!(ask(&mut client, "GET a"), "2");
}

#[test]
fn commands_without_keys_stand_first_or_last() {
    let cluster = one();
    let mut client = cluster.client(0);
    let mut listener = cluster.client(0);
    listener.call(&["SUBSCRIBE", "news"]);
    assert_eq!(
        exec(&mut client, &["FLUSHALL", "SET a 1", "PUBLISH news hello", "SET b 2", "DBSIZE"]),
        "[OK OK 1 OK 2]"
    );
    assert_eq!(shown(&listener.reply().unwrap()), "[message news hello]");
    let reply = exec(&mut client, &["SET a 3", "DBSIZE", "SET b 4"]);
    assert!(reply.starts_with("[OK !ERR a command that names no key cannot stand between"), "{reply}");
    assert_eq!(exec(&mut client, &["DBSIZE", "CLIENT GETNAME", "TIME"])[..5], *"[2 - ");
}

#[test]
fn a_watched_key_that_changes_lets_exec_fail() {
    let cluster = one();
    let (mut client, mut other) = (cluster.client(0), cluster.client(0));
    client.ok(&["SET", "k", "v"]);
    client.call(&["HSET", "h", "f", "v"]);
    for (change, fails) in [
        ("GET k", false),
        ("SET k v", true),
        ("SET other v", false),
        ("HSET h g v", true),
        ("HDEL h nothing", false),
        ("EXPIRE k 100", true),
        ("APPEND k w", true),
        ("DEL h", true),
        ("DEL h", false),
        ("SET h now-a-string", true),
        ("FLUSHALL", true),
        ("FLUSHALL", false),
        // Made and gone again: as it was, which docs/types.md says of a key that was not there.
        ("SET k v PXAT 1", false),
        ("SET k v PX 600000", true),
    ] {
        client.ok(&["WATCH", "k", "h", "none"]);
        let reply = ask(&mut other, change);
        assert!(!reply.starts_with('!'), "{change}: {reply}");
        assert_eq!(exec(&mut client, &["PING"]), if fails { "-" } else { "[PONG]" }, "{change}");
    }
    // A machine may be so slow that the key is gone before it is watched.
    let watches_in_time = |milliseconds: &u64| {
        client.ok(&["UNWATCH"]);
        client.ok(&["SET", "k", "v", "PX", &milliseconds.to_string()]);
        client.ok(&["WATCH", "k"]);
        ask(&mut client, "EXISTS k") == "1"
    };
    (9..).map(|power| 1 << power).find(watches_in_time).unwrap();
    eventually("its time is over", || ask(&mut other, "EXISTS k") == "0");
    assert_eq!(exec(&mut client, &["PING"]), "-", "it has expired");
    client.ok(&["WATCH", "k"]);
    other.ok(&["SET", "k", "w"]);
    client.ok(&["UNWATCH"]);
    assert_eq!(exec(&mut client, &["GET k"]), "[w]");
    client.ok(&["WATCH", "k"]);
    other.ok(&["SET", "k", "x"]);
    client.ok(&["MULTI"]);
    client.ok(&["DISCARD"]);
    assert_eq!(exec(&mut client, &["GET k"]), "[x]");
    client.ok(&["WATCH", "k"]);
    client.ok(&["SET", "k", "mine"]);
    assert_eq!(exec(&mut client, &["GET k"]), "-", "what the connection itself has written counts");
}

/// Check and set, by clients of two nodes of a region: no increment is lost.
#[test]
fn optimistic_updates_of_one_region_are_not_lost() {
    let cluster = Cluster::start("causal", &[(0, &[0]), (0, &[1])], |_| ());
    cluster.meet(&["counter", "other"]);
    cluster.client(0).ok(&["SET", "counter", "0"]);
    std::thread::scope(|scope| {
        for at in 0..4 {
            let mut client = cluster.client(at % 2);
            scope.spawn(move || {
                let mut done = 0;
                while done < 50 {
                    client.ok(&["WATCH", "counter"]);
                    let next = client.text(&["GET", "counter"]).parse::<u32>().unwrap() + 1;
                    done += usize::from(exec(&mut client, &[&format!("SET counter {next}")]) == "[OK]");
                }
            });
        }
    });
    assert_eq!(cluster.client(1).text(&["GET", "counter"]), "200");
}

/// What a transaction writes arrives in other regions at once, and merges like what single commands write.
#[test]
fn another_region_sees_all_of_a_transaction_or_nothing() {
    let cluster = Cluster::regions("causal", 2, 1);
    cluster.meet(&["met"]);
    let (mut here, mut there) = (cluster.client(0), cluster.client(1));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            (1..=300).for_each(|number| {
                let lines =
                    [format!("SET a {number}"), format!("SADD s {number}"), format!("HSET h f {number}")];
                exec(&mut here, &lines.each_ref().map(String::as_str));
            });
        });
        let mut last = String::new();
        while !writer.is_finished() || last != "[300 300 300]" {
            let seen = exec(&mut there, &["GET a", "SCARD s", "HGET h f"]);
            let parts: Vec<&str> = seen.trim_matches(['[', ']']).split(' ').collect();
            let all = parts[0] == parts[1] && parts[0] == parts[2];
            assert!(all || seen == "[- 0 -]", "{seen}");
            last = seen;
        }
    });
    assert!(cluster.admin(0, "/admin/cut", r#"{"from": "A", "to": "B"}"#).contains("200 OK"));
    let both = ["INCRBY n 5", "SADD s here", "SREM s 1", "RPUSH l x", "INCR n"];
    assert_eq!(exec(&mut here, &both), "[5 1 1 1 6]");
    assert_eq!(exec(&mut there, &["INCRBY n 10", "SADD s there", "INCR n", "RPUSH l y"]), "[10 1 11 1]");
    here.ok(&["WATCH", "n"]);
    there.ok(&["WATCH", "n"]);
    assert_eq!(exec(&mut here, &["INCR n"]), "[7]", "two regions may both succeed");
    assert_eq!(exec(&mut there, &["INCR n"]), "[12]");
    there.ok(&["WATCH", "n"]);
    assert!(cluster.admin(0, "/admin/heal", r#"{"from": "A", "to": "B"}"#).contains("200 OK"));
    for client in [&mut here, &mut there] {
        eventually("both have merged", || ask(client, "GET n") == "19");
        eventually("the rest, too", || ask(client, "LLEN l") == "2");
        assert_eq!(ask(client, "SMISMEMBER s 1 2 here there"), "[0 1 1 1]");
    }
    assert_eq!(exec(&mut there, &["PING"]), "-", "what another region has changed counts once it is seen");
}

#[test]
fn scripts_run_inside_transactions() {
    let cluster = one();
    let mut client = cluster.client(0);
    let mut listener = cluster.client(0);
    listener.call(&["SUBSCRIBE", "news"]);
    let source = "redis.call('incr', KEYS[1]); redis.call('publish', 'news', ARGV[1]); return redis.call('get', KEYS[1])";
    let sha = client.text(&["SCRIPT", "LOAD", source]);
    client.ok(&["MULTI"]);
    let commands: [&[&str]; 4] = [
        &["SET", "k", "1"],
        &["EVALSHA", &sha, "1", "k", "first"],
        &["EVAL", source, "1", "k", "second"],
        &["INCR", "k"],
    ];
    for command in commands {
        assert_eq!(client.text(command), "QUEUED");
    }
    assert_eq!(ask(&mut client, "EXEC"), "[OK 2 3 4]");
    assert_eq!(shown(&listener.reply().unwrap()), "[message news first]");
    assert_eq!(shown(&listener.reply().unwrap()), "[message news second]");
    client.ok(&["MULTI"]);
    client.text(&["SET", "k", "lost"]);
    client.text(&["EVAL", "redis.call('set', KEYS[1], 'lost'); while true do end", "1", "k"]);
    assert!(ask(&mut client, "EXEC").starts_with("!ERR Error running script"));
    assert_eq!(ask(&mut client, "GET k"), "4", "a script that is stopped takes its transaction along");
    client.ok(&["MULTI"]);
    assert_eq!(client.text(&["EVALSHA", &"0".repeat(40), "1", "k"]), "QUEUED");
    assert_eq!(ask(&mut client, "EXEC"), "[!NOSCRIPT No matching script. Please use EVAL.]");
}

#[test]
fn transactions_cause_keyspace_notifications_when_they_have_happened() {
    let cluster = one();
    let (mut client, mut listener) = (cluster.client(0), cluster.client(0));
    client.ok(&["CONFIG", "SET", "notify-keyspace-events", "EA"]);
    listener.call(&["PSUBSCRIBE", "__keyevent@0__:*"]);
    client.ok(&["WATCH", "k"]);
    cluster.client(0).ok(&["SET", "k", "1"]);
    assert_eq!(exec(&mut client, &["SET lost 1"]), "-");
    let script = "EVAL return{redis.call('incr',KEYS[1])} 1 k";
    assert_eq!(exec(&mut client, &["INCR k", "SADD s m", "SADD s m", script, "DEL k none"]), "[2 1 0 [3] 1]");
    let events: Vec<String> = (0..5).map(|_| shown(&listener.reply().unwrap())).collect();
    let expected = ["set k", "incrby k", "sadd s", "incrby k", "del k"];
    for (event, expected) in events.iter().zip(expected) {
        assert!(event.ends_with(&format!("__keyevent@0__:{expected}]")), "{event}, not {expected}");
    }
    assert_eq!(ask(&mut client, "EXISTS lost"), "0");
}
