//! The Rust files of the repository, as git knows them.

use crate::run::{command, output, root};
use anyhow::Result;

/// A file, and which of its lines are tests.
pub(super) struct Source {
    /// Its path from the root.
    pub(super) path: String,
    pub(super) text: String,
}

impl Source {
    /// Every Rust file, tracked or new.
    pub(super) fn all() -> Result<Vec<Self>> {
        let list = ["ls-files", "--cached", "--others", "--exclude-standard", "*.rs"];
        let mut all = Vec::new();
        for path in output(&mut command("git", &list))?.lines() {
            if let Ok(text) = std::fs::read_to_string(root().join(path)) {
                all.push(Self { path: path.to_string(), text });
            }
        }
        Ok(all)
    }

    /// The name of its crate's directory: `core` for `crates/core/src/lib.rs`.
    pub(super) fn krate(&self) -> &str {
        self.path.strip_prefix("crates/").and_then(|rest| rest.split('/').next()).unwrap_or("")
    }

    /// Whether it is a test, benchmark or example as a whole.
    pub(super) fn is_test(&self) -> bool {
        let named = |name: &str| self.path.split('/').any(|part| part == name);
        named("tests")
            || named("benches")
            || named("examples")
            || named("fuzz")
            || self.path.ends_with("tests.rs")
    }

    /// Its lines with their numbers, without comments, as far as its test module.
    pub(super) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
        let lines = lines.enumerate().map(|(index, line)| (index + 1, line));
        lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}
