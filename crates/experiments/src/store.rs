//! The results: one SQLite file that every run, of experiments and of benchmarks, adds to.

mod schema;

use crate::validate::{column_name, scalar};
use crate::{Row, scope, statistics};
use anyhow::{Context, Result, anyhow, bail, ensure};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a writer waits for another one.
const PATIENCE: Duration = Duration::from_secs(20);

/// The file that is used if none is named: that of `TIDEMARK_RESULTS`, or `results.sqlite` in the current directory.
pub fn default_path() -> PathBuf {
    std::env::var_os("TIDEMARK_RESULTS").map_or_else(|| "results.sqlite".into(), PathBuf::from)
}

/// A results database that is open for writing. Several processes may write to one.
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// Columns that the views are known to have, by experiment.
    known: HashSet<(String, String)>,
}

/// What is written down of a run when it begins.
#[derive(Clone, Debug, Default)]
pub struct NewRun<'a> {
    /// Whose run it is.
    pub experiment: &'a str,
    /// Which part of it.
    pub part: &'a str,
    /// The run that it was started with; itself if there is none.
    pub batch: Option<i64>,
    /// Whether it is a full run.
    pub full: bool,
    /// Which program measured.
    pub version: &'a str,
    /// Where.
    pub machine: &'a str,
    /// What was asked for, as JSON.
    pub options: &'a str,
}

impl Store {
    /// Opens the file, and creates it if it is not there.
    ///
    /// # Errors
    /// It cannot be opened, is no database, or is one of something else.
    pub fn open(path: &Path) -> Result<Self> {
        let shown = path.display();
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            ensure!(folder.is_dir(), "cannot open {shown}: there is no directory {}", folder.display());
        }
        let connection = Connection::open(path).map_err(|error| explain(path, &error))?;
        connection.busy_timeout(PATIENCE)?;
        scope::strict(&connection)?;
        statistics::register(&connection)?;
        schema::prepare(&connection, path)?;
        Ok(Self { connection, path: path.to_path_buf(), known: HashSet::new() })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes down that a run begins, and returns its number.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn begin(&mut self, run: &NewRun) -> Result<i64> {
        let transaction = self.write()?;
        transaction.execute(
            "INSERT INTO runs (batch, experiment, part, started, version, machine, full, options)
             VALUES (?1, ?2, ?3, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), ?4, ?5, ?6, ?7)",
            params![run.batch, run.experiment, run.part, run.version, run.machine, run.full, run.options],
        )?;
        let id = transaction.last_insert_rowid();
        transaction.execute("UPDATE runs SET batch = id WHERE id = ?1 AND batch IS NULL", [id])?;
        transaction.commit()?;
        Ok(id)
    }

    /// Stores what was measured at a point: durable against the end of this process when it returns.
    ///
    /// # Errors
    /// The database cannot be written, or a row is none: then nothing of the point is stored.
    pub fn add_point(&mut self, run: i64, number: usize, point: &Row, rows: &[Row]) -> Result<()> {
        for row in rows {
            is_a_row(row)?;
        }
        let (mut known, transaction) = (self.known.clone(), self.write()?);
        let experiment: String = one(&transaction, "SELECT experiment FROM runs WHERE id = ?1", run)?;
        insert_point(&transaction, run, number, point, None)?;
        let mut new = false;
        for (line, row) in rows.iter().enumerate() {
            let text = serde_json::to_string(row)?;
            let values = params![run, number as i64, line as i64, text];
            transaction
                .execute("INSERT INTO rows (run, point, line, row) VALUES (?1, ?2, ?3, ?4)", values)?;
            for name in row.keys() {
                if known.insert((experiment.clone(), name.clone())) {
                    let sql = "INSERT OR IGNORE INTO columns (experiment, name) VALUES (?1, ?2)";
                    new |= transaction.execute(sql, params![experiment, name])? > 0;
                }
            }
        }
        if new {
            schema::view_of(&transaction, &experiment)?;
        }
        transaction.commit()?;
        self.known = known;
        Ok(())
    }

    /// Stores that a point could not be measured.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn add_failure(&mut self, run: i64, number: usize, point: &Row, error: &str) -> Result<()> {
        let transaction = self.write()?;
        insert_point(&transaction, run, number, point, Some(error))?;
        Ok(transaction.commit()?)
    }

    /// Writes down that a run has ended by itself.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn finish(&mut self, run: i64) -> Result<()> {
        let sql = "UPDATE runs SET finished = strftime('%Y-%m-%dT%H:%M:%SZ', 'now') WHERE id = ?1";
        self.connection.execute(sql, [run])?;
        Ok(())
    }

    /// Stores the result of a benchmark as a run of its own, of the experiment `bench`, and returns its number.
    ///
    /// # Errors
    /// The database cannot be written, or the row has values that are no scalars.
    pub fn add_bench(&mut self, row: &Row, version: &str, machine: &str) -> Result<i64> {
        is_a_row(row)?;
        let run = NewRun { experiment: "bench", part: "bench", version, machine, ..NewRun::default() };
        let id = self.begin(&NewRun { options: "{}", full: true, ..run })?;
        self.add_point(id, 0, &Row::new(), std::slice::from_ref(row))?;
        self.finish(id)?;
        Ok(id)
    }

    /// A transaction that has the right to write from the beginning, so that it never has to give up half-way.
    fn write(&mut self) -> Result<Transaction<'_>> {
        let path = &self.path;
        self.connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| explain(path, &error))
    }
}

pub(crate) fn is_a_row(row: &Row) -> Result<()> {
    for (name, value) in row {
        column_name(name).context("a row's column")?;
        ensure!(
            scalar(value) || value.is_null(),
            "a row's {name} is {value}: no number, word or truth value"
        );
    }
    Ok(())
}

fn insert_point(to: &Transaction, run: i64, number: usize, point: &Row, error: Option<&str>) -> Result<()> {
    let text = serde_json::to_string(point)?;
    let values = params![run, number as i64, text, error];
    to.execute("INSERT INTO points (run, point, params, error) VALUES (?1, ?2, ?3, ?4)", values)?;
    Ok(())
}

fn one(connection: &Connection, sql: &str, id: i64) -> Result<String> {
    connection.query_row(sql, [id], |row| row.get(0)).with_context(|| format!("there is no run {id}"))
}

/// An error of SQLite about a file, with what to do.
pub(crate) fn explain(path: &Path, error: &rusqlite::Error) -> anyhow::Error {
    use rusqlite::ErrorCode::{CannotOpen, DatabaseBusy, NotADatabase, ReadOnly};
    let shown = path.display();
    match error.sqlite_error_code() {
        Some(NotADatabase) => {
            anyhow!("{shown} is no SQLite database: name another file with --db or TIDEMARK_RESULTS")
        }
        Some(DatabaseBusy) => {
            anyhow!("{shown} has been locked by another process for {} s: try again", PATIENCE.as_secs())
        }
        Some(CannotOpen) => anyhow!("cannot open {shown}: {}", scope::plain(error)),
        Some(ReadOnly) => anyhow!("{shown} cannot be written: {}", scope::plain(error)),
        _ => anyhow!("{shown}: {}", scope::plain(error)),
    }
}

/// Whether a file is there to be read; the error says what would create it.
pub(crate) fn must_exist(path: &Path) -> Result<()> {
    if !path.is_file() {
        bail!(
            "there are no results in {}: `tidemark experiment run ID` writes some, --db names another file",
            path.display()
        );
    }
    Ok(())
}
