//! The client of edge clients in TypeScript, `clients/edge-js`, and its example, `examples/board`: their own tests, and those against real
//! clusters, with this `tidemark`, in this process and in a browser.

use crate::install::{self, package, run};
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The tests compile into one folder, and clusters and browsers want the machine for themselves.
static BUSY: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    BUSY.lock().unwrap_or_else(PoisonError::into_inner)
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
    let (Some(folder), Some(chromium)) = (package("edge-js"), install::chromium()) else { return };
    passes(Command::new("npm").args(["run", "browser"]).env("CHROMIUM", chromium), &folder);
}

#[test]
fn the_board_works_in_a_browser() {
    let _alone = alone();
    let (Some(folder), Some(_)) = (package("../examples/board"), package("edge-js")) else { return };
    let Some(chromium) = install::chromium() else { return };
    passes(Command::new("npm").args(["run", "browser"]).env("CHROMIUM", chromium), &folder);
}
