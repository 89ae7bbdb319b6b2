//! `./x check`, which changes nothing, and `./x fix`, which does.

use crate::run::{Steps, cargo, command, output, root, run};
use crate::tidy;
use anyhow::Result;

const CLIPPY: &[&str] = &["clippy", "--workspace", "--all-targets", "--quiet"];

/// Formatting, clippy and tidy, all of them even if one fails.
pub(crate) fn check() -> Result<()> {
    let mut steps = Steps::new();
    steps_of_check(&mut steps);
    steps.finish()
}

/// The steps of `./x check`.
pub(crate) fn steps_of_check(steps: &mut Steps) {
    steps.step("format", || format(&["--check"]));
    steps.step("tidy", tidy::run);
    steps.step("clippy", || cargo(&[CLIPPY, &["--", "--deny", "warnings"]].concat()));
}

/// Runs rustfmt on every file: `cargo fmt` does not find modules that a macro declares, as those of Redis commands.
fn format(options: &[&str]) -> Result<()> {
    let list = ["ls-files", "--cached", "--others", "--exclude-standard", "*.rs"];
    let files = output(&mut command("git", &list))?;
    let files: Vec<&str> = files.lines().filter(|file| root().join(file).exists()).collect();
    run(&mut command("rustfmt", &[&["--edition", "2024"], options, &files].concat()))
}

/// Formats, applies what clippy suggests, and lowers the ratchet.
pub(crate) fn fix() -> Result<()> {
    cargo(&[CLIPPY, &["--fix", "--allow-dirty", "--allow-staged"]].concat())?;
    format(&[])?;
    tidy::lower_the_ratchet()?;
    check()
}
