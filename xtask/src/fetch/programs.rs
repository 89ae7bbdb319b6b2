//! Programs that tests run: installed with apt-get where they are missing, and of the version that tests need.

use crate::environment::{Environment, both_streams, failure};
use crate::pins;
use crate::run::{command, output, shown};
use anyhow::{Context, Result};
use std::process::{Command, Stdio};

/// Programs, and the Debian packages that bring them.
type Programs = &'static [(&'static str, &'static str)];

/// Programs of the gate.
pub(super) const GATE: Programs = &[
    ("redis-cli", "redis-tools"),
    ("redis-benchmark", "redis-tools"),
    ("redis-server", "redis-server"),
    ("tclsh", "tcl"),
    ("curl", "curl"),
];

/// Programs that clients in other languages need.
pub(super) const CLIENTS: Programs = &[
    ("python3", "python3"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("go", "golang-go"),
    ("javac", "default-jdk-headless"),
    ("mvn", "maven"),
];

/// The server with whose replies tests compare.
pub(crate) const REDIS_SERVER: &[&str] = &["redis-server"];

/// Programs that Redis's own tests run.
pub(crate) const REDIS_TOOLS: &[&str] = &["redis-cli", "redis-benchmark"];

const DEBIAN: &str = "Debian's archive";

/// Installs programs that are missing, and says so.
pub(super) fn install(programs: Programs) -> Result<()> {
    let missing = programs.iter().filter(|(program, _)| !exists(program));
    let mut packages: Vec<&str> = missing.map(|(_, package)| *package).collect();
    packages.dedup();
    apt(&packages)
}

/// Installs the part of Python that Debian has in a package of its own, where it is missing.
pub(super) fn install_venv() -> Result<()> {
    let there = output(&mut command("python3", &["-c", "import venv, ensurepip"])).is_ok();
    if there { Ok(()) } else { apt(&["python3-venv"]) }
}

pub(super) fn exists(program: &str) -> bool {
    let found = command("sh", &["-c", &format!("command -v {program}")]).stdout(Stdio::null()).status();
    found.is_ok_and(|status| status.success())
}

/// Installs Debian packages.
pub(super) fn apt(packages: &[&str]) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    let program = packages.join(", ");
    if !exists("apt-get") {
        let advice = "There is no apt-get: install it by hand.".to_string();
        return Err(Environment::Missing { program, advice }.into());
    }
    eprintln!("installing {program} with apt-get");
    let root = output(&mut command("id", &["-u"]))?.trim() == "0";
    let apt = |arguments: &[&str]| {
        let mut command = if root { Command::new("apt-get") } else { Command::new("sudo") };
        if !root {
            command.args(["-n", "apt-get"]);
        }
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        both_streams(&mut command).map(|(succeeded, said)| (shown(&command), succeeded, said))
    };
    // An old list may do; if not, what is said here is the reason.
    let (_, _, updated) = apt(&["update"])?;
    let (shown, succeeded, said) =
        apt(&[&["install", "--yes", "--no-install-recommends"], packages].concat())?;
    if succeeded { Ok(()) } else { Err(failure(DEBIAN, &shown, &(updated + &said))) }
}

/// The version of Redis with which replies are compared, and the SHA-256 of its source.
pub(crate) fn redis_pin() -> Result<(String, String)> {
    let text = pins::read("redis.txt")?;
    let line = text.lines().find(|line| !line.starts_with('#')).context("redis.txt is empty")?;
    let (version, sum) = line.split_once(' ').context("redis.txt has a version and a sum")?;
    Ok((version.to_string(), sum.trim().to_string()))
}

/// Checks that programs of Redis are there, and of the version whose replies tests expect.
pub(crate) fn check_redis(programs: &[&str]) -> Result<()> {
    let (expected, _) = redis_pin()?;
    for program in programs {
        let said = output(Command::new(program).arg("--version")).map_err(|_| Environment::Missing {
            program: (*program).to_string(),
            advice: format!("`./x fetch` installs it with apt-get; {expected} is expected."),
        })?;
        judge_redis(program, version(&said), &expected)?;
    }
    Ok(())
}

fn judge_redis(program: &str, found: Option<&str>, expected: &str) -> Result<()> {
    if found == Some(expected) {
        return Ok(());
    }
    let advice = format!(
        "Replies are compared with those of {expected}, which Debian 12 has in redis-server and redis-tools. Put that version \
         first in the PATH; elsewhere, `make` in target/redis-tests/redis-{expected} builds it."
    );
    let found = found.unwrap_or("of a version that it does not tell").to_string();
    Err(Environment::OtherVersion {
        program: program.to_string(),
        found,
        expected: expected.to_string(),
        advice,
    }
    .into())
}

/// Checks that a program is at least of a version, which has two numbers.
pub(super) fn check_at_least(program: &str, said: &str, least: &str, advice: &str) -> Result<()> {
    let found = version(said).unwrap_or("of a version that it does not tell");
    let numbers = |text: &str| -> Vec<u32> {
        text.split('.').take(2).map_while(|number| number.parse().ok()).collect()
    };
    if numbers(found) >= numbers(least) {
        return Ok(());
    }
    let expected = format!("{least} or newer");
    let (program, found, advice) = (program.to_string(), found.to_string(), advice.to_string());
    Err(Environment::OtherVersion { program, found, expected, advice }.into())
}

/// The first version in what a program says of itself: numbers with dots between them.
fn version(said: &str) -> Option<&str> {
    let words = said.split(|letter: char| !letter.is_ascii_digit() && letter != '.');
    words.map(|word| word.trim_matches('.')).find(|word| word.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_tell_their_versions_in_many_ways() {
        let said =
            "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae4d7c971a948f0\n";
        assert_eq!(version(said), Some("7.0.15"));
        assert_eq!(version("redis-cli 7.0.15\n"), Some("7.0.15"));
        assert_eq!(version("v20.20.2\n"), Some("20.20.2"));
        assert_eq!(version("go version go1.26.8 linux/amd64\n"), Some("1.26.8"));
        assert_eq!(version("Version 3. Build 7"), None);
    }

    #[test]
    fn another_redis_is_an_error_of_the_environment() {
        assert!(judge_redis("redis-server", Some("7.0.15"), "7.0.15").is_ok());
        for (found, says) in [(Some("8.0.2"), "8.0.2"), (None, "of a version that it does not tell")] {
            let error = judge_redis("redis-server", found, "7.0.15").unwrap_err();
            let begins = format!("environment: redis-server is {says}, and 7.0.15 is expected. Replies are");
            assert!(error.to_string().starts_with(&begins), "{error}");
            assert!(crate::environment::is_to_blame(&error));
        }
    }

    #[test]
    fn versions_are_compared_number_by_number() {
        let check = |said: &str, least: &str| check_at_least("node", said, least, "Take another.");
        for (said, least) in
            [("v20.20.2", "20.0"), ("v22.1.0", "20.0"), ("go1.26.8", "1.24"), ("go1.24.0", "1.24")]
        {
            assert!(check(said, least).is_ok(), "{said} {least}");
        }
        for (said, least) in [("v18.20.4", "20.0"), ("go1.9.7", "1.24"), ("nothing", "1.24")] {
            assert!(check(said, least).is_err(), "{said} {least}");
        }
        let error = check("v18.20.4", "20.0").unwrap_err().to_string();
        assert_eq!(error, "environment: node is 18.20.4, and 20.0 or newer is expected. Take another.");
    }

    #[test]
    fn the_pin_of_redis_can_be_read() {
        let (version, sum) = redis_pin().unwrap();
        assert!(super::version(&version).is_some() && sum.len() == 64, "{version} {sum}");
    }
}
