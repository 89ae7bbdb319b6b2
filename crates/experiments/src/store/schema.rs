//! Tables and views of the results database.

use super::explain;
use crate::scope::{extracted, quoted, text};
use crate::validate::view;
use anyhow::{Result, bail, ensure};
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use std::path::Path;
use std::time::{Duration, Instant};

/// What marks a database as one of ours: `tide` in ASCII.
const APPLICATION: i64 = 0x7469_6465;

/// The version of the tables and views; what is older is brought up to date when it is opened for writing.
const VERSION: i64 = 2;

/// Tables are as they always were; views are made again.
const TABLES: &str = "
CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    batch INTEGER,
    experiment TEXT NOT NULL,
    part TEXT NOT NULL,
    started TEXT NOT NULL,
    finished TEXT,
    version TEXT NOT NULL,
    machine TEXT NOT NULL,
    full INTEGER NOT NULL,
    options TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS points (
    run INTEGER NOT NULL REFERENCES runs(id),
    point INTEGER NOT NULL,
    params TEXT NOT NULL,
    error TEXT,
    PRIMARY KEY (run, point)
);
CREATE TABLE IF NOT EXISTS rows (
    run INTEGER NOT NULL,
    point INTEGER NOT NULL,
    line INTEGER NOT NULL,
    row TEXT NOT NULL,
    PRIMARY KEY (run, point, line),
    FOREIGN KEY (run, point) REFERENCES points(run, point)
);
CREATE TABLE IF NOT EXISTS columns (
    id INTEGER PRIMARY KEY,
    experiment TEXT NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (experiment, name)
);
DROP VIEW IF EXISTS failures;
CREATE VIEW failures AS
    SELECT o.experiment, p.run, o.part, p.point, p.error, p.params
    FROM points p JOIN runs o ON o.id = p.run WHERE p.error IS NOT NULL;
DROP VIEW IF EXISTS throughput;
CREATE VIEW throughput AS
    SELECT o.experiment, r.run, o.part,
           json_extract(r.row, '$.protocol') AS protocol, json_extract(r.row, '$.workload') AS mix,
           coalesce(json_extract(r.row, '$.clients'), json_extract(r.row, '$.clients_a_partition')) AS clients,
           json_extract(r.row, '$.throughput') AS throughput, r.point
    FROM rows r JOIN runs o ON o.id = r.run
    WHERE json_extract(r.row, '$.throughput') IS NOT NULL;
DROP VIEW IF EXISTS latency;
CREATE VIEW latency AS
    WITH ends(suffix, percentile) AS (VALUES
        ('_mean_us', 'mean'), ('_p50_us', 'p50'), ('_p90_us', 'p90'), ('_p95_us', 'p95'), ('_p99_us', 'p99'),
        ('_p99_9_us', 'p99_9'), ('_p99_99_us', 'p99_99'), ('_max_us', 'max'))
    SELECT o.experiment, r.run, o.part,
           json_extract(r.row, '$.protocol') AS protocol, json_extract(r.row, '$.workload') AS mix,
           coalesce(json_extract(r.row, '$.clients'), json_extract(r.row, '$.clients_a_partition')) AS clients,
           substr(value.key, 1, length(value.key) - length(ends.suffix)) AS operation,
           ends.percentile, value.value AS latency_us, r.point
    FROM rows r JOIN runs o ON o.id = r.run, json_each(r.row) value, ends
    WHERE substr(value.key, -length(ends.suffix)) = ends.suffix;
DROP VIEW IF EXISTS compare;
CREATE VIEW compare AS
    SELECT o.experiment, o.part, p.run AS a, q.run AS b, r.line, p.params, va.key AS name,
           va.value AS value_a, vb.value AS value_b, vb.value * 1.0 / va.value AS ratio
    FROM points p JOIN runs o ON o.id = p.run
    JOIN runs u ON u.experiment = o.experiment AND u.part = o.part
    JOIN points q ON q.run = u.id AND q.params = p.params
    JOIN rows r ON r.run = p.run AND r.point = p.point
    JOIN rows s ON s.run = q.run AND s.point = q.point AND s.line = r.line
    JOIN json_each(r.row) va JOIN json_each(s.row) vb ON vb.key = va.key
    WHERE va.type IN ('integer', 'real') AND vb.type IN ('integer', 'real')
      AND json_extract(p.params, '$.' || json_quote(va.key)) IS NULL;
";

/// Creates what is missing, or says why the file is none of ours.
pub(super) fn prepare(connection: &Connection, path: &Path) -> Result<()> {
    // One statement, so that another process does not create the tables half-way.
    let sql = "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)
               FROM pragma_application_id, pragma_user_version";
    let (application, version, tables): (i64, i64, i64) = connection
        .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .map_err(|error| explain(path, &error))?;
    let shown = path.display();
    ensure!(
        application == APPLICATION || (application == 0 && tables == 0),
        "{shown} is a database of something else: name another file with --db or TIDEMARK_RESULTS"
    );
    if version > VERSION {
        bail!(
            "{shown} was written by a newer version of tidemark (tables {version}, this one knows {VERSION})"
        );
    }
    write_ahead(connection).map_err(|error| explain(path, &error))?;
    if version == VERSION {
        return Ok(());
    }
    let create = || -> rusqlite::Result<()> {
        let transaction = rusqlite::Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
        transaction.commit()
    };
    create().map_err(|error| explain(path, &error))
}

/// Readers and one writer at a time do not wait for each other. Two processes that both begin a new file may be refused
/// at once, without the usual patience.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let began = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && began.elapsed() < super::PATIENCE =>
            {
                std::thread::sleep(Duration::from_millis(10));
            }
            other => return other.and_then(|()| connection.pragma_update(None, "synchronous", "NORMAL")),
        }
    }
}

/// Makes the view of an experiment again, with all columns that its rows have had.
pub(super) fn view_of(connection: &Connection, experiment: &str) -> Result<()> {
    let mut query = connection.prepare("SELECT name FROM columns WHERE experiment = ?1 ORDER BY id")?;
    let columns =
        query.query_map([experiment], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
    let name = quoted(&view(experiment));
    connection.execute_batch(&format!(
        "DROP VIEW IF EXISTS {name};
         CREATE VIEW {name} AS SELECT r.run, o.part, o.started, o.full, r.point, r.line{}
         FROM rows r JOIN runs o ON o.id = r.run WHERE o.experiment = {};",
        extracted(&columns),
        text(experiment)
    ))?;
    Ok(())
}
