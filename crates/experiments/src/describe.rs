//! Experiments for people: what is measured, and how much smaller the quick run is.

use crate::Row;
use crate::file::{Experiment, Run};
use crate::points::points;
use crate::table::plain;
use serde_json::Value;
use std::fmt::Write as _;

/// The setup of a run in sentences: what is varied, what is fixed, and what is different in the quick run.
pub fn setup(run: &Run) -> Vec<String> {
    let (full, quick) = (points(run, true).len(), points(run, false).len());
    let mut lines = Vec::new();
    for (name, values) in &run.vary {
        lines.push(format!("{name}: {}", list(values)));
    }
    if !run.point.is_empty() {
        lines.push(format!("everywhere: {}", fixed(&run.point)));
    }
    let mut quicker: Vec<String> = Vec::new();
    for (name, value) in &run.quick.point {
        let usual = run.point.get(name).map(plain).unwrap_or_default();
        quicker.push(format!("{name} {} instead of {usual}", plain(value)));
    }
    for (name, values) in &run.quick.vary {
        quicker.push(format!("{name} {}", list(values)));
    }
    let points = |count: usize| if count == 1 { "1 point".to_string() } else { format!("{count} points") };
    if quicker.is_empty() {
        lines.push(format!("{}; a quick run is no smaller", points(full)));
    } else {
        lines.push(points(full));
        lines.push(format!("{} in a quick run: {}", points(quick), quicker.join("; ")));
    }
    if let Some(how) = &run.smaller {
        lines.push(format!("smaller than the paper's: {how}"));
    }
    lines
}

fn fixed(point: &Row) -> String {
    let words = point.iter().map(|(name, value)| format!("{name} {}", plain(value)));
    words.collect::<Vec<_>>().join(", ")
}

fn list(values: &[Value]) -> String {
    let word = |value: &Value| match value {
        Value::Object(table) => {
            let name = table.get("name").map(plain).unwrap_or_default();
            let sets = table.iter().filter(|(key, _)| *key != "name");
            let sets: Vec<String> = sets.map(|(key, value)| format!("{key} {}", plain(value))).collect();
            if sets.is_empty() { name } else { format!("{name} ({})", sets.join(", ")) }
        }
        scalar => plain(scalar),
    };
    values.iter().map(word).collect::<Vec<_>>().join(", ")
}

/// The whole experiment for people.
pub fn describe(experiment: &Experiment) -> String {
    let mut text = format!("{}: {}\n", experiment.id, experiment.title);
    let _ = writeln!(text, "source: {}", experiment.source);
    let _ = writeln!(text, "the paper: {}", experiment.paper.trim());
    if let Some(note) = &experiment.note {
        let _ = writeln!(text, "note: {}", note.trim());
    }
    for run in &experiment.runs {
        let _ = writeln!(text, "\n{}, measured by `{}`", run.name, run.runner);
        for line in setup(run) {
            let _ = writeln!(text, "  {line}");
        }
    }
    if !experiment.statements.is_empty() {
        text.push_str("\nstatements\n");
    }
    for statement in &experiment.statements {
        let bound = statement.bound().map_or_else(|| "told".to_string(), |bound| format!("must be {bound}"));
        let bound = statement.why.as_ref().map_or(bound.clone(), |why| format!("{bound} ({why})"));
        let _ = writeln!(
            text,
            "  {}: {bound}\n    {}",
            statement.says,
            statement.sql.trim().replace('\n', "\n    ")
        );
    }
    if !experiment.figures.is_empty() {
        text.push_str("\nfigures\n");
    }
    for figure in &experiment.figures {
        let name = experiment.figure_name(figure);
        let _ = writeln!(text, "  {name}.svg: {} over {}, of {}", figure.y_label, figure.x_label, figure.run);
    }
    text
}
