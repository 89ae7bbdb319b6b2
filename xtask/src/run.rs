//! Running other programs, and saying how long each step took.

use crate::environment;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

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
    let build = ["build", "--package", "tidemark", "--message-format", "json-render-diagnostics"];
    let built = output(command(env!("CARGO"), &build).stderr(Stdio::inherit()))?;
    let messages = built.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut binaries = messages.filter(|message| message["target"]["name"] == "tidemark");
    let executable = binaries.find_map(|message| Some(message["executable"].as_str()?.to_string()));
    Ok(PathBuf::from(executable.context("cargo has built no binary tidemark")?))
}

/// Steps that are all run, even if one fails; each is timed.
pub(crate) struct Steps {
    began: Instant,
    done: Vec<(String, f64, Result<()>)>,
}

impl Steps {
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), done: Vec::new() }
    }

    /// Runs a step.
    pub(crate) fn step(&mut self, name: &str, step: impl FnOnce() -> Result<()>) -> bool {
        println!("\n=== {name}");
        let began = Instant::now();
        let result = step();
        if let Err(error) = &result {
            println!("{name}: {error:#}");
        }
        let passed = result.is_ok();
        self.done.push((name.to_string(), began.elapsed().as_secs_f64(), result));
        passed
    }

    /// The summary; an error if a step failed.
    pub(crate) fn finish(self) -> Result<()> {
        println!("\n=== summary");
        for (name, seconds, result) in &self.done {
            let word = match result {
                Ok(()) => "ok    ",
                Err(error) if environment::is_to_blame(error) => "ENVIRONMENT",
                Err(_) => "FAILED",
            };
            println!("{word} {name} ({seconds:.1} s)");
        }
        let failed = self.done.iter().filter(|(_, _, result)| result.is_err()).count();
        let passed = self.done.len() - failed;
        println!(
            "steps: {passed} passed, {failed} failed; {:.1} s in all",
            self.began.elapsed().as_secs_f64()
        );
        let errors: Vec<_> = self.done.into_iter().filter_map(|(_, _, result)| result.err()).collect();
        // If nothing but the environment is to blame, its error says so; else a step has failed.
        if errors.iter().all(environment::is_to_blame) {
            return errors.into_iter().next().map_or(Ok(()), Err);
        }
        bail!("{failed} of {} steps failed", passed + failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;

    fn finish(results: Vec<Result<()>>) -> Result<()> {
        let mut steps = Steps::new();
        for result in results {
            steps.step("a step", || result);
        }
        steps.finish()
    }

    #[test]
    fn a_step_that_failed_outweighs_the_environment() {
        let to_blame = || {
            let (program, advice) = ("tclsh".to_string(), String::new());
            Err(Environment::Missing { program, advice }.into())
        };
        let failed = || Err(anyhow::anyhow!("a test"));
        assert!(finish(vec![Ok(()), Ok(())]).is_ok());
        let error = finish(vec![Ok(()), to_blame()]).unwrap_err();
        assert!(environment::is_to_blame(&error) && error.to_string().contains("tclsh"), "{error}");
        let error = finish(vec![to_blame(), failed()]).unwrap_err();
        assert_eq!(error.to_string(), "2 of 2 steps failed");
        assert!(!environment::is_to_blame(&error));
    }
}
