//! The program: a campaign for each version of RESP against a redis-server and a node that it starts.

use anyhow::{Result, bail};
use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;
use tidemark_differential::campaign::{Pair, Plan};
use tidemark_differential::side::Side;
use tidemark_differential::{servers, shapes};

/// Sends the same random commands to redis-server and to one node of Tidemark, and compares their replies byte for byte.
///
/// Each kind of difference is printed with the shortest sequence of commands that shows it: lines that redis-cli reads from
/// its input. The exit code is 1 if there is one.
#[derive(Parser)]
struct Options {
    /// The same seed gives the same commands.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many commands are sent, in each version of RESP.
    #[arg(long, default_value_t = 20_000)]
    commands: usize,
    /// Which groups of commands [default: all].
    #[arg(long, value_delimiter = ',')]
    groups: Vec<String>,
    /// Which commands are left out, such as "OBJECT ENCODING": a known difference hides what comes after it.
    #[arg(long, value_delimiter = ',', value_name = "COMMANDS")]
    without: Vec<String>,
    /// Which versions of RESP.
    #[arg(long, value_delimiter = ',', default_values_t = [2, 3], value_parser = clap::value_parser!(u8).range(2..=3))]
    protocol: Vec<u8>,
    /// How many commands follow each other before both servers are emptied.
    #[arg(long, default_value_t = 200)]
    sequence: usize,
    /// After how many commands all that the servers hold is compared.
    #[arg(long, default_value_t = 50)]
    state_every: usize,
    /// How many partitions Tidemark has. With several, commands that write several keys are refused: leave them out.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    partitions: u16,
    /// The binary of Tidemark.
    #[arg(long, env = "TIDEMARK_BIN", value_name = "FILE")]
    tidemark: PathBuf,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("differential: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<bool> {
    let groups = if options.groups.is_empty() {
        shapes::groups().map(String::from).collect()
    } else {
        options.groups.clone()
    };
    let mut shapes = shapes::of(&groups)?;
    if let Some(wrong) = options.without.iter().find(|name| !shapes.iter().any(|shape| shape.name == **name))
    {
        bail!("{wrong}: no such command in these groups");
    }
    shapes.retain(|shape| !options.without.contains(&shape.name));
    let (redis, tidemark) = (servers::redis()?, servers::tidemark(&options.tidemark, options.partitions)?);
    let mut same = true;
    for protocol in &options.protocol {
        let theirs = Side::connect(redis.address, *protocol)?;
        let mut pair = Pair::new(theirs, Side::connect(tidemark.address, *protocol)?);
        let plan = Plan {
            seed: options.seed,
            commands: options.commands,
            sequence: options.sequence.max(1),
            state_every: options.state_every.max(1),
        };
        let report = pair.run(&shapes, &plan)?;
        println!("=== RESP{protocol}, seed {}, groups {}\n{}", plan.seed, groups.join(","), report.text());
        same &= report.findings.is_empty();
    }
    Ok(same)
}
