//! The engine as a whole: a runner that computes, results on disk, statements, figures.

use crate::common::{self, Toy, experiment, options, rows_of, run_toy};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tidemark_experiments::{
    Lines, Point, Reader, Row, Runner, Runners, Store, Verdict, conclude, latest, library, load, points, run,
};
use tidemark_patience::until;

#[test]
fn a_sweep_is_measured_stored_judged_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = run_toy(folder.path(), "", true);
    assert_eq!(outcome.verdict, Verdict::Holds, "{}", outcome.text());
    assert!(outcome.ok());
    let statements: Vec<_> =
        outcome.statements.iter().map(|statement| (statement.value, statement.verdict)).collect();
    assert_eq!(statements, [(Some(2.0), Some(Verdict::Holds)), (Some(12.0), None)]);
    let part = &outcome.parts[0];
    assert_eq!((part.points, part.failed.len(), part.table.rows.len()), (6, 0, 6));
    let csv = std::fs::read_to_string(part.csv.as_ref().unwrap()).unwrap();
    assert_eq!(csv.lines().count(), 7);
    assert!(csv.lines().any(|line| line == "4,fast,1,800"), "{csv}");
    let svg = std::fs::read_to_string(outcome.figures[0].file.as_ref().unwrap()).unwrap();
    let document = roxmltree::Document::parse(&svg).unwrap();
    let texts: Vec<&str> = document.descendants().filter_map(|node| node.text()).map(str::trim).collect();
    for wanted in ["fast", "slow", "paper", "clients", "throughput, 1,000 operations a second"] {
        assert!(texts.contains(&wanted), "{wanted} in {texts:?}");
    }
    let results = folder.path().join("results.sqlite");
    // Everything is made of what is stored, so it can be made again.
    let again = latest(&experiment(""), &results).unwrap().unwrap();
    assert_eq!(again.statements, outcome.statements);
    assert_eq!(again.figures[0].svg, svg);
    let other = load("dkvf-table8.1").unwrap();
    assert!(latest(&other, &results).unwrap().is_none());
}

#[test]
fn the_quick_run_is_the_smaller_one_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = run_toy(folder.path(), "", false);
    assert_eq!((outcome.parts[0].points, outcome.parts[0].full), (4, false));
    assert!(outcome.text().contains("(quick, run 1): 4 points"), "{}", outcome.text());
    // Its numbers are within their bounds, which is no evidence.
    let one = &outcome.statements[0];
    assert_eq!((outcome.verdict, one.verdict), (Verdict::NotMeasured, Some(Verdict::NotMeasured)));
    assert_eq!((one.within, one.why.as_deref()), (Some(true), Some("simulated was a quick run")));
    assert!(outcome.ok());
    for words in [
        "(ok) fast is twice as fast: 2, but simulated was a quick run (must be ≥ 2)\n",
        "verdict: not measured (a quick run is no evidence: measure without --quick)\n",
    ] {
        assert!(outcome.text().contains(words), "{}", outcome.text());
    }
}

#[test]
fn a_point_that_fails_is_recorded_and_the_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = run_toy(folder.path(), "fails_at = 2", true);
    assert_eq!(outcome.verdict, Verdict::NotMeasured);
    assert_eq!(outcome.statements[0].why.as_deref(), Some("2 points of simulated failed"));
    assert!(!outcome.ok());
    let part = &outcome.parts[0];
    assert_eq!((part.points, part.failed.len(), part.table.rows.len()), (6, 2, 4));
    assert_eq!(part.failed[0].0["clients"], 2);
    assert!(part.failed[0].1.contains("two is too many"), "{:?}", part.failed);
    assert!(outcome.text().contains("FAILED clients 2"), "{}", outcome.text());
    let failures = rows_of(folder.path(), "SELECT experiment, count(*) AS n FROM failures");
    assert_eq!(failures, json!([{"experiment": "toy-1", "n": 2}]));
}

#[test]
fn a_check_that_does_not_hold_decides_and_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = run_toy(folder.path(), "advantage = 1.1", true);
    assert_eq!(outcome.verdict, Verdict::DoesNotHold);
    assert!(!outcome.ok());
    assert!(outcome.text().contains("FAIL fast is twice as fast: 1.1 (must be ≥ 2)"), "{}", outcome.text());
}

#[test]
fn a_column_that_rows_turn_out_not_to_have_is_a_problem_and_no_crash() {
    let folder = tempfile::tempdir().unwrap();
    let text = common::text("").replace("y = \"throughput\"", "y = \"goodput\"");
    let experiment =
        tidemark_experiments::parse("toy.toml", &text).expect("the runner does not say its columns");
    let outcome = common::run_one(folder.path(), &experiment, true);
    assert_eq!(outcome.verdict, Verdict::Holds);
    assert!(!outcome.ok());
    let wanted = "figure toy-1: rows have no column \"goodput\", but clients, mode, seed, throughput";
    assert_eq!(outcome.problems, [wanted]);
}

#[test]
fn parts_are_runs_of_one_batch_and_what_was_not_measured_is_not_judged() {
    let folder = tempfile::tempdir().unwrap();
    let more = "\n[[run]]\nname = \"live\"\nrunner = \"toy\"\nvary.mode = [\"fast\", \"slow\"]\npoint.clients = 1\n\
                [[statement]]\nsays = \"as when simulated\"\n\
                sql = \"SELECT 1.0 * (SELECT max(throughput) FROM live) / max(throughput) \
                FROM simulated WHERE clients = 1\"\nwithin = [0.9, 1.1]\nwhy = \"the same\"\n\
                [[statement]]\nsays = \"parts\"\nsql = \"SELECT count(DISTINCT part) FROM rows\"\ntold = true\n";
    let experiment = tidemark_experiments::parse("toy.toml", &(common::text("") + more)).unwrap();
    let both = common::run_one(folder.path(), &experiment, true);
    assert_eq!(both.verdict, Verdict::Holds, "{}", both.text());
    let values: Vec<_> = both.statements.iter().map(|statement| statement.value).collect();
    assert_eq!(values[2..], [Some(1.0), Some(2.0)]);
    let one = common::run_part(folder.path(), &experiment, "simulated");
    assert_eq!(
        (one.verdict, one.statements[2].verdict, one.parts.len()),
        (Verdict::PartlyHolds, Some(Verdict::NotMeasured), 1)
    );
    assert_eq!(one.statements[2].why.as_deref(), Some("live was not measured"));
    // The latest run of every part, whenever that was.
    let all = latest(&experiment, &folder.path().join("results.sqlite")).unwrap().unwrap();
    let runs: Vec<_> = all.parts.iter().map(|part| (part.name.as_str(), part.run)).collect();
    assert_eq!((all.verdict, runs), (Verdict::Holds, vec![("simulated", 3), ("live", 2)]));
    assert_eq!(all.statements[2].verdict, Some(Verdict::Holds));
    let missing = common::try_part(folder.path(), &experiment, "lively").unwrap_err().to_string();
    assert_eq!(missing, "toy-1 has no part \"lively\", but simulated, live");
}

/// What even a full sweep shows at a smaller scale than the paper's is no evidence, and a bound is as wide above the paper's number as
/// below it.
#[test]
fn a_statement_is_held_to_the_paper_s_number_and_scale() {
    let folder = tempfile::tempdir().unwrap();
    let text = common::text("").replace("at_least = 2", "paper = 1.5\ntolerance = 0.2");
    let verdict = |text: &str| {
        let experiment = tidemark_experiments::parse("toy.toml", text).unwrap();
        let outcome = common::run_one(folder.path(), &experiment, true);
        (outcome.verdict, outcome.statements[0].bound.clone().unwrap(), outcome.statements[0].why.clone())
    };
    assert_eq!(verdict(&text), (Verdict::DoesNotHold, "1.5 ± 20%".into(), None), "2 is too much");
    assert_eq!(verdict(&text.replace("1.5", "2.4")).0, Verdict::Holds);
    assert_eq!(verdict(&text.replace("1.5", "2.6")).0, Verdict::DoesNotHold, "2 is too little");
    let smaller = text.replace("1.5", "2").replace("quick.vary", "smaller = \"4 clients of 40\"\nquick.vary");
    let (verdict, _, why) = verdict(&smaller);
    let wanted = "simulated is smaller than the paper's: 4 clients of 40";
    assert_eq!((verdict, why.as_deref()), (Verdict::NotMeasured, Some(wanted)));
}

/// Counts how many points are measured at once.
struct Crowd {
    inside: AtomicUsize,
    most: AtomicUsize,
    together: bool,
    seen: Mutex<Vec<Row>>,
}

impl Runner for Crowd {
    fn run(&self, point: &Point<'_>, say: &dyn Fn(&str)) -> anyhow::Result<Vec<Row>> {
        let now = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        say("waiting for others");
        // Points wait until another one is there, or leave room for others where there can be none.
        if self.together {
            until("another point", || self.most.load(Ordering::SeqCst) > 1);
        } else {
            (0..1_000).for_each(|_| std::thread::yield_now());
        }
        self.seen.lock().unwrap().push(point.values.clone());
        self.inside.fetch_sub(1, Ordering::SeqCst);
        Ok(vec![Row::from([("throughput".to_string(), json!(1))])])
    }

    fn parallel(&self) -> bool {
        self.together
    }
}

#[test]
fn points_are_measured_beside_each_other_only_where_that_does_not_disturb() {
    for together in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let crowd = Crowd { inside, most, together, seen: Mutex::default() };
        let runners: Runners = BTreeMap::from([("toy", &crowd as &dyn Runner)]);
        let mut store = Store::open(&folder.path().join("results.sqlite")).unwrap();
        let experiment = experiment("");
        run(&experiment, &runners, &mut store, &options(true, None)).unwrap();
        assert_eq!(crowd.most.into_inner() > 1, together);
        let mut seen = crowd.seen.into_inner().unwrap();
        let mut wanted = points(&experiment.runs[0], true);
        for rows in [&mut seen, &mut wanted] {
            rows.sort_by_key(|row| json!(row).to_string());
        }
        assert_eq!(seen, wanted, "every point once");
    }
}

#[test]
fn what_was_measured_before_a_crash_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("results.sqlite");
    let toy = Toy { panics: true };
    let runners: Runners = BTreeMap::from([("toy", &toy as &dyn Runner)]);
    let crash = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut store = Store::open(&results).unwrap();
        let one = tidemark_experiments::Options { jobs: 1, ..options(true, None) };
        run(&experiment("fails_at = 4"), &runners, &mut store, &one)
    }));
    assert!(crash.is_err());
    let kept = rows_of(folder.path(), "SELECT count(*) AS n FROM toy_1");
    assert_eq!(kept, json!([{"n": 4}]), "those before the first of the last");
    let runs = Reader::open(&results).unwrap().runs().unwrap().text();
    assert!(runs.contains("not finished"), "{runs}");
}

#[test]
fn every_experiment_of_the_library_is_valid_and_has_its_own_id() {
    let all = library().unwrap();
    assert!(all.iter().any(|one| one.id == "dkvf-table8.1"));
    for one in &all {
        assert_eq!(load(&one.id).unwrap().title, one.title);
    }
    let error = load("dkvf-table9").unwrap_err().to_string();
    assert!(error.contains("; there is dkvf-") && error.contains("dkvf-table8.1"), "{error}");
}

#[test]
fn lines_of_code_are_counted_beside_those_of_the_paper() {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("results.sqlite");
    let mut store = Store::open(&results).unwrap();
    let runners: Runners = BTreeMap::from([("lines", &Lines as &dyn Runner)]);
    let experiment = load("dkvf-table8.1").unwrap();
    let batch = run(&experiment, &runners, &mut store, &options(false, None)).unwrap();
    let outcome = conclude(&experiment, &results, batch).unwrap();
    assert_eq!(
        (outcome.parts[0].table.rows.len(), outcome.parts[0].full),
        (4, true),
        "it has no smaller sweep"
    );
    assert!(outcome.problems.is_empty() && outcome.figures.len() == 1, "{}", outcome.text());
    assert!(outcome.statements.iter().all(|statement| statement.value.is_some()), "{}", outcome.text());
    assert_eq!(
        outcome.statements[0].verdict,
        Some(Verdict::Holds),
        "eventual consistency is shorter than the paper's"
    );
    assert_eq!(outcome.statements[4].verdict, Some(Verdict::Holds), "what a framework saves");
}
