//! The views that statements see: the rows of one run of an experiment, and nothing of others.

use crate::validate::view;
use anyhow::{Result, bail};
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use std::collections::BTreeMap;

/// What is in every results database: no experiment can be called so.
pub(crate) const STOCK: &[&str] =
    &["runs", "points", "rows", "columns", "throughput", "latency", "compare", "failures", "bench"];

/// Makes a word in double quotes a column and never a text, so that a misspelt column is an error.
pub(crate) fn strict(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
    Ok(())
}

/// What SQLite says, without where it stands in the text.
pub(crate) fn plain(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        rusqlite::Error::SqliteFailure(_, Some(text)) => text.clone(),
        other => other.to_string(),
    }
}

/// A name in SQL.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text in SQL.
pub(crate) fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The expressions that take columns out of a row's JSON, named as they are in SQL.
pub(crate) fn extracted(columns: &[String]) -> String {
    let mut named: BTreeMap<String, ()> = BTreeMap::new();
    let mut all = String::new();
    for column in columns {
        // Two columns that differ in `-` and `.` only: the first has the name.
        if named.insert(view(column), ()).is_none() {
            let path = text(&format!("$.\"{column}\""));
            all.push_str(&format!(", json_extract(r.row, {path}) AS {}", quoted(&view(column))));
        }
    }
    all
}

/// Creates the views `rows`, and one a part, over the runs of `parts`: names and ids of runs.
pub(crate) fn create(connection: &Connection, parts: &[(&str, i64)]) -> Result<()> {
    let of_part = |id: i64| -> Result<Vec<String>> {
        let sql =
            "SELECT DISTINCT key.key FROM main.rows r, json_each(r.row) key WHERE r.run = ?1 ORDER BY 1";
        let mut query = connection.prepare(sql)?;
        Ok(query.query_map([id], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
    };
    let mut all = Vec::new();
    for (name, id) in parts {
        let columns = of_part(*id)?;
        let select = format!(
            "SELECT {} AS part, r.point, r.line{} FROM main.rows r WHERE r.run = {id}",
            text(name),
            extracted(&columns)
        );
        connection.execute_batch(&format!("CREATE TEMP VIEW {} AS {select}", quoted(name)))?;
        all.extend(columns);
    }
    all.sort();
    all.dedup();
    let ids: Vec<String> = parts.iter().map(|(_, id)| id.to_string()).collect();
    let select = format!(
        "SELECT o.part, r.point, r.line{} FROM main.rows r JOIN main.runs o ON o.id = r.run WHERE r.run IN ({})",
        extracted(&all),
        ids.join(", ")
    );
    connection.execute_batch(&format!("CREATE TEMP VIEW rows AS {select}"))?;
    Ok(())
}

/// Creates the same views without rows, for queries to be tried on.
pub(crate) fn empty(connection: &Connection, parts: &BTreeMap<String, Vec<String>>) -> Result<()> {
    let mut all: Vec<String> = parts.values().flatten().cloned().collect();
    all.sort();
    all.dedup();
    let one = |name: &str, columns: &[String]| {
        let mut columns = columns.to_vec();
        columns.sort();
        columns.dedup();
        let nulls: String = columns.iter().map(|column| format!(", NULL AS {}", quoted(column))).collect();
        let sql =
            format!("CREATE TEMP VIEW {} AS SELECT '' AS part, 0 AS point, 0 AS line{nulls}", quoted(name));
        connection.execute_batch(&sql)
    };
    for (name, columns) in parts {
        one(name, columns)?;
    }
    one("rows", &all)?;
    Ok(())
}

/// The one number that a query gives; nothing if it is NULL.
pub(crate) fn number(connection: &Connection, sql: &str) -> Result<Option<f64>> {
    let value: rusqlite::Result<rusqlite::types::Value> = connection.query_row(sql, [], |row| row.get(0));
    match value {
        Ok(rusqlite::types::Value::Integer(value)) => Ok(Some(value as f64)),
        Ok(rusqlite::types::Value::Real(value)) => Ok(Some(value)),
        Ok(rusqlite::types::Value::Null) | Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
        Ok(other) => bail!("it gives {other:?}, which is no number"),
        Err(error) => bail!("{}", plain(&error)),
    }
}
