//! Published results are complete and belong to something: each figure to the JSON file that lists it, each JSON file to an
//! experiment. The folder stays small, since every clone carries it.

use super::Finding;
use crate::run::root;
use anyhow::Result;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const EXPERIMENTS: &str = "experiments";
const FOLDER: &str = "experiments/published";

/// The number of bytes that all files together may have.
const BYTES_MAX: usize = 2_000_000;

/// The files of the folder, by name.
type Files = BTreeMap<String, Vec<u8>>;

pub(super) fn check() -> Result<Vec<Finding>> {
    let experiments = names(&root().join(EXPERIMENTS))?;
    let experiments = experiments.iter().filter_map(|name| name.strip_suffix(".toml")).collect();
    let folder = root().join(FOLDER);
    let read = |name: String| Ok((name.clone(), std::fs::read(folder.join(name))?));
    let files = names(&folder)?.into_iter().map(read).collect::<Result<Files>>()?;
    Ok(findings(&experiments, &files))
}

/// The names of the files of a folder.
fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    let files = entries.iter().filter(|entry| entry.path().is_file());
    Ok(files.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

fn findings(experiments: &BTreeSet<&str>, files: &Files) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut figures = BTreeSet::new();
    for (name, text) in files {
        let Some(id) = name.strip_suffix(".json") else { continue };
        if !experiments.contains(id) {
            findings.push(format!("{FOLDER}/{name}: there is no {EXPERIMENTS}/{id}.toml: remove it"));
        }
        let result: Value = serde_json::from_slice(text).unwrap_or_default();
        if result["id"] != id {
            findings.push(format!("{FOLDER}/{name}: it is no result of {id}: publish it again"));
        }
        let listed = result["figures"].as_array().into_iter().flatten();
        for figure in listed.filter_map(|figure| figure[0].as_str()) {
            if !files.contains_key(figure) {
                findings.push(format!("{FOLDER}/{name}: its figure {figure} is missing: publish it again"));
            }
            figures.insert(figure.to_string());
        }
    }
    for name in files.keys() {
        let known = name.ends_with(".json") || name == "README.md" || figures.contains(name);
        if !known {
            findings.push(format!("{FOLDER}/{name}: no result lists it: remove it"));
        }
    }
    let bytes: usize = files.values().map(Vec::len).sum();
    if bytes > BYTES_MAX {
        findings.push(format!("{FOLDER}: {bytes} bytes, more than {BYTES_MAX}: draw less in a figure"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(all: &[(&str, &str)]) -> Files {
        all.iter().map(|(name, text)| (name.to_string(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn what_belongs_together_is_accepted() {
        let json = r#"{"id": "a", "figures": [["a-1.svg", "one"], ["a-2.svg", "two"]]}"#;
        let all = [("README.md", "made by"), ("a.json", json), ("a-1.svg", "<svg/>"), ("a-2.svg", "<svg/>")];
        assert_eq!(findings(&["a", "b"].into(), &files(&all)), Vec::<Finding>::new());
    }

    #[test]
    fn what_belongs_to_nothing_and_what_is_missing_are_found() {
        let gone = r#"{"id": "gone", "figures": [["gone.svg", "a title"]]}"#;
        let other = r#"{"id": "a", "figures": []}"#;
        let all = [
            ("b.json", other),
            ("c.json", "{"),
            ("gone.json", gone),
            ("gone.svg2", "<svg/>"),
            ("old.svg", "<svg/>"),
        ];
        assert_eq!(
            findings(&["a", "b", "c"].into(), &files(&all)),
            [
                "b.json: it is no result of b: publish it again",
                "c.json: it is no result of c: publish it again",
                "gone.json: there is no experiments/gone.toml: remove it",
                "gone.json: its figure gone.svg is missing: publish it again",
                "gone.svg2: no result lists it: remove it",
                "old.svg: no result lists it: remove it",
            ]
            .map(|finding| format!("{FOLDER}/{finding}"))
        );
    }

    #[test]
    fn the_folder_stays_below_its_limit() {
        let json = r#"{"id": "a", "figures": [["a.svg", "one"]]}"#;
        let found = |bytes: usize| {
            let svg = "x".repeat(bytes - json.len());
            findings(&["a"].into(), &files(&[("a.json", json), ("a.svg", &svg)])).len()
        };
        assert_eq!((found(BYTES_MAX), found(BYTES_MAX + 1)), (0, 1));
    }
}
