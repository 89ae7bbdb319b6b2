//! An experiment whose results are computed, and running it.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use tidemark_experiments::{
    Experiment, Options, Outcome, Point, Reader, Row, Runner, Runners, Store, conclude, parse, run,
};

/// Throughput by arithmetic: 100 a client, twice that in mode `fast`, or what `advantage` says.
pub(crate) struct Toy {
    /// Whether it ends the thread where it is to fail.
    pub(crate) panics: bool,
}

impl Runner for Toy {
    fn run(&self, point: &Point<'_>, say: &dyn Fn(&str)) -> Result<Vec<Row>> {
        let number = |name: &str| point.get(name).and_then(Value::as_f64);
        let clients = number("clients").context("clients")?;
        if number("fails_at") == Some(clients) {
            assert!(!self.panics, "as it was told to");
            bail!("two is too many");
        }
        say("computing");
        let factor = if point["mode"] == "fast" { number("advantage").unwrap_or(2.0) } else { 1.0 };
        Ok(vec![Row::from([("throughput".to_string(), json!((100.0 * factor * clients).round() as i64))])])
    }

    fn parallel(&self) -> bool {
        true
    }
}

/// The file of an experiment, with a line more in its points.
pub(crate) fn text(more: &str) -> String {
    let more = more.replace(" = ", "\" = ");
    let more = if more.is_empty() { String::new() } else { format!(", \"{more}") };
    format!(
        r#"
id = "toy-1"
title = "Throughput by arithmetic"
source = "000, figure 0"
paper = "Fast is twice as fast."

[[run]]
name = "simulated"
runner = "toy"
point = {{ seed = 1{more} }}
vary.clients = [1, 2, 4]
vary.mode = ["fast", "slow"]
quick.vary.clients = [1, 4]

[[figure]]
run = "simulated"
x = "clients"
y = "throughput"
series = "mode"
x_label = "clients"
y_label = "throughput, 1,000 operations a second"
x_scale = "log"
y_factor = 0.001

[[paper-point]]
series = "fast"
x = 4
y = 0.9

[[statement]]
says = "fast is twice as fast"
sql = """SELECT min(1.0 * f.throughput / s.throughput)
         FROM simulated f JOIN simulated s USING (clients) WHERE f.mode = 'fast' AND s.mode = 'slow'"""
at_least = 2
why = "twice"

[[statement]]
says = "rows, twice"
sql = "SELECT 2 * count(*) FROM rows"
told = true
"#
    )
}

pub(crate) fn experiment(more: &str) -> Experiment {
    parse("toy.toml", &text(more)).unwrap()
}

pub(crate) fn options(full: bool, only: Option<&str>) -> Options {
    let only = only.map(str::to_string);
    Options { full, only, jobs: 4, version: "0".into(), machine: "a machine".into() }
}

pub(crate) fn run_toy(folder: &Path, more: &str, full: bool) -> Outcome {
    run_with(folder, &experiment(more), &options(full, None)).unwrap()
}

pub(crate) fn run_one(folder: &Path, experiment: &Experiment, full: bool) -> Outcome {
    run_with(folder, experiment, &options(full, None)).unwrap()
}

pub(crate) fn run_part(folder: &Path, experiment: &Experiment, part: &str) -> Outcome {
    try_part(folder, experiment, part).unwrap()
}

pub(crate) fn try_part(folder: &Path, experiment: &Experiment, part: &str) -> Result<Outcome> {
    run_with(folder, experiment, &options(true, Some(part)))
}

fn run_with(folder: &Path, experiment: &Experiment, options: &Options) -> Result<Outcome> {
    let results = folder.join("results.sqlite");
    let toy = Toy { panics: false };
    let runners: Runners = BTreeMap::from([("toy", &toy as &dyn Runner)]);
    let mut store = Store::open(&results)?;
    let batch = run(experiment, &runners, &mut store, options)?;
    let mut outcome = conclude(experiment, &results, batch)?;
    outcome.write(&folder.join("out"))?;
    Ok(outcome)
}

pub(crate) fn rows_of(folder: &Path, sql: &str) -> Value {
    Reader::open(&folder.join("results.sqlite")).unwrap().query(sql).unwrap().json()
}
