//! Files that are wrong: each error names the file and the field.

use crate::common::{self, Toy, text};
use std::collections::BTreeMap;
use tidemark_experiments::{Lines, Runner, Runners, Store, load, parse, run};

/// What is said of the toy's file with one text in it replaced.
#[track_caller]
fn said(old: &str, new: &str) -> String {
    let file = text("");
    assert!(file.contains(old), "{old} is not there");
    let error = parse("toy.toml", &file.replacen(old, new, 1)).expect_err(new);
    let error = format!("{error:#}");
    assert!(error.starts_with("toy.toml: "), "{error}");
    error
}

#[track_caller]
fn says(old: &str, new: &str, wanted: &str) {
    let error = said(old, new);
    assert!(error.contains(wanted), "{new}: {error}");
}

#[test]
fn fields_are_known_there_and_of_the_right_kind() {
    says("title =", "tittle =", "unknown field `tittle`");
    says("paper = \"Fast is twice as fast.\"", "", "missing field `paper`");
    says("seed = 1", "seed = [1]", "run \"simulated\": point.seed: [1] is no number");
    says("vary.clients = [1, 2, 4]", "vary.clients = 4", "expected a sequence");
    says("vary.clients = [1, 2, 4]", "vary.clients = []", "vary.clients: the list is empty");
    says("vary.clients = [1, 2, 4]", "vary.clients = [1, 1]", "vary.clients[1]: 1 stands twice");
    says("x_scale = \"log\"", "x_scale = \"logarithmic\"", "unknown variant `logarithmic`");
    says("x_scale = \"log\"", "kind = \"pie\"", "unknown variant `pie`");
    says("x_scale = \"log\"", "x_factor = 0", "figure \"toy-1\": x_factor: 0 is not above 0");
    says("source = \"000, figure 0\"", "source = \" \"", "source: it is empty");
    says("id = \"toy-1\"", "id = \"Toy 1\"", "id: \"Toy 1\" is not of small letters");
    says("id = \"toy-1\"", "id = \"runs\"", "id: \"runs\" is the name of something else");
}

#[test]
fn what_is_named_is_there() {
    says(
        "run = \"simulated\"",
        "run = \"simulate\"",
        "figure \"toy-1\": run: there is no run \"simulate\", but simulated",
    );
    says(
        "quick.vary.clients",
        "quick.vary.client",
        "quick.vary.client: there is no vary.client for it to replace",
    );
    says("quick.vary.clients = [1, 4]", "quick.point.dcs = 1", "quick.point.dcs: there is no point.dcs");
    says("series = \"fast\"", "figure = \"other\"", "paper-point 1: figure: there is no figure \"other\"");
    says("x = 4\n", "x = \"four\"\n", "paper-point 1: x: \"four\" is no number, which only bars");
    says("name = \"simulated\"", "name = \"rows\"", "\"rows\" is a column that every view has");
    says("point = { seed", "point = { part", "point.part: \"part\" is a column that every view has");
    says("y = \"throughput\"\n", "", "figure \"toy-1\": y: missing");
}

#[test]
fn a_table_among_varied_values_has_a_name_and_sets_what_nothing_else_sets() {
    let mode = "vary.mode = [\"fast\", \"slow\"]";
    says(mode, "vary.mode = [{ theta_us = 1 }]", "vary.mode[0]: a table needs a name");
    says(mode, "vary.mode = [{ name = \"a\", b = [1] }]", "vary.mode[0].b: [1] is no number");
    let both = "vary.mode = [{ name = \"a\", clients = 3 }]";
    says(mode, both, "vary.mode: it sets clients, which vary.clients sets too");
}

#[test]
fn statements_have_one_bound_and_a_query_for_one_number() {
    says(
        "at_least = 2",
        "",
        "statement \"fast is twice as fast\": give one of paper, within, at_least, at_most and told, not 0",
    );
    says("at_least = 2", "at_least = 2\nat_most = 3", "not 2 of them");
    says("at_least = 2", "paper = 2", "tolerance: paper needs it");
    says("at_least = 2", "at_least = 2\ntolerance = 0.1", "tolerance: paper needs it, and nothing else");
    says("at_least = 2", "paper = 2\ntolerance = 0.7", "tolerance: 0.7 is not above 0 and at most 0.5");
    says("why = \"twice\"", "", "why: say where the tolerance comes from, or where the paper states a bound");
    says("at_least = 2", "within = [3, 2]", "within: 3 is above 2");
    says("at_least = 2", "at_least = \"two\"", "invalid type: string \"two\"");
    let rows = "SELECT 2 * count(*) FROM rows";
    let sql = "statement \"rows, twice\": sql: ";
    says(rows, "SELEC 1", &format!("{sql}near \"SELEC\": syntax error"));
    says(rows, "SELECT 1 FROM live", &format!("{sql}no such table: live"));
    says(rows, "SELECT 1, 2", &format!("{sql}it gives 2 columns, not one number"));
    says(rows, "DELETE FROM rows", &format!("{sql}cannot modify rows because it is a view"));
    says("x_scale = \"log\"", "where = \"clients >\"", "figure \"toy-1\": where: ");
}

#[test]
fn runners_say_whether_they_are_there_and_what_they_return() {
    let toy = Toy { panics: false };
    let runners: Runners = BTreeMap::from([("toy", &toy as &dyn Runner), ("lines", &Lines as &dyn Runner)]);
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("results.sqlite")).unwrap();
    let mut said = |file: &str, old: &str, new: &str| {
        assert!(file.contains(old), "{old} is not there");
        let experiment = parse("x.toml", &file.replacen(old, new, 1)).unwrap();
        format!("{:#}", run(&experiment, &runners, &mut store, &common::options(true, None)).unwrap_err())
    };
    let unknown = said(&text(""), "runner = \"toy\"", "runner = \"boy\"");
    assert_eq!(unknown, "toy-1: run \"simulated\": runner: there is no \"boy\", but lines, toy");
    let lines = std::fs::read_to_string("../../experiments/dkvf-table8.1.toml").unwrap();
    let column = said(&lines, "y = \"lines\"", "y = \"line_count\"");
    let wanted =
        "dkvf-table8.1: figure \"dkvf-table8.1\": y: rows of \"counted\" have no column \"line_count\", but";
    assert!(column.starts_with(wanted), "{column}");
    let query = said(&lines, "max(lines)", "max(loc)");
    assert!(query.ends_with("sql: no such column: loc"), "{query}");
    let quoted = said(&lines, "max(lines)", "max(\\\"loc\\\")");
    assert!(quoted.contains("no such column"), "a misspelt column in quotes is no text: {quoted}");
}

#[test]
fn files_that_are_not_there_or_not_text_are_told_apart() {
    let error = |name: &str| format!("{:#}", load(name).unwrap_err());
    assert!(error("nothing").contains("there is no experiment \"nothing\""), "{}", error("nothing"));
    assert!(error("none.toml").contains("cannot read none.toml"), "{}", error("none.toml"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, text("")).unwrap();
    assert_eq!(load(path.to_str().unwrap()).unwrap().id, "toy-1");
    std::fs::write(&path, "id = ").unwrap();
    let said = error(path.to_str().unwrap());
    assert!(said.contains("mine.toml") && said.contains("line 1"), "{said}");
}

#[test]
fn the_example_in_the_document_runs_and_holds() {
    let document = std::fs::read_to_string("../../docs/experiments.md").unwrap();
    let example = document.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let experiment = parse("docs/experiments.md", example).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("results.sqlite");
    let runners: Runners = BTreeMap::from([("lines", &Lines as &dyn Runner)]);
    let options = common::options(false, None);
    let batch = run(&experiment, &runners, &mut Store::open(&results).unwrap(), &options).unwrap();
    let outcome = tidemark_experiments::conclude(&experiment, &results, batch).unwrap();
    assert!(outcome.ok() && outcome.parts[0].points == 1, "{}", outcome.text());
}
