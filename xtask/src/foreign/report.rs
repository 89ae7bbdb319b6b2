//! Results for people, and for programs.

use super::list::{Expected, Finding};
use super::{Ended, Family, Outcome, Unit};
use serde_json::{Value, json};
use std::fmt::Write;

/// How many lines of an error are shown.
const LINES_MAX: usize = 6;

/// Returns how many tests of the list of a unit have passed.
pub(super) fn passed(unit: &Unit) -> usize {
    let passed = |name: &str| {
        let same = |outcome: &&Outcome| outcome.name == name;
        unit.played.outcomes.iter().find(same).is_some_and(|outcome| outcome.ended == Ended::Passed)
    };
    unit.list.0.iter().filter(|entry| passed(&entry.name)).count()
}

/// A unit in a line.
pub(super) fn line(unit: &Unit) -> String {
    let (listed, never) = (unit.list.0.len(), unit.list.count(Expected::Never));
    let mut line =
        format!("{:20} {:4} of {listed:4} pass {:6.1} s", unit.name, passed(unit), unit.played.seconds);
    if never > 0 {
        let _ = write!(line, ", {never} never will");
    }
    if !unit.findings.is_empty() {
        let _ = write!(line, ", {} not as listed", unit.findings.len());
    }
    line
}

/// All units, and what is not as expected.
pub(super) fn text(family: &Family, server: &str, units: &[Unit], details: bool) -> String {
    let mut text = format!("\n{server}, {} that redis-server passes:\n", family.title);
    for unit in units {
        let _ = writeln!(text, "{}", line(unit));
        if details {
            for note in &unit.played.notes {
                let _ = writeln!(text, "    between tests: {}", shortened(note));
            }
            let failed = unit.played.outcomes.iter().filter(|outcome| outcome.ended == Ended::Failed);
            for outcome in failed {
                let _ = writeln!(text, "    failed: {}\n{}", outcome.name, shortened(&outcome.details));
            }
        }
    }
    let (of, all) = (units.iter().map(|unit| unit.list.0.len()).sum::<usize>(), units.iter().map(passed));
    let _ = writeln!(text, "{:20} {:4} of {of:4} pass", "all", all.sum::<usize>());
    for unit in units {
        for finding in &unit.findings {
            let _ = writeln!(text, "{}", explained(family, unit, finding));
        }
    }
    text
}

fn explained(family: &Family, unit: &Unit, finding: &Finding) -> String {
    let path = family.path(&unit.name);
    match finding {
        Finding::Mended(name) => format!("{path}: passes now, and the list says that it fails: {name}"),
        Finding::Broken(name) => {
            let outcome = unit.played.outcomes.iter().find(|outcome| outcome.name == *name);
            let details = outcome.map_or("it did not run", |outcome| &outcome.details);
            format!("{path}: has to pass, and does not: {name}\n{}", shortened(details))
        }
    }
}

fn shortened(details: &str) -> String {
    let lines = details.lines().take(LINES_MAX).map(|line| {
        let cut: String = line.chars().take(300).collect();
        format!("        {cut}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// All units as JSON: an object a unit, with the names of tests by how they ended.
pub(super) fn json(server: &str, units: &[Unit]) -> Value {
    let unit = |unit: &Unit| {
        let ended = |ended: Ended| {
            let outcomes = unit.played.outcomes.iter().filter(|outcome| outcome.ended == ended);
            outcomes.map(|outcome| Value::from(&outcome.name[..])).collect::<Vec<_>>()
        };
        let failed = unit.played.outcomes.iter().filter(|outcome| outcome.ended == Ended::Failed);
        let failed =
            failed.map(|outcome| json!({"name": outcome.name, "details": shortened(&outcome.details)}));
        let differ = |finding: &Finding| match finding {
            Finding::Broken(name) => json!({"broken": name}),
            Finding::Mended(name) => json!({"mended": name}),
        };
        json!({
            "unit": unit.name,
            "seconds": unit.played.seconds,
            "listed": unit.list.0.len(),
            "listed_passed": passed(unit),
            "passed": ended(Ended::Passed),
            "failed": failed.collect::<Vec<_>>(),
            "skipped": ended(Ended::Skipped),
            "notes": unit.played.notes,
            "findings": unit.findings.iter().map(differ).collect::<Vec<_>>(),
        })
    };
    json!({"server": server, "units": units.iter().map(unit).collect::<Vec<_>>()})
}
