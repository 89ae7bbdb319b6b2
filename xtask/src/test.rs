//! `./x test`: everything that CI runs.
//!
//! Nothing is compiled twice: clippy checks, one `cargo test` builds and runs all tests in the dev profile, and
//! one release build makes the binary that the end-to-end tests run, which is the one that users get.

use crate::check::steps_of_check;
use crate::run::{Steps, cargo, command, output, root, run};
use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Programs that tests run, and the Debian packages that bring them.
const PROGRAMS: &[(&str, &str)] = &[
    ("redis-cli", "redis-tools"),
    ("redis-benchmark", "redis-tools"),
    ("redis-server", "redis-server"),
    ("python3", "python3"),
    ("node", "nodejs"),
    ("npm", "npm"),
];

/// Client libraries that the end-to-end tests talk with.
const REDIS_PY: &str = "redis>=5,<9";
const IOREDIS: &str = "ioredis@5";

pub(crate) fn test() -> Result<()> {
    let mut steps = Steps::new();
    steps_of_check(&mut steps);
    let ready = steps.step("tools", tools);
    let built = steps.step("release build", || cargo(&["build", "--release", "--package", "tidemark"]));
    if ready && built {
        steps.step("tests", tests);
    }
    steps.finish()
}

fn tests() -> Result<()> {
    let mut tests = command(env!("CARGO"), &["test", "--workspace", "--no-fail-fast"]);
    tests.env("TIDEMARK_BIN", target().join("release/tidemark"));
    // With this set, a test whose tools are missing fails instead of saying that it was left out.
    tests.env("TIDEMARK_TEST_ALL", "1");
    tests.env("TIDEMARK_TEST_PYTHON", python());
    tests.env("TIDEMARK_TEST_NODE_MODULES", node_modules());
    run(&mut tests)
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |target| root().join(target))
}

fn python() -> PathBuf {
    target().join("venv/bin/python")
}

fn node_modules() -> PathBuf {
    target().join("clients/node_modules")
}

/// Installs what is missing, and says so.
fn tools() -> Result<()> {
    let missing = PROGRAMS.iter().filter(|(program, _)| !exists(program));
    let mut packages: Vec<&str> = missing.map(|(_, package)| *package).collect();
    if exists("python3") && output(&mut command("python3", &["-c", "import ensurepip"])).is_err() {
        packages.push("python3-venv");
    }
    packages.dedup();
    if packages.is_empty() {
        println!("programs: all there");
    } else {
        apt(&packages)?;
    }
    clients()
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

/// Client libraries go under `target`, beside everything else that can be made again.
fn clients() -> Result<()> {
    let python = python().display().to_string();
    if output(&mut command(&python, &["-c", "import redis"])).is_err() {
        println!("installing {REDIS_PY} into target/venv");
        run(&mut command("python3", &["-m", "venv", &target().join("venv").display().to_string()]))?;
        run(&mut command(
            &python,
            &["-m", "pip", "install", "--quiet", "--disable-pip-version-check", REDIS_PY],
        ))?;
    }
    if !node_modules().join("ioredis").is_dir() {
        println!("installing {IOREDIS} into target/clients");
        let place = target().join("clients");
        std::fs::create_dir_all(&place).context("cannot create target/clients")?;
        let place = place.display().to_string();
        run(&mut command(
            "npm",
            &["install", "--silent", "--no-audit", "--no-fund", "--prefix", &place, IOREDIS],
        ))?;
    }
    Ok(())
}
