//! `./x check`, which changes nothing, and `./x fix`, which does.

use crate::run::{Steps, cargo};
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
    steps.step("format", || cargo(&["fmt", "--all", "--check"]));
    steps.step("tidy", tidy::run);
    steps.step("clippy", || cargo(&[CLIPPY, &["--", "--deny", "warnings"]].concat()));
}

/// Formats, applies what clippy suggests, and lowers the ratchet.
pub(crate) fn fix() -> Result<()> {
    cargo(&[CLIPPY, &["--fix", "--allow-dirty", "--allow-staged"]].concat())?;
    cargo(&["fmt", "--all"])?;
    tidy::lower_the_ratchet()?;
    check()
}
