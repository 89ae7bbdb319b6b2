//! `./x bench memory`: what the same data takes in either server.

use super::servers::{Server, Setup};
use super::talk::{self, Words};
use super::{Figure, Options, figure, load};
use anyhow::Result;
use std::time::Duration;

/// Commands that fill a server, by number, and how many there are.
type Fill = (usize, fn(usize) -> Words);

/// How many elements a small key has.
const SMALL: usize = 10;
/// How many small keys of a type there are.
const SMALL_KEYS: usize = 200_000;
/// How many elements a large key has.
const LARGE: usize = 1_000_000;
/// How many of them one command brings.
const LARGE_STEP: usize = 100;

/// Eight bytes that no other number has, and that are no integer.
fn eight(number: usize) -> Vec<u8> {
    format!("m{number:07x}").into_bytes()
}

/// A command that fills a small key, with `each` element's words behind the key.
fn small(verb: &str, number: usize, each: fn(usize) -> Words) -> Words {
    let mut words = vec![verb.into(), format!("key:{number:012}").into_bytes()];
    words.extend((0..SMALL).flat_map(|element| each(number * SMALL + element)));
    words
}

/// One of the commands that fill one large key.
fn large(verb: &str, number: usize, each: fn(usize) -> Words) -> Words {
    let mut words = vec![verb.into(), b"large".into()];
    words.extend((0..LARGE_STEP).flat_map(|element| each(number * LARGE_STEP + element)));
    words
}

fn field(number: usize) -> Words {
    vec![eight(number % SMALL), eight(number)]
}

fn element(number: usize) -> Words {
    vec![eight(number)]
}

fn scored(number: usize) -> Words {
    // Scores do not come in order.
    let score = (number * 7_919) % LARGE;
    vec![score.to_string().into_bytes(), eight(number)]
}

const ROWS: [(&str, Fill); 6] = [
    ("200,000 hashes of 10 fields of 8 bytes", (SMALL_KEYS, |n| small("HSET", n, field))),
    ("200,000 sets of 10 members of 8 bytes", (SMALL_KEYS, |n| small("SADD", n, element))),
    ("200,000 sorted sets of 10 members of 8 bytes", (SMALL_KEYS, |n| small("ZADD", n, scored))),
    ("200,000 lists of 10 values of 8 bytes", (SMALL_KEYS, |n| small("RPUSH", n, element))),
    ("a sorted set of 1,000,000 members of 8 bytes", (LARGE / LARGE_STEP, |n| large("ZADD", n, scored))),
    ("a list of 1,000,000 values of 8 bytes", (LARGE / LARGE_STEP, |n| large("RPUSH", n, element))),
];

/// Fills servers with the same data and prints what they take for it.
pub(super) fn memory(options: &Options) -> Result<Vec<Figure>> {
    println!("\nmemory: MiB resident, without those of an empty server");
    println!("{:<46} {:>8} {:>10} {:>7}", "", "redis", "tidemark", "ratio");
    let keys = 1_000_000;
    let mut report = row(options, "1,000,000 strings of 64 bytes", |server| load::fill(server, keys))?;
    for (name, (count, command)) in ROWS {
        report.extend(row(options, name, |server| talk::send(server.port, count, command))?);
    }
    Ok(report)
}

fn row(options: &Options, name: &str, fill: impl Fn(&Server) -> Result<()>) -> Result<Vec<Figure>> {
    let redis = Server::redis("redis", 17_000, None)?;
    let tidemark = Server::tidemark("tidemark", &Setup::new(&options.protocol, 1, 1, 17_101))?;
    let mut taken = [0.0; 2];
    for (server, taken) in [&redis, &tidemark].into_iter().zip(&mut taken) {
        let empty = server.resident_mib()?;
        fill(server)?;
        // What a load leaves behind (old versions, buffers) is given back within a second or two.
        std::thread::sleep(Duration::from_secs(3));
        *taken = server.resident_mib()? - empty;
    }
    let [theirs, ours] = taken;
    let ratio = ours / theirs;
    println!("{name:<46} {theirs:>8.1} {ours:>10.1} {ratio:>7.2}");
    Ok(vec![
        figure(format!("memory {name}, redis"), theirs, "MiB"),
        figure(format!("memory {name}, tidemark"), ours, "MiB"),
        figure(format!("memory {name}, ratio"), ratio, "x"),
    ])
}
