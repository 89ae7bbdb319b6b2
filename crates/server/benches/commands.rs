//! Nanoseconds a request from bytes to a command: `cargo bench -p tidemark-server --bench commands`.

use bytes::BytesMut;
use std::hint::black_box;
use std::time::Instant;
use tidemark_server::redis::{Config, Connection};
use tidemark_wire::resp::{RequestParser, encode_request};

const PIPELINE: usize = 16;
/// Short samples, of which the fastest counts: what disturbs them only makes them slower.
const ROUNDS: usize = 500;
const REPEATS: usize = 2_000;

/// The time of a request in ns, with and without turning it into a command.
fn measure(name: &str, arguments: &[&str]) {
    let mut wire = Vec::new();
    (0..PIPELINE).for_each(|_| encode_request(&mut wire, arguments));
    let (mut parser, mut buffer) = (RequestParser::default(), BytesMut::with_capacity(16 << 10));
    let mut connection = Connection::new(1, &Config::default());
    let mut best = |parse: bool| {
        let mut samples: Vec<f64> = (0..REPEATS)
            .map(|_| {
                let start = Instant::now();
                for _ in 0..ROUNDS {
                    buffer.reserve(8 << 10);
                    buffer.extend_from_slice(black_box(&wire));
                    while let Some(mut request) = parser.parse(&mut buffer).expect("a good request") {
                        if parse {
                            drop(black_box(connection.parse(&mut request)));
                        }
                    }
                }
                start.elapsed().as_nanos() as f64 / (ROUNDS * PIPELINE) as f64
            })
            .collect();
        samples.sort_by(f64::total_cmp);
        samples[0]
    };
    let (cut, whole) = (best(false), best(true));
    println!("{name:<12} request {cut:6.1} ns, command on top {:6.1} ns", whole - cut);
}

fn main() {
    let value = "v".repeat(64);
    measure("GET", &["GET", "key:000000000001"]);
    measure("SET 64 bytes", &["SET", "key:000000000001", &value]);
    measure("SET NX", &["SET", "key:000000000001", &value, "NX"]);
    measure("MGET of one", &["MGET", "key:000000000001"]);
    measure("EXISTS", &["EXISTS", "key:000000000001"]);
    measure("PING", &["PING"]);
}
