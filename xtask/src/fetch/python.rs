//! Packages of Python: virtual environments with what their requirements pin, each archive by its hash.

use super::programs;
use super::shelf::Shelf;
use crate::environment::ask;
use crate::pins;
use crate::run::output;
use anyhow::Result;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Environments of tests: redis-py, and the applications.
pub(super) const ENVIRONMENTS: [&str; 2] = ["libraries", "applications"];

const PYPI: &str = "PyPI";

/// The virtual environment with what `python/NAME.txt` pins; `more` adds to it.
fn filled(name: &str, more: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    programs::install(&[("python3", "python3")])?;
    programs::install_venv()?;
    // An environment has links to its interpreter.
    let which = "import sys; print(sys.version, sys.base_prefix)";
    let interpreter = output(Command::new("python3").args(["-c", which]))?;
    let pins = [pins::path(&format!("python/{name}.txt"))];
    let folder = format!("python-{name}");
    let shelf = Shelf { name: &folder, pins: &pins, beside: &interpreter };
    shelf.filled(|fresh| {
        fs::copy(&pins[0], fresh.join("requirements.txt"))?;
        output(Command::new("python3").args(["-m", "venv"]).arg(fresh))?;
        pip(
            fresh,
            &["install", "--only-binary", ":all:", "--require-hashes", "--requirement", "requirements.txt"],
        )?;
        more(fresh)
    })
}

/// The virtual environment with what `python/NAME.txt` pins.
pub(crate) fn environment(name: &str) -> Result<PathBuf> {
    filled(name, |_| Ok(()))
}

/// The virtual environment in which the tests of redis-py run, and their source in its folder `source`.
pub(crate) fn redis_py_tests() -> Result<PathBuf> {
    filled("redis-py-tests", |fresh| {
        let pinned = pins::read("python/redis-py-tests.txt")?;
        fs::write(fresh.join("source.txt"), pins::requirement(&pinned, "redis")?)?;
        // Metadata of a source distribution are built. What builds them is pinned as well, and in the environment.
        let as_source = ["--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--require-hashes"];
        pip(fresh, &[&["download"], &as_source[..], &["--requirement", "source.txt"]].concat())?;
        let name = format!("redis-{}", pins::requirements(&pinned)?["redis"]);
        output(Command::new("tar").arg("xzf").arg(format!("{name}.tar.gz")).current_dir(fresh))?;
        let source = fresh.join("source");
        fs::rename(fresh.join(name), &source)?;
        // Tests import the installed package; the one beside them would hide it.
        Ok(fs::remove_dir_all(source.join("redis"))?)
    })
}

fn pip(environment: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(environment.join("bin/python3"));
    command.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]).args(arguments);
    ask(PYPI, command.current_dir(environment))
}
