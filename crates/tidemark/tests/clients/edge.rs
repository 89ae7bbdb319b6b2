//! The client of edge clients in TypeScript, `clients/edge-js`: its own tests, and those against a real cluster, with this `tidemark`.

use crate::install::{self, CLIENTS, run};
use std::path::PathBuf;
use std::process::Command;

/// The package with what it needs; none if that cannot be had.
fn package() -> Option<PathBuf> {
    let folder = PathBuf::from(CLIENTS).join("edge-js");
    install::or_left_out("what clients/edge-js is tested with", || {
        install::program("npm", "npm");
        let mut npm = Command::new("npm");
        run(npm.args(["ci", "--no-audit", "--no-fund"]).current_dir(&folder));
    })?;
    Some(folder)
}

#[test]
fn the_client_in_typescript_keeps_its_promises() {
    let Some(folder) = package() else { return };
    let said = run(Command::new("npm").arg("test").current_dir(&folder));
    assert!(said.contains("fail 0"), "{said}");
    let said = run(Command::new("npm")
        .args(["run", "real"])
        .env("TIDEMARK", env!("CARGO_BIN_EXE_tidemark"))
        .current_dir(&folder));
    assert!(said.contains("fail 0"), "{said}");
}
