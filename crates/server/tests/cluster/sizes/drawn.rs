//! Commands whose sizes are drawn around every limit.

use super::{Client, VALUE, ended, same_everywhere, shapes, started, written};
use fastrand::Rng;

/// A size at or around some limit.
fn size(rng: &mut Rng) -> usize {
    let near = |rng: &mut Rng, limit: usize| (limit + rng.usize(0..80)).saturating_sub(40);
    match rng.u8(0..8) {
        0 => rng.usize(0..20),
        1 => near(rng, 16 << 10),
        2 => near(rng, VALUE / 2),
        3..7 => near(rng, VALUE).min(VALUE),
        _ => rng.usize(0..VALUE),
    }
}

/// Elements whose bytes come to about what a version may have, or less.
fn many(rng: &mut Rng) -> Vec<String> {
    let total = match rng.u8(0..4) {
        0 => rng.usize(0..VALUE),
        1 => written() + rng.usize(0..100_000),
        _ => written() - rng.usize(0..100_000),
    };
    let each = *rng.choice(&[200, 5_000, VALUE / 2, VALUE]).unwrap();
    super::elements(total.max(1), each)
}

fn key(rng: &mut Rng) -> String {
    let name = format!("k{}", rng.u8(0..6));
    match rng.u8(0..12) {
        0 => format!("{{e}}{name}{}", "K".repeat(size(rng).min(VALUE - 10))),
        1..9 => format!("{{e}}{name}"),
        _ => name,
    }
}

fn draw(rng: &mut Rng) -> Vec<String> {
    let (one, other) = (key(rng), key(rng));
    let value = |rng: &mut Rng| "v".repeat(size(rng));
    let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<String>>();
    let with = |first: &[&str], rest: Vec<String>| [words(first), rest].concat();
    match rng.u8(0..22) {
        0 => words(&["SET", &one, &value(rng)]),
        1 => words(&["APPEND", &one, &value(rng)]),
        2 => words(&["SETRANGE", &one, &(size(rng) + rng.usize(0..2) * VALUE / 2).to_string(), &value(rng)]),
        3 => words(&["SETBIT", &one, &(8 * (size(rng) + rng.usize(0..3))).to_string(), "1"]),
        4 => words(&["COPY", &one, &other, "REPLACE"]),
        5 => words(&["RENAME", &one, &other]),
        6 => words(&["BITOP", "NOT", &one, &other]),
        7 => with(&["RPUSH", &one], many(rng)),
        8 => with(&["SADD", &one], many(rng)),
        9 => with(&["HSET", &one], many(rng).into_iter().flat_map(|word| [word.clone(), word]).collect()),
        10 => with(&["ZADD", &one], many(rng).into_iter().flat_map(|word| ["1".to_string(), word]).collect()),
        11 => with(
            &["XADD", &one, "*"],
            many(rng).into_iter().flat_map(|word| ["f".to_string(), word]).collect(),
        ),
        12 => with(&["MSET"], many(rng).into_iter().flat_map(|word| [key(rng), word]).collect()),
        13 => {
            let body = "for i, v in ipairs(ARGV) do redis.call('APPEND', KEYS[1], v) end return 1";
            with(&["EVAL", body, "1", &one], many(rng))
        }
        14 => {
            let body = "for i, v in ipairs(ARGV) do redis.call('RPUSH', KEYS[1], v) redis.call('SET', KEYS[2], v) end";
            with(&["EVAL", body, "2", &one, &other], many(rng))
        }
        15 => words(&["SUNIONSTORE", &one, &other, &key(rng)]),
        16 => words(&["SORT", &one, "ALPHA", "STORE", &other]),
        17 => words(&["LMOVE", &one, &other, "LEFT", "RIGHT"]),
        18 => words(&["DEL", &one]),
        19 => words(&["GETSET", &one, &value(rng)]),
        20 => words(&["SMOVE", &one, &other, "00000000"]),
        _ => words(&["ZUNIONSTORE", &one, "2", &other, &key(rng)]),
    }
}

/// One command, or some in a transaction.
fn play(client: &mut Client, rng: &mut Rng, seed: u64) {
    let call = |client: &mut Client, words: &[String]| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let reply = client.call(&words);
        ended(&reply, &format!("seed {seed}: {}", words[0]));
        reply
    };
    if rng.u8(0..8) > 0 {
        call(client, &draw(rng));
        return;
    }
    client.ok(&["MULTI"]);
    for _ in 0..rng.usize(1..12) {
        call(client, &draw(rng));
    }
    let reply = client.call(&["EXEC"]);
    ended(&reply, &format!("seed {seed}: EXEC"));
    reply.items().unwrap_or_default().iter().for_each(|one| ended(one, &format!("seed {seed}: in EXEC")));
}

#[test]
fn drawn_sizes_end_nothing_and_leave_all_nodes_equal() {
    for (shape, seeds) in shapes().into_iter().zip([0..6_u64, 6..9, 9..11]) {
        for seed in seeds {
            let cluster = started(&shape);
            let mut clients: Vec<Client> = (0..shape.len()).map(|node| cluster.client(node)).collect();
            let mut rng = Rng::with_seed(seed);
            for _ in 0..60 {
                let node = rng.usize(0..clients.len());
                play(&mut clients[node], &mut rng, seed);
                for (node, client) in clients.iter_mut().enumerate() {
                    assert_eq!(client.text(&["PING"]), "PONG", "seed {seed}, node {node}");
                }
            }
            let keys: Vec<String> = (0..6).flat_map(|at| [format!("{{e}}k{at}"), format!("k{at}")]).collect();
            same_everywhere(&cluster, &keys);
        }
    }
}
