//! What was recorded, in numbers: for people, for JSON, and as the columns of one row.

use crate::recorder::Failures;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The longest time that is told from others: an hour.
const LONGEST_US: u64 = 3_600_000_000;

/// Times of 1 µs to 1 h to three significant digits.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_US, 3).unwrap_or_else(|_| unreachable!("these bounds are valid"))
}

/// A time within the bounds of `histogram`.
pub(crate) fn saturating(us: u64) -> u64 {
    us.clamp(1, LONGEST_US)
}

/// How long something took: times in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "percentiles are named by their percent")]
pub struct Latency {
    /// How many there were.
    pub count: u64,
    /// How many a second; 0 where no duration is known.
    pub per_second: f64,
    /// The mean.
    pub mean_us: f64,
    /// The shortest.
    pub min_us: u64,
    pub p50_us: u64,
    pub p90_us: u64,
    pub p95_us: u64,
    pub p99_us: u64,
    pub p99_9_us: u64,
    pub p99_99_us: u64,
    /// The longest.
    pub max_us: u64,
}

impl Latency {
    /// Of what a histogram has, recorded during `duration_us`.
    pub(crate) fn of(histogram: &Histogram<u64>, duration_us: u64) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        let at = |quantile| histogram.value_at_quantile(quantile);
        Self {
            count: histogram.len(),
            per_second: rate(histogram.len(), duration_us),
            mean_us: histogram.mean(),
            min_us: histogram.min(),
            p50_us: at(0.50),
            p90_us: at(0.90),
            p95_us: at(0.95),
            p99_us: at(0.99),
            p99_9_us: at(0.999),
            p99_99_us: at(0.9999),
            max_us: histogram.max(),
        }
    }

    /// Its columns after `name`: `get_mean_us`, `get_p99_us`, ….
    fn columns(&self, name: &str, row: &mut BTreeMap<String, Value>) {
        let name = name.replace('-', "_");
        if let Ok(Value::Object(columns)) = serde_json::to_value(self) {
            row.extend(columns.into_iter().map(|(column, value)| (format!("{name}_{column}"), value)));
        }
    }
}

/// Something a second.
pub(crate) fn rate(count: u64, duration_us: u64) -> f64 {
    if duration_us == 0 { 0.0 } else { count as f64 * 1e6 / duration_us as f64 }
}

/// What happened in one slice of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// When it begins, in microseconds after the measurement did.
    pub from_us: u64,
    /// How many operations ended in it.
    pub operations: u64,
    /// The mean of what they took, in microseconds.
    pub mean_us: f64,
    /// What 99% of them did not exceed, in microseconds, to two digits.
    pub p99_us: u64,
    /// The longest, in microseconds, to two digits.
    pub max_us: u64,
}

/// A whole measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How long was measured, in microseconds.
    pub duration_us: u64,
    /// Single operations a second.
    pub throughput: f64,
    /// Requests a second.
    pub requests_per_second: f64,
    /// Of each kind of single operation (get, put, rotx, snapshot, scan, …).
    pub operations: BTreeMap<String, Latency>,
    /// Of each kind of request (read, update, round, …).
    pub requests: BTreeMap<String, Latency>,
    /// What failed, by reason.
    pub failed: Failures,
    /// Throughput and latency over time.
    pub slices: Vec<Slice>,
    /// How long a slice is, in microseconds.
    pub slice_us: u64,
}

impl Summary {
    /// How many operations failed, whatever the reason.
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// The mean of what single operations took, whatever their kind, in microseconds; 0 if there were none.
    pub fn mean_us(&self) -> f64 {
        let sums =
            self.operations.values().map(|latency| (latency.count, latency.count as f64 * latency.mean_us));
        let (count, us) = sums.fold((0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        us / (count.max(1)) as f64
    }

    /// One row for a table of results: `throughput`, `requests_per_second`, `duration_us`, `failed`, `mean_us`, and of each kind
    /// `get_count`, `get_per_second`, `get_mean_us`, `get_min_us`, `get_p50_us` … `get_p99_99_us`, `get_max_us`. Single operations go
    /// by their names, requests by theirs; where a kind of request is one operation of the same name, by that.
    pub fn row(&self) -> BTreeMap<String, Value> {
        let mut row = BTreeMap::from([
            ("throughput".to_owned(), Value::from(self.throughput)),
            ("requests_per_second".to_owned(), Value::from(self.requests_per_second)),
            ("duration_us".to_owned(), Value::from(self.duration_us)),
            ("failed".to_owned(), Value::from(self.failures())),
            ("mean_us".to_owned(), Value::from(self.mean_us())),
        ]);
        self.requests.iter().for_each(|(name, latency)| latency.columns(name, &mut row));
        self.operations.iter().for_each(|(name, latency)| latency.columns(name, &mut row));
        row
    }
}
