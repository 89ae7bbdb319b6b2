//! Running an experiment: all points of its parts, each stored as soon as it is measured.

use crate::file::{Experiment, Run};
use crate::points::points;
use crate::progress::{Progress, words};
use crate::store::{NewRun, Store};
use crate::validate::validate_with;
use crate::{Point, Row, Runner, Runners};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How an experiment is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// All points, instead of the quick sweep.
    pub full: bool,
    /// Only the part of that name.
    pub only: Option<String>,
    /// How many points are measured beside each other, where that does not disturb.
    pub jobs: usize,
    /// Which program measures, for the record.
    pub version: String,
    /// Where, for the record.
    pub machine: String,
}

/// Whether an experiment, or only one part of it, can be run by these runners.
///
/// # Errors
/// The file asks for what the runners do not have, or there is no part of that name.
pub fn ready(experiment: &Experiment, runners: &Runners, only: Option<&str>) -> Result<()> {
    validate_with(experiment, runners).with_context(|| experiment.id.clone())?;
    let names: Vec<&str> = experiment.runs.iter().map(|run| run.name.as_str()).collect();
    if let Some(only) = only {
        ensure!(names.contains(&only), "{} has no part {only:?}, but {}", experiment.id, names.join(", "));
    }
    Ok(())
}

/// Runs an experiment, or its part that the options name, and returns the number of its batch. Points that fail are stored with their error.
///
/// # Errors
/// It is not [`ready`], or results cannot be stored.
pub fn run(experiment: &Experiment, runners: &Runners, store: &mut Store, options: &Options) -> Result<i64> {
    ready(experiment, runners, options.only.as_deref())?;
    let wanted = |run: &&Run| options.only.as_ref().is_none_or(|only| *only == run.name);
    let parts = experiment.runs.iter().filter(wanted);
    run_parts(experiment, parts, runners, store, options)?.context("there is nothing to run")
}

/// Runs the parts of an experiment whose runners are repeatable, and returns the number of their batch; nothing if there are none.
///
/// # Errors
/// As of [`run`].
pub fn run_repeatable(
    experiment: &Experiment,
    runners: &Runners,
    store: &mut Store,
    options: &Options,
) -> Result<Option<i64>> {
    ready(experiment, runners, None)?;
    let parts = experiment.runs.iter().filter(|part| runners[part.runner.as_str()].repeatable());
    run_parts(experiment, parts, runners, store, options)
}

/// Runs parts of an experiment together, and returns the number of their batch.
fn run_parts<'a>(
    experiment: &Experiment,
    parts: impl Iterator<Item = &'a Run>,
    runners: &Runners,
    store: &mut Store,
    options: &Options,
) -> Result<Option<i64>> {
    let mut batch = None;
    for part in parts {
        let runner = runners[part.runner.as_str()];
        batch = Some(run_part(experiment, part, runner, store, options, batch)?);
    }
    Ok(batch)
}

/// Runs one part, and returns the batch it belongs to.
fn run_part(
    experiment: &Experiment,
    part: &Run,
    runner: &dyn Runner,
    store: &mut Store,
    options: &Options,
    batch: Option<i64>,
) -> Result<i64> {
    let points = points(part, options.full);
    // Where the quick sweep is no smaller, it is a full run.
    let full = options.full || (part.quick.point.is_empty() && part.quick.vary.is_empty());
    let asked =
        json!({"runner": part.runner, "full": options.full, "jobs": options.jobs, "points": points.len()});
    let id = store.begin(&NewRun {
        experiment: &experiment.id,
        part: &part.name,
        batch,
        full,
        version: &options.version,
        machine: &options.machine,
        options: &asked.to_string(),
    })?;
    let jobs = if runner.parallel() { options.jobs.clamp(1, points.len().max(1)) } else { 1 };
    let progress = Progress::new(&format!("{} {}", experiment.id, part.name), points.len());
    let names = Names::of(part);
    let stored = measure(&points, runner, jobs, &names, &progress, &mut |number, measured| match measured {
        Ok(rows) => store.add_point(id, number, &points[number], &rows),
        Err(error) => store.add_failure(id, number, &points[number], &error),
    });
    progress.end();
    stored.with_context(|| format!("{} {}", experiment.id, part.name))?;
    store.finish(id)?;
    Ok(batch.unwrap_or(id))
}

/// Names of a part's points.
struct Names {
    /// Those that tell points apart.
    varied: Vec<String>,
    /// Those that stand for other values.
    labels: Vec<String>,
}

impl Names {
    fn of(part: &Run) -> Self {
        let tables = part.vary.iter().chain(&part.quick.vary);
        let labels = tables.filter(|(_, values)| values.iter().any(Value::is_object));
        Self {
            varied: part.vary.keys().cloned().collect(),
            labels: labels.map(|(name, _)| name.clone()).collect(),
        }
    }
}

/// The rows of a point, or why there are none.
type Measured = std::result::Result<Vec<Row>, String>;

/// Measures all points on `jobs` threads and hands each over as it comes, on the caller's thread.
fn measure(
    points: &[Row],
    runner: &dyn Runner,
    jobs: usize,
    names: &Names,
    progress: &Progress,
    keep: &mut dyn FnMut(usize, Measured) -> Result<()>,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let (send, receive) = mpsc::channel::<(usize, Duration, Measured)>();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let (send, next) = (send.clone(), &next);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(point) = points.get(number) else { return };
                    let (name, began) = (words(point, &names.varied), Instant::now());
                    let rows = runner.run(&Point { values: point, labels: &names.labels }, &|text| {
                        progress.say(&name, text)
                    });
                    let measured = rows.and_then(|rows| with_point(point, rows));
                    let measured = measured.map_err(|error| format!("{error:#}"));
                    // Nobody listens once results cannot be stored: then there is no use in more.
                    if send.send((number, began.elapsed(), measured)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        // Leaving the loop with an error drops the receiving end, which ends the threads.
        for (number, took, measured) in receive {
            let error = measured.as_ref().err().cloned();
            keep(number, measured)?;
            progress.done(&words(&points[number], &names.varied), took, error.as_deref());
        }
        Ok(())
    })
}

/// Rows as they are stored: with the values of their point, and checked, so that a bad one fails its point only.
fn with_point(point: &Row, rows: Vec<Row>) -> Result<Vec<Row>> {
    ensure!(!rows.is_empty(), "the runner returned no row");
    let with = |row: Row| point.clone().into_iter().chain(row).collect::<Row>();
    let rows: Vec<Row> = rows.into_iter().map(with).collect();
    rows.iter().try_for_each(crate::store::is_a_row)?;
    Ok(rows)
}
