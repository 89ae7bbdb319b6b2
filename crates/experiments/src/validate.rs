//! What an experiment file must be beyond its syntax; every error names the field.

use crate::file::{Experiment, Figure, Kind, Run, Statement};
use crate::{Row, Runners, points, scope, statistics};
use anyhow::{Context, Result, bail, ensure};
use rusqlite::Connection;
use serde_json::Value;
use std::collections::BTreeMap;

/// Columns that views have of their own.
pub(crate) const RESERVED: &[&str] = &["run", "part", "point", "line", "started", "full", "name", "rows"];

/// Everything that can be said without the runners.
pub(crate) fn validate(experiment: &Experiment) -> Result<()> {
    let id = &experiment.id;
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    ensure!(
        id.starts_with(|c: char| c.is_ascii_lowercase()) && id.chars().all(letters),
        "id: {id:?} is not of small letters, digits, `-` and `.`"
    );
    ensure!(!scope::STOCK.contains(&view(id).as_str()), "id: {id:?} is the name of something else");
    for (field, text) in
        [("title", &experiment.title), ("source", &experiment.source), ("paper", &experiment.paper)]
    {
        ensure!(!text.trim().is_empty(), "{field}: it is empty");
    }
    ensure!(!experiment.runs.is_empty(), "run: there must be at least one [[run]]");
    for run in &experiment.runs {
        a_run(experiment, run).with_context(|| format!("run {:?}", run.name))?;
    }
    for figure in &experiment.figures {
        let name = experiment.figure_name(figure);
        a_figure(experiment, figure).with_context(|| format!("figure {name:?}"))?;
    }
    for (index, point) in experiment.paper_points.iter().enumerate() {
        a_paper_point(experiment, point).with_context(|| format!("paper-point {}", index + 1))?;
    }
    for statement in &experiment.statements {
        bounds(statement).with_context(|| format!("statement {:?}", statement.says))?;
    }
    queries(experiment, &|_| None)
}

/// What takes the runners to say: that there is one of the name, and that it returns what is drawn and checked.
pub(crate) fn validate_with(experiment: &Experiment, runners: &Runners) -> Result<()> {
    for run in &experiment.runs {
        let known = || runners.keys().copied().collect::<Vec<_>>().join(", ");
        let found = runners.contains_key(run.runner.as_str());
        ensure!(found, "run {:?}: runner: there is no {:?}, but {}", run.name, run.runner, known());
    }
    let columns = |run: &Run| runners.get(run.runner.as_str())?.columns();
    for figure in &experiment.figures {
        let Some(run) = experiment.part(&figure.run) else { continue };
        let Some(mut has) = columns(run) else { continue };
        has.extend(points::columns(run));
        let name = experiment.figure_name(figure);
        for (field, column) in used(figure) {
            let there = has.join(", ");
            ensure!(
                has.contains(column),
                "figure {name:?}: {field}: rows of {:?} have no column {column:?}, but {there}",
                run.name
            );
        }
    }
    queries(experiment, &columns)
}

fn used(figure: &Figure) -> Vec<(&'static str, &String)> {
    let mut used = vec![("x", &figure.x)];
    used.extend(figure.y.iter().map(|y| ("y", y)));
    used.extend(figure.series.names().iter().map(|name| ("series", name)));
    used
}

/// The name of an experiment's view.
pub(crate) fn view(id: &str) -> String {
    id.replace(['-', '.'], "_")
}

fn a_run(experiment: &Experiment, run: &Run) -> Result<()> {
    let name = &run.name;
    column_name(name).context("name")?;
    let same = experiment.runs.iter().filter(|other| other.name == *name).count();
    ensure!(same == 1, "name: there are two runs of that name");
    ensure!(!scope::STOCK.contains(&name.as_str()), "name: {name:?} is the name of something else");
    scalars("point", &run.point)?;
    scalars("quick.point", &run.quick.point)?;
    for name in run.quick.point.keys() {
        ensure!(
            run.point.contains_key(name),
            "quick.point.{name}: there is no point.{name} for it to replace: set what a full run has"
        );
    }
    varied("vary", &run.vary)?;
    varied("quick.vary", &run.quick.vary)?;
    for name in run.quick.vary.keys() {
        ensure!(
            run.vary.contains_key(name),
            "quick.vary.{name}: there is no vary.{name} for it to replace: set what a full run has"
        );
    }
    Ok(())
}

fn scalars(field: &str, row: &Row) -> Result<()> {
    for (name, value) in row {
        column_name(name).with_context(|| format!("{field}.{name}"))?;
        ensure!(scalar(value), "{field}.{name}: {value} is no number, word or truth value");
    }
    Ok(())
}

pub(crate) fn scalar(value: &Value) -> bool {
    value.is_number() || value.is_string() || value.is_boolean()
}

fn varied(field: &str, vary: &BTreeMap<String, Vec<Value>>) -> Result<()> {
    let mut set: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, values) in vary {
        column_name(name).with_context(|| format!("{field}.{name}"))?;
        ensure!(!values.is_empty(), "{field}.{name}: the list is empty");
        let mut sets = vec![name.as_str()];
        for (index, value) in values.iter().enumerate() {
            let at = format!("{field}.{name}[{index}]");
            ensure!(!values[..index].contains(value), "{at}: {value} stands twice in the list");
            match value {
                Value::Object(table) => {
                    let named = table.get("name").is_some_and(scalar);
                    ensure!(named, "{at}: a table needs a name, for the legend");
                    for (key, value) in table.iter().filter(|(key, _)| *key != "name") {
                        column_name(key).with_context(|| format!("{at}.{key}"))?;
                        ensure!(scalar(value), "{at}.{key}: {value} is no number, word or truth value");
                        ensure!(key != name, "{at}.{key}: `name` is what sets {name}");
                        sets.push(key);
                    }
                }
                value => ensure!(scalar(value), "{at}: {value} is no number, word, truth value or table"),
            }
        }
        sets.sort_unstable();
        sets.dedup();
        for key in sets {
            if let Some(other) = set.insert(key, name) {
                bail!("{field}.{name}: it sets {key}, which {field}.{other} sets too");
            }
        }
    }
    Ok(())
}

/// Whether `name` can be a column.
pub(crate) fn column_name(name: &str) -> Result<()> {
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-.".contains(c);
    ensure!(
        name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(letters),
        "{name:?} is not of small letters, digits, `_`, `-` and `.`"
    );
    ensure!(!RESERVED.contains(&name), "{name:?} is a column that every view has already");
    Ok(())
}

fn a_figure(experiment: &Experiment, figure: &Figure) -> Result<()> {
    let name = experiment.figure_name(figure);
    let same = experiment.figures.iter().filter(|other| experiment.figure_name(other) == name).count();
    ensure!(same == 1, "name: there are two figures of that name");
    let letters = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    ensure!(!name.starts_with('.') && name.chars().all(letters), "name: {name:?} cannot be that of a file");
    let runs: Vec<&str> = experiment.runs.iter().map(|run| run.name.as_str()).collect();
    let there = runs.join(", ");
    ensure!(runs.contains(&figure.run.as_str()), "run: there is no run {:?}, but {there}", figure.run);
    ensure!(figure.y.is_some() || figure.kind == Kind::Cdf, "y: missing: only kind \"cdf\" can do without");
    let proportions = matches!(figure.kind, Kind::Lines | Kind::Bars);
    ensure!(
        figure.relative_to.is_none() || proportions,
        "relative_to: only lines and bars are drawn in proportion"
    );
    for (field, text) in [("x_label", &figure.x_label), ("y_label", &figure.y_label)] {
        ensure!(!text.trim().is_empty(), "{field}: it is empty");
    }
    for (field, factor) in [("x_factor", figure.x_factor), ("y_factor", figure.y_factor)] {
        ensure!(factor.is_finite() && factor > 0.0, "{field}: {factor} is not above 0");
    }
    Ok(())
}

fn a_paper_point(experiment: &Experiment, point: &crate::PaperPoint) -> Result<()> {
    let named = |figure: &Figure| point.figure.as_deref() == Some(experiment.figure_name(figure));
    let figure = match &point.figure {
        None => experiment.figures.first().context("there is no figure to draw it in")?,
        Some(name) => experiment
            .figures
            .iter()
            .find(|figure| named(figure))
            .with_context(|| format!("figure: there is no figure {name:?}"))?,
    };
    let bars = figure.kind == Kind::Bars;
    ensure!(scalar(&point.x), "x: {} is no number and no word", point.x);
    ensure!(point.x.is_number() || bars, "x: {} is no number, which only bars can do with", point.x);
    ensure!(point.y.is_finite(), "y: {} is no number", point.y);
    Ok(())
}

fn bounds(statement: &Statement) -> Result<()> {
    let Statement { says, paper, tolerance, within, at_least, at_most, why, told, ours, .. } = statement;
    ensure!(!says.trim().is_empty(), "says: it is empty");
    let given = [paper.is_some(), within.is_some(), at_least.is_some(), at_most.is_some(), *told];
    let given = given.iter().filter(|given| **given).count();
    ensure!(given == 1, "give one of paper, within, at_least, at_most and told, not {given} of them");
    ensure!(paper.is_some() == tolerance.is_some(), "tolerance: paper needs it, and nothing else has it");
    if let Some(tolerance) = tolerance {
        ensure!(
            *tolerance > 0.0 && *tolerance <= 0.5,
            "tolerance: {tolerance} is not above 0 and at most 0.5"
        );
    }
    if let Some([low, high]) = within {
        ensure!(low <= high, "within: {low} is above {high}");
    }
    // More or less than nothing, or than the other: an ordering explains itself.
    let ordering = at_least.or(*at_most).is_some_and(|limit| limit == 0.0 || limit == 1.0);
    let explained = why.as_ref().is_some_and(|why| !why.trim().is_empty());
    ensure!(
        explained || ordering || *told || *ours,
        "why: say where the tolerance comes from, or where the paper states a bound that is one-sided and no ordering"
    );
    Ok(())
}

/// Prepares every query against views that have the columns that rows will have. Where a runner does not say which it
/// returns, a column that is missing is taken to be one of its own.
fn queries(experiment: &Experiment, returns: &dyn Fn(&Run) -> Option<Vec<String>>) -> Result<()> {
    let mut columns: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut open = false;
    for run in &experiment.runs {
        let own = returns(run);
        open |= own.is_none();
        let all = points::columns(run).into_iter().chain(own.into_iter().flatten());
        columns.insert(run.name.clone(), all.map(|name| view(&name)).collect());
    }
    for statement in &experiment.statements {
        prepares(&statement.sql, columns.clone(), open)
            .with_context(|| format!("statement {:?}: sql", statement.says))?;
    }
    for figure in &experiment.figures {
        let Some(condition) = &figure.condition else { continue };
        let sql = format!("SELECT count(*) FROM {} WHERE ({condition})", figure.run);
        let name = experiment.figure_name(figure);
        prepares(&sql, columns.clone(), open).with_context(|| format!("figure {name:?}: where"))?;
    }
    Ok(())
}

/// Whether a query can be made; `open` if there may be more columns than are known.
fn prepares(sql: &str, mut columns: BTreeMap<String, Vec<String>>, open: bool) -> Result<()> {
    // Each turn adds a column that the query names, so this ends.
    loop {
        let connection = Connection::open_in_memory()?;
        scope::strict(&connection)?;
        statistics::register(&connection)?;
        scope::empty(&connection, &columns)?;
        let error = match connection.prepare(sql) {
            Err(error) => error,
            Ok(query) => {
                ensure!(
                    query.column_count() == 1,
                    "it gives {} columns, not one number",
                    query.column_count()
                );
                ensure!(query.readonly(), "it does not only read");
                return Ok(());
            }
        };
        let text = scope::plain(&error);
        let missing = text.strip_prefix("no such column: ").filter(|_| open);
        let Some(missing) = missing else { bail!("{text}") };
        let missing = missing.split(" - should this be").next().unwrap_or(missing);
        let name = missing.rsplit('.').next().unwrap_or(missing).trim_matches('"').to_string();
        for columns in columns.values_mut() {
            ensure!(!columns.contains(&name), "{text}");
            columns.push(name.clone());
        }
    }
}
