//! The client of edge clients in TypeScript, `clients/edge-js`, and its example, `examples/board`: their own tests, and those against real
//! clusters, with this `tidemark`, in this process and in a browser.

use crate::install::{self, CLIENTS, run};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The tests compile into one folder, and clusters and browsers want the machine for themselves.
static BUSY: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    BUSY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A package with what it needs, beside `clients`; none if that cannot be had.
fn package(path: &str) -> Option<PathBuf> {
    let folder = PathBuf::from(CLIENTS).join(path);
    install::or_left_out(&format!("what {path} is tested with"), || {
        install::program("npm", "npm");
        let mut npm = Command::new("npm");
        run(npm.args(["ci", "--no-audit", "--no-fund"]).current_dir(&folder));
    })?;
    Some(folder)
}

/// Runs a script of a package that ends with the summary of its tests.
fn passes(npm: &mut Command, folder: &Path) {
    let said = run(npm.env("TIDEMARK", env!("CARGO_BIN_EXE_tidemark")).current_dir(folder));
    assert!(said.contains("fail 0") && !said.contains("pass 0"), "{said}");
    for line in said.lines().filter(|line| line.contains("lines of history")) {
        println!("{line}");
    }
}

#[test]
fn the_client_in_typescript_keeps_its_promises() {
    let _alone = alone();
    let Some(folder) = package("edge-js") else { return };
    passes(Command::new("npm").arg("test"), &folder);
    passes(Command::new("npm").args(["run", "real"]), &folder);
}

#[test]
fn the_client_in_typescript_keeps_its_promises_in_a_browser() {
    let _alone = alone();
    let Some(folder) = package("edge-js") else { return };
    if !install::chromium(&folder) {
        return;
    }
    passes(Command::new("npm").args(["run", "browser"]), &folder);
}

#[test]
fn the_board_works_in_a_browser() {
    let _alone = alone();
    let (Some(folder), Some(_)) = (package("../examples/board"), package("edge-js")) else { return };
    if !install::chromium(&folder) {
        return;
    }
    passes(Command::new("npm").args(["run", "browser"]), &folder);
}
