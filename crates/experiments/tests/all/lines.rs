//! The published lines of protocols are those of the sources.

use std::path::Path;
use tidemark_experiments::{
    Lines, Options, Outcome, Runner, Runners, Store, conclude, document, library, load, machine, publish,
    published, run, version,
};

/// Counts the lines of protocols as `tidemark experiment run` does.
fn counted(folder: &Path) -> (tidemark_experiments::Experiment, Outcome) {
    let experiment = load("dkvf-table8.1").unwrap();
    let results = folder.join("results.sqlite");
    let runners: Runners = [("lines", &Lines as &dyn Runner)].into();
    let version = version(env!("CARGO_PKG_VERSION"));
    let options = Options { full: true, only: None, jobs: 1, version, machine: machine() };
    let batch = run(&experiment, &runners, &mut Store::open(&results).unwrap(), &options).unwrap();
    let outcome = conclude(&experiment, &results, batch).unwrap();
    (experiment, outcome)
}

/// A protocol that grows makes its published length wrong. With `UPDATE_DOCS=1` the result and `docs/claims.md` are brought up
/// to date, if they have changed; then read the difference.
#[test]
fn the_published_lines_of_protocols_are_those_of_the_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = root.join("experiments/published");
    let scratch = tempfile::tempdir().unwrap();
    let (experiment, outcome) = counted(scratch.path());
    let of_this = |folder: &Path| published(folder).unwrap().into_iter().find(|one| one.id == experiment.id);
    let old = of_this(&folder).expect("a published result");
    let drawn = |folder: &Path, file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    let new = scratch.path().join("published");
    publish(&experiment, &outcome, &new).unwrap();
    let figures = of_this(&new).unwrap().figures;
    assert!(!figures.is_empty());
    let same = |(file, _): &(String, String)| drawn(&folder, file) == drawn(&new, file);
    let current = old.statements == outcome.statements && figures.iter().all(same);
    if std::env::var_os("UPDATE_DOCS").is_some() && !current {
        publish(&experiment, &outcome, &folder).unwrap();
        let text = document(&published(&folder).unwrap(), &library().unwrap(), "../experiments/published");
        return std::fs::write(root.join("docs/claims.md"), text).unwrap();
    }
    let told = "run it again with UPDATE_DOCS=1, and read the difference";
    assert_eq!(old.statements, outcome.statements, "{told}");
    assert!(current, "a figure: {told}");
}
