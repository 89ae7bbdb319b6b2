//! Modules of Go: those that `go.sum` files pin, in Go's own cache. What builds with them later asks no registry.

use super::programs;
use crate::environment::ask;
use crate::pins;
use crate::run::{output, root};
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs of ours that tests build.
pub(super) const PROGRAMS: [&str; 2] = ["clients/session/go", "clients/ycsb-go"];

const GO_REDIS: &str = "github.com/redis/go-redis/v9";

const PROXY: &str = "the proxy of Go modules";

fn go(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("go");
    command.args(arguments).current_dir(folder);
    command
}

/// Gets the modules that a program of ours needs.
pub(super) fn modules(path: &str) -> Result<()> {
    ask(PROXY, &mut go(&root().join(path), &["mod", "download"])).map(drop)
}

/// The folder of the pinned module go-redis, which has its tests, in Go's cache; with what these need.
pub(crate) fn go_redis() -> Result<PathBuf> {
    programs::install(&[("go", "golang-go")])?;
    let needed = pins::go_mod(&pins::read("go-redis/go.mod")?)?["go"].clone();
    let said = output(Command::new("go").arg("version"))?;
    programs::check_at_least(
        "go",
        &said,
        &needed,
        "Debian 12's is older: put a newer one first in the PATH.",
    )?;
    let said = ask(PROXY, &mut go(&pins::path("go-redis"), &["mod", "download", "-json", GO_REDIS]))?;
    let module: Value = serde_json::from_str(&said).with_context(|| said.clone())?;
    let source = PathBuf::from(module["Dir"].as_str().context("go names no folder")?);
    ask(PROXY, &mut go(&source, &["mod", "download"]))?;
    Ok(source)
}
