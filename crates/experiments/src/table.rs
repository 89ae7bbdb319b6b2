//! Rows and columns, as text, CSV and JSON.

use anyhow::Result;
use serde_json::{Map, Value};

/// A table of scalars.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// A value for every column, or null.
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    /// A table of rows that need not all have the same columns: in the order in which they first appear.
    pub(crate) fn of<'a>(rows: impl Iterator<Item = &'a crate::Row> + Clone) -> Self {
        let mut columns: Vec<String> = Vec::new();
        for name in rows.clone().flat_map(|row| row.keys()) {
            if !columns.contains(name) {
                columns.push(name.clone());
            }
        }
        let value = |row: &crate::Row, name: &String| row.get(name).cloned().unwrap_or_default();
        let rows = rows.map(|row| columns.iter().map(|name| value(row, name)).collect()).collect();
        Self { columns, rows }
    }

    /// The columns of those names, in the order of the names.
    pub(crate) fn only(&self, names: &[String]) -> Self {
        let of = |name: &String| self.columns.iter().position(|column| column == name);
        let places: Vec<usize> = names.iter().filter_map(of).collect();
        let columns = places.iter().map(|at| self.columns[*at].clone()).collect();
        let rows = self.rows.iter().map(|row| places.iter().map(|at| row[*at].clone()).collect()).collect();
        Self { columns, rows }
    }

    /// Lines for people: columns aligned, numbers to the right, with thousands apart.
    pub fn text(&self) -> String {
        let cells: Vec<Vec<String>> = self.rows.iter().map(|row| row.iter().map(shown).collect()).collect();
        let numeric =
            |column: usize| self.rows.iter().all(|row| row[column].is_number() || row[column].is_null());
        let width = |column: usize| {
            let cells = cells.iter().map(|row| row[column].chars().count());
            cells.chain([self.columns[column].chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<(usize, bool)> =
            (0..self.columns.len()).map(|column| (width(column), numeric(column))).collect();
        let mut text = String::new();
        for row in std::iter::once(&self.columns).chain(&cells) {
            let padded = row.iter().zip(&widths).map(|(cell, (width, right))| {
                if *right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
            });
            text.push_str(padded.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        text
    }

    /// Comma-separated values, with a line of names.
    ///
    /// # Errors
    /// None that is known: it writes to memory.
    pub fn csv(&self) -> Result<String> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&self.columns)?;
        for row in &self.rows {
            writer.write_record(row.iter().map(plain))?;
        }
        Ok(String::from_utf8(writer.into_inner()?)?)
    }

    /// An array with an object a row.
    pub fn json(&self) -> Value {
        let object = |row: &Vec<Value>| {
            let entries = self.columns.iter().cloned().zip(row.iter().cloned());
            Value::Object(entries.collect::<Map<_, _>>())
        };
        Value::Array(self.rows.iter().map(object).collect())
    }
}

/// A scalar as it stands in CSV.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), crate::figure::readable),
        other => plain(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_table_is_the_same_in_three_forms() {
        let rows = [json!({"a": "x, y", "b": 1234567}), json!({"b": 0.5, "c": null})];
        let rows = rows.map(|row| serde_json::from_value::<crate::Row>(row).expect("a row"));
        let table = Table::of(rows.iter());
        assert_eq!(table.text(), "a             b  c\nx, y  1,234,567\n            0.5\n");
        assert_eq!(table.csv().expect("text"), "a,b,c\n\"x, y\",1234567,\n,0.5,\n");
        let json = json!([{"a": "x, y", "b": 1234567, "c": null}, {"a": null, "b": 0.5, "c": null}]);
        assert_eq!(table.json(), json);
    }
}
