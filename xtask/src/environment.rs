//! Errors of what surrounds the repository: a registry that does not answer, a program of another version. No test has failed
//! then, and `./x` says so: its exit code is 3 instead of 1.

use crate::run::shown;
use anyhow::{Context, Result, anyhow};
use std::fmt::{self, Display, Formatter};
use std::process::Command;

/// The exit code of `./x` if nothing but the environment is to blame.
pub(crate) const EXIT: u8 = 3;

/// Lines that are shown of what a program said.
const LINES_SHOWN: usize = 12;

/// Words of programs that have asked a registry and got no answer, in lower case. Each of pip, npm, go, mvn, apt-get, curl and
/// cargo has its own; a refusal, such as of a package that does not exist, has none of them.
const NO_ANSWER: &[&str] = &[
    "bad gateway",
    "connect timed out",
    "connection refused",
    "connection reset",
    "connection timed out",
    "could not connect",
    "could not resolve",
    "couldn't connect",
    "couldn't resolve",
    "eai_again",
    "econnrefused",
    "econnreset",
    "enotfound",
    "err_socket_timeout",
    "error: 502",
    "error: 503",
    "error: 504",
    "etimedout",
    "failed to connect",
    "gateway time",
    "i/o timeout",
    "max retries exceeded",
    "name or service not known",
    "network is unreachable",
    "no route to host",
    "no such host",
    "operation timed out",
    "operation too slow",
    "read timed out",
    "remote end closed connection",
    "service unavailable",
    "status code: 502",
    "status code: 503",
    "status code: 504",
    "temporary failure",
    "tls handshake timeout",
    "unknown host",
];

/// An error that no change of this repository can have caused.
#[derive(Debug)]
pub(crate) enum Environment {
    /// A registry of packages does not answer; with the last words of the program that asked it.
    NoAnswer { registry: &'static str, said: String },
    /// A program is there in another version than tests need; with what to do.
    OtherVersion { program: String, found: String, expected: String, advice: String },
    /// A program is not there, and cannot be installed; with what to do.
    Missing { program: String, advice: String },
}

impl Display for Environment {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAnswer { registry, said } => {
                write!(
                    f,
                    "environment: {registry} does not answer. Try again later: what is installed stays.\n{said}"
                )
            }
            Self::OtherVersion { program, found, expected, advice } => {
                write!(f, "environment: {program} is {found}, and {expected} is expected. {advice}")
            }
            Self::Missing { program, advice } => write!(f, "environment: {program} is missing. {advice}"),
        }
    }
}

impl std::error::Error for Environment {}

/// Whether the environment is to blame for an error.
pub(crate) fn is_to_blame(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Environment>().is_some()
}

/// Runs a command that asks a registry; what it wrote to standard output. No answer is an error of the environment, and all
/// else is one of the command.
pub(crate) fn ask(registry: &'static str, command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {}", shown(command)))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    Err(failure(registry, &shown(command), &(text(&output.stdout) + &text(&output.stderr))))
}

/// Whether a command succeeded, and what it said on both streams.
pub(crate) fn both_streams(command: &mut Command) -> Result<(bool, String)> {
    let output = command.output().with_context(|| format!("cannot run {}", shown(command)))?;
    let said = [output.stdout, output.stderr].concat();
    Ok((output.status.success(), String::from_utf8_lossy(&said).into_owned()))
}

/// The error of a command that has asked a registry and failed.
pub(crate) fn failure(registry: &'static str, command: &str, said: &str) -> anyhow::Error {
    let lines: Vec<&str> = said.lines().collect();
    let last = lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n");
    if has_no_answer(said) {
        return Environment::NoAnswer { registry, said: format!("{command}\n{last}") }.into();
    }
    anyhow!("failed: {command}\n{last}")
}

fn has_no_answer(said: &str) -> bool {
    let said = said.to_lowercase();
    NO_ANSWER.iter().any(|words| said.contains(words))
}
