//! The `tidemark` command: one binary that serves, supervises, simulates and checks.

mod cli;
mod commands;
mod demo;
mod http;
#[cfg_attr(not(feature = "lab"), path = "no_lab.rs")]
mod lab;
mod live;
#[cfg(all(test, feature = "lab"))]
mod no_lab;
mod output;
mod running;
mod supervisor;

use clap::Parser;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: tidemark_server::Counting<mimalloc::MiMalloc> =
    tidemark_server::Counting(mimalloc::MiMalloc);

/// The command was wrong, or what it was given cannot be read: exit code 2 instead of 1.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Usage(String);

fn main() -> ExitCode {
    let error = match cli::Cli::parse().command.run() {
        Ok(code) => return code,
        Err(error) => error,
    };
    eprintln!("tidemark: {error:#}");
    ExitCode::from(if error.is::<Usage>() { 2 } else { 1 })
}
