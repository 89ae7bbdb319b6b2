//! Random commands, most of them on one type of key.

use bytes::Bytes;
use tidemark_core::{Command, Key, Verb};

/// A command as words: its verb, its keys, its arguments. Keys are `a` and `b`. With its seed.
#[derive(Clone)]
pub(crate) struct Line(String, u64);

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Commands by what they are about. `k` and `l` are keys, `n` is a number, `x` one with a fraction, `m` an element, `v` a value.
const TEXTS: [&str; 9] = [
    "SET k v;SET k n;SET k n EX 100;SETNX k v;GET k;APPEND k v;INCR k;INCRBY k n;DECRBY k n;INCRBYFLOAT k x;SETRANGE k n v;SETBIT k n 1;\
     BITFIELD k INCRBY u4 1 n;GETSET k n;GETDEL k;GETEX k PX 5000;STRLEN k;BITOP k l k OR;MSETNX k l v n",
    "HSET k m n;HSET k m v m n;HDEL k m;HDEL k m m;HINCRBY k m n;HINCRBY k m n;HINCRBYFLOAT k m x;HGETALL k;HSETNX k m v;HLEN k;HGET k m",
    "SADD k m;SADD k m m;SREM k m;SPOP k;SPOP k 2;SMOVE k l m;SCARD k;SMEMBERS k;SUNIONSTORE k l k;SDIFFSTORE k l k;SRANDMEMBER k",
    "ZADD k n m;ZADD k n m n m;ZADD k GT n m;ZADD k LT CH n m;ZADD k XX n m;ZINCRBY k n m;ZINCRBY k x m;ZREM k m;ZPOPMIN k;ZRANGE k 0 -1 WITHSCORES;\
     ZCARD k;ZUNIONSTORE k l k;ZREMRANGEBYRANK k 0 n;ZRANK k m;GEOADD k 13 38 m",
    "RPUSH k v;RPUSH k v v v;LPUSH k v;LPUSH k v v;LPOP k;RPOP k;RPOP k 2;LINSERT k BEFORE v v;LINSERT k AFTER v v;LREM k 0 v;LREM k -1 v;\
     LSET k n v;LSET k -1 v;LTRIM k 0 n;LTRIM k 1 -1;LRANGE k 0 -1;LMOVE k l LEFT RIGHT;LMOVE k k RIGHT LEFT;RPOPLPUSH k l;LLEN k;LPOS k v",
    "XADD k * m v;XADD k * m v;XADD k MAXLEN n * m v;XDEL k 1700000000000-0;XTRIM k MAXLEN n;XGROUP|CREATE k g $ MKSTREAM;XGROUP|CREATE k g 0;\
     XGROUP|SETID k k g 0;XGROUP|DESTROY k k g;XREADGROUP k k GROUP g m STREAMS >;XREADGROUP k k GROUP g m COUNT 1 STREAMS >;\
     XLEN k;XRANGE k - +;XACK k g 1700000000000-0;XGROUP|DELCONSUMER k k g m;XPENDING k k g;XAUTOCLAIM k k g m 0 0",
    "PFADD k m;PFADD k m m m;PFCOUNT k;PFMERGE k l k;SET k v;APPEND k v;GET k;BITFIELD k SET u8 n n",
    "TIDE.BCOUNTER|CREATE k 0 n;TIDE.BCOUNTER|CREATE k 1 9;TIDE.BCOUNTER|INCRBY k n;TIDE.BCOUNTER|DECRBY k n;TIDE.BCOUNTER|DECRBY k 1;\
     TIDE.BCOUNTER|GIVE k 1;TIDE.BCOUNTER|GET k;TIDE.BCOUNTER|RIGHTS k;DEL k",
    "TIDE.DOC|PUT k v;TIDE.DOC|PUT k v v;TIDE.DOC|COMPACT k v UPTO *;COPY k l REPLACE;RENAME k l;DEL k",
];

/// Commands on keys of any type.
const ANY: &str = "DEL k;DEL k;EXPIRE k 100;EXPIRE k 0;PEXPIRE k 1;PEXPIRE k 5000 GT;PERSIST k;TYPE k;EXISTS k;PTTL k;RENAME k l;COPY k l REPLACE;\
                   RENAME k k;SET k n;HSET k m v;RPUSH k v;SADD k m;SORT k l ALPHA STORE";

/// How many kinds of series there are.
pub(crate) const THEMES: usize = TEXTS.len();

/// A command that fits a kind of series.
pub(crate) fn draw(random: &mut fastrand::Rng, theme: usize) -> Line {
    let text = if random.u8(..5) == 0 { ANY } else { TEXTS[theme] };
    let all: Vec<&str> = text.split(';').map(str::trim).collect();
    let key = if random.u8(..4) == 0 { "b" } else { "a" };
    let other = if random.u8(..6) == 0 { key } else { ["b", "a"][usize::from(key == "b")] };
    let text = all[random.usize(..all.len())];
    let word = |word: &str| match word {
        "k" => key.to_string(),
        "l" => other.to_string(),
        "n" => random.i32(-1..7).to_string(),
        "x" => ["0.5", "0.1", "2.5e9", "-0.7", "inf"][random.usize(..5)].to_string(),
        "m" => ["f", "g", "h"][random.usize(..3)].to_string(),
        "v" => ["u", "w", "7", "xyz"][random.usize(..4)].to_string(),
        word => word.to_string(),
    };
    Line(text.split_whitespace().map(word).collect::<Vec<_>>().join(" "), random.u64(..))
}

impl Line {
    pub(crate) fn of(text: &str) -> Self {
        Self(text.into(), 7)
    }

    /// Whether it draws: the order of elements, which two states need not share, then decides.
    pub(crate) fn draws(&self) -> bool {
        ["SPOP", "SRANDMEMBER"].iter().any(|name| self.0.starts_with(name))
    }

    /// The key and the command.
    pub(crate) fn command(&self) -> (Key, Command) {
        let mut words = self.0.split_whitespace();
        let name = words.next().expect("a command has a name").to_lowercase();
        let verb = Verb::ALL.iter().copied().find(|verb| verb.name() == name);
        let verb = verb.unwrap_or_else(|| panic!("no {name}"));
        let mut words: Vec<&str> = words.collect();
        let key = Key::from(words.remove(0));
        let is_key = |word: &&str| matches!(*word, "a" | "b");
        let more = if verb.takes_keys() { words.iter().take_while(|word| is_key(word)).count() } else { 0 };
        let keys = words.drain(..more).map(Key::from).collect();
        let args = words.into_iter().map(|word| Bytes::copy_from_slice(word.as_bytes())).collect();
        (key, Command { verb, keys, args, seed: self.1 })
    }
}
