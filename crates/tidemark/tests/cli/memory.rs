//! Limits of memory: what a node does when it is at its limit, in processes of their own.

use crate::harness::{Up, eventually};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use tidemark_patience::{PATIENCE, wait_for};

const OOM: &str = "-OOM command not allowed when used memory > 'maxmemory'.";

/// A connection that sends inline commands.
struct Client(BufReader<TcpStream>);

impl Client {
    fn of(up: &Up, node: &str) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", up.port(node))).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(BufReader::new(stream))
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_string()
    }

    /// The reply as it is sent, its first line; of a string, its content.
    fn reply(&mut self) -> String {
        let line = self.line();
        let Some(length) = line.strip_prefix('$').and_then(|length| length.parse::<usize>().ok()) else {
            return line;
        };
        let mut content = vec![0; length + 2];
        self.0.read_exact(&mut content).unwrap();
        String::from_utf8_lossy(&content[..length]).into_owned()
    }

    fn send(&mut self, commands: &str) {
        self.0.get_mut().write_all(commands.as_bytes()).unwrap();
    }

    fn call(&mut self, command: &str) -> String {
        self.send(&format!("{command}\r\n"));
        self.reply()
    }

    fn ok(&mut self, command: &str) {
        assert_eq!(self.call(command), "+OK", "{command}");
    }

    /// A line of INFO.
    fn info(&mut self, name: &str) -> u64 {
        let info = self.call("INFO");
        let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name}: {info}"))
    }

    /// Used memory, once what the last writes needed for a while is free.
    fn steadily_used(&mut self) -> u64 {
        let (mut looks, mut before) = (0, 0);
        wait_for("used memory stays as it is", || {
            let now = self.info("used_memory");
            (looks, before) = if now.abs_diff(before) < 100_000 { (looks + 1, before) } else { (0, now) };
            (looks >= 50).then_some(now)
        })
    }

    /// Sets keys called `prefix` and a number, each of 10,000 bytes. Returns how many were not refused for want of memory.
    fn fill(&mut self, prefix: &str, keys: usize, options: &str) -> usize {
        let value = "x".repeat(10_000);
        (0..keys)
            .filter(|key| match self.call(&format!("SET {prefix}{key} {value} {options}")).as_str() {
                "+OK" => true,
                OOM => false,
                other => panic!("{other}"),
            })
            .count()
    }
}

#[test]
fn a_node_at_its_limit_refuses_what_may_add_data_and_nothing_else() {
    let up = Up::start(&["--regions", "2"]);
    let (mut a, mut b) = (Client::of(&up, "a"), Client::of(&up, "b"));
    let used = a.info("used_memory");
    a.ok(&format!("CONFIG SET maxmemory {}", used + (8 << 20)));
    let taken = a.fill("k", 2_000, "");
    assert!((100..1_000).contains(&taken), "{taken} keys of 10 kB are about 8 MiB");
    assert_eq!((a.call("GET k1").len(), a.call("EXISTS k1")), (10_000, ":1".into()));
    // It takes what the other region writes.
    b.ok("SET from-b v");
    eventually("v".into(), || a.call("GET from-b"));
    assert_eq!(a.call("SET from-a v"), OOM);
    // Reads, deletes and commands about the connection go on; memory comes back.
    assert_eq!(a.call("EXPIRE from-b 1000"), ":1");
    let deleted = (0..2_000).filter(|key| a.call(&format!("DEL k{key}")) == ":1").count();
    assert_eq!(deleted, taken);
    eventually("+OK".into(), || a.call("SET from-a v"));
    assert!(a.info("used_memory") < used + (8 << 20));
    assert!(a.info("used_memory_peak") > used + (8 << 20));
    assert_eq!((a.info("maxmemory"), a.info("evicted_keys")), (used + (8 << 20), 0));
    up.stop();
}

#[test]
fn transactions_and_scripts_are_refused_as_redis_does() {
    let up = Up::start(&["--regions", "1"]);
    let (mut client, mut other) = (Client::of(&up, "a"), Client::of(&up, "a"));
    client.ok("SET k v");
    for setup in [
        "FUNCTION LOAD \"#!lua name=l1\\nredis.register_function('plain', function(keys) return redis.call('SET', keys[1], 'f') end)\"",
        "FUNCTION LOAD \"#!lua name=l2\\nredis.register_function{function_name='allowed', callback=function(keys) return redis.call('SET', keys[1], 'f') end, flags={'allow-oom'}}\"",
    ] {
        assert!(client.call(setup).starts_with('l'), "{setup}");
    }
    // Queued while there was room.
    other.ok("MULTI");
    assert_eq!(other.call("SET k w"), "+QUEUED");
    client.ok("CONFIG SET maxmemory 1");
    assert_eq!(
        other.call("EXEC"),
        "-EXECABORT Transaction discarded because of: OOM command not allowed when used memory > 'maxmemory'."
    );
    assert_eq!(other.call("EXEC"), "-ERR EXEC without MULTI");
    // Nothing is queued while there is none.
    other.ok("MULTI");
    assert_eq!(other.call("GET k"), OOM);
    assert_eq!(other.call("EXEC"), "-EXECABORT Transaction discarded because of previous errors.");
    other.ok("MULTI");
    other.ok("DISCARD");
    // A script without a first line is stopped at its first write, unless it has written before.
    let script = |body: &str| format!("EVAL \"{body}\" 1 k");
    let refused = client.call(&script("return redis.call('SET', KEYS[1], 'x')"));
    assert!(refused.starts_with(OOM), "{refused}");
    client.ok(&script("redis.call('DEL', KEYS[1]) return redis.call('SET', KEYS[1], 'x')"));
    assert_eq!(client.call(&script("return redis.call('GET', KEYS[1])")), "x");
    let flag = "-OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'";
    assert_eq!(client.call(&script("#!lua\\nreturn redis.call('GET', KEYS[1])")), flag);
    assert_eq!(client.call(&script("#!lua flags=no-writes\\nreturn redis.call('GET', KEYS[1])")), "x");
    client.ok(&script("#!lua flags=allow-oom\\nreturn redis.call('SET', KEYS[1], 'y')"));
    assert_eq!(client.call("FCALL plain 1 k"), flag);
    client.ok("FCALL allowed 1 k");
    assert_eq!(client.call("GET k"), "f");
    client.ok("CONFIG SET maxmemory 0");
    client.ok("FCALL plain 1 k");
    up.stop();
}

#[test]
fn keys_that_expire_first_are_evicted_first_in_all_regions() {
    let up = Up::start(&["--regions", "2", "--max-memory", "1GiB", "--max-memory-policy", "volatile-ttl"]);
    let (mut a, mut b) = (Client::of(&up, "a"), Client::of(&up, "b"));
    assert_eq!(a.info("maxmemory"), 1 << 30);
    let refused = a.call("CONFIG SET maxmemory-policy allkeys-lru");
    assert!(refused.contains("use 'volatile-ttl'") && refused.contains("'noeviction'"), "{refused}");
    assert_eq!(a.fill("stays", 100, ""), 100);
    assert_eq!(a.fill("late", 200, "EX 20000"), 200);
    assert_eq!(a.fill("soon", 200, "EX 10000"), 200);
    a.ok("CONFIG SET notify-keyspace-events Ee");
    let mut told = Client::of(&up, "a");
    told.send("SUBSCRIBE __keyevent@0__:evicted\r\n");
    (0..4).for_each(|_| drop(told.reply()));
    // About 50 of the 200 keys that expire soon have to go. Where memory comes back late, as many go once more, perhaps twice.
    let limit = a.steadily_used() - 500_000;
    a.ok(&format!("CONFIG SET maxmemory {limit}"));
    eventually(true, || a.info("used_memory") <= limit && a.info("evicted_keys") > 0);
    let left = |client: &mut Client, prefix: &str, keys: usize| {
        (0..keys).filter(|key| client.call(&format!("EXISTS {prefix}{key}")) == ":1").count()
    };
    assert_eq!((left(&mut a, "stays", 100), left(&mut a, "late", 200)), (100, 200));
    let soon = left(&mut a, "soon", 200);
    assert!((1..200).contains(&soon), "{soon}");
    eventually(soon, || left(&mut b, "soon", 200));
    assert_eq!(told.reply(), "*3");
    (0..2).for_each(|_| drop(told.reply()));
    assert!(told.reply().starts_with("soon"));
    // New keys push out others, until none with a deadline is left.
    assert_eq!(a.fill("more", 60, "EX 30000"), 60);
    eventually(true, || a.info("used_memory") <= limit);
    assert_eq!(left(&mut a, "more", 60), 60);
    assert!(left(&mut a, "soon", 200) < soon);
    a.ok("CONFIG SET maxmemory 1");
    eventually(OOM.to_string(), || a.call("SET k v"));
    let counts = ["stays", "late", "more"].map(|prefix| left(&mut a, prefix, 200));
    assert_eq!(counts, [100, 0, 0]);
    up.stop();
}

#[test]
fn a_node_refuses_what_another_of_its_region_has_no_room_for() {
    let up = Up::start(&["--regions", "1", "--nodes", "2"]);
    let (mut one, mut other) = (Client::of(&up, "a-1"), Client::of(&up, "a-2"));
    other.ok("SET k v");
    one.ok("CONFIG SET maxmemory 1");
    eventually(OOM.to_string(), || other.call("SET k w"));
    one.ok("CONFIG SET maxmemory 0");
    eventually("+OK".to_string(), || other.call("SET k w"));
    up.stop();
}
