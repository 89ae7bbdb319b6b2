//! Nanoseconds a request from bytes to a command, and on to its reply, where operations cost nothing:
//! `cargo bench -p tidemark-server --bench commands`.

use bytes::BytesMut;
use std::hint::black_box;
use std::time::Instant;
use tidemark_contract::Topology;
use tidemark_core::{Found, Op, Outcome};
use tidemark_server::redis::{Config, Connection, ErrorReply, Keyspace, Scripts, Step, Task, Work};
use tidemark_wire::resp::{Encoder, RequestParser, Version, encode_request};

const PIPELINE: usize = 16;
/// Short samples, of which the fastest counts: what disturbs them only makes them slower.
const ROUNDS: usize = 500;
const REPEATS: usize = 2_000;

/// How far a request gets.
#[derive(Clone, Copy, PartialEq)]
enum To {
    Request,
    Command,
    Reply,
}

/// The time of a request in ns: that of the parser of requests, then what the command and the reply add.
fn measure(name: &str, arguments: &[&str]) {
    let mut wire = Vec::new();
    (0..PIPELINE).for_each(|_| encode_request(&mut wire, arguments));
    let (mut parser, mut buffer) = (RequestParser::default(), BytesMut::with_capacity(16 << 10));
    let mut connection = Connection::new(1, &Config::default());
    let (topology, mut out) = (Topology::new(1, 4), Vec::new());
    let mut best = |to: To| {
        let mut samples: Vec<f64> = (0..REPEATS)
            .map(|_| {
                let start = Instant::now();
                for _ in 0..ROUNDS {
                    out.clear();
                    buffer.reserve(8 << 10);
                    buffer.extend_from_slice(black_box(&wire));
                    while let Some(mut request) = parser.parse(&mut buffer).expect("a good request") {
                        if to == To::Request {
                            continue;
                        }
                        let command = black_box(connection.parse(&mut request)).expect("a good command");
                        if let (To::Reply, Work::Operations(task)) = (to, command.work) {
                            reply(task, &topology, &mut out).expect("a good outcome");
                        }
                    }
                }
                start.elapsed().as_nanos() as f64 / (ROUNDS * PIPELINE) as f64
            })
            .collect();
        samples.sort_by(f64::total_cmp);
        samples[0]
    };
    let (request, command, whole) = (best(To::Request), best(To::Command), best(To::Reply));
    let (on_top, reply) = (command - request, whole - command);
    println!("{name:<12} request {request:6.1} ns, command {on_top:6.1} ns, reply {reply:6.1} ns");
}

fn reply(task: Task, topology: &Topology, out: &mut Vec<u8>) -> Result<(), ErrorReply> {
    let scripts = Scripts::default();
    let keyspace = Keyspace { topology, write_transactions: false, types: true, now: 0, scripts: &scripts };
    let mut out = Encoder::new(out, Version::Resp2);
    let (mut step, mut pending) = task.begin(&keyspace, &mut out)?;
    while let Step::Op(op) = step {
        step = pending.step(outcome(black_box(op)), &keyspace, &mut out)?;
    }
    Ok(())
}

/// Of an empty store.
fn outcome(op: Op) -> Outcome {
    match op {
        Op::Rotx { keys } => Outcome::FoundAll(vec![Found::default(); keys.len()]),
        Op::Put { .. } => Outcome::Written { stamp: None, previous: None },
        _ => Outcome::Found(Found::default()),
    }
}

fn main() {
    let value = "v".repeat(64);
    measure("GET", &["GET", "key:000000000001"]);
    measure("SET 64 bytes", &["SET", "key:000000000001", &value]);
    measure("SET NX", &["SET", "key:000000000001", &value, "NX"]);
    measure("MGET of one", &["MGET", "key:000000000001"]);
    measure("DEL", &["DEL", "key:000000000001"]);
    measure("DEL of three", &["DEL", "key:000000000001", "key:000000000002", "key:000000000003"]);
    measure("EXISTS", &["EXISTS", "key:000000000001"]);
    measure("PING", &["PING"]);
}
