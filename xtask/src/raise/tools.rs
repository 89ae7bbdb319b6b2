//! The tools that resolve pins, one for each ecosystem. Each works in a copy of the folder of its pins.

use super::Pinned;
use crate::environment::ask;
use crate::fetch;
use anyhow::{Context, Result};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The oldest Python that tests run with: Debian 12's. Newer ones find what they need instead by markers.
const PYTHON: &str = "3.11";

/// Raises properties of a `pom.xml` that are the versions of dependencies and of plugins.
const VERSIONS: &str = "org.codehaus.mojo:versions-maven-plugin:2.21.0:update-properties";

/// Versions of Maven's artifacts that are no releases.
const UNFINISHED: &str = r"(?i).*[-.](alpha|beta|m|rc|cr|snapshot)[-.]?\d*.*";

/// Requirements of pip for every platform: with the hashes of all archives of each version.
pub(super) fn python(pinned: &Pinned, folder: &Path) -> Result<Vec<String>> {
    let mut uv = Command::new(fetch::environment("raise")?.join("bin/uv"));
    uv.args(["pip", "compile", "--universal", "--python-version", PYTHON, "--fork-strategy", "fewest"]);
    uv.args(["--generate-hashes", "--no-annotate", "--no-header", "--upgrade", "--no-config", "--quiet"]);
    ask("PyPI", uv.args([pinned.wanted, "--output-file", pinned.lock]).current_dir(folder))?;
    let lock = folder.join(pinned.lock);
    let header = format!("# What {} needs; `./x raise` writes it.\n", pinned.wanted);
    Ok(fs::write(&lock, header + &fs::read_to_string(&lock)?).map(|()| Vec::new())?)
}

/// The newest versions of the packages that a `package.json` names, and of all that these need.
pub(super) fn newest(pinned: &Pinned, folder: &Path) -> Result<Vec<String>> {
    let newest: Vec<String> =
        wanted(folder, pinned)?.into_iter().map(|(name, _)| format!("{name}@latest")).collect();
    fs::remove_file(folder.join(pinned.lock))?;
    lock(folder, &newest)?;
    Ok(Vec::new())
}

/// The newest versions in the ranges of a `package.json`; what is held back by a range is told.
pub(super) fn in_range(pinned: &Pinned, folder: &Path) -> Result<Vec<String>> {
    fs::remove_file(folder.join(pinned.lock))?;
    lock(folder, &[])?;
    let locked = (pinned.read)(&fs::read_to_string(folder.join(pinned.lock))?)?;
    let mut held = Vec::new();
    for (name, range) in wanted(folder, pinned)? {
        let newest = npm(folder, &["view", &name, "version"])?;
        let (newest, version) = (newest.trim(), &locked[&name]);
        if newest != version {
            held.push(format!("{name} {version} is held back by {range}; the newest is {newest}"));
        }
    }
    Ok(held)
}

/// Names and ranges in the dependencies of a `package.json`.
fn wanted(folder: &Path, pinned: &Pinned) -> Result<Vec<(String, String)>> {
    let package: Value = serde_json::from_str(&fs::read_to_string(folder.join(pinned.wanted))?)?;
    let listed = ["dependencies", "devDependencies"].into_iter().filter_map(|kind| package[kind].as_object());
    let text =
        |(name, range): (&String, &Value)| (name.clone(), range.as_str().unwrap_or_default().to_string());
    Ok(listed.flatten().map(text).collect())
}

/// Writes the lock file. It has no addresses, so that it does not depend on where packages come from here.
fn lock(folder: &Path, packages: &[String]) -> Result<()> {
    let mut arguments =
        vec!["install", "--package-lock-only", "--save-exact", "--omit-lockfile-registry-resolved"];
    arguments.extend(["--ignore-scripts", "--no-audit", "--no-fund"]);
    arguments.extend(packages.iter().map(String::as_str));
    npm(folder, &arguments).map(drop)
}

fn npm(folder: &Path, arguments: &[&str]) -> Result<String> {
    ask("the registry of npm", Command::new("npm").args(arguments).current_dir(folder))
}

/// The newest versions of the modules that a `go.mod` requires itself, with what these need.
pub(super) fn go(_: &Pinned, folder: &Path) -> Result<Vec<String>> {
    let go = |arguments: &[&str]| {
        let mut command = Command::new("go");
        command.args(arguments).current_dir(folder).env("GOTOOLCHAIN", "local");
        ask("the proxy of Go modules", &mut command)
    };
    let module: Value = serde_json::from_str(&go(&["mod", "edit", "-json"])?)?;
    let required = module["Require"].as_array().context("a module requires others")?;
    let direct = required.iter().filter(|module| module["Indirect"] != true);
    let newest: Vec<String> =
        direct.filter_map(|module| Some(format!("{}@latest", module["Path"].as_str()?))).collect();
    go(&[&["get"], &newest.iter().map(String::as_str).collect::<Vec<_>>()[..]].concat())?;
    go(&["mod", "tidy"])?;
    Ok(Vec::new())
}

/// The newest releases of what a `pom.xml` has as properties.
pub(super) fn maven(_: &Pinned, folder: &Path) -> Result<Vec<String>> {
    let mut maven = Command::new("mvn");
    maven.args(["--batch-mode", "--strict-checksums", VERSIONS, "-DgenerateBackupPoms=false"]);
    maven.arg(format!("-Dmaven.version.ignore={UNFINISHED}")).current_dir(folder);
    ask("Maven Central", &mut maven)?;
    Ok(Vec::new())
}
