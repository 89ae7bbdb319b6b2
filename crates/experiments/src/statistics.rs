//! What SQLite lacks for statements: medians, percentiles, and how straight a line is.

use rusqlite::Connection;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};

/// Adds `median(x)`, `percentile(x, share)` with a share of 0 to 1, `slope(x, y)` and `r_squared(x, y)`, the share of
/// the variance of `y` that a straight line over `x` explains. Rows with a NULL do not count.
pub(crate) fn register(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_aggregate_function("median", 1, flags, Percentile)?;
    connection.create_aggregate_function("percentile", 2, flags, Percentile)?;
    connection.create_aggregate_function("slope", 2, flags, Line { slope: true })?;
    connection.create_aggregate_function("r_squared", 2, flags, Line { slope: false })?;
    Ok(())
}

struct Percentile;

/// The values so far, and the share that is asked for.
type Values = (Vec<f64>, f64);

impl Aggregate<Values, Option<f64>> for Percentile {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<Values> {
        Ok((Vec::new(), 0.5))
    }

    fn step(&self, context: &mut Context<'_>, values: &mut Values) -> rusqlite::Result<()> {
        if context.len() == 2 {
            values.1 = context.get(1)?;
        }
        values.0.extend(context.get::<Option<f64>>(0)?);
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, values: Option<Values>) -> rusqlite::Result<Option<f64>> {
        let Some((mut values, share)) = values else { return Ok(None) };
        values.sort_by(f64::total_cmp);
        Ok(between(&values, share))
    }
}

/// The value at a share of a sorted list, between its neighbours where it falls between.
fn between(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = share.clamp(0.0, 1.0) * last as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    Some(low + (high - low) * at.fract())
}

struct Line {
    slope: bool,
}

impl Aggregate<Vec<(f64, f64)>, Option<f64>> for Line {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<Vec<(f64, f64)>> {
        Ok(Vec::new())
    }

    fn step(&self, context: &mut Context<'_>, points: &mut Vec<(f64, f64)>) -> rusqlite::Result<()> {
        points.extend(context.get::<Option<f64>>(0)?.zip(context.get::<Option<f64>>(1)?));
        Ok(())
    }

    fn finalize(
        &self,
        _: &mut Context<'_>,
        points: Option<Vec<(f64, f64)>>,
    ) -> rusqlite::Result<Option<f64>> {
        let points = points.unwrap_or_default();
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|p| of(p.0 - x, p.1 - y)).sum::<f64>();
        let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
        let value = if self.slope { xy / xx } else { xy * xy / (xx * yy) };
        Ok(Some(value).filter(|value| value.is_finite()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sql: &str) -> Option<f64> {
        let connection = Connection::open_in_memory().expect("a database");
        register(&connection).expect("functions");
        let values = "WITH v(x, y) AS (VALUES (1, 3), (2, 5), (3, 7), (4, 10), (NULL, 1))";
        connection.query_row(&format!("{values} SELECT {sql} FROM v"), [], |row| row.get(0)).expect(sql)
    }

    #[test]
    fn medians_percentiles_and_lines_are_what_they_are_by_hand() {
        assert_eq!(of("median(x)"), Some(2.5));
        assert_eq!(of("median(y) FILTER (WHERE x IS NOT NULL)"), Some(6.0));
        assert_eq!(of("percentile(x, 0)"), Some(1.0));
        assert_eq!(of("percentile(x, 1.0)"), Some(4.0));
        assert_eq!(of("median(x) FILTER (WHERE x > 9)"), None);
        // Sums of squares about the means 2.5 and 6.25: xx 5, xy 11.5, yy 26.75.
        assert_eq!(of("slope(x, y)"), Some(2.3));
        assert!((of("r_squared(x, y)").expect("a number") - 11.5 * 11.5 / (5.0 * 26.75)).abs() < 1e-12);
        assert_eq!(of("r_squared(x, 1)"), None, "nothing varies");
    }
}
