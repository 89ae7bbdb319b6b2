//! `./x test`: everything that CI runs.
//!
//! Nothing is compiled twice: clippy checks, and one `cargo test` builds all tests in the dev profile, also the binary that
//! the end-to-end tests run. It is optimised a little, and looks after itself: an overflow or a broken assumption ends it.

use crate::check::steps_of_check;
use crate::client_tests;
use crate::lanes;
use crate::redis_tests;
use crate::run::{Steps, command, output, run};
use anyhow::{Result, bail};
use std::process::{Command, Stdio};

/// Programs that tests run, and the Debian packages that bring them.
const PROGRAMS: &[(&str, &str)] = &[
    ("redis-cli", "redis-tools"),
    ("redis-benchmark", "redis-tools"),
    ("redis-server", "redis-server"),
    ("tclsh", "tcl"),
    ("curl", "curl"),
    ("python3", "python3"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("go", "golang-go"),
    ("javac", "default-jdk-headless"),
    ("mvn", "maven"),
];

pub(crate) fn test() -> Result<()> {
    let mut steps = Steps::new();
    steps_of_check(&mut steps);
    let ready = steps.step("tools", tools);
    if ready {
        steps.step("tests", tests);
        steps.step("redis-tests", || redis_tests::run(&[]));
        steps.step("client-tests", client_tests::run_with_python);
        steps.step("differential", differential);
    }
    steps.finish()
}

/// As many commands as take one or two minutes, the same each time.
fn differential() -> Result<()> {
    crate::differential(&["--seed", "1", "--commands", "150000"].map(String::from))
}

fn tests() -> Result<()> {
    // With this set, a test whose tools are missing fails instead of saying that it was left out.
    let mut environment = vec![("TIDEMARK_TEST_ALL", "1".to_string())];
    // A run that fails fails again. Other inputs: PROPTEST_RNG_SEED=N ./x test, or `cargo test`, which draws anew.
    if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
        environment.push(("PROPTEST_RNG_SEED", "1".to_string()));
    }
    lanes::run_all(&environment)
}

/// Installs programs that are missing, and says so. Client libraries are installed under `target` by the tests
/// that use them.
fn tools() -> Result<()> {
    let missing = PROGRAMS.iter().filter(|(program, _)| !exists(program));
    let mut packages: Vec<&str> = missing.map(|(_, package)| *package).collect();
    if exists("python3") && output(&mut command("python3", &["-c", "import ensurepip"])).is_err() {
        packages.push("python3-venv");
    }
    packages.dedup();
    if packages.is_empty() {
        println!("all there");
        return Ok(());
    }
    apt(&packages)
}

fn exists(program: &str) -> bool {
    let found = command("sh", &["-c", &format!("command -v {program}")]).stdout(Stdio::null()).status();
    found.is_ok_and(|status| status.success())
}

fn apt(packages: &[&str]) -> Result<()> {
    println!("installing {} with apt-get", packages.join(", "));
    if !exists("apt-get") {
        bail!("apt-get is missing; install {} by hand", packages.join(", "));
    }
    let root = output(&mut command("id", &["-u"]))?.trim() == "0";
    let apt = |args: &[&str]| {
        let mut command = if root { Command::new("apt-get") } else { Command::new("sudo") };
        if !root {
            command.arg("apt-get");
        }
        command.args(args).env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null());
        run(&mut command)
    };
    apt(&["update", "-qq"])?;
    apt(&[&["install", "-y", "-qq", "--no-install-recommends"], packages].concat())
}
