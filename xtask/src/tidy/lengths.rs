//! Files stay under 400 lines and functions under 70. What is longer stands in the ratchet with its length,
//! and may only shrink; `./x fix` lowers the ratchet.

use super::{Finding, source::Source};
use crate::run::root;
use anyhow::Result;
use std::collections::BTreeMap;

/// The list of what is too long, a line each: `path` or `path::function`, and the length.
pub(super) const RATCHET: &str = "xtask/ratchet.txt";

const FILE_MAX: usize = 400;
const FUNCTION_MAX: usize = 70;

const HEADER: &str = "\
# Files longer than 400 lines and functions longer than 70, with the length they have. `./x check` fails when one
# grows or a new one appears; `./x fix` lowers what has shrunk. Nothing is to be added here.
";

type Lengths = BTreeMap<String, usize>;

pub(super) fn read_ratchet() -> Result<Lengths> {
    let text = std::fs::read_to_string(root().join(RATCHET)).unwrap_or_default();
    let entries = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.rsplit_once(' '));
    entries.map(|(what, length)| Ok((what.to_string(), length.parse()?))).collect()
}

pub(super) fn check(sources: &[Source], ratchet: &Lengths) -> Vec<Finding> {
    let long = too_long(sources);
    let mut findings = Vec::new();
    for (what, length) in &long {
        let max = if what.contains("::") { FUNCTION_MAX } else { FILE_MAX };
        match ratchet.get(what) {
            None => findings.push(format!("{what}: {length} lines are more than {max}: divide it")),
            Some(before) if length > before => {
                findings.push(format!(
                    "{what}: grew from {before} to {length} lines: it may only shrink ({RATCHET})"
                ));
            }
            Some(before) if length < before => {
                findings.push(format!(
                    "{what}: shrank from {before} to {length} lines: `./x fix` lowers the ratchet"
                ));
            }
            Some(_) => {}
        }
    }
    let gone = ratchet.keys().filter(|what| !long.contains_key(*what));
    findings
        .extend(gone.map(|what| format!("{what}: is short enough now: `./x fix` takes it off the ratchet")));
    findings
}

pub(super) fn lowered(sources: &[Source], ratchet: &Lengths) -> String {
    let long = too_long(sources);
    let mut text = HEADER.to_string();
    for (what, before) in ratchet {
        if let Some(length) = long.get(what) {
            text.push_str(&format!("{what} {}\n", length.min(before)));
        }
    }
    text
}

fn too_long(sources: &[Source]) -> Lengths {
    let mut long = Lengths::new();
    for source in sources {
        let lines = source.text.lines().count();
        if lines > FILE_MAX {
            long.insert(source.path.clone(), lines);
        }
        for (name, length) in functions(&source.text).into_iter().filter(|(_, length)| *length > FUNCTION_MAX)
        {
            let entry = long.entry(format!("{}::{name}", source.path)).or_default();
            *entry = length.max(*entry);
        }
    }
    long
}

/// The functions of a formatted file, with their lengths: from `fn` to the brace at the same indentation.
fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let indentation = line.len() - line.trim_start().len();
        let Some(name) = function_name(line.trim_start()) else { continue };
        if line.ends_with('}') || line.ends_with(';') {
            continue;
        }
        let closing = format!("{}}}", &line[..indentation]);
        let length = lines[start..].iter().position(|line| *line == closing).map_or(1, |end| end + 1);
        found.push((name.to_string(), length));
    }
    found
}

fn function_name(line: &str) -> Option<&str> {
    let at = if line.starts_with("fn ") { 0 } else { line.find(" fn ")? + 1 };
    let before = line[..at].split_whitespace();
    let modifier = |word: &str| {
        word.starts_with("pub")
            || ["async", "const", "unsafe", "extern", "super)", "\"C\"", "in"].contains(&word)
    };
    let mut before = before;
    if !before.all(modifier) {
        return None;
    }
    line[at + 3..].split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(lines: usize) -> Source {
        let body = "    work();\n".repeat(lines - 2);
        Source { path: "a.rs".into(), text: format!("pub(crate) async fn long() {{\n{body}}}\n") }
    }

    #[test]
    fn functions_are_measured_from_their_name_to_their_brace() {
        let text = "fn a() {\n    x\n}\nimpl T {\n    const fn b(\n        x: u8,\n    ) {\n    }\n    fn c();\n}\n// fn d() {\n";
        assert_eq!(functions(text), [("a".to_string(), 3), ("b".to_string(), 4)]);
    }

    #[test]
    fn what_is_too_long_may_only_shrink() {
        assert!(check(&[source(70)], &Lengths::new()).is_empty());
        assert_eq!(check(&[source(71)], &Lengths::new()).len(), 1);
        let ratchet = Lengths::from([("a.rs::long".to_string(), 80)]);
        assert!(check(&[source(80)], &ratchet).is_empty());
        assert_eq!(check(&[source(81)], &ratchet).len(), 1);
        assert_eq!(check(&[source(79)], &ratchet).len(), 1);
        assert_eq!(check(&[source(60)], &ratchet).len(), 1);
        assert!(lowered(&[source(79)], &ratchet).ends_with("a.rs::long 79\n"));
        assert!(lowered(&[source(99)], &ratchet).ends_with("a.rs::long 80\n"));
        assert!(!lowered(&[source(60)], &ratchet).contains("long 60"));
    }

    #[test]
    fn files_have_a_length_too() {
        let file = Source { path: "b.rs".into(), text: "// x\n".repeat(401) };
        assert_eq!(check(&[file], &Lengths::new()), ["b.rs: 401 lines are more than 400: divide it"]);
    }
}
