//! `tidemark experiment compare`

use crate::harness::{binary, said};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

/// Compares in a directory of its own, with the published results of the repository copied there.
struct Copied(tempfile::TempDir);

impl Copied {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/published");
        std::fs::create_dir_all(folder.path().join("experiments/published")).unwrap();
        for file in std::fs::read_dir(published).unwrap().map(|entry| entry.unwrap().path()) {
            let name = file.file_name().unwrap();
            std::fs::copy(&file, folder.path().join("experiments/published").join(name)).unwrap();
        }
        Self(folder)
    }

    fn compare(&self, args: &[&str]) -> Output {
        let mut command = Command::new(binary());
        command.args([&["experiment", "compare"], args].concat()).env_remove("TIDEMARK_RESULTS");
        command.current_dir(self.0.path()).output().unwrap()
    }

    fn seconds(&self) -> std::path::PathBuf {
        self.0.path().join("experiments/seconds.json")
    }
}

#[test]
fn an_experiment_is_compared_with_what_is_published() {
    let copied = Copied::new();
    let same = copied.compare(&["dkvf-table8.1", "gentlerain-table2", "--record"]);
    let text = said(&same);
    assert_eq!(same.status.code(), Some(0), "{text}");
    assert!(text.contains(" s: 0 of 6 statements moved"), "{text}");
    assert!(text.contains("same    COPS takes at most as many: 0."), "{text}");
    assert!(text.contains("cannot be repeated: gentlerain-table2"), "{text}");
    let seconds = std::fs::read_to_string(copied.seconds()).unwrap();
    let took: BTreeMap<String, u64> = serde_json::from_str(&seconds).unwrap();
    let took = took["dkvf-table8.1"];
    assert!(text.contains(&format!("dkvf-table8.1, {took} s: ")), "{text}");
    assert_eq!(seconds, format!("{{\n  \"dkvf-table8.1\": {took}\n}}\n"));

    let file = copied.0.path().join("experiments/published/dkvf-table8.1.json");
    let mut published: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    published["statements"][0]["value"] = 0.5.into();
    published["statements"][1]["verdict"] = "holds".into();
    std::fs::write(&file, published.to_string()).unwrap();
    std::fs::remove_file(file.with_extension("svg")).unwrap();
    let moved = copied.compare(&["dkvf-table8.1"]);
    let text = said(&moved);
    assert_eq!(moved.status.code(), Some(1), "{text}");
    assert!(
        text.contains(
            "moved   eventual consistency takes at most as many lines as the paper's, in proportion: 0.5 → 0."
        ),
        "{text}"
    );
    assert!(
        text.contains("VERDICT GentleRain takes at most as many: 1.") && text.contains(" (holds) → "),
        "{text}"
    );
    assert!(text.contains("moved   figure dkvf-table8.1.svg"), "{text}");
    assert!(
        text.contains(
            "1 experiments measured again: 6 statements, 2 moved, 1 verdicts moved, 1 figures moved"
        ),
        "{text}"
    );
    let json: Value = serde_json::from_slice(&copied.compare(&["dkvf-table8.1", "--json"]).stdout).unwrap();
    assert_eq!(json["compared"][0]["statements"][1]["published"]["verdict"], "holds", "{json}");
}

#[test]
fn what_takes_too_long_and_what_there_is_not_are_told() {
    let copied = Copied::new();
    std::fs::write(copied.seconds(), r#"{"dkvf-table8.1": 301}"#).unwrap();
    let text = said(&copied.compare(&["dkvf-table8.1", "--at-most", "5m"]));
    assert!(
        text.contains("0 experiments measured again") && text.contains("took longer: dkvf-table8.1 (301 s)"),
        "{text}"
    );
    std::fs::remove_file(copied.0.path().join("experiments/published/dkvf-table8.1.json")).unwrap();
    let text = said(&copied.compare(&["dkvf-table8.1"]));
    assert!(text.contains("not published: dkvf-table8.1"), "{text}");
    let none = copied.compare(&["dkvf-table9"]);
    assert_eq!(none.status.code(), Some(2), "{}", said(&none));
    std::fs::write(copied.seconds(), "[]").unwrap();
    let wrong = copied.compare(&["dkvf-table8.1"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", said(&wrong));
    assert!(said(&wrong).contains("experiments/seconds.json: "), "{}", said(&wrong));
}
