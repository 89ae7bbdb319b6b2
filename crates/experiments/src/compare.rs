//! A repeated measurement beside what is published of it.

use crate::conclude::Outcome;
use crate::file::Experiment;
use crate::publish::Published;
use crate::verdict::{Judged, Verdict};
use serde::Serialize;
use std::path::Path;

/// An experiment that was measured again, beside what is published.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The experiment.
    pub experiment: String,
    /// The statements about what was measured again, in the order of the file.
    pub statements: Vec<Compared>,
    /// The figures of what was measured again, by file, and whether the published one is the same.
    pub figures: Vec<(String, bool)>,
    /// The number of statements that rest on what was not measured again.
    pub left_out: usize,
    /// The number of points that failed.
    pub failed: usize,
    /// The time that it took, in seconds.
    pub seconds: u64,
}

/// A statement now, and as it is published.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// The statement.
    pub says: String,
    /// The published finding; nothing if the statement is new.
    pub published: Option<Finding>,
    /// The finding of now.
    pub now: Finding,
}

/// A number, and what follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The number, if there is one.
    pub value: Option<f64>,
    /// The verdict that follows; nothing if the number is only told.
    pub verdict: Option<Verdict>,
}

impl From<&Judged> for Finding {
    fn from(judged: &Judged) -> Self {
        Self { value: judged.value, verdict: judged.verdict }
    }
}

impl Compared {
    /// Whether the number or the verdict is another one than the published.
    pub fn moved(&self) -> bool {
        let same = |published: Finding| match (published.value, self.now.value) {
            (Some(old), Some(new)) => close(old, new),
            (old, new) => old == new,
        };
        self.verdict_moved() || !self.published.is_some_and(same)
    }

    /// Whether the verdict is another one. That of a new statement is.
    pub fn verdict_moved(&self) -> bool {
        self.published.is_none_or(|published| published.verdict != self.now.verdict)
    }
}

/// Whether two numbers are one: a number may lose its last bit when it is read from a file.
fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-12 * one.abs().max(other.abs())
}

impl Comparison {
    /// Whether all points were measured and every verdict is as published.
    pub fn ok(&self) -> bool {
        self.failed == 0 && !self.statements.iter().any(Compared::verdict_moved)
    }
}

/// Compares an outcome with what is published in a folder: those statements and figures that rest on its parts alone.
pub fn compare(
    experiment: &Experiment,
    outcome: &Outcome,
    published: &Published,
    folder: &Path,
) -> Comparison {
    let measured = |name: &str| outcome.parts.iter().any(|part| part.name == name);
    let missing: Vec<&str> =
        experiment.runs.iter().map(|run| run.name.as_str()).filter(|name| !measured(name)).collect();
    let rests = experiment.statements.iter().map(|one| missing.iter().any(|part| one.concerns(part)));
    let (mut statements, mut left_out) = (Vec::new(), 0);
    for (judged, rests) in outcome.statements.iter().zip(rests) {
        if rests {
            left_out += 1;
            continue;
        }
        let old = published.statements.iter().find(|old| old.says == judged.says);
        statements.push(Compared {
            says: judged.says.clone(),
            published: old.map(Finding::from),
            now: judged.into(),
        });
    }
    let same = |file: &str, svg: &str| std::fs::read_to_string(folder.join(file)).is_ok_and(|old| old == svg);
    let figures = outcome.figures.iter().map(|figure| {
        let file = figure.published_as(&experiment.id);
        let same = same(&file, &figure.svg);
        (file, same)
    });
    Comparison {
        experiment: experiment.id.clone(),
        statements,
        figures: figures.collect(),
        left_out,
        failed: outcome.parts.iter().map(|part| part.failed.len()).sum(),
        seconds: outcome.parts.iter().filter_map(|part| part.seconds).sum(),
    }
}
