//! Nanoseconds a request of the codec: `cargo bench -p tidemark-wire`.

use bytes::BytesMut;
use std::hint::black_box;
use std::time::Instant;
use tidemark_wire::resp::{Decoder, Encoder, RequestParser, Version, encode_request};

const PIPELINE: usize = 16;
/// Short samples, of which the fastest counts: what disturbs them only makes them slower.
const ROUNDS: usize = 500;
const REPEATS: usize = 2_000;

/// The time of one item, in ns.
fn measure(name: &str, mut round: impl FnMut()) {
    let mut samples: Vec<f64> = (0..REPEATS)
        .map(|_| {
            let start = Instant::now();
            (0..ROUNDS).for_each(|_| round());
            start.elapsed().as_nanos() as f64 / (ROUNDS * PIPELINE) as f64
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    println!("{name:<44} {:6.1} ns", samples[0]);
}

fn main() {
    let mut gets = Vec::new();
    let mut sets = Vec::new();
    for i in 0..PIPELINE {
        let key = format!("key:{i:012}");
        encode_request(&mut gets, &["GET", &key]);
        encode_request(&mut sets, &["SET", &key, &"v".repeat(64)]);
    }
    let mut parser = RequestParser::default();
    let mut buffer = BytesMut::with_capacity(16 << 10);
    measure("(filling the buffer)", || {
        buffer.reserve(8 << 10);
        buffer.extend_from_slice(black_box(&gets));
        buffer.clear();
    });
    for (name, wire) in [("GET of 16 bytes", &gets), ("SET of 64 bytes", &sets)] {
        measure(&format!("{name}: parse, look at the arguments"), || {
            buffer.reserve(8 << 10);
            buffer.extend_from_slice(black_box(wire));
            while let Some(request) = parser.parse(&mut buffer).unwrap() {
                black_box(&request[0]);
                black_box(&request[1]);
            }
        });
        measure(&format!("{name}: parse, take the key"), || {
            buffer.reserve(8 << 10);
            buffer.extend_from_slice(black_box(wire));
            while let Some(mut request) = parser.parse(&mut buffer).unwrap() {
                black_box(&request[0]);
                black_box(request.take(1));
            }
        });
    }
    let mut out = Vec::new();
    let value = [b'v'; 64];
    measure("encode a bulk of 64 bytes", || {
        out.clear();
        let mut encoder = Encoder::new(&mut out, Version::Resp2);
        (0..PIPELINE).for_each(|_| encoder.bulk(black_box(&value)));
        black_box(&out);
    });
    let replies = out.clone();
    let mut decoder = Decoder::default();
    measure("decode a bulk of 64 bytes", || {
        buffer.reserve(8 << 10);
        buffer.extend_from_slice(black_box(&replies));
        while let Some(reply) = decoder.decode(&mut buffer).unwrap() {
            black_box(reply);
        }
    });
}
