//! `fetch`: what has to come over a network before anything is built or run.

use crate::run::{cargo, command, output, run};
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

/// Downloads crates, and installs programs that are missing.
pub(crate) fn fetch() -> Result<String> {
    cargo(&["fetch", "--locked", "--quiet"])?;
    tools()
}

/// Installs programs that are missing, and says so. Client libraries are installed under `target` by the tests
/// that use them.
fn tools() -> Result<String> {
    let missing = PROGRAMS.iter().filter(|(program, _)| !exists(program));
    let mut packages: Vec<&str> = missing.map(|(_, package)| *package).collect();
    if exists("python3") && output(&mut command("python3", &["-c", "import ensurepip"])).is_err() {
        packages.push("python3-venv");
    }
    packages.dedup();
    if !packages.is_empty() {
        apt(&packages)?;
    }
    Ok(String::new())
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
