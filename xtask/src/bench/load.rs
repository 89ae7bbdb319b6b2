//! The load: redis-benchmark, as anyone would run it.

use super::servers::Server;
use anyhow::{Context, Result, bail};
use std::process::Command;

/// One kind of load.
pub(crate) struct Load {
    test: &'static str,
    pipeline: usize,
    requests: usize,
}

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
            .map(|(test, pipeline)| Self {
                test,
                pipeline,
                requests: requests * if pipeline == 1 { 1 } else { 5 },
            })
            .into()
    }

    pub(crate) fn name(&self) -> String {
        format!("{} -P {}", self.test.to_uppercase(), self.pipeline)
    }

    pub(crate) fn run(&self, server: &Server) -> Result<Run> {
        let before = server.cpu_seconds()?;
        let rate =
            benchmark(server, &["-t", self.test, "-P", &self.pipeline.to_string()], self.requests, 100_000)?;
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
    let line = text.lines().find(|line| line.starts_with("\"SET\"") || line.starts_with("\"GET\""));
    let Some(rate) = line.and_then(|line| line.split(',').nth(1)) else {
        bail!("redis-benchmark against {}: {text}{}", server.name, String::from_utf8_lossy(&output.stderr));
    };
    Ok(rate.trim_matches('"').parse()?)
}
