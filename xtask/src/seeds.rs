//! `./x seeds`: the table of schedules that violate what they have to.

use crate::artefacts::Artefacts;
use crate::run::{root, run};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::process::Command;

pub(crate) const HELP: &str = "\
./x seeds [TEST…]

Rewrites crates/simulators/tests/seeds.txt, which has a schedule for each mutant and for each protocol as published that violates what it
has to. Needed when schedules are drawn in another way, or when a rule or a mutant is new. A seed that still violates something stays; for
the others it searches, from the first seed on: minutes for most, hours for the rarest.

  TEST  searches for those of the tests whose names contain one of these words; all others stay as they are
";

const TABLE: &str = "crates/simulators/tests/seeds.txt";

const HEADER: &str = "\
# The schedules that show what mutants, and protocols as published, violate: a command for each, which plays it again and explains it.
# `./x seeds` writes this table.
";

/// Rewrites the table, as `args` say.
pub(crate) fn seeds(args: &[String]) -> Result<()> {
    if args.iter().any(|arg| arg.starts_with('-')) {
        print!("{HELP}");
        return Ok(());
    }
    let built = Artefacts::of_package("tidemark-simulators")?;
    let program = built.programs.iter().find(|program| program.name == "simulators/all");
    let program = program.context("the tests of simulators are not built")?;
    let found = tempfile::NamedTempFile::new()?;
    let mut command = Command::new(&program.executable);
    command.args(args).arg("--nocapture").current_dir(&program.folder);
    let played = run(command.env("TIDEMARK_SEEDS_TO", found.path()));
    let old = std::fs::read_to_string(root().join(TABLE)).unwrap_or_default();
    let found = std::fs::read_to_string(found.path())?;
    // Only a run of everything knows what is no longer needed.
    let whole = args.is_empty() && played.is_ok();
    let (table, changes) = merged(&old, &found, whole);
    std::fs::write(root().join(TABLE), table)?;
    changes.iter().for_each(|change| println!("{change}"));
    println!("{} lines have changed in {TABLE}", changes.len());
    played.context("some tests have not found what they look for, or fail for another reason: see above")
}

/// Returns the subject of a line: its command without the seed.
fn subject(line: &str) -> (String, String) {
    let (before, rest) = line.split_once("--seeds ").unwrap_or((line, ""));
    let after = rest.split_once(' ').map_or("", |(_, after)| after);
    (before.to_string(), after.to_string())
}

/// The table with the lines that were found in the place of older ones; without older ones if the run was `whole`. Also returns what
/// has changed.
fn merged(old: &str, found: &str, whole: bool) -> (String, Vec<String>) {
    let lines = |text: &str| -> BTreeSet<String> {
        text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(String::from).collect()
    };
    let (old, mut new) = (lines(old), lines(found));
    if !whole {
        let subjects: BTreeSet<_> = new.iter().map(|line| subject(line)).collect();
        new.extend(old.iter().filter(|line| !subjects.contains(&subject(line))).cloned());
    }
    let mut changes: Vec<String> = old.difference(&new).map(|line| format!("- {line}")).collect();
    changes.extend(new.difference(&old).map(|line| format!("+ {line}")));
    let mut sorted: Vec<&String> = new.iter().collect();
    sorted.sort_by_key(|line| subject(line));
    let table = sorted.iter().fold(HEADER.to_string(), |text, line| text + line + "\n");
    (table, changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "# a header\nsim --protocol a --seeds 7..8 --x\nsim --protocol b --seeds 3..4\n";

    #[test]
    fn found_seeds_replace_older_ones_and_others_stay() {
        let (table, changes) = merged(OLD, "sim --protocol a --seeds 9..10 --x\n", false);
        assert_eq!(
            table,
            format!("{HEADER}sim --protocol a --seeds 9..10 --x\nsim --protocol b --seeds 3..4\n")
        );
        assert_eq!(changes, ["- sim --protocol a --seeds 7..8 --x", "+ sim --protocol a --seeds 9..10 --x"]);
    }

    #[test]
    fn a_run_of_everything_drops_what_nobody_looks_for() {
        let (table, changes) = merged(OLD, "sim --protocol a --seeds 7..8 --x\n", true);
        assert_eq!(table, format!("{HEADER}sim --protocol a --seeds 7..8 --x\n"));
        assert_eq!(changes, ["- sim --protocol b --seeds 3..4"]);
    }
}
