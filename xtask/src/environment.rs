//! Errors of what surrounds the repository: a registry that does not answer, a program of another version. No test has failed
//! then, and `./x` says so: its exit code is 3 instead of 1.

use crate::run::shown;
use anyhow::{Context, Result, anyhow};
use std::fmt::{self, Display, Formatter};
use std::process::{Command, ExitCode};

/// The exit code of `./x` if nothing but the environment is to blame.
const EXIT: u8 = 3;

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
    "could not resolve '",
    "could not resolve host",
    "couldn't connect",
    "couldn't resolve host",
    "dns error",
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
    // Of a package that is pinned, and so is there, pip has found none.
    "from versions: none",
    "gateway time",
    "got 502",
    "got 503",
    "got 504",
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
    "unable to connect",
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

/// Prints why a command of `./x` has failed; its exit code. An error of the environment begins the first line.
pub(crate) fn report(verb: &str, error: &anyhow::Error) -> ExitCode {
    let (text, code) = reported(verb, error);
    eprintln!("{text}");
    code.into()
}

fn reported(verb: &str, error: &anyhow::Error) -> (String, u8) {
    let Some(environment) = error.downcast_ref::<Environment>() else {
        return (format!("./x {verb}: {error:#}"), 1);
    };
    let contexts = error.chain().take_while(|cause| !cause.is::<Environment>());
    let contexts: String = contexts.map(|context| format!("{context}: ")).collect();
    (format!("{environment}\n./x {verb}: {contexts}no test has failed"), EXIT)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Last words of programs whose registry was a closed port, a name that nobody has, and a server that answered 503.
    const SILENT: &[&str] = &[
        "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError('Failed to establish a new connection: \
         [Errno 111] Connection refused')': /simple/six/\nERROR: No matching distribution found for six",
        "ERROR: Could not find a version that satisfies the requirement six (from versions: none)",
        "error: Request failed after 1 retry in 1.6s\n  cause: client error (Connect)\n  cause: dns error",
        "npm error code ECONNREFUSED\nnpm error syscall connect",
        "npm error network request to http://nosuch.invalid/six failed, reason: getaddrinfo ENOTFOUND nosuch.invalid",
        "npm error code E503\nnpm error 503 Service Unavailable - GET http://127.0.0.1:8503/six",
        "go: rsc.io/quote@v1.5.2: Get \"http://127.0.0.1:9/x\": dial tcp 127.0.0.1:9: connect: connection refused",
        "go: rsc.io/quote@v1.5.2: Get \"http://nosuch.invalid/x\": dial tcp: lookup nosuch.invalid: no such host",
        "go: rsc.io/quote@v1.5.2: reading http://127.0.0.1:8503/x: 503 Service Unavailable",
        "[ERROR] Could not transfer artifact a:b:pom:3.4.0 from/to central: Unknown host nosuch.invalid: Name or service not known",
        "[ERROR] Could not transfer artifact a:b:pom:3.4.0 from/to central: status: 503 Service Unavailable",
        "Err:1 http://deb.debian.org/debian bookworm/main amd64 hello amd64 2.10-3\n  Could not resolve 'nosuch.invalid'",
        "W: Failed to fetch http://deb.debian.org/debian/x  Unable to connect to 127.0.0.1:9:\nE: Unable to locate package hello",
        "curl: (6) Could not resolve host: nosuch.invalid",
        "curl: (7) Failed to connect to 127.0.0.1 port 9 after 0 ms: Couldn't connect to server",
        "curl: (22) The requested URL returned error: 503",
        "  [6] Could not resolve hostname (Could not resolve host: nosuch.invalid)",
        "  failed to get successful HTTP response from `http://127.0.0.1:8503/config.json` (127.0.0.1), got 503",
    ];

    /// Last words of programs that got an answer.
    const REFUSED: &[&str] = &[
        "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.",
        "ERROR: Could not find a version that satisfies the requirement six==99 (from versions: 1.16.0, 1.17.0)",
        "npm error code E404\nnpm error 404 Not Found - GET https://registry.npmjs.org/nothing - Not found",
        "npm error code ERESOLVE\nnpm error ERESOLVE could not resolve",
        "npm error code EINTEGRITY\nnpm error sha512-a integrity checksum failed when using sha512",
        "go: verifying github.com/a/b@v1.0.0: checksum mismatch\nSECURITY ERROR",
        "[ERROR] Could not resolve dependencies for project a:b:jar:1: Could not find artifact a:c:jar:9 in central",
        "E: Unable to locate package hello",
        "curl: (22) The requested URL returned error: 404",
        "error: the lock file Cargo.lock needs to be updated but --locked was passed to prevent this",
    ];

    #[test]
    fn a_registry_that_does_not_answer_is_told_from_one_that_refuses() {
        for said in SILENT {
            let error = failure("PyPI", "pip install x", said).context("x cannot be installed");
            assert!(is_to_blame(&error), "{said}");
            let (text, code) = reported("fetch", &error.context("all"));
            assert_eq!(code, EXIT);
            assert!(text.ends_with("\n./x fetch: all: x cannot be installed: no test has failed"), "{text}");
            assert!(text.starts_with("environment: PyPI does not answer."), "{text}");
            assert!(text.contains(said.lines().last().unwrap()), "{text}");
        }
        for said in REFUSED {
            let error = failure("PyPI", "pip install x", said);
            assert!(!is_to_blame(&error), "{said}");
            assert_eq!(reported("fetch", &error), (format!("./x fetch: failed: pip install x\n{said}"), 1));
        }
    }

    #[test]
    fn a_command_that_succeeds_says_what_it_wrote_to_standard_output() {
        let script = |text: &str| ask("PyPI", Command::new("sh").args(["-c", text]));
        assert_eq!(script("echo 7; echo could not connect >&2").unwrap(), "7\n");
        assert!(is_to_blame(&script("echo Connection refused >&2; exit 1").unwrap_err()));
        assert!(is_to_blame(&script("echo Connection refused; exit 1").unwrap_err()));
        assert!(!is_to_blame(&script("exit 1").unwrap_err()));
    }
}
