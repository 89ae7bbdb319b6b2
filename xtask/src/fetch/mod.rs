//! `./x fetch`: everything that tests install, before any test runs. Without a network this fails, and no test does.
//!
//! - `programs`: Debian's programs, and their versions.
//! - `python`, `node`, `go`, `maven`: packages of other languages, as they are pinned.
//! - `shelf`: the folders below the target directory in which they are.

mod go;
mod maven;
mod node;
pub(crate) mod programs;
mod python;
mod shelf;

use crate::environment::ask;
use crate::redis_tests;
use crate::run::{command, output};
use anyhow::{Result, bail};
use std::process::Command;

pub(crate) use go::go_redis;
pub(crate) use python::{environment, redis_py_tests};

const HELP: &str = "\
./x fetch [--full]

Installs what tests need: crates, programs of Debian (with apt-get), and the source of Redis. All but the programs goes into the
target directory and the caches of its tools. What is there already is left alone.

  --full   also what `./x test --full` needs: client libraries in Python, JavaScript, Go and Java, applications, and a browser

The exit code is 3 if a registry does not answer, or if redis-server is of another version than tests expect.
";

const CRATES: &str = "crates.io";

/// Runs `./x fetch`.
pub(crate) fn run(args: &[String]) -> Result<()> {
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => fetch_gate()?,
        ["--full"] => fetch_full()?,
        ["--help" | "-h"] => {
            print!("{HELP}");
            return Ok(());
        }
        _ => bail!("no such option\n\n{HELP}"),
    }
    println!("everything is there");
    Ok(())
}

/// Installs what the gate needs.
pub(crate) fn fetch_gate() -> Result<()> {
    programs::install(programs::GATE)?;
    programs::check_redis(programs::REDIS_SERVER)?;
    programs::check_redis(programs::REDIS_TOOLS)?;
    ask(CRATES, &mut command(env!("CARGO"), &["fetch", "--locked"]))?;
    redis_tests::fetch().map(drop)
}

/// Installs what all tests need.
pub(crate) fn fetch_full() -> Result<()> {
    fetch_gate()?;
    programs::install(programs::CLIENTS)?;
    let said = output(Command::new("node").arg("--version"))?;
    programs::check_at_least(
        "node",
        &said,
        "20.0",
        "Debian 12's is older: put a newer one first in the PATH.",
    )?;
    for name in python::ENVIRONMENTS {
        environment(name)?;
    }
    redis_py_tests()?;
    for name in node::MODULES {
        node::modules(name)?;
    }
    for path in node::PACKAGES {
        node::package(path)?;
    }
    node::chromium()?;
    go_redis()?;
    for path in go::PROGRAMS {
        go::modules(path)?;
    }
    maven::repository().map(drop)
}
