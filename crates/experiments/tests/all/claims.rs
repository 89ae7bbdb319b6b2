//! Publishing results, and the document that is made of them.

use crate::common::{self, experiment, run_toy};
use std::path::Path;
use tidemark_experiments::{Verdict, document, library, publish, published, results_of_the_library};

#[test]
fn what_is_published_is_what_was_measured_and_the_document_tells_it() {
    let folder = tempfile::tempdir().unwrap();
    let claims = folder.path().join("claims");
    assert!(published(&claims).unwrap().is_empty());
    let file = tidemark_experiments::Experiment { note: Some("It is slow.".into()), ..experiment("") };
    let outcome = run_toy(folder.path(), "advantage = 1.1", true);
    publish(&file, &outcome, &claims).unwrap();
    let all = published(&claims).unwrap();
    assert_eq!((all.len(), all[0].verdict), (1, Verdict::DoesNotHold));
    assert_eq!(all[0].statements, outcome.statements);
    let svg = std::fs::read_to_string(claims.join("toy-1.svg")).unwrap();
    assert_eq!(svg, outcome.figures[0].svg);
    let text = document(&all, &[experiment("")], "claims");
    for wanted in [
        "Statements: 1 (1 do not hold). Claims: 1 (1 do not hold).",
        "| [Throughput by arithmetic](#toy-1) | 000, figure 0 | does not hold | 0 of 1 |",
        "**The paper:** Fast is twice as fast.",
        "**Verdict: does not hold.**",
        "| fast is twice as fast | 1.1 | ≥ 2 (twice) | **does not hold** |",
        "| rows, twice | 12 |  | told |",
        "![Throughput by arithmetic](claims/toy-1.svg)",
        "Setup of *simulated*: a full run of `toy` with 6 points, 2",
        "- repeat it: `tidemark experiment run toy-1`; seed 1",
        "- 4 points in a quick run: clients 1, 4",
    ] {
        assert!(text.contains(wanted), "{wanted} in:\n{text}");
    }
    assert!(!text.contains("Not measured yet"), "{text}");
    let mended = tidemark_experiments::Experiment { note: Some("We looked.".into()), ..experiment("") };
    assert!(document(&all, &[mended], "claims").contains("**Findings:** We looked."));
    assert!(document(&[], &[experiment("")], "claims").contains("## Not measured yet\n\n`toy-1`"));
    std::fs::write(claims.join("bad.json"), "{}").unwrap();
    let error = format!("{:#}", published(&claims).unwrap_err());
    assert!(error.contains("bad.json is no published result"), "{error}");
}

#[test]
fn a_quick_run_and_a_claim_that_fails_without_a_reason_are_not_published() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |outcome: &tidemark_experiments::Outcome| {
        publish(&experiment(""), outcome, &folder.path().join("claims")).unwrap_err().to_string()
    };
    let error = refused(&run_toy(folder.path(), "", false));
    assert_eq!(
        error,
        "not published: simulated was a quick run, which is no evidence: tidemark experiment run toy-1"
    );
    let error = refused(&run_toy(folder.path(), "advantage = 1.1", true));
    assert!(error.contains("toy-1 does not hold: give the cause, and the run that shows it"), "{error}");
    assert!(!folder.path().join("claims").exists());
}

#[test]
fn a_result_whose_figure_could_not_be_drawn_is_not_published() {
    let folder = tempfile::tempdir().unwrap();
    let text = common::text("").replace("y = \"throughput\"", "y = \"goodput\"");
    let experiment = tidemark_experiments::parse("toy.toml", &text).unwrap();
    let outcome = common::run_one(folder.path(), &experiment, true);
    let error = publish(&experiment, &outcome, &folder.path().join("claims")).unwrap_err().to_string();
    assert!(error.starts_with("not published: figure toy-1"), "{error}");
}

/// `docs/claims.md` is what `tidemark experiment docs` makes of `experiments/published`. With `UPDATE_DOCS=1` it is brought up to date.
#[test]
fn the_document_is_what_is_made_of_published_results() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (docs, folder) = (root.join("docs"), root.join("experiments/published"));
    let results = published(&folder).unwrap();
    let made = document(&results, &library().unwrap(), "../experiments/published");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        return std::fs::write(docs.join("claims.md"), made).unwrap();
    }
    let told = "run `tidemark experiment docs`, and read the difference";
    assert_eq!(std::fs::read_to_string(docs.join("claims.md")).unwrap(), made, "{told}");
    let embedded: Vec<String> = results_of_the_library().unwrap().into_iter().map(|one| one.id).collect();
    assert_eq!(embedded, results.into_iter().map(|one| one.id).collect::<Vec<_>>());
}
