//! `tidemark bench` without the rest of tidemark: builds in seconds.
//!
//! `cargo run --profile quick -p tidemark-bench --example bench -- --region localhost:6379 --load`

use clap::Parser;
use std::process::ExitCode;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    bench: tidemark_bench::Bench,
}

fn main() -> ExitCode {
    match Cli::parse().bench.run(|| anyhow::bail!("name the servers: --region NAME=HOST:PORT")) {
        Ok(output) => {
            print!("{}", output.text);
            if output.whole { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}
