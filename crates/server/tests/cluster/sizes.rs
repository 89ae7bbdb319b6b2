//! Values and versions around their limits: each command is carried out everywhere alike, or refused for good.

mod drawn;
mod large;
mod largest;

use crate::findings::{over, told};
use crate::support::{Client, Cluster, eventually, text};
use tidemark_core::{Limit, SharedLimit};
use tidemark_server::NodeConfig;
use tidemark_wire::resp::Reply;

/// The limit of values in these tests.
const VALUE: usize = 64 << 10;

/// The most that one version may write.
fn written() -> usize {
    Limit::of_values(VALUE).written()
}

fn small(config: &mut NodeConfig, value: usize) {
    let limit = SharedLimit::default();
    limit.set(Limit::of_values(value));
    config.limit = limit;
    // Most versions of these tests get a segment of their own.
    config.log_segment_bytes = 64 << 10;
    config.snapshot_every_bytes = 4 << 20;
}

/// The places where everything has to be the same: a node, a region of two nodes beside another region, and groups of three.
fn shapes() -> [Vec<(u8, &'static [u16])>; 3] {
    let both: &[u16] = &[0, 1];
    [
        vec![(0, both)],
        vec![(0, &[0]), (0, &[1]), (1, both)],
        vec![(0, both), (0, both), (0, both), (1, both), (1, both), (1, both)],
    ]
}

fn started(shape: &[(u8, &[u16])]) -> Cluster {
    let cluster = Cluster::start("tidemark", shape, |config| small(config, VALUE));
    cluster.meet(&["{a}met", "{b}met", "{c}met", "{d}met"]);
    cluster
}

/// Returns the value of a key, in an order that does not depend on where it is read.
fn content(client: &mut Client, key: &str) -> Vec<String> {
    let kind = client.text(&["TYPE", key]);
    let mut all = match &kind[..] {
        "none" => Vec::new(),
        "string" => vec![client.text(&["GET", key])],
        "list" => client.list(&["LRANGE", key, "0", "-1"]),
        "set" => client.list(&["SMEMBERS", key]),
        "hash" => client.list(&["HGETALL", key]),
        "zset" => client.list(&["ZRANGE", key, "0", "-1", "WITHSCORES"]),
        "stream" => vec![format!("{:?}", client.call(&["XRANGE", key, "-", "+"]))],
        other => panic!("a {other}"),
    };
    if matches!(&kind[..], "set" | "hash") {
        all.sort_unstable();
    }
    all.push(kind);
    all
}

/// Waits until every node shows the same of these keys.
fn same_everywhere(cluster: &Cluster, keys: &[String]) {
    let mut clients: Vec<Client> = (0..cluster.nodes.len()).map(|node| cluster.client(node)).collect();
    for key in keys {
        let (first, others) = clients.split_first_mut().unwrap();
        for (node, other) in (1..).zip(others) {
            eventually(format!("node {node} shows {key} as node 0"), || {
                content(first, key) == content(other, key)
            });
        }
    }
}

/// Whether clients try again what was answered so.
fn is_retried(said: &str) -> bool {
    let words = [
        "!UNAVAILABLE",
        "!MISCONF",
        "!INDEFINITE",
        "!CLOCKSKEW",
        "!STALESESSION",
        "!TRYAGAIN",
        "!LOADING",
        "!BUSY",
        "!CLUSTERDOWN",
    ];
    words.iter().any(|word| said.starts_with(word))
}

/// Asserts that a command was done, or refused for good: by no word that has clients try again.
#[track_caller]
fn ended(reply: &Reply, what: &str) {
    let said = text(reply);
    assert!(!is_retried(&said), "{what}: {said}");
}

fn is_refused(reply: &Reply) -> bool {
    text(reply).starts_with("!ERR") || text(reply).starts_with("!EXECABORT")
}

/// Of `bytes` bytes in all, in elements of at most the largest value.
fn elements(bytes: usize, each: usize) -> Vec<String> {
    let name = |at: usize, length: usize| format!("{at:0>8}{}", "e".repeat(length.saturating_sub(8)));
    (0..bytes.div_ceil(each)).map(|at| name(at, each.min(bytes - at * each))).collect()
}

/// Each command whose value has so many bytes, and whether that is too many.
#[test]
fn values_around_the_limit_are_written_everywhere_or_refused() {
    for shape in shapes() {
        let cluster = started(&shape);
        let mut client = cluster.client(0);
        let mut keys = Vec::new();
        for bytes in [VALUE - 1, VALUE, VALUE + 1] {
            let too_many = bytes > VALUE;
            let value = "v".repeat(bytes);
            let (last, half) = ((bytes - 1).to_string(), "h".repeat(bytes / 2));
            let key = |name: &str| format!("{{a}}{name}:{bytes}");
            let mut check = |command: &[&str], refused: bool| {
                let reply = client.call(command);
                ended(&reply, command[0]);
                assert_eq!(is_refused(&reply), refused, "{} of {bytes}: {}", command[0], text(&reply));
                keys.push(command[1].to_string());
            };
            check(&["SETRANGE", &key("range"), &last, "x"], too_many);
            check(&["SETBIT", &key("bit"), &(8 * bytes - 1).to_string(), "1"], too_many);
            check(&["BITFIELD", &key("field"), "SET", "u8", &(8 * (bytes - 1)).to_string(), "7"], too_many);
            check(&["APPEND", &key("append"), &half], false);
            check(&["APPEND", &key("append"), &"h".repeat(bytes - half.len())], too_many);
            if !too_many {
                check(&["SET", &key("set"), &value], false);
                check(&["COPY", &key("set"), &key("copy")], false);
                check(&["RENAME", &key("copy"), &key("renamed")], false);
                check(&["HSET", &key("hash"), "field", &value], false);
                check(&["RPUSH", &key("list"), &value, &value], false);
                check(
                    &["EVAL", "return redis.call('SET', KEYS[1], ARGV[1])", "1", &key("script"), &value],
                    false,
                );
                keys.extend(["copy", "renamed", "script", "not"].map(key));
                let reply = client.call(&["BITOP", "NOT", &key("not"), &key("set")]);
                assert_eq!(reply, Reply::Integer(bytes as i64));
            } else {
                // Longer arguments are refused before they have come, and the connection with them.
                let mut other = cluster.client(0);
                other.send(format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${bytes}\r\n").as_bytes());
                assert_eq!(text(&other.reply().unwrap()), "!ERR Protocol error: invalid bulk length");
            }
        }
        same_everywhere(&cluster, &keys);
    }
}

/// Each family of commands that writes so much at once. What a version may have is a little more than a value, so what is just below is
/// done, and what is clearly above is refused.
#[test]
fn versions_around_the_limit_are_written_everywhere_or_refused() {
    for shape in shapes() {
        let cluster = started(&shape);
        let mut client = cluster.client(0);
        let mut keys = Vec::new();
        let edge = written() - (40 << 10); // names, lengths and scores
        for (bytes, fits) in
            [(edge, Some(true)), (written(), None), (written() + 1, None), (written() + VALUE, Some(false))]
        {
            let many = elements(bytes, VALUE / 4);
            let words: Vec<&str> = many.iter().map(String::as_str).collect();
            let key = |name: &str| format!("{{b}}{name}:{bytes}");
            let pairs =
                |first: &'static str| words.iter().flat_map(|word| [first, *word]).collect::<Vec<_>>();
            let named: Vec<String> = (0..words.len()).map(|at| key(&format!("many{at}"))).collect();
            let spread: Vec<String> = (0..words.len()).map(|at| format!("spread:{bytes}:{at}")).collect();
            let each = |names: &[String]| -> Vec<String> {
                names.iter().zip(&many).flat_map(|(name, value)| [name.clone(), value.clone()]).collect()
            };
            let scores: Vec<String> =
                many.iter().enumerate().flat_map(|(at, word)| [at.to_string(), word.clone()]).collect();
            let strings = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<String>>();
            let commands: Vec<Vec<String>> = vec![
                [strings(&["RPUSH", &key("list")]), strings(&words)].concat(),
                [strings(&["SADD", &key("set")]), strings(&words)].concat(),
                [
                    strings(&["HSET", &key("hash")]),
                    words.iter().flat_map(|word| [word[..8].to_string(), word.to_string()]).collect(),
                ]
                .concat(),
                [strings(&["ZADD", &key("zset")]), scores].concat(),
                [strings(&["XADD", &key("stream"), "1-1"]), strings(&pairs("f"))].concat(),
                [strings(&["MSET"]), each(&named)].concat(),
                [strings(&["MSET"]), each(&spread)].concat(),
                [
                    strings(&[
                        "EVAL",
                        "for i, v in ipairs(ARGV) do redis.call('SET', KEYS[1] .. i, v) end",
                        "1",
                        &key("script"),
                    ]),
                    strings(&words),
                ]
                .concat(),
            ];
            for command in &commands {
                let words: Vec<&str> = command.iter().map(String::as_str).collect();
                let reply = client.call(&words);
                ended(&reply, words[0]);
                if let Some(fits) = fits {
                    assert_eq!(!is_refused(&reply), fits, "{} of {bytes}: {}", words[0], text(&reply));
                }
                keys.push(words[1].to_string());
            }
            keys.extend(named.into_iter().chain(spread));
            keys.extend((1..=words.len()).map(|at| key(&format!("script{at}"))));
        }
        same_everywhere(&cluster, &keys);
    }
}

/// Commands that bring little and write much.
#[test]
fn what_commands_make_of_stored_keys_has_the_limit_too() {
    for shape in shapes() {
        let cluster = started(&shape);
        let mut client = cluster.client(0);
        let some = elements(written() * 3 / 5, VALUE / 4);
        let more: Vec<String> = some.iter().map(|word| format!("x{word}")).collect();
        for (kind, push) in [("list", "RPUSH"), ("set", "SADD")] {
            for part in [&some, &more] {
                let key = format!("{{c}}{kind}");
                let words: Vec<&str> =
                    [push, &key].into_iter().chain(part.iter().map(String::as_str)).collect();
                assert!(!is_refused(&client.call(&words)));
            }
        }
        let value = "v".repeat(VALUE);
        client.ok(&["SET", "{c}one", &value]);
        let mut refused = |command: &[&str]| {
            let reply = client.call(command);
            ended(&reply, command[0]);
            assert!(is_refused(&reply), "{command:?}: {}", text(&reply));
        };
        refused(&["COPY", "{c}list", "{c}made"]);
        refused(&["COPY", "{c}list", "elsewhere"]);
        refused(&["RENAME", "{c}list", "{c}made"]);
        refused(&["RENAME", "{c}set", "elsewhere"]);
        refused(&["SUNIONSTORE", "{c}made", "{c}set"]);
        refused(&["SORT", "{c}list", "ALPHA", "STORE", "{c}made"]);
        refused(&[
            "EVAL",
            "for i = 1, 70 do redis.call('APPEND', KEYS[1] .. i, ARGV[1]) end",
            "1",
            "{c}made",
            &value,
        ]);
        refused(&[
            "EVAL",
            "for i = 1, 70 do redis.call('COPY', KEYS[2], KEYS[1] .. i) end",
            "2",
            "{c}made",
            "{c}one",
        ]);
        refused(&[
            "EVAL",
            "for i = 1, 70 do redis.call('SETRANGE', KEYS[1] .. i, 65000, 'x') end",
            "1",
            "{c}made",
        ]);
        let keys = ["{c}list", "{c}set", "{c}made", "{c}made1", "{c}made70", "elsewhere", "{c}one"]
            .map(String::from);
        assert_eq!(client.text(&["EXISTS", "{c}made", "elsewhere"]), "0");
        assert_eq!(client.text(&["LLEN", "{c}list"]), (2 * some.len()).to_string());
        same_everywhere(&cluster, &keys);
        // An element at a time, it goes.
        assert_eq!(client.text(&["EVAL", "local n = 0 while redis.call('LMOVE', KEYS[1], KEYS[2], 'LEFT', 'RIGHT') do n = n + 1 if n == 4 then break end end return n", "2", "{c}list", "{c}made"]), "4");
        same_everywhere(&cluster, &keys);
    }
}

#[test]
fn all_commands_of_an_exec_have_one_limit() {
    for shape in shapes() {
        let cluster = started(&shape);
        let mut client = cluster.client(0);
        let value = "v".repeat(VALUE);
        let mut keys = Vec::new();
        for (count, fits) in [(written() / VALUE - 1, true), (written() / VALUE + 1, false)] {
            client.ok(&["MULTI"]);
            for at in 0..count {
                let key = format!("{{d}}exec:{count}:{at}");
                assert_eq!(client.text(&["SET", &key, &value]), "QUEUED");
                keys.push(key);
            }
            let reply = client.call(&["EXEC"]);
            ended(&reply, "EXEC");
            let failed = is_refused(&reply) || reply.items().is_some_and(|all| all.iter().any(is_refused));
            assert_eq!(failed, !fits, "{count} values: {}", text(&reply));
        }
        same_everywhere(&cluster, &keys);
    }
}

/// A region that allows less than another takes nothing of what is larger, says so, and goes on once it allows as much.
#[test]
fn a_record_that_a_region_does_not_take_holds_its_stream_and_says_so() {
    let cluster = Cluster::start("tidemark", &[(0, &[0]), (1, &[0])], |config| {
        small(config, if config.me.index() == 0 { 16 << 20 } else { VALUE });
    });
    let (mut here, mut there) = (cluster.client(0), cluster.client(1));
    here.ok(&["SET", "before", "1"]);
    eventually("the regions have met", || there.text(&["GET", "before"]) == "1");
    let value = "v".repeat(12 << 20);
    here.ok(&["SET", "large", &value]);
    here.ok(&["SET", "after", "2"]);
    for node in 0..2 {
        let finding = told(&cluster, node, "feed_held", "A/0->B/0");
        let what = finding["what"].as_str().expect("words");
        assert!(what.contains("and the receiver takes 1179648 at most"), "{finding}");
        assert_eq!(finding["waits_for"], "a larger proto-max-bulk-len at node n1");
        assert_eq!(finding["grade"], "stuck");
    }
    assert_eq!(there.text(&["GET", "after"]), "-", "it comes behind");
    // Its own writes go on, both ways.
    there.ok(&["SET", "own", "3"]);
    eventually("the other direction goes on", || here.text(&["GET", "own"]) == "3");
    there.ok(&["CONFIG", "SET", "proto-max-bulk-len", "16mb"]);
    eventually("it goes on", || there.text(&["GET", "after"]) == "2");
    assert_eq!(there.text(&["GET", "large"]).len(), value.len());
    over(&cluster);
}

#[test]
fn the_limit_is_what_config_says() {
    let cluster = Cluster::regions("tidemark", 1, 1);
    let mut client = cluster.client(0);
    assert_eq!(client.list(&["CONFIG", "GET", "proto-max-bulk-len"])[1], Limit::VALUE_BYTES.to_string());
    assert!(
        client.text(&["CONFIG", "SET", "proto-max-bulk-len", "513mb"]).starts_with("!ERR CONFIG SET failed")
    );
    client.ok(&["CONFIG", "SET", "proto-max-bulk-len", "100kb"]);
    assert!(
        client
            .text(&["SETRANGE", "k", "102400", "x"])
            .starts_with("!ERR string exceeds maximum allowed size")
    );
    assert_eq!(client.text(&["SETRANGE", "k", "102399", "x"]), "102400");
    // Also of connections that were there before.
    client.send(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$102401\r\n");
    assert_eq!(text(&client.reply().unwrap()), "!ERR Protocol error: invalid bulk length");
    let refused = cluster.client(0).text(&[
        "EVAL",
        "for i = 1, 12 do redis.call('SETRANGE', KEYS[1] .. i, 102399, 'x') end",
        "1",
        "k",
    ]);
    assert!(refused.contains("proto-max-bulk-len, which is 102400"), "{refused}");
}
