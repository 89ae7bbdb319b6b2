//! The lists, a file for each unit: every test that redis-server passes, and what is expected of Tidemark. They are the
//! ratchet: a test that passed must go on passing.

use super::{Ended, Family, Outcome};
use crate::run::root;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What is expected of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// It passes.
    Pass,
    /// It fails, and is to pass.
    Todo,
    /// It fails, for a reason that stays.
    Never,
    /// It may pass or fail, for a reason.
    Either,
}

const WORDS: [(&str, Expected); 4] = [
    ("pass", Expected::Pass),
    ("todo", Expected::Todo),
    ("never", Expected::Never),
    ("either", Expected::Either),
];

/// A test of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) expected: Expected,
    /// Why; empty unless it is `Never` or `Either`.
    pub(super) reason: String,
}

/// The list of a unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct List(pub(super) Vec<Entry>);

/// How a run differs from a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// A test that passed fails.
    Broken(String),
    /// A test passes that the list excuses.
    Mended(String),
}

impl Finding {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Broken(name) | Self::Mended(name) => name,
        }
    }
}

impl List {
    /// The list of a unit; empty if there is none yet.
    pub(super) fn read(family: &Family, unit: &str) -> Result<Self> {
        let path = family.path(unit);
        match std::fs::read_to_string(root().join(&path)) {
            Ok(text) => Self::parse(&text).with_context(|| path),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).context(path),
        }
    }

    pub(super) fn write(&self, family: &Family, unit: &str) -> Result<()> {
        let file: PathBuf = root().join(family.path(unit));
        std::fs::create_dir_all(file.parent().expect("it lies in a folder"))?;
        Ok(std::fs::write(file, self.text(family, unit))?)
    }

    fn parse(text: &str) -> Result<Self> {
        let mut entries: Vec<Entry> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let at = || format!("line {}: {line}", index + 1);
            if line.starts_with('#') || line.is_empty() {
                continue;
            }
            if line.starts_with(' ') {
                let entry = entries.last_mut().with_context(at)?;
                entry.reason = format!("{} {}", entry.reason, line.trim()).trim().to_string();
                continue;
            }
            let (word, name) = line.split_once(' ').with_context(at)?;
            let known = WORDS.iter().find(|(known, _)| *known == word);
            let (_, expected) = known.with_context(|| format!("{}: no such expectation", at()))?;
            entries.push(Entry { name: name.trim().into(), expected: *expected, reason: String::new() });
        }
        for entry in &entries {
            let needed = matches!(entry.expected, Expected::Never | Expected::Either);
            if needed == entry.reason.is_empty() {
                bail!("{}: `never` and `either` have a reason on the next line, and others none", entry.name);
            }
        }
        Ok(Self(entries))
    }

    fn text(&self, family: &Family, unit: &str) -> String {
        let Family { command, owner, .. } = family;
        let mut text = format!(
            "# The tests of {owner} {unit} that redis-server passes, and whether Tidemark does. A line is `pass`, `todo`,\n\
             # or, with the reason on the next line, `never` or `either`. `./x {command} {unit} --update` keeps it.\n"
        );
        for entry in &self.0 {
            let (word, _) = WORDS.iter().find(|(_, expected)| *expected == entry.expected).expect("all are");
            text.push_str(&format!("{word} {}\n", entry.name));
            if !entry.reason.is_empty() {
                text.push_str(&format!("     {}\n", entry.reason));
            }
        }
        text
    }

    /// Where a run is not as expected. A test that did not run has not passed.
    pub(super) fn findings(&self, outcomes: &[Outcome]) -> Vec<Finding> {
        let passed = passed(outcomes);
        let finding = |entry: &Entry| {
            let passed = passed.contains_key(&entry.name[..]);
            match entry.expected {
                Expected::Pass if !passed => Some(Finding::Broken(entry.name.clone())),
                Expected::Todo | Expected::Never if passed => Some(Finding::Mended(entry.name.clone())),
                _ => None,
            }
        };
        self.0.iter().filter_map(finding).collect()
    }

    /// The list with what was found: broken tests are to be done, mended ones pass. Other lines and reasons stay.
    pub(super) fn updated(&self, findings: &[Finding]) -> Self {
        let mut list = self.clone();
        for entry in &mut list.0 {
            match findings.iter().find(|finding| finding.name() == entry.name) {
                Some(Finding::Broken(_)) => entry.expected = Expected::Todo,
                Some(Finding::Mended(_)) => (entry.expected, entry.reason) = (Expected::Pass, String::new()),
                None => {}
            }
        }
        list
    }

    /// The list of the tests that redis-server passed in every one of `runs`; new ones are to be done.
    pub(super) fn with_reference(&self, runs: &[Vec<Outcome>]) -> Self {
        let always = runs.iter().map(|run| passed(run)).collect::<Vec<_>>();
        let first = runs.first().into_iter().flatten();
        let stable =
            first.filter(|outcome| always.iter().all(|passed| passed.contains_key(&outcome.name[..])));
        let entry = |outcome: &Outcome| {
            let known = self.0.iter().find(|entry| entry.name == outcome.name).cloned();
            let name = outcome.name.clone();
            known.unwrap_or(Entry { name, expected: Expected::Todo, reason: String::new() })
        };
        Self(stable.map(entry).collect())
    }

    /// The same tests, all of which have to pass: what the reference is held to.
    pub(super) fn all_pass(&self) -> Self {
        let entry =
            |entry: &Entry| Entry { expected: Expected::Pass, reason: String::new(), ..entry.clone() };
        Self(self.0.iter().map(entry).collect())
    }

    pub(super) fn count(&self, expected: Expected) -> usize {
        self.0.iter().filter(|entry| entry.expected == expected).count()
    }
}

fn passed(outcomes: &[Outcome]) -> BTreeMap<&str, ()> {
    let passed = outcomes.iter().filter(|outcome| outcome.ended == Ended::Passed);
    passed.map(|outcome| (&outcome.name[..], ())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAMILY: Family =
        Family { command: "some-tests", owner: "the unit", title: "", units: &["x"], lanes: 1, help: "" };
    const TEXT: &str = "# a header\npass one\ntodo two - of them\nnever three\n     There is one database.\neither four\n     Time.\n";

    fn ran(results: &[(&str, Ended)]) -> Vec<Outcome> {
        let outcome = |(name, ended): &(&str, Ended)| Outcome {
            name: (*name).into(),
            ended: *ended,
            details: "".into(),
        };
        results.iter().map(outcome).collect()
    }

    #[test]
    fn a_list_is_read_as_it_is_written() {
        let list = List::parse(TEXT).unwrap();
        assert_eq!(list.0[1].name, "two - of them");
        assert_eq!(list.0[2].reason, "There is one database.");
        assert_eq!(List::parse(&list.text(&FAMILY, "x")).unwrap(), list);
        for wrong in ["perhaps one", "never one", "pass one\n  because", "pass"] {
            assert!(List::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_ratchet_finds_what_breaks_and_what_is_mended() {
        let list = List::parse(TEXT).unwrap();
        let as_expected =
            ran(&[("one", Ended::Passed), ("two - of them", Ended::Failed), ("four", Ended::Passed)]);
        assert_eq!(list.findings(&as_expected), []);
        // A test that is skipped, or that its unit never comes to, has not passed.
        for outcomes in [ran(&[("one", Ended::Failed)]), ran(&[("one", Ended::Skipped)]), Vec::new()] {
            assert_eq!(list.findings(&outcomes), [Finding::Broken("one".into())]);
        }
        let more = ran(&[("one", Ended::Passed), ("two - of them", Ended::Passed), ("three", Ended::Passed)]);
        let mended = ["two - of them", "three"].map(|name| Finding::Mended(name.into()));
        assert_eq!(list.findings(&more), mended);
        assert_eq!(list.updated(&list.findings(&more)).findings(&more), []);
        let broken = list.updated(&list.findings(&Vec::new()));
        assert_eq!(broken.count(Expected::Todo), 2);
        assert_eq!(broken.count(Expected::Never), 1);
    }

    #[test]
    fn the_bar_is_what_the_reference_always_passes() {
        let list = List::parse(TEXT).unwrap();
        let first = ran(&[("one", Ended::Passed), ("new", Ended::Passed), ("by chance", Ended::Passed)]);
        let second = ran(&[("one", Ended::Passed), ("new", Ended::Passed), ("by chance", Ended::Failed)]);
        let bar = list.with_reference(&[first, second]);
        let entries: Vec<_> = bar.0.iter().map(|entry| (&entry.name[..], entry.expected)).collect();
        assert_eq!(entries, [("one", Expected::Pass), ("new", Expected::Todo)]);
    }
}
