//! Packages of npm, a browser among them: what lock files pin, each by its hash.

use super::programs;
use super::shelf::Shelf;
use crate::environment::{ask, both_streams};
use crate::pins;
use crate::run::{output, root};
use anyhow::{Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders of modules for tests: client libraries, and an application with the client that it wants.
pub(super) const MODULES: [&str; 2] = ["libraries", "bullmq"];

/// Packages of ours, into which their modules are installed.
pub(super) const PACKAGES: [&str; 2] = ["clients/edge-js", "examples/board"];

/// A copy of the lock file within the modules of a package: npm removes both before it installs.
const INSTALLED: &str = "node_modules/.installed-lock.json";

const NPM: &str = "the registry of npm";

/// Debian's packages with what the browser links to and does not bring.
const LIBRARIES: &[&str] = &["libnss3", "libnspr4", "libexpat1", "libdbus-1-3", "libasound2"];

/// A folder with what `node/NAME/package-lock.json` pins; `more` adds to it.
fn filled(name: &str, more: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let pins = ["package.json", "package-lock.json"].map(|file| pins::path(&format!("node/{name}/{file}")));
    let folder = format!("node-{name}");
    let shelf = Shelf { name: &folder, pins: &pins, beside: "" };
    shelf.filled(|fresh| {
        for pin in &pins {
            fs::copy(pin, fresh.join(pin.file_name().expect("a file has a name")))?;
        }
        install(fresh)?;
        more(fresh)
    })
}

/// A folder whose scripts can import what `node/NAME/package-lock.json` pins.
pub(crate) fn modules(name: &str) -> Result<PathBuf> {
    filled(name, |_| Ok(()))
}

/// Installs the modules of a package of ours into its own folder.
pub(super) fn package(path: &str) -> Result<()> {
    let folder = root().join(path);
    let (lock, installed) = (fs::read(folder.join("package-lock.json"))?, folder.join(INSTALLED));
    if fs::read(&installed).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    eprintln!("installing the modules of {path}");
    install(&folder)?;
    Ok(fs::write(installed, lock)?)
}

fn install(folder: &Path) -> Result<()> {
    ask(NPM, Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(folder)).map(drop)
}

/// The pinned Chromium, which its package has in a compressed form; the file `chromium` of the folder.
pub(crate) fn chromium() -> Result<PathBuf> {
    let folder = filled("chromium", |fresh| {
        let script = "const { default: chromium } = await import('@sparticuz/chromium');\n\
                      console.log(await chromium.executablePath());\n";
        fs::write(fresh.join("unpack.mjs"), script)?;
        // It unpacks into the folder for temporary files.
        output(Command::new("node").arg("unpack.mjs").current_dir(fresh).env("TMPDIR", fresh))?;
        if !fresh.join("chromium").exists() {
            bail!("the package of Chromium has no program");
        }
        Ok(())
    })?;
    let mut version = Command::new(folder.join("chromium"));
    version.args(["--headless", "--no-sandbox", "--version"]);
    let (_, said) = both_streams(&mut version)?;
    if said.contains("shared libraries") {
        programs::apt(LIBRARIES)?;
    }
    output(&mut version)?;
    Ok(folder)
}
