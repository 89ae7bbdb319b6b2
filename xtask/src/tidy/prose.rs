//! Every file of code says what it is, nothing is left for later, and links in documents lead somewhere.

use super::{Finding, language, source::Source};
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
        let words = language::check(&text).into_iter();
        findings.extend(words.map(|(line, what)| format!("{path}:{line}: {what}")));
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
            let exists = file.is_empty() || base.join(file).exists();
            if !elsewhere && (!exists || !has_heading(link, text, base)) {
                broken.push((index + 1, link.to_string()));
            }
        }
    }
    broken
}

/// Whether a link names no heading of a document, or one that is there.
fn has_heading(link: &str, text: &str, base: &Path) -> bool {
    let Some((file, heading)) =
        link.split_once('#').filter(|(file, _)| file.is_empty() || file.ends_with(".md"))
    else {
        return true;
    };
    let other = std::fs::read_to_string(base.join(file)).unwrap_or_default();
    let text = if file.is_empty() { text } else { &other };
    text.lines().filter(|line| line.starts_with('#')).any(|line| anchor(line) == heading)
}

/// The anchor that GitHub gives a heading.
fn anchor(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || "-_ ".contains(*letter));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
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
        let text = "# Here, in `x`\n[a](Cargo.toml) [b](nothing.md#x)\n[c](https://example.com) [d](#here-in-x) [e](#there)\n\
                    ```\n[f](none)\n```\n[g](../README.md#documents) [h](../README.md#nowhere)\n";
        assert_eq!(
            broken_links(text, Path::new(env!("CARGO_MANIFEST_DIR"))),
            [(2, "nothing.md#x"), (3, "#there"), (7, "../README.md#nowhere")]
                .map(|(line, link)| (line, link.to_string()))
        );
    }
}
