//! The load: redis-benchmark, as anyone would run it.

use super::servers::Server;
use super::talk;
use anyhow::{Context, Result, bail};
use std::process::Command;

/// One kind of load.
pub(crate) struct Load {
    test: &'static str,
    pipeline: usize,
    requests: usize,
    before: Before,
}

/// What a server is given before each run, which is not measured.
#[derive(Clone, Copy)]
enum Before {
    Nothing,
    /// The key is deleted, so that no run finds what the one before it left.
    Delete(&'static str),
    /// As many elements as the run takes out, by another test.
    Fill(&'static str),
    /// A list to read from.
    List(&'static str),
}

/// Commands of data types, each with what has to be there first.
const TYPES: [(&str, Before); 8] = [
    ("incr", Before::Nothing),
    ("hset", Before::Nothing),
    ("sadd", Before::Nothing),
    ("zadd", Before::Nothing),
    ("lpush", Before::Delete("mylist")),
    ("spop", Before::Fill("sadd")),
    ("zpopmin", Before::Fill("zadd")),
    (LRANGE, Before::List("mylist")),
];

/// redis-benchmark's own test of LRANGE measures pushes as well: the command is given to it instead.
const LRANGE: &str = "lrange mylist 0 99";
/// How many times fewer requests there are of LRANGE, which answers with a hundred values.
const LRANGE_WEIGHT: usize = 10;

/// What one run of it showed.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// Requests a second.
    pub(crate) rate: f64,
    /// The server's CPU time, in microseconds a request.
    pub(crate) cpu_us: f64,
}

impl Load {
    /// GET and SET of 64 bytes over 100,000 keys by 50 connections, one and sixteen requests at a time.
    pub(crate) fn standard(requests: usize) -> Vec<Self> {
        [("set", 1), ("get", 1), ("set", 16), ("get", 16)]
            .map(|(test, pipeline)| Self::new(test, pipeline, requests, Before::Nothing))
            .into()
    }

    /// Commands of data types, one and sixteen requests at a time.
    pub(crate) fn types(requests: usize) -> Vec<Self> {
        let load = |pipeline| {
            TYPES.map(|(test, before)| {
                let weight = if test == LRANGE { LRANGE_WEIGHT } else { 1 };
                Self::new(test, pipeline, requests / weight, before)
            })
        };
        [1, 16].into_iter().flat_map(load).collect()
    }

    fn new(test: &'static str, pipeline: usize, requests: usize, before: Before) -> Self {
        Self { test, pipeline, requests: requests * if pipeline == 1 { 1 } else { 5 }, before }
    }

    pub(crate) fn name(&self) -> String {
        let test = if self.test == LRANGE { "LRANGE 100".to_string() } else { self.test.to_uppercase() };
        format!("{test} -P {}", self.pipeline)
    }

    fn prepare(&self, server: &Server) -> Result<()> {
        match self.before {
            Before::Nothing => Ok(()),
            Before::Delete(key) => talk::send(server.port, 1, |_| vec![b"DEL".into(), key.into()]),
            Before::Fill(test) => {
                // Hardly two of them are the same.
                benchmark(server, &["-P", "16", "-t", test], self.requests, 1_000_000_000).map(drop)
            }
            Before::List(key) => {
                talk::send(server.port, 1, |_| vec![b"DEL".into(), key.into()])?;
                talk::send(server.port, 1_000, |_| vec![b"LPUSH".into(), key.into(), vec![b'x'; 64]])
            }
        }
    }

    pub(crate) fn run(&self, server: &Server) -> Result<Run> {
        self.prepare(server)?;
        let before = server.cpu_seconds()?;
        let pipeline = self.pipeline.to_string();
        let mut args = vec!["-P", &pipeline];
        match self.test {
            LRANGE => args.extend(LRANGE.split(' ')),
            test => args.extend(["-t", test]),
        }
        let rate = benchmark(server, &args, self.requests, 100_000)?;
        let cpu_us = (server.cpu_seconds()? - before) * 1e6 / self.requests as f64;
        Ok(Run { rate, cpu_us })
    }
}

/// Sets `keys` different keys, or nearly as many: redis-benchmark draws them at random, so it is run a few times over.
pub(crate) fn fill(server: &Server, keys: usize) -> Result<()> {
    benchmark(server, &["-t", "set", "-P", "16"], keys * 5, keys).map(drop)
}

fn benchmark(server: &Server, args: &[&str], requests: usize, keys: usize) -> Result<f64> {
    let mut command = Command::new("redis-benchmark");
    command.args(["-p", &server.port.to_string(), "-c", "50", "-d", "64", "--csv"]);
    command.args(["-r", &keys.to_string(), "-n", &requests.to_string()]).args(args);
    let output = command.output().context("redis-benchmark does not start; Debian has it in redis-tools")?;
    let text = String::from_utf8_lossy(&output.stdout);
    // "test","rps",… then "SET","123456.78",…
    let line = text.lines().filter(|line| line.starts_with('"')).nth(1);
    let Some(rate) = line.and_then(|line| line.split(',').nth(1)) else {
        bail!("redis-benchmark against {}: {text}{}", server.name, String::from_utf8_lossy(&output.stderr));
    };
    Ok(rate.trim_matches('"').parse()?)
}
