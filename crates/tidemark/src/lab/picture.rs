//! Pictures of violations.

use anyhow::Context;
use std::path::Path;
use tidemark_check::{Violation, svg};

/// Draws a violation to a file; without one there is nothing to draw, and it says so.
pub(crate) fn picture(path: &Path, violation: Option<&Violation>) -> anyhow::Result<()> {
    match violation {
        Some(violation) => {
            std::fs::write(path, svg(violation)).with_context(|| format!("cannot write {}", path.display()))
        }
        None => {
            eprintln!("no picture: no history violates anything");
            Ok(())
        }
    }
}
