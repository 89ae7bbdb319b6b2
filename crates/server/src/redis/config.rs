//! The server's settings as CONFIG shows them: every parameter that clients and test suites are known to read or
//! set, with the checks of Redis. Few change anything here; the others are kept and given back.
//!
//! Source: names, defaults and messages as redis-server 7.0 gives them.

use std::collections::BTreeMap;
use tidemark_wire::resp::{RequestLimits, parse_i64};

/// What a parameter's value may be.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// `yes` or `no`.
    Switch,
    /// An integer in a range.
    Number(i64, i64),
    /// Bytes, perhaps written with a unit.
    Memory,
    /// One of some words.
    Choice(&'static [&'static str]),
    /// Anything.
    Text,
    /// Set when the server starts.
    Fixed,
}

/// Name, value unless set, what it may be.
type Parameter = (&'static str, &'static str, Kind);

/// More than a node can tell apart.
const CLIENTS_MAX: i64 = 1_000_000;

const COUNT: Kind = Kind::Number(0, i64::MAX);
const POLICIES: Kind = Kind::Choice(&[
    "volatile-lru",
    "volatile-lfu",
    "volatile-random",
    "volatile-ttl",
    "allkeys-lru",
    "allkeys-lfu",
    "allkeys-random",
    "noeviction",
]);

const PARAMETERS: &[Parameter] = &[
    ("requirepass", "", Kind::Text),
    ("proto-max-bulk-len", "536870912", Kind::Memory),
    ("client-query-buffer-limit", "1073741824", Kind::Memory),
    ("maxclients", "10000", Kind::Number(1, CLIENTS_MAX)),
    ("timeout", "0", Kind::Number(0, i32::MAX as i64)),
    ("tcp-keepalive", "300", Kind::Number(0, i32::MAX as i64)),
    ("appendonly", "yes", Kind::Switch),
    ("appendfsync", "everysec", Kind::Choice(&["always", "everysec", "no"])),
    ("save", "", Kind::Text),
    ("maxmemory", "0", Kind::Memory),
    ("maxmemory-policy", "noeviction", POLICIES),
    ("hash-max-listpack-entries", "128", COUNT),
    ("hash-max-listpack-value", "64", COUNT),
    ("list-max-listpack-size", "-2", Kind::Number(i32::MIN as i64, i32::MAX as i64)),
    ("list-compress-depth", "0", Kind::Number(0, i32::MAX as i64)),
    ("set-max-intset-entries", "512", COUNT),
    ("set-max-listpack-entries", "128", COUNT),
    ("set-max-listpack-value", "64", COUNT),
    ("zset-max-listpack-entries", "128", COUNT),
    ("zset-max-listpack-value", "64", COUNT),
    ("hll-sparse-max-bytes", "3000", COUNT),
    ("stream-node-max-bytes", "4096", COUNT),
    ("stream-node-max-entries", "100", COUNT),
    ("lazyfree-lazy-eviction", "no", Kind::Switch),
    ("lazyfree-lazy-expire", "no", Kind::Switch),
    ("lazyfree-lazy-server-del", "no", Kind::Switch),
    ("lazyfree-lazy-user-del", "no", Kind::Switch),
    ("lazyfree-lazy-user-flush", "no", Kind::Switch),
    ("slowlog-log-slower-than", "10000", Kind::Number(-1, i64::MAX)),
    ("slowlog-max-len", "128", COUNT),
    ("latency-monitor-threshold", "0", COUNT),
    ("notify-keyspace-events", "", Kind::Text),
    ("databases", "1", Kind::Fixed),
    ("port", "6379", Kind::Fixed),
    ("bind", "", Kind::Fixed),
    ("dir", "", Kind::Fixed),
    ("cluster-enabled", "no", Kind::Fixed),
];

/// Old names that clients still use.
const ALIASES: &[(&str, &str)] = &[
    ("hash-max-ziplist-entries", "hash-max-listpack-entries"),
    ("hash-max-ziplist-value", "hash-max-listpack-value"),
    ("list-max-ziplist-size", "list-max-listpack-size"),
    ("zset-max-ziplist-entries", "zset-max-listpack-entries"),
    ("zset-max-ziplist-value", "zset-max-listpack-value"),
];

/// The settings of one server.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Those that differ from their defaults.
    set: BTreeMap<&'static str, String>,
}

impl Config {
    /// Gives a parameter its value when the server starts: the port, the directory, the password.
    ///
    /// # Panics
    /// If there is no such parameter.
    pub fn preset(&mut self, name: &str, value: impl Into<String>) {
        let (name, ..) = find(name).expect("a known parameter");
        self.set.insert(name, value.into());
    }

    /// The value of a parameter, by its name or an old one.
    pub fn get(&self, name: &str) -> Option<&str> {
        let (name, default, _) = find(name)?;
        Some(self.set.get(name).map_or(default, String::as_str))
    }

    /// The password that connections need, if any.
    pub fn password(&self) -> Option<&str> {
        self.set.get("requirepass").map(String::as_str).filter(|password| !password.is_empty())
    }

    /// How many clients may be connected at once. Those that are stay when it is lowered, as in Redis.
    pub fn clients_max(&self) -> usize {
        self.get("maxclients").and_then(|text| text.parse().ok()).expect("checked when it was set")
    }

    /// How much a client may send.
    pub fn request_limits(&self) -> RequestLimits {
        let bytes =
            |name| self.get(name).and_then(|text| text.parse().ok()).expect("checked when it was set");
        RequestLimits {
            bulk_bytes_max: bytes("proto-max-bulk-len"),
            request_bytes_max: bytes("client-query-buffer-limit"),
        }
    }

    /// Every name, old ones too, with its value, in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let mut names: Vec<&'static str> = PARAMETERS.iter().map(|(name, ..)| *name).collect();
        names.extend(ALIASES.iter().map(|(old, _)| *old));
        names.sort_unstable();
        names.into_iter().map(|name| (name, self.get(name).expect("a known parameter")))
    }

    /// Sets all of the parameters, or none and says which one was refused and why.
    pub(super) fn set(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<(), String> {
        let mut accepted: Vec<(&'static str, String)> = Vec::with_capacity(pairs.len());
        for (name, value) in pairs {
            let shown = String::from_utf8_lossy(name);
            let refuse = |why: &str| {
                Err(format!("ERR CONFIG SET failed (possibly related to argument '{shown}') - {why}"))
            };
            let Some((name, _, kind)) = std::str::from_utf8(name).ok().and_then(find) else {
                return Err(format!("ERR Unknown option or number of arguments for CONFIG SET - '{shown}'"));
            };
            if accepted.iter().any(|(other, _)| *other == name) {
                return refuse("duplicate parameter");
            }
            match check(kind, value) {
                Ok(value) => accepted.push((name, value)),
                Err(why) => return refuse(&why),
            }
        }
        self.set.extend(accepted);
        Ok(())
    }
}

fn find(name: &str) -> Option<Parameter> {
    let canonical =
        ALIASES.iter().find(|(old, _)| old.eq_ignore_ascii_case(name)).map_or(name, |(_, new)| new);
    PARAMETERS.iter().copied().find(|(known, ..)| known.eq_ignore_ascii_case(canonical))
}

/// The value as it is kept, or why it is refused.
fn check(kind: Kind, value: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(value).map_err(|_| "argument must be text")?;
    match kind {
        Kind::Fixed => Err("can't set immutable config".into()),
        Kind::Text => Ok(text.into()),
        Kind::Switch => match text.to_ascii_lowercase() {
            switch if switch == "yes" || switch == "no" => Ok(switch),
            _ => Err("argument must be 'yes' or 'no'".into()),
        },
        Kind::Choice(words) => match words.iter().find(|word| word.eq_ignore_ascii_case(text)) {
            Some(word) => Ok(word.to_string()),
            None => Err(format!("argument(s) must be one of the following: {}", words.join(", "))),
        },
        Kind::Number(low, high) => {
            let number = parse_i64(value).ok_or("argument couldn't be parsed into an integer")?;
            if !(low..=high).contains(&number) {
                return Err(format!("argument must be between {low} and {high} inclusive"));
            }
            Ok(number.to_string())
        }
        Kind::Memory => Ok(bytes(text).ok_or("argument must be a memory value")?.to_string()),
    }
}

/// Bytes written as `100`, `100b`, `1k` (1000), `1kb` (1024), `1m`, `1mb`, `1g`, `1gb`.
fn bytes(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit = match text[digits..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    text[..digits].parse::<u64>().ok()?.checked_mul(unit)
}
