//! Scripts in two regions: what they write travels, what two of them do at once merges, and one that is stopped has done nothing.

use crate::support::{Client, Cluster, eventually, text};
use tidemark_patience::wait_for;
use tidemark_wire::resp::Reply;

/// In seconds: a lock that lasts.
const YEAR: &str = "31536000";
const UNLOCK: &str =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";
const LIMIT: &str = "local n = redis.call('incr', KEYS[1]) \
                     if n == 1 then redis.call('pexpire', KEYS[1], ARGV[2]) end \
                     if n > tonumber(ARGV[1]) then return {err = 'LIMITED wait ' .. redis.call('pttl', KEYS[1])} end \
                     return n";
const TAKE: &str = "local job = redis.call('lpop', KEYS[1]) \
                    if not job then return false end \
                    redis.call('hset', KEYS[2], job, ARGV[1]) \
                    redis.call('zadd', KEYS[3], ARGV[1], job) \
                    return {job, redis.call('hlen', KEYS[2]), redis.call('zcard', KEYS[3])}";
const COUNT: &str = "redis.call('incr', KEYS[1]) \
                     redis.call('hincrby', KEYS[2], 'hits', 2) \
                     redis.call('hset', KEYS[2], ARGV[1], 'here') \
                     redis.call('rpush', KEYS[3], ARGV[1], ARGV[1] .. '2') \
                     redis.call('sadd', KEYS[4], ARGV[1]) \
                     redis.call('srem', KEYS[4], 'old') \
                     return redis.call('get', KEYS[1])";

fn eval(client: &mut Client, script: &str, keys: &[&str], arguments: &[&str]) -> Reply {
    let count = keys.len().to_string();
    let mut words = vec!["EVAL", script, &count];
    words.extend(keys.iter().chain(arguments));
    client.call(&words)
}

fn shown(client: &mut Client, script: &str, keys: &[&str], arguments: &[&str]) -> String {
    text(&eval(client, script, keys, arguments))
}

#[test]
fn what_a_script_writes_is_there_at_once_and_in_the_other_region() {
    let cluster = Cluster::regions("tidemark", 2, 2);
    let (mut a, mut b) = (cluster.client(0), cluster.client(1));
    let script = "redis.call('set', KEYS[1], ARGV[1]) \
                  redis.call('append', KEYS[1], '!') \
                  redis.call('rpush', KEYS[2], 'x', 'y') \
                  redis.call('lpush', KEYS[2], redis.call('get', KEYS[1])) \
                  redis.call('lset', KEYS[2], -1, 'z') \
                  return redis.call('lrange', KEYS[2], 0, -1)";
    let reply = eval(&mut a, script, &["{s}one", "{s}two"], &["hi"]);
    let words: Vec<String> = reply.items().expect("a list").iter().map(text).collect();
    assert_eq!(words, ["hi!", "x", "z"]);
    assert_eq!(a.text(&["GET", "{s}one"]), "hi!");
    eventually("region B has it", || b.text(&["GET", "{s}one"]) == "hi!");
    assert_eq!(b.list(&["LRANGE", "{s}two", "0", "-1"]), ["hi!", "x", "z"], "both keys come together");
    assert_eq!(shown(&mut b, "return redis.call('llen', KEYS[1])", &["{s}two"], &[]), "3");
}

#[test]
fn scripts_that_regions_run_at_once_merge() {
    let cluster = Cluster::regions("tidemark", 2, 2);
    let (mut a, mut b) = (cluster.client(0), cluster.client(1));
    let keys = ["{m}n", "{m}h", "{m}l", "{m}s"];
    a.text(&["SADD", keys[3], "old"]);
    assert_eq!(shown(&mut a, COUNT, &keys, &["before"]), "1");
    eventually("region B has seen the beginning", || b.text(&["GET", keys[0]]) == "1");
    assert!(cluster.admin(0, "/admin/cut", r#"{"from": "A", "to": "B"}"#).contains("200 OK"));
    eventually("the link is down", || {
        let page = cluster.page(0, "/status");
        page.contains(r#""stream_in":false"#) && page.contains(r#""stream_out":false"#)
    });
    for _ in 0..3 {
        eval(&mut a, COUNT, &keys, &["a"]);
        eval(&mut b, COUNT, &keys, &["b"]);
    }
    assert_eq!((a.text(&["GET", keys[0]]), b.text(&["GET", keys[0]])), ("4".into(), "4".into()));
    assert!(cluster.admin(0, "/admin/heal", "{}").contains("200 OK"));
    for client in [&mut a, &mut b] {
        eventually("all increments count", || client.text(&["GET", keys[0]]) == "7");
        assert_eq!(client.text(&["HGET", keys[1], "hits"]), "14");
        assert_eq!(client.text(&["HLEN", keys[1]]), "4");
        assert_eq!(client.text(&["LLEN", keys[2]]), "14");
        let mut members = client.list(&["SMEMBERS", keys[3]]);
        members.sort();
        assert_eq!(members, ["a", "b", "before"]);
    }
    let list = a.list(&["LRANGE", keys[2], "0", "-1"]);
    assert_eq!(list, b.list(&["LRANGE", keys[2], "0", "-1"]));
    assert!(list.windows(2).step_by(2).all(|pair| pair[1] == format!("{}2", pair[0])), "{list:?}");
}

#[test]
fn locks_limits_and_queues_work() {
    let cluster = Cluster::regions("tidemark", 2, 2);
    let (mut a, mut b) = (cluster.client(0), cluster.client(1));
    a.ok(&["SET", "lock", "token", "NX", "EX", YEAR]);
    assert_eq!(a.text(&["SET", "lock", "other", "NX", "EX", YEAR]), "-");
    assert_eq!(shown(&mut a, UNLOCK, &["lock"], &["other"]), "0");
    assert_eq!(shown(&mut a, UNLOCK, &["lock"], &["token"]), "1");
    a.ok(&["SET", "lock", "other", "NX", "EX", YEAR]);

    for n in 1..=3 {
        assert_eq!(shown(&mut a, LIMIT, &["limit"], &["3", "600000"]), n.to_string());
    }
    assert!(shown(&mut a, LIMIT, &["limit"], &["3", "600000"]).starts_with("!LIMITED wait "));
    eventually("the other region counts on, and knows when it ends", || {
        b.text(&["PTTL", "limit"]).parse::<i64>().is_ok_and(|left| left > 0)
    });
    assert_eq!(a.text(&["PEXPIRE", "limit", "100"]), "1");
    eventually("the limit ends", || a.text(&["EXISTS", "limit"]) == "0");
    assert_eq!(shown(&mut a, LIMIT, &["limit"], &["3", "60000"]), "1", "a key that has expired begins anew");

    let keys = ["{q}todo", "{q}taken", "{q}since"];
    assert_eq!(eval(&mut a, TAKE, &keys, &["1"]), Reply::Null);
    a.text(&["RPUSH", keys[0], "first", "second"]);
    for (nth, job) in [(1, "first"), (2, "second")] {
        let taken = eval(&mut a, TAKE, &keys, &["7"]);
        let taken: Vec<String> = taken.items().expect("a job").iter().map(text).collect();
        assert_eq!(taken, [job.to_string(), nth.to_string(), nth.to_string()]);
    }
    assert_eq!(a.text(&["EXISTS", keys[0]]), "0");
    eventually("region B has the jobs", || b.text(&["ZCARD", keys[2]]) == "2");
}

#[test]
fn a_script_that_is_stopped_has_done_nothing() {
    let cluster = Cluster::regions("tidemark", 1, 1);
    let mut client = cluster.client(0);
    let endless = "redis.call('set', KEYS[1], 'x') while true do pcall(redis.call, 'incr', KEYS[2]) end";
    let stopped = shown(&mut client, endless, &["k", "n"], &[]);
    assert!(
        stopped.starts_with("!ERR Error running script: it was stopped after it had computed for 50 ms"),
        "{stopped}"
    );
    assert!(stopped.ends_with("it has done nothing"), "{stopped}");
    // On a slow machine it computes for long until it holds too much.
    client.ok(&["CONFIG", "SET", "busy-reply-threshold", "600000"]);
    let greedy = "redis.call('set', KEYS[1], 'x') local s = 'x' while true do s = s .. s end";
    assert!(shown(&mut client, greedy, &["k"], &[]).contains("64 MiB"));
    assert_eq!((client.text(&["GET", "k"]), client.text(&["GET", "n"])), ("-".into(), "-".into()));
    client.ok(&["CONFIG", "SET", "busy-reply-threshold", "5"]);
    assert!(shown(&mut client, endless, &["k", "n"], &[]).contains("computed for 5 ms"));
    assert_eq!(client.text(&["SCRIPT", "KILL"]), "!NOTBUSY No scripts in execution right now.");
    // An error of the script's own takes nothing back, as in Redis.
    let fails = "redis.call('set', KEYS[1], 'x') error('no')";
    let failed = shown(&mut client, fails, &["k"], &[]);
    assert!(failed.starts_with("!ERR user_script:1: no script: "), "{failed}");
    assert_eq!(client.text(&["GET", "k"]), "x");
}

#[test]
fn scripts_are_known_at_other_nodes_and_run_where_their_keys_live() {
    // Two nodes of region A, each with one partition, and one of region B.
    let cluster = Cluster::start("tidemark", &[(0, &[0]), (0, &[1]), (1, &[0, 1])], |_| ());
    let mut clients: Vec<Client> = (0..3).map(|node| cluster.client(node)).collect();
    cluster.meet(&["a", "b", "c", "d", "e", "f"]);
    let script = "return redis.call('incrby', KEYS[1], ARGV[1])";
    let sha = clients[0].text(&["SCRIPT", "LOAD", script]);
    for (node, client) in clients.iter_mut().enumerate() {
        eventually("every node knows the script", || client.list(&["SCRIPT", "EXISTS", &sha]) == ["1"]);
        for key in ["a", "b", "c", "d"] {
            let own = format!("n:{node}:{key}");
            assert_eq!(client.text(&["EVALSHA", &sha.to_uppercase(), "1", &own, "5"]), "5");
        }
    }
    let unknown = "0123456789012345678901234567890123456789";
    assert_eq!(clients[1].text(&["EVALSHA", unknown, "0"]), "!NOSCRIPT No matching script. Please use EVAL.");
    clients[1].ok(&["SCRIPT", "FLUSH"]);
    for client in &mut clients {
        eventually("every node has forgotten it", || client.list(&["SCRIPT", "EXISTS", &sha]) == ["0"]);
    }
}

/// The words of redis-server 7.0.15. What is wrong before BLOCK is told of instead of it.
#[test]
fn wrong_calls_are_refused_in_the_words_of_redis() {
    let cluster = Cluster::regions("tidemark", 1, 1);
    let mut client = cluster.client(0);
    for (call, error) in [
        (
            "'XREAD', 'COUNT', '1', 'BLOCK', '0', 'STREAMS', 's', '0'",
            "ERR XREAD command is not allowed with BLOCK option from scripts",
        ),
        (
            "'XREAD', 'COUNT', 'x', 'BLOCK', '0', 'STREAMS', 's', '0'",
            "ERR value is not an integer or out of range",
        ),
        ("'XREAD', 'STREAMS', 'block', '0'", "-"),
        (
            "'xreadgroup', 'GROUP', 'block', 'c', 'NOACK', 'BLOCK', '0', 'STREAMS', 's', '0'",
            "ERR xreadgroup command is not allowed with BLOCK option from scripts",
        ),
        (
            "'XREADGROUP', 'GROUP', 'block', 'c', 'COUNT', 'x', 'BLOCK', '0', 'STREAMS', 's', '0'",
            "ERR value is not an integer or out of range",
        ),
        ("'SELECT', 'x'", "ERR value is not an integer or out of range"),
        ("'SELECT', '99'", "ERR DB index is out of range"),
        ("'PING', 'x', 'y'", "ERR wrong number of arguments for 'ping' command"),
    ] {
        let script = format!("return redis.pcall({call})");
        let expected = if error == "-" { error.to_string() } else { format!("!{error}") };
        assert_eq!(shown(&mut client, &script, &[], &[]), expected, "{call}");
    }
}

/// The place of a member is told in doubles in RESP3, digit for digit as redis-server 7.0.15 does.
#[test]
fn places_are_doubles() {
    let cluster = Cluster::regions("tidemark", 1, 1);
    let mut client = cluster.client(0);
    client.call(&["GEOADD", "g", "13.361389", "38.115556", "m"]);
    for (version, told) in [
        ("2", "*1\r\n*2\r\n$20\r\n13.36138933897018433\r\n$20\r\n38.11555639549629859\r\n"),
        ("3", "*1\r\n*2\r\n,13.36138933897018433\r\n,38.11555639549629859\r\n"),
    ] {
        client.call(&["HELLO", version]);
        client.send(b"GEOPOS g m\r\n");
        let mut raw = vec![0; told.len()];
        std::io::Read::read_exact(&mut client.stream, &mut raw).unwrap();
        assert_eq!(String::from_utf8_lossy(&raw), told);
    }
}

#[test]
fn keys_have_to_be_in_one_partition_and_readers_write_nothing() {
    let cluster = Cluster::regions("causal-spartan-x", 1, 2);
    let mut client = cluster.client(0);
    let write = "return redis.call('set', KEYS[1], 'x')";
    let apart: Vec<String> = (0..16).map(|n| format!("k{n}")).collect();
    let apart: Vec<&str> = apart.iter().map(String::as_str).collect();
    assert!(shown(&mut client, write, &apart, &[]).starts_with("!CROSSSLOT "));
    let elsewhere = "!ERR Script attempted to access a key of another partition";
    let all: Vec<String> = apart.iter().map(|key| format!("redis.call('set', '{key}', 'x')")).collect();
    for keys in [&["k"][..], &[]] {
        let told = shown(&mut client, &all.join(";"), keys, &[]);
        assert!(told.starts_with(elsewhere), "{told}");
        client.call(&[&["DEL"][..], &apart].concat());
    }
    // Keys that are not declared, in the partition of the first.
    let two = "redis.call('set', ARGV[1], 'x'); return redis.call('incrby', ARGV[2], #KEYS)";
    assert_eq!(shown(&mut client, two, &["{k}"], &["{k}other", "{k}more"]), "1");
    assert_eq!(shown(&mut client, two, &[], &["{k}other", "{k}more"]), "1");
    assert_eq!(client.text(&["EXISTS", "{k}other", "{k}more", "k0"]), "2");
    assert_eq!(shown(&mut client, write, &["k", "k"], &[]), "OK", "a key may come twice");
    assert_eq!(client.text(&["EVAL_RO", "return redis.call('get', KEYS[1])", "1", "k"]), "x");
    let told = client.text(&["EVAL_RO", write, "1", "k"]);
    assert!(
        told.starts_with("!ERR Write commands are not allowed from read-only scripts. script: "),
        "{told}"
    );
    let told = client.text(&["EVAL_RO", "return redis.call('publish', 'c', 'm')", "0"]);
    assert!(
        told.starts_with("!ERR Write commands are not allowed from read-only scripts. script: "),
        "{told}"
    );
    let told = client.text(&["EVAL", &format!("#!lua flags=no-writes\n{write}"), "1", "k"]);
    assert!(
        told.starts_with("!ERR Write commands are not allowed from read-only scripts. script: "),
        "{told}"
    );
    assert_eq!(client.text(&["EVAL", "return #KEYS + #ARGV", "0", "x", "y"]), "2");
    assert_eq!(client.text(&["EVAL", "return redis.call('time')[1] + 0 > 1700000000", "0"]), "1");
}

#[test]
fn what_a_script_publishes_reaches_subscribers_of_both_regions() {
    let cluster = Cluster::regions("tidemark", 2, 2);
    let mut writer = cluster.client(0);
    let mut subscribers: Vec<Client> = (0..2).map(|node| cluster.client(node)).collect();
    cluster.meet(&["a", "b", "c"]);
    for subscriber in &mut subscribers {
        subscriber.call(&["SUBSCRIBE", "news"]);
    }
    let script = "redis.call('set', KEYS[1], ARGV[1]) return redis.call('publish', 'news', KEYS[1])";
    assert_eq!(shown(&mut writer, script, &["k"], &["x"]), "0");
    for subscriber in &mut subscribers {
        let message = subscriber.reply().expect("a message");
        let words: Vec<String> = message.items().expect("a message").iter().map(text).collect();
        assert_eq!(words, ["message", "news", "k"]);
        subscriber.call(&["UNSUBSCRIBE", "news"]);
        assert_eq!(subscriber.text(&["GET", "k"]), "x", "what it is about is there");
    }
}

#[test]
fn the_members_of_a_raft_group_have_what_a_script_wrote_when_its_leader_is_gone() {
    let mut cluster = Cluster::start("tidemark", &[(0, &[0]), (0, &[0]), (0, &[0])], |_| ());
    cluster.meet(&["met"]);
    let script = "for i = 1, 3 do redis.call('rpush', KEYS[1], i) redis.call('incr', KEYS[2]) end \
                  redis.call('lset', KEYS[1], 0, 'first') \
                  return redis.call('get', KEYS[2])";
    for node in 0..3 {
        let mut client = cluster.client(node);
        let expected = (3 * (node + 1)).to_string();
        assert_eq!(shown(&mut client, script, &["l", "n"], &[]), expected);
    }
    let leads = |node: &usize| cluster.status(*node)["group"]["role"] == "leader";
    let leader = wait_for("a member leads", || (0..3).find(leads));
    cluster.stop(leader);
    let mut client = cluster.client((leader + 1) % 3);
    eventually("another member leads", || client.text(&["GET", "n"]) == "9");
    let list = client.list(&["LRANGE", "l", "0", "-1"]);
    assert_eq!(list, ["first", "2", "3", "1", "2", "3", "1", "2", "3"]);
}
