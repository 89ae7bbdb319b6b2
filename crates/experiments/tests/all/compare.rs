//! Measuring again, beside what is published.

use crate::common::{Toy, experiment, options, run_one, run_toy, text};
use std::collections::BTreeMap;
use std::path::Path;
use tidemark_experiments::{
    Comparison, Experiment, Finding, Outcome, Point, Row, Runner, Runners, Store, Verdict, compare, conclude,
    parse, publish, published, run_repeatable,
};

/// Publishes an outcome, and compares another one with it.
fn compared(folder: &Path, file: &Experiment, first: &Outcome, second: &Outcome) -> Comparison {
    let published_in = folder.join("published");
    publish(file, first, &published_in).unwrap();
    compare(file, second, &published(&published_in).unwrap()[0], &published_in)
}

#[test]
fn what_gives_the_same_has_not_moved() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = run_toy(folder.path(), "", true);
    let comparison = compared(folder.path(), &experiment(""), &outcome, &run_toy(folder.path(), "", true));
    assert!(comparison.ok());
    assert_eq!((comparison.statements.len(), comparison.left_out, comparison.failed), (2, 0, 0));
    assert!(!comparison.statements.iter().any(|one| one.moved()), "{comparison:?}");
    assert_eq!(comparison.figures, [("toy-1.svg".to_string(), true)]);
}

#[test]
fn a_number_that_moves_is_no_failure_and_a_verdict_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = Experiment { note: Some("It is slow.".into()), ..experiment("") };
    let outcome = |advantage: &str| run_toy(folder.path(), &format!("advantage = {advantage}"), true);
    let faster = compared(folder.path(), &file, &outcome("2.5"), &outcome("3.0"));
    let first = &faster.statements[0];
    assert!(faster.ok() && first.moved() && !first.verdict_moved(), "{faster:?}");
    let found = |value: f64, verdict: Verdict| Finding { value: Some(value), verdict: Some(verdict) };
    assert_eq!(first.published, Some(found(2.5, Verdict::Holds)));
    assert_eq!(first.now, found(3.0, Verdict::Holds));
    assert!(!faster.statements[1].moved(), "rows, twice");
    assert_eq!(faster.figures, [("toy-1.svg".to_string(), false)]);
    let slower = compared(folder.path(), &file, &outcome("2.5"), &outcome("1.1"));
    assert!(!slower.ok() && slower.statements[0].verdict_moved(), "{slower:?}");
}

#[test]
fn a_new_statement_and_points_that_fail_are_failures() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = run_toy(folder.path(), "", true);
    let more = text("") + "\n[[statement]]\nsays = \"new\"\nsql = \"SELECT 1\"\ntold = true\n";
    let more = parse("toy.toml", &more).unwrap();
    let comparison = compared(folder.path(), &experiment(""), &outcome, &outcome);
    assert!(comparison.ok());
    let second = run_one(folder.path(), &more, true);
    let folder_of = folder.path().join("published");
    let comparison = compare(&more, &second, &published(&folder_of).unwrap()[0], &folder_of);
    assert!(comparison.statements[2].published.is_none() && !comparison.ok(), "{comparison:?}");
    let failing = run_toy(folder.path(), "fails_at = 2", true);
    let comparison = compared(folder.path(), &experiment(""), &outcome, &failing);
    assert!(comparison.failed > 0 && !comparison.ok(), "{comparison:?}");
}

/// A runner whose rows another machine does not give.
struct Machine;

impl Runner for Machine {
    fn run(&self, _: &Point<'_>, _: &dyn Fn(&str)) -> anyhow::Result<Vec<Row>> {
        panic!("it is not to be run")
    }

    fn parallel(&self) -> bool {
        false
    }
}

/// The toy, which gives the same everywhere.
struct Repeatable;

impl Runner for Repeatable {
    fn run(&self, point: &Point<'_>, say: &dyn Fn(&str)) -> anyhow::Result<Vec<Row>> {
        Toy { panics: false }.run(point, say)
    }

    fn parallel(&self) -> bool {
        true
    }

    fn repeatable(&self) -> bool {
        true
    }
}

#[test]
fn only_what_is_the_same_on_every_machine_is_measured_again() {
    let folder = tempfile::tempdir().unwrap();
    let more = "\n[[run]]\nname = \"live\"\nrunner = \"machine\"\npoint = { clients = 1 }\n\
                [[statement]]\nsays = \"of the machine\"\nsql = \"SELECT max(throughput) FROM live\"\ntold = true\n";
    let file = parse("toy.toml", &(text("") + more).replace("FROM rows", "FROM simulated")).unwrap();
    let results = folder.path().join("results.sqlite");
    let runners: Runners =
        BTreeMap::from([("toy", &Repeatable as &dyn Runner), ("machine", &Machine as &dyn Runner)]);
    let mut store = Store::open(&results).unwrap();
    let mut again =
        |file: &Experiment| run_repeatable(file, &runners, &mut store, &options(true, None)).unwrap();
    let batch = again(&file).expect("a part");
    let outcome = conclude(&file, &results, batch).unwrap();
    let first = run_toy(folder.path(), "", true);
    publish(&experiment(""), &first, &folder.path().join("published")).unwrap();
    let folder_of = folder.path().join("published");
    let comparison = compare(&file, &outcome, &published(&folder_of).unwrap()[0], &folder_of);
    assert_eq!((comparison.statements.len(), comparison.left_out), (2, 1), "{comparison:?}");
    assert!(comparison.ok(), "{comparison:?}");
    let only_live = Experiment {
        runs: file.runs.iter().filter(|run| run.name == "live").cloned().collect(),
        figures: Vec::new(),
        statements: Vec::new(),
        paper_points: Vec::new(),
        ..file
    };
    assert_eq!(again(&only_live), None);
}
