//! Running other programs.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    // Of the run, not of the build: several checkouts may share a directory of built files.
    let xtask = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&xtask).parent().expect("xtask lies in the root").to_path_buf()
}

/// `program` with `args`, to be run in the root.
pub(crate) fn command(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(root());
    command
}

/// Runs a command; its output goes to the terminal.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    let status = command.status().with_context(|| format!("cannot run {shown}"))?;
    if status.success() { Ok(()) } else { bail!("failed ({status}): {shown}") }
}

/// Runs a command, and hands on each line of its output.
pub(crate) fn run_and_hear(command: &mut Command, mut hear: impl FnMut(&str)) -> Result<()> {
    let shown = shown(command);
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot run {shown}"))?;
    let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    lines.map_while(Result::ok).for_each(|line| hear(&line));
    let status = child.wait()?;
    if status.success() { Ok(()) } else { bail!("failed ({status}): {shown}") }
}

/// Runs `cargo` with `args`.
pub(crate) fn cargo(args: &[&str]) -> Result<()> {
    run(&mut command(env!("CARGO"), args))
}

/// What a command writes to standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let shown = shown(command);
    let output = command.output().with_context(|| format!("cannot run {shown}"))?;
    if !output.status.success() {
        bail!("failed ({}): {shown}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// A command as it is typed.
pub(crate) fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// The binary under test, in the dev profile as tests build it; or the one that `TIDEMARK_BIN` names.
pub(crate) fn tidemark() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os("TIDEMARK_BIN") {
        return Ok(PathBuf::from(named));
    }
    built(&[])
}

/// The binary as users build it, which simulates faster than the one that tests use.
pub(crate) fn released() -> Result<PathBuf> {
    built(&["--release"])
}

fn built(options: &[&str]) -> Result<PathBuf> {
    let build = ["build", "--package", "tidemark", "--message-format", "json-render-diagnostics"];
    let build = [&build[..], options].concat();
    let built = output(command(env!("CARGO"), &build).stderr(Stdio::inherit()))?;
    let messages = built.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut binaries = messages.filter(|message| message["target"]["name"] == "tidemark");
    let executable = binaries.find_map(|message| Some(message["executable"].as_str()?.to_string()));
    Ok(PathBuf::from(executable.context("cargo has built no binary tidemark")?))
}
