//! What an experiment comes to: verdict, tables and figures, made of what is stored.

use crate::file::{Experiment, Figure};
use crate::query::{Reader, Stored};
use crate::table::{Table, plain};
use crate::verdict::{self, Judged, Verdict};
use crate::{Row, figure, scope};
use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The most rows that are printed of a part.
const SHOWN: usize = 40;
/// Where rows have more columns than this, only those that matter are shown.
const MANY: usize = 12;

/// What an experiment came to.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Which experiment.
    pub experiment: String,
    /// A line for people.
    pub title: String,
    /// Where the claim stands.
    pub source: String,
    /// Whether the claim holds.
    pub verdict: Verdict,
    /// The statements, in the order of the file.
    pub statements: Vec<Judged>,
    /// What was measured.
    pub parts: Vec<Part>,
    /// What was drawn.
    pub figures: Vec<Picture>,
    /// Figures that could not be drawn, and why.
    pub problems: Vec<String>,
}

/// A figure.
#[derive(Clone, Debug, Serialize)]
pub struct Picture {
    /// Its name in the experiment.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Its file, once it has been written.
    pub file: Option<PathBuf>,
    /// The picture.
    #[serde(skip)]
    pub svg: String,
}

/// One part of it.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// Its name, such as `simulated`.
    pub name: String,
    /// The number of its run.
    pub run: i64,
    /// When it began, UTC.
    pub started: String,
    /// Which program measured.
    pub version: String,
    /// Where.
    pub machine: String,
    /// The time that it took, in seconds; nothing if it has not ended.
    pub seconds: Option<u64>,
    /// Whether it was a full run.
    pub full: bool,
    /// How many points there were.
    pub points: usize,
    /// Those that failed, and with what.
    pub failed: Vec<(Row, String)>,
    /// The file of its rows, once it has been written.
    pub csv: Option<PathBuf>,
    /// Its rows.
    #[serde(skip)]
    pub table: Table,
    /// The columns that are varied or drawn: where rows have many, those are shown.
    #[serde(skip)]
    shown: Vec<String>,
}

/// Judges what was measured together, and draws its figures.
///
/// # Errors
/// The results cannot be read. A figure that cannot be drawn is a problem of the outcome.
pub fn conclude(experiment: &Experiment, results: &Path, batch: i64) -> Result<Outcome> {
    let reader = Reader::open(results)?;
    let runs = reader.batch(batch)?;
    outcome(experiment, &reader, runs)
}

/// Judges the latest run of every part that has ended by itself; nothing if there is none. Parts may have been measured
/// at different times.
///
/// # Errors
/// As [`conclude`].
pub fn latest(experiment: &Experiment, results: &Path) -> Result<Option<Outcome>> {
    let reader = Reader::open(results)?;
    let mut runs = reader.latest(&experiment.id)?;
    runs.retain(|run| experiment.part(&run.part).is_some());
    runs.sort_by_key(|run| experiment.runs.iter().position(|part| part.name == run.part));
    if runs.is_empty() { Ok(None) } else { outcome(experiment, &reader, runs).map(Some) }
}

fn outcome(experiment: &Experiment, reader: &Reader, runs: Vec<Stored>) -> Result<Outcome> {
    let mut parts = Vec::new();
    for run in runs {
        let table = Table::of(reader.rows(run.id, None)?.iter());
        let (points, failed) = reader.points(run.id)?;
        let Stored { id, part: name, started, seconds, version, machine, full } = run;
        let shown = shown(experiment, &name);
        parts.push(Part {
            name,
            run: id,
            started,
            seconds,
            version,
            machine,
            full,
            points,
            failed,
            csv: None,
            table,
            shown,
        });
    }
    let scopes: Vec<(&str, i64)> = parts.iter().map(|part| (part.name.as_str(), part.run)).collect();
    scope::create(&reader.connection, &scopes)?;
    let statements: Vec<Judged> =
        experiment.statements.iter().map(|one| verdict::judge(experiment, one, &parts, reader)).collect();
    let (mut figures, mut problems) = (Vec::new(), Vec::new());
    for figure in &experiment.figures {
        let Some((_, run)) = scopes.iter().find(|(name, _)| *name == figure.run) else { continue };
        let name = experiment.figure_name(figure).to_string();
        let title = figure.title.as_ref().unwrap_or(&experiment.title).clone();
        match draw(experiment, figure, reader, *run) {
            Ok(svg) => figures.push(Picture { name, title, file: None, svg }),
            Err(error) => problems.push(format!("figure {name}: {error:#}")),
        }
    }
    let verdict = verdict::verdict(&statements);
    let Experiment { id: experiment, title, source, .. } = experiment.clone();
    Ok(Outcome { experiment, title, source, verdict, statements, parts, figures, problems })
}

fn draw(experiment: &Experiment, figure: &Figure, reader: &Reader, run: i64) -> Result<String> {
    let condition = figure.condition.as_deref().map(|condition| (figure.run.as_str(), condition));
    figure::svg(experiment, figure, &reader.rows(run, condition)?)
}

impl Picture {
    /// The name of the file in which it is published.
    pub(crate) fn published_as(&self, experiment: &str) -> String {
        let name = &self.name;
        if name.starts_with(experiment) { format!("{name}.svg") } else { format!("{experiment}-{name}.svg") }
    }
}

pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

impl Outcome {
    /// Writes rows and figures into the directory `out/ID`, which is created.
    ///
    /// # Errors
    /// Files cannot be written.
    pub fn write(&mut self, out: &Path) -> Result<()> {
        let folder = out.join(&self.experiment);
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        for part in self.parts.iter_mut().filter(|part| !part.table.rows.is_empty()) {
            let csv = folder.join(format!("{}.csv", part.name));
            write(&csv, &part.table.csv()?)?;
            part.csv = Some(csv);
        }
        for figure in &mut self.figures {
            let file = folder.join(format!("{}.svg", figure.name));
            write(&file, &figure.svg)?;
            figure.file = Some(file);
        }
        Ok(())
    }

    /// Whether everything was measured and drawn, and no number is outside its bound. Of a quick run that is no evidence, but all
    /// that can be asked of it.
    pub fn ok(&self) -> bool {
        let measured = self.parts.iter().all(|part| part.failed.is_empty());
        let within = |one: &Judged| one.verdict.is_none() || one.within == Some(true);
        measured && self.problems.is_empty() && self.statements.iter().all(within)
    }

    /// The verdict, and what to know about it.
    fn verdict_line(&self) -> String {
        let mut line = format!("verdict: {}", self.verdict);
        if self.parts.iter().any(|part| !part.full) {
            line.push_str(" (a quick run is no evidence: measure without --quick)");
        }
        line.push('\n');
        line
    }

    /// When it was measured, the statements and the verdict, for people.
    pub fn told(&self) -> String {
        let mut text = String::new();
        for part in &self.parts {
            let size = if part.full { "full" } else { "quick" };
            let _ = writeln!(
                text,
                "{} ({size}, run {}), {}, {}",
                part.name, part.run, part.started, part.version
            );
        }
        self.statements.iter().for_each(|statement| text.push_str(&statement.line()));
        text.push_str(&self.verdict_line());
        text
    }

    /// Tables, statements and verdict, for people.
    pub fn text(&self) -> String {
        let mut text = format!("{}: {} ({})\n", self.experiment, self.title, self.source);
        for part in &self.parts {
            part.tell(&mut text);
        }
        text.push('\n');
        self.statements.iter().for_each(|statement| text.push_str(&statement.line()));
        for file in self.figures.iter().filter_map(|figure| figure.file.as_ref()) {
            let _ = writeln!(text, "figure: {}", file.display());
        }
        for problem in &self.problems {
            let _ = writeln!(text, "problem: {problem}");
        }
        text.push_str(&self.verdict_line());
        text
    }
}

impl Judged {
    /// A line for people.
    pub(crate) fn line(&self) -> String {
        let mark = match (self.verdict, self.within) {
            (Some(Verdict::Holds), _) => "ok  ",
            (Some(Verdict::DoesNotHold), _) => "FAIL",
            (Some(_), Some(true)) => "(ok)",
            (Some(_), Some(false)) => "(no)",
            _ => "–   ",
        };
        let bound = self.bound.as_ref().map_or_else(String::new, |bound| format!(" (must be {bound})"));
        format!("{mark} {}: {}{bound}\n", self.says, self.found())
    }

    /// The number, and why it is no evidence, in words.
    pub(crate) fn found(&self) -> String {
        let value = self.value.map(figure::readable);
        let why = self.verdict.and(self.why.clone());
        [value, why].into_iter().flatten().collect::<Vec<_>>().join(", but ")
    }
}

impl Part {
    fn tell(&self, text: &mut String) {
        let size = if self.full { "full" } else { "quick" };
        let failed =
            if self.failed.is_empty() { String::new() } else { format!(", {} failed", self.failed.len()) };
        let plural = if self.points == 1 { "point" } else { "points" };
        let _ =
            writeln!(text, "\n{} ({size}, run {}): {} {plural}{failed}", self.name, self.run, self.points);
        let (common, mut table) = apart(&self.table);
        if table.columns.len() > MANY {
            table = table.only(&self.shown);
        }
        if !common.is_empty() {
            let _ = writeln!(text, "everywhere {common}");
        }
        let more = table.rows.len().saturating_sub(SHOWN);
        table.rows.truncate(SHOWN);
        if !table.rows.is_empty() {
            text.push_str(&table.text());
        }
        if let Some(csv) = &self.csv {
            let more = if more > 0 { format!("… and {more} more rows; ") } else { String::new() };
            let _ = writeln!(text, "{more}all rows: {}", csv.display());
        }
        for (point, error) in &self.failed {
            let words: Vec<String> =
                point.iter().map(|(name, value)| format!("{name} {}", plain(value))).collect();
            let _ = writeln!(text, "FAILED {}: {error}", words.join(", "));
        }
    }
}

/// The columns of a part that are varied or drawn.
fn shown(experiment: &Experiment, part: &str) -> Vec<String> {
    let varied = experiment.part(part).into_iter().flat_map(|run| run.vary.keys());
    let figures = experiment.figures.iter().filter(|figure| figure.run == part);
    let drawn = figures.flat_map(|figure| figure.series.names().iter().chain([&figure.x]).chain(&figure.y));
    let mut all: Vec<String> = Vec::new();
    for name in varied.chain(drawn) {
        if !all.contains(name) {
            all.push(name.clone());
        }
    }
    all
}

/// What is the same in all rows, in words, and the table of the rest.
fn apart(table: &Table) -> (String, Table) {
    let same = |column: &usize| {
        let first: Option<&Value> = table.rows.first().map(|row| &row[*column]);
        table.rows.len() > 1 && table.rows.iter().all(|row| Some(&row[*column]) == first)
    };
    let (same, differing): (Vec<usize>, Vec<usize>) = (0..table.columns.len()).partition(same);
    let words: Vec<String> =
        same.iter().map(|at| format!("{} {}", table.columns[*at], plain(&table.rows[0][*at]))).collect();
    let columns = differing.iter().map(|at| table.columns[*at].clone()).collect();
    let rows = table.rows.iter().map(|row| differing.iter().map(|at| row[*at].clone()).collect()).collect();
    (words.join(", "), Table { columns, rows })
}
