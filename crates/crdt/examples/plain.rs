//! Times the plain structures: `cargo run --release -p tidemark-crdt --example plain [elements]`.

use fastrand::Rng;
use std::hint::black_box;
use std::time::Instant;
use tidemark_crdt::plain::{Ranked, Sequence, ShortBytes, Table};

/// Times `call` for each of `count` numbers and prints nanoseconds a call.
fn time(name: &str, count: usize, mut call: impl FnMut(usize)) {
    let start = Instant::now();
    (0..count).for_each(&mut call);
    println!("{name:<44} {:>8.0} ns", start.elapsed().as_nanos() as f64 / count as f64);
}

fn bytes(name: &str, memory: usize, len: usize) {
    println!("{name:<44} {:>8.1} bytes an element", memory as f64 / len as f64);
}

fn members(len: usize) -> Vec<Vec<u8>> {
    let mut rng = Rng::with_seed(1);
    let mut all: Vec<Vec<u8>> = (0..len).map(|number| format!("member:{number}").into_bytes()).collect();
    rng.shuffle(&mut all);
    all
}

fn small() {
    let keys: Vec<[u8; 8]> = (0..10u64).map(|number| (number << 40 | number).to_be_bytes()).collect();
    let (mut hash, mut ranked) = (Table::<ShortBytes>::new(), Ranked::new());
    time("HSET of 1 of 10 fields", 1_000_000, |at| _ = hash.insert(&keys[at % 10], &keys[(at + 1) % 10]));
    time("HGET of 1 of 10 fields", 1_000_000, |at| _ = black_box(hash.get(&keys[at % 10])));
    time("ZADD of 1 of 10 members", 1_000_000, |at| _ = ranked.insert(&keys[at % 10], (at % 7) as f64));
    bytes("hash of 10 fields", hash.memory(), 10);
    bytes("sorted set of 10 members", ranked.memory(), 10);
}

fn table(members: &[Vec<u8>]) {
    let (len, mut set, mut hash) = (members.len(), Table::<()>::new(), Table::<ShortBytes>::new());
    time("SADD", len, |at| _ = set.insert(&members[at], ()));
    bytes("set", set.memory(), len);
    time("SISMEMBER", len, |at| _ = black_box(set.contains(&members[at])));
    time("SRANDMEMBER", len, |at| _ = black_box(set.sample(at as u64)));
    let mut cursor = 0;
    time("SSCAN, COUNT 10", len / 10, |_| cursor = set.scan(cursor, 10, |key, ()| _ = black_box(key)));
    time("HSET", len, |at| _ = hash.insert(&members[at], &members[at][..8]));
    bytes("hash", hash.memory(), len);
    time("HGET", len, |at| _ = black_box(hash.get(&members[at])));
    time("SREM", len, |at| _ = set.remove(&members[at]));
}

fn ranked(members: &[Vec<u8>]) {
    let (len, mut ranked, mut rng) = (members.len(), Ranked::new(), Rng::with_seed(2));
    time("ZADD, new", len, |at| _ = ranked.insert(&members[at], rng.f64()));
    bytes("sorted set", ranked.memory(), len);
    time("ZADD, another score", len, |at| _ = ranked.insert(&members[at], rng.f64()));
    bytes("sorted set", ranked.memory(), len);
    time("ZSCORE", len, |at| _ = black_box(ranked.score(&members[at])));
    time("ZRANK", len, |at| _ = black_box(ranked.rank(&members[at])));
    time("ZCOUNT", len, |_| _ = black_box(ranked.rank_of_score(rng.f64(), true)));
    time("ZRANGE of 100 members", len / 100, |_| {
        let from = rng.usize(0..len);
        ranked.range(from..from + 100).for_each(|entry| _ = black_box(entry));
    });
    time("ZREM", len, |at| _ = ranked.remove(&members[at]));
    let mut equal = Ranked::new();
    time("ZADD, equal scores", len, |at| _ = equal.insert(&members[at], 0.0));
    time("ZLEXCOUNT", len, |at| _ = black_box(equal.rank_of_lex(&members[at], true)));
    let mut rising = Ranked::new();
    time("ZADD, rising scores", len, |at| _ = rising.insert(&members[at], at as f64));
    bytes("sorted set, rising scores", rising.memory(), len);
}

/// A position as lists give them out: what neighbours have in common, a counter, and who counted.
fn position(number: usize) -> [u8; 16] {
    let mut position = *b"0123456789ABnode";
    position[4..12].copy_from_slice(&(number as u64 + (1 << 40)).to_be_bytes());
    position
}

fn sequence(len: usize) {
    let (mut list, mut rng) = (Sequence::new(), Rng::with_seed(3));
    time("RPUSH", len, |at| _ = list.insert(&position(len + at), b"8 bytes."));
    bytes("list", list.memory(), len);
    time("LPUSH", len, |at| _ = list.insert(&position(len - 1 - at), b"8 bytes."));
    bytes("list", list.memory(), 2 * len);
    time("LINDEX", len, |_| _ = black_box(list.at(rng.usize(0..2 * len))));
    time("LSET", len, |_| _ = list.insert(&position(rng.usize(0..2 * len)), b"another."));
    bytes("list", list.memory(), 2 * len);
    time("LRANGE of 100 values", len / 100, |_| {
        let from = rng.usize(0..2 * len);
        list.range(from..from + 100).for_each(|entry| _ = black_box(entry));
    });
    time("LPOP", len, |at| _ = list.remove(&position(at)));
    time("RPOP", len, |at| _ = list.remove(&position(2 * len - 1 - at)));
    time("RPUSH and LPOP of a queue of 1000", len, |at| {
        list.insert(&position(at), b"8 bytes.");
        if at >= 1000 {
            list.remove(&position(at - 1000));
        }
    });
    let (mut order, mut mixed): (Vec<usize>, _) = ((0..len).collect(), Sequence::new());
    rng.shuffle(&mut order);
    time("LINSERT", len, |at| _ = mixed.insert(&position(order[at]), b"8 bytes."));
    bytes("list of insertions", mixed.memory(), len);
    time("LREM", len, |at| _ = mixed.remove(&position(order[at])));
}

fn main() {
    let len = std::env::args().nth(1).map_or(1_000_000, |len| len.parse().expect("a number of elements"));
    let members = members(len);
    small();
    table(&members);
    ranked(&members);
    sequence(len);
}
