//! Every file of code says what it is, nothing is left for later, and links in documents lead somewhere.

use super::{Finding, source::Source};
use crate::run::{command, output, root};
use anyhow::Result;
use std::path::Path;

pub(super) fn check(sources: &[Source]) -> Result<Vec<Finding>> {
    let mut findings: Vec<Finding> = sources.iter().flat_map(code).collect();
    let list = ["ls-files", "--cached", "--others", "--exclude-standard", "*.md"];
    for path in output(&mut command("git", &list))?.lines() {
        let Ok(text) = std::fs::read_to_string(root().join(path)) else { continue };
        let base = root().join(path).parent().map(Path::to_path_buf).unwrap_or_default();
        findings.extend(
            broken_links(&text, &base)
                .into_iter()
                .map(|(line, link)| format!("{path}:{line}: the link to {link} leads nowhere")),
        );
    }
    Ok(findings)
}

fn code(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    // xtask's own list of these words does not count.
    if source.path.starts_with("xtask/src/tidy/") {
        return findings;
    }
    if !source.is_test() && !source.text.starts_with("//!") {
        findings.push(format!("{}:1: a file begins by saying what it is: //! …", source.path));
    }
    for (index, line) in source.text.lines().enumerate() {
        for word in ["TODO", "FIXME", "XXX", "unimplemented!", "todo!", "dbg!("] {
            if line.contains(word) {
                findings.push(format!(
                    "{}:{}: {word}: finish it, or write down why not",
                    source.path,
                    index + 1
                ));
            }
        }
    }
    findings
}

/// Links to files that are not there, with their lines. Links to the web are not followed.
fn broken_links(text: &str, base: &Path) -> Vec<(usize, String)> {
    let mut broken = Vec::new();
    let mut in_code = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        for rest in line.split("](").skip(1) {
            let link = rest.split([')', ' ']).next().unwrap_or_default();
            let file = link.split('#').next().unwrap_or_default();
            let elsewhere = link.contains("://") || link.starts_with("mailto:");
            if !elsewhere && !file.is_empty() && !base.join(file).exists() {
                broken.push((index + 1, link.to_string()));
            }
        }
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_for_later_is_found() {
        let found =
            |text: &str| code(&Source { path: "crates/core/src/x.rs".into(), text: text.into() }).len();
        assert_eq!(found("//! A header.\nfn x() {}\n"), 0);
        assert_eq!(found("fn x() {}\n"), 1);
        assert_eq!(found("//! A header.\n// TODO: the rest\nfn x() { unimplemented!() }\n"), 2);
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let text =
            "[a](Cargo.toml) [b](nothing.md#x)\n[c](https://example.com) [d](#here)\n```\n[e](none)\n```\n";
        assert_eq!(
            broken_links(text, Path::new(env!("CARGO_MANIFEST_DIR"))),
            [(1, "nothing.md#x".to_string())]
        );
    }
}
