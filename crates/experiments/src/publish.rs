//! Results that are committed: a JSON file and the figures of each experiment, in a folder of documents.

use crate::conclude::{Outcome, write};
use crate::describe::setup;
use crate::file::Experiment;
use crate::verdict::{Judged, Verdict};
use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::Path;

/// What is known of an experiment without its database.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Published {
    /// Its name.
    pub id: String,
    /// A line for people.
    pub title: String,
    /// Where the claim stands.
    pub source: String,
    /// What the paper says.
    pub paper: String,
    /// What was found if it differs, and why.
    pub note: Option<String>,
    /// Whether the claim holds.
    pub verdict: Verdict,
    /// The statements.
    pub statements: Vec<Judged>,
    /// What was measured.
    pub parts: Vec<PublishedPart>,
    /// The figures' files, beside this one, and what they show.
    pub figures: Vec<(String, String)>,
}

/// One part of what was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PublishedPart {
    /// Its name.
    pub name: String,
    /// What measured it.
    pub runner: String,
    /// How it is set up, in sentences.
    pub setup: Vec<String>,
    /// Whether it was a full run.
    pub full: bool,
    /// The command that measures it again.
    pub command: String,
    /// The seed of its points.
    pub seed: u64,
    /// How many points there were.
    pub points: usize,
    /// How many of them failed.
    pub failed: usize,
    /// When it began, UTC.
    pub started: String,
    /// Which program measured.
    pub version: String,
    /// Where.
    pub machine: String,
}

/// Writes `ID.json` and the figures into `folder`, which is created.
///
/// # Errors
/// A figure could not be drawn, a part was a quick run, a statement does not hold and the file does not say why, or files cannot be
/// written.
pub fn publish(experiment: &Experiment, outcome: &Outcome, folder: &Path) -> Result<()> {
    ensure!(outcome.problems.is_empty(), "not published: {}", outcome.problems.join("; "));
    if let Some(quick) = outcome.parts.iter().find(|part| !part.full) {
        let again = command(experiment, &quick.name);
        bail!("not published: {} was a quick run, which is no evidence: {again}", quick.name);
    }
    let explained = experiment.note.as_ref().is_some_and(|note| !note.trim().is_empty());
    ensure!(
        explained || !matches!(outcome.verdict, Verdict::PartlyHolds | Verdict::DoesNotHold),
        "not published: {} {}: give the cause, and the run that shows it, in its `note`",
        experiment.id,
        outcome.verdict
    );
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let id = &experiment.id;
    let mut figures = Vec::new();
    for figure in &outcome.figures {
        let name = figure.published_as(id);
        write(&folder.join(&name), &figure.svg)?;
        figures.push((name, figure.title.clone()));
    }
    let parts = outcome.parts.iter().filter_map(|part| {
        let run = experiment.part(&part.name)?;
        Some(PublishedPart {
            name: part.name.clone(),
            runner: run.runner.clone(),
            setup: setup(run),
            full: part.full,
            command: command(experiment, &part.name),
            seed: run.point.get("seed").and_then(|seed| seed.as_u64()).unwrap_or(1),
            points: part.points,
            failed: part.failed.len(),
            started: part.started.clone(),
            version: part.version.clone(),
            machine: part.machine.clone(),
        })
    });
    let published = Published {
        id: id.clone(),
        title: experiment.title.clone(),
        source: experiment.source.clone(),
        paper: experiment.paper.clone(),
        note: experiment.note.clone(),
        verdict: outcome.verdict,
        statements: outcome.statements.clone(),
        parts: parts.collect(),
        figures,
    };
    let json = serde_json::to_string_pretty(&published)? + "\n";
    write(&folder.join(format!("{id}.json")), &json)
}

/// The command that measures a part again.
fn command(experiment: &Experiment, part: &str) -> String {
    let only = if experiment.runs.len() == 1 { String::new() } else { format!(" --only {part}") };
    format!("tidemark experiment run {}{only}", experiment.id)
}

impl Published {
    /// When it was measured, the statements, the verdict, and where the figures are, for people.
    pub fn told(&self, folder: &str) -> String {
        let mut text = String::new();
        for part in &self.parts {
            let size = if part.full { "full" } else { "quick" };
            let _ = writeln!(text, "{} ({size}), {}, {}", part.name, part.started, part.version);
        }
        self.statements.iter().for_each(|statement| text.push_str(&statement.line()));
        for (file, _) in &self.figures {
            let _ = writeln!(text, "figure: {folder}/{file}");
        }
        let _ = writeln!(text, "verdict: {}", self.verdict);
        text
    }
}
