//! Commands that read several keys of data types, over partitions.

use crate::support::{Client, Cluster, text};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use tidemark_contract::Topology;
use tidemark_core::Key;

/// The keys of the commands, and what they hold.
const CONTENTS: &[&str] = &[
    "SADD a 1 2 3 4 x",
    "SADD b 2 3 y",
    "SADD c 3 4 x y",
    "ZADD d 1 x 2.5 y -3 z",
    "ZADD e 10 y inf z 0 2",
    "SET f ohmytext",
    "SET g mynewtext",
    "PFADD h 1 2 3 4 5",
    "PFADD i 4 5 6 7 8",
    "HSET j f 1",
    "XADD k 1-1 f v",
    "RPUSH l 3 1 2",
];

/// Each word of one letter is a key; `nil` is none. What follows a word with a point is an argument, whatever it looks like.
const COMMANDS: &[&str] = &[
    "SINTER a b c",
    "SINTER a",
    "SINTER a a b",
    "SINTER a q",
    "SUNION a b c",
    "SUNION q r",
    "SDIFF a b",
    "SDIFF a b c",
    "SDIFF q a",
    "SDIFF a q a",
    "SINTERCARD 2 a c",
    "SINTERCARD 3 a b c LIMIT 1",
    "SINTERCARD 2 a b LIMIT -1",
    "SINTERCARD 2 a b LIMIT",
    "SINTERCARD 3 a b",
    "SINTER a d",
    "SUNION a f",
    "SDIFF a j",
    "SDIFF a k",
    "SINTERCARD 2 q l",
    "ZUNION 2 d e",
    "ZUNION 2 d e WITHSCORES",
    "ZUNION 3 d e a WEIGHTS 1 2 0.5 AGGREGATE MAX WITHSCORES",
    "ZUNION 2 d e WEIGHTS 1 WITHSCORES",
    "ZUNION 2 d f",
    "ZINTER 2 d e WITHSCORES",
    "ZINTER 2 d c WEIGHTS 3 2 WITHSCORES",
    "ZINTER 2 d q",
    "ZINTERCARD 2 d e",
    "ZINTERCARD 2 d e LIMIT 1",
    "ZDIFF 2 d e",
    "ZDIFF 3 d q c WITHSCORES",
    "ZDIFF 2 d l",
    "LCS f g",
    "LCS f g LEN",
    "LCS f g IDX MINMATCHLEN 2 WITHMATCHLEN",
    "LCS f q",
    "LCS f a",
    "LCS f g LEN IDX",
    "PFCOUNT h i",
    "PFCOUNT h q i h",
    "PFCOUNT h f",
    "PFCOUNT h a",
];

/// A command with its keys as `name` says.
fn with_keys(command: &str, name: impl Fn(&str) -> String) -> Vec<String> {
    let is_key = |word: &str| word.len() == 1 && word.chars().all(|letter| letter.is_ascii_lowercase());
    let (verb, rest) = command.split_once(' ').expect("a command has arguments");
    // Of the commands that write, only the first word is a key.
    let keys = if CONTENTS.contains(&command) { 1 } else { usize::MAX };
    let words = rest.split(' ').enumerate();
    let words = words.map(|(at, word)| if at < keys && is_key(word) { name(word) } else { word.to_string() });
    std::iter::once(verb.to_string()).chain(words).collect()
}

fn call(client: &mut Client, words: &[String]) -> String {
    format!("{:?}", client.call(&words.iter().map(String::as_str).collect::<Vec<_>>()))
}

pub(crate) fn partitions(keys: &[&str], count: usize) -> usize {
    let topology = Topology::new(1, count);
    keys.iter().map(|key| topology.partition_of(&Key::from(*key))).collect::<BTreeSet<_>>().len()
}

#[test]
fn answers_are_those_of_keys_in_one_partition() {
    assert_eq!(partitions(&["a", "b", "c", "d", "e", "f", "g", "h", "i"], 4), 4);
    for (protocol, count) in [("causal", 4), ("causal-spartan-x", 3), ("gentlerain", 2), ("okapi", 4)] {
        let cluster = Cluster::regions(protocol, 1, count);
        let mut client = cluster.client(0);
        let (apart, together) = (|key: &str| key.to_string(), |key: &str| format!("{{tag}}{key}"));
        for line in CONTENTS {
            call(&mut client, &with_keys(line, apart));
            call(&mut client, &with_keys(line, together));
        }
        for version in ["2", "3"] {
            client.call(&["HELLO", version]);
            for line in COMMANDS {
                let expected = call(&mut client, &with_keys(line, together));
                assert!(!expected.contains("CROSSSLOT"), "{line}: {expected}");
                assert_eq!(
                    call(&mut client, &with_keys(line, apart)),
                    expected,
                    "{protocol}, RESP{version}: {line}"
                );
            }
        }
    }
}

/// Elsewhere, what writes, and what runs in a transaction or a script, needs its keys in one partition, and says what to do.
#[test]
fn commands_that_write_are_refused_over_partitions() {
    let cluster = Cluster::regions("causal-spartan-x", 1, 4);
    let mut client = cluster.client(0);
    assert!(partitions(&["a", "b"], 4) == 2);
    client.text(&["SADD", "a", "1"]);
    client.text(&["SADD", "b", "1"]);
    for command in [
        &["SINTERSTORE", "a", "b"][..],
        &["SMOVE", "a", "b", "1"],
        &["RENAME", "a", "b"],
        &["PFMERGE", "a", "b"],
        &["EVAL", "return redis.call('SINTER', KEYS[1], KEYS[2])", "2", "a", "b"],
    ] {
        let reply = client.text(command);
        assert!(reply.starts_with("!CROSSSLOT"), "{command:?}: {reply}");
        assert!(reply.contains("{tag}"), "{command:?}: {reply}");
    }
    client.ok(&["MULTI"]);
    client.text(&["SINTER", "a", "b"]);
    assert!(client.text(&["EXEC"]).starts_with("!CROSSSLOT"));
}

/// A protocol without data types has strings, and reads those.
#[test]
fn strings_are_read_under_protocols_without_data_types() {
    for protocol in ["eventual", "cc-lo", "wren"] {
        let cluster = Cluster::regions(protocol, 1, 4);
        let mut client = cluster.client(0);
        client.ok(&["SET", "f", "ohmytext"]);
        client.ok(&["SET", "g", "mynewtext"]);
        assert_eq!(partitions(&["f", "g"], 4), 2);
        assert_eq!(client.text(&["LCS", "f", "g"]), "mytext", "{protocol}");
        assert!(client.text(&["SINTER", "f", "q"]).starts_with("!WRONGTYPE"), "{protocol}");
        assert_eq!(client.list(&["SUNION", "q", "r", "a", "b"]), [""; 0], "{protocol}");
        assert!(client.text(&["PFCOUNT", "f", "g"]).starts_with("!WRONGTYPE"), "{protocol}");
    }
}

/// The nodes of a region, which hold the partitions of two keys each.
fn two_nodes(protocol: &str) -> Cluster {
    let cluster = Cluster::start(protocol, &[(0, &[0, 2]), (0, &[1, 3])], |_| ());
    cluster.meet(&["{a}met", "{b}met", "{c}met", "{d}met"]);
    cluster
}

/// Says that a test is over, however it ends.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The number of reads beside writes once something was found, and the most in all.
const READS: usize = 400;
const READS_MAX: usize = 100 * READS;

/// Runs `write` again and again with rising numbers, until `read` has found something, as it says, and was called often enough since.
fn beside(
    cluster: &Cluster,
    write: impl Fn(&mut Client, &str) + Sync,
    mut read: impl FnMut(&mut Client) -> bool,
) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = cluster.client(1);
            (0..)
                .take_while(|_| !done.load(Ordering::Relaxed))
                .for_each(|n| write(&mut client, &format!("m{n}")));
        });
        let _ends = Ends(&done);
        let mut client = cluster.client(0);
        let mut reads = 0;
        // On a busy machine writes may begin late, and their window may be missed for long.
        for _ in 0..READS_MAX {
            reads += usize::from(read(&mut client) || reads > 0);
            if reads == READS {
                break;
            }
        }
        assert!(reads > 0, "nothing was ever found");
    });
}

/// Each member is added to one set, then to the other. Whoever sees the second addition sees the first one: read one set after the other,
/// on two nodes, the second would be ahead.
#[test]
fn sets_of_two_nodes_are_read_in_one_snapshot() {
    for protocol in ["causal", "gentlerain"] {
        let cluster = two_nodes(protocol);
        for (cause, effect) in [("a", "b"), ("c", "d")] {
            let topology = Topology::new(1, 4);
            let partition = |key: &str| topology.partition_of(&Key::from(key)).0 % 2;
            assert_ne!(partition(cause), partition(effect), "the keys are on two nodes");
            let write = |client: &mut Client, member: &str| {
                client.call(&["SADD", cause, member]);
                client.call(&["SADD", effect, member]);
            };
            beside(&cluster, write, |client| {
                assert_eq!(client.list(&["SDIFF", effect, cause]), [""; 0], "{protocol}");
                client.text(&["SCARD", effect]) != "0"
            });
        }
    }
}

/// A member is there only while its value is: a value that was read after the member would be missing at times.
#[test]
fn sort_reads_elements_and_values_in_one_snapshot() {
    let cluster = two_nodes("causal");
    let write = |client: &mut Client, member: &str| {
        let value = format!("v:{member}");
        client.call(&["SET", &value, member]);
        client.call(&["SADD", "a", member]);
        client.call(&["SREM", "a", member]);
        client.call(&["DEL", &value]);
    };
    beside(&cluster, write, |client| {
        let reply = client.call(&["SORT", "a", "BY", "nosort", "GET", "#", "GET", "v:*"]);
        let elements = reply.items().unwrap_or_else(|| panic!("{reply:?}"));
        elements.chunks(2).for_each(|pair| assert_eq!(text(&pair[0]), text(&pair[1])));
        !elements.is_empty()
    });
}
