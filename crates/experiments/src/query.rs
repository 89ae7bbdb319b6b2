//! Reading results: queries in SQL, which cannot change anything.

use crate::store::{explain, must_exist};
use crate::table::Table;
use crate::{Row, scope, statistics};
use anyhow::{Context, Result, bail};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde::Serialize;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// A results database that is open for reading.
pub struct Reader {
    pub(crate) connection: Connection,
}

/// A table or view, and its columns.
#[derive(Clone, Debug, Serialize)]
pub struct View {
    /// What follows FROM.
    pub name: String,
    /// What follows SELECT.
    pub columns: Vec<String>,
}

/// A run as it was written down.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Stored {
    pub(crate) id: i64,
    pub(crate) part: String,
    pub(crate) started: String,
    pub(crate) seconds: Option<u64>,
    pub(crate) version: String,
    pub(crate) machine: String,
    pub(crate) full: bool,
}

impl Reader {
    /// Opens a file that is there.
    ///
    /// # Errors
    /// It is not there, or no database.
    pub fn open(path: &Path) -> Result<Self> {
        must_exist(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open_with_flags(path, flags)?;
            connection.busy_timeout(Duration::from_secs(20))?;
            scope::strict(&connection)?;
            statistics::register(&connection)?;
            connection.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))?;
            Ok(connection)
        };
        let connection = open().map_err(|error| explain(path, &error))?;
        let ours: rusqlite::Result<i64> =
            connection.query_row("SELECT 1 FROM sqlite_master WHERE name = 'runs'", [], |row| row.get(0));
        if ours.is_err() {
            bail!("{} has no results of tidemark: name another file with --db", path.display());
        }
        Ok(Self { connection })
    }

    /// What a query gives.
    ///
    /// # Errors
    /// It is not SQL, names what is not there, is more than one statement, or would write.
    pub fn query(&self, sql: &str) -> Result<Table> {
        let explained = |error: rusqlite::Error| match error {
            rusqlite::Error::MultipleStatement => anyhow::anyhow!("give one query, not several"),
            error => anyhow::anyhow!("{}", scope::plain(&error)),
        };
        let mut query = self.connection.prepare(sql).map_err(explained)?;
        let what = sql.trim_start().get(..6).unwrap_or_default().to_ascii_uppercase();
        if !query.readonly() || what == "ATTACH" {
            bail!("queries only read: results are written by `tidemark experiment run` and `tidemark bench`");
        }
        let columns: Vec<String> = query.column_names().map(str::to_string).collect();
        if columns.is_empty() {
            bail!("this is no query: begin with SELECT");
        }
        let mut rows = Vec::new();
        let mut found = query.query([]).map_err(explained)?;
        while let Some(row) = found.next().map_err(explained)? {
            let cells = (0..columns.len()).map(|column| Ok(value(row.get_ref(column)?)));
            rows.push(cells.collect::<rusqlite::Result<_>>()?);
        }
        Ok(Table { columns, rows })
    }

    /// The runs, the latest last.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn runs(&self) -> Result<Table> {
        self.query(
            "SELECT r.id AS run, r.experiment, r.part, r.started, CASE r.full WHEN 1 THEN 'full' ELSE 'quick' END AS size,
                    (SELECT count(*) FROM points p WHERE p.run = r.id AND p.error IS NULL) AS points,
                    (SELECT count(*) FROM points p WHERE p.run = r.id AND p.error IS NOT NULL) AS failed,
                    CASE WHEN r.finished IS NULL THEN 'not finished' ELSE '' END AS state, r.version
             FROM runs r ORDER BY r.id",
        )
    }

    /// What can be queried: views first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn views(&self) -> Result<Vec<View>> {
        let sql =
            "SELECT name FROM sqlite_master WHERE type IN ('view', 'table') AND name NOT LIKE 'sqlite_%'
                   ORDER BY type DESC, name";
        let names = self.query(sql)?.rows.into_iter().flatten();
        let view = |name: Value| -> Result<View> {
            let name = crate::table::plain(&name);
            let query = self.connection.prepare(&format!("SELECT * FROM {}", scope::quoted(&name)))?;
            Ok(View { columns: query.column_names().map(str::to_string).collect(), name })
        };
        names.map(view).collect()
    }

    /// The latest finished run of every part of an experiment that measured anything.
    pub(crate) fn latest(&self, experiment: &str) -> Result<Vec<Stored>> {
        let sql = "SELECT max(id) AS id, part, started, unixepoch(finished) - unixepoch(started),
                          version, machine, full FROM main.runs o
                   WHERE experiment = ?1 AND finished IS NOT NULL
                     AND EXISTS (SELECT 1 FROM main.rows r WHERE r.run = o.id)
                   GROUP BY part ORDER BY id";
        self.stored(sql, &experiment)
    }

    /// The runs of a batch.
    pub(crate) fn batch(&self, batch: i64) -> Result<Vec<Stored>> {
        let sql = "SELECT id, part, started, unixepoch(finished) - unixepoch(started), version, machine, full
                   FROM main.runs WHERE batch = ?1 ORDER BY id";
        self.stored(sql, &batch)
    }

    fn stored(&self, sql: &str, of: &dyn rusqlite::ToSql) -> Result<Vec<Stored>> {
        let mut query = self.connection.prepare(sql)?;
        let runs = query.query_map([of], |row| {
            Ok(Stored {
                id: row.get(0)?,
                part: row.get(1)?,
                started: row.get(2)?,
                seconds: row.get::<_, Option<i64>>(3)?.and_then(|seconds| seconds.try_into().ok()),
                version: row.get(4)?,
                machine: row.get(5)?,
                full: row.get(6)?,
            })
        })?;
        Ok(runs.collect::<rusqlite::Result<_>>()?)
    }

    /// The rows of a run in the order of its points; those for which an SQL condition over the part's view holds, if
    /// one is given. The views must have been created.
    pub(crate) fn rows(&self, run: i64, condition: Option<(&str, &str)>) -> Result<Vec<Row>> {
        let filter = condition.map_or_else(String::new, |(part, condition)| {
            let part = scope::quoted(part);
            format!("AND (point, line) IN (SELECT point, line FROM {part} WHERE ({condition}))")
        });
        let sql = format!("SELECT row FROM main.rows WHERE run = ?1 {filter} ORDER BY point, line");
        let mut query = self.connection.prepare(&sql)?;
        let texts =
            query.query_map([run], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
        texts.iter().map(|text| serde_json::from_str(text).context("a stored row is no JSON")).collect()
    }

    /// The points of a run: how many there are, and which failed with what.
    pub(crate) fn points(&self, run: i64) -> Result<(usize, Vec<(Row, String)>)> {
        let mut query =
            self.connection.prepare("SELECT params, error FROM main.points WHERE run = ?1 ORDER BY point")?;
        let found =
            query.query_map([run], |row| Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?)))?;
        let (mut count, mut failed) = (0, Vec::new());
        for point in found {
            let (params, error) = point?;
            count += 1;
            if let Some(error) = error {
                failed.push((serde_json::from_str(&params)?, error));
            }
        }
        Ok((count, failed))
    }
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
        ValueRef::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into(),
    }
}
