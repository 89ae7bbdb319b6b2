//! What clients saw, kept while they run: latencies by kind, failures by reason, and throughput over time.

use crate::Kind;
use crate::summary::{Latency, Slice, Summary, histogram, rate, saturating};
use hdrhistogram::Histogram;
use serde_json::Value;
use std::collections::BTreeMap;
use tidemark_core::OpKind;

/// How many failed, by reason.
pub type Failures = BTreeMap<String, u64>;

/// The names of single operations in results.
const OPERATIONS: [&str; 11] =
    ["get", "put", "put-all", "rotx", "snapshot", "scan", "count", "at", "conflicts", "query", "transact"];

/// Records one measurement, or one thread's part of it. Recording costs an array access and a count.
#[derive(Clone, Debug)]
pub struct Recorder {
    operations: [Option<Box<Histogram<u64>>>; OPERATIONS.len()],
    requests: [Option<Box<Histogram<u64>>>; Kind::ALL.len()],
    failed: Failures,
    slice_us: u64,
    slices: Vec<Moment>,
    duration_us: u64,
}

/// A slice of time while it is being recorded.
#[derive(Clone, Debug)]
struct Moment {
    /// Two digits suffice here, and a few kilobytes.
    latencies: Histogram<u32>,
    sum_us: u64,
}

impl Moment {
    fn new() -> Self {
        let latencies = Histogram::new(2).unwrap_or_else(|_| unreachable!("two digits are allowed"));
        Self { latencies, sum_us: 0 }
    }
}

impl Recorder {
    /// Records throughput over time in slices of `slice_us` microseconds (at least one).
    pub fn new(slice_us: u64) -> Self {
        Self {
            operations: Default::default(),
            requests: Default::default(),
            failed: Failures::new(),
            slice_us: slice_us.max(1),
            slices: Vec::new(),
            duration_us: 0,
        }
    }

    /// An operation ended `at_us` after the measurement began, having taken `latency_us`.
    pub fn operation(&mut self, kind: OpKind, latency_us: u64, at_us: u64) {
        let latency_us = saturating(latency_us);
        let histogram_of = self.operations[kind as usize].get_or_insert_with(|| Box::new(histogram()));
        histogram_of.saturating_record(latency_us);
        let slice = (at_us / self.slice_us) as usize;
        if slice >= self.slices.len() {
            self.slices.resize_with(slice + 1, Moment::new);
        }
        // It grows as it has to, up to what `saturating` lets through: this cannot fail.
        _ = self.slices[slice].latencies.record(latency_us);
        self.slices[slice].sum_us += latency_us;
    }

    /// A request ended, having taken `latency_us` from its beginning to its last answer.
    pub fn request(&mut self, kind: Kind, latency_us: u64) {
        let histogram_of = self.requests[kind as usize].get_or_insert_with(|| Box::new(histogram()));
        histogram_of.saturating_record(saturating(latency_us));
    }

    /// An operation failed. `reason` is short: failures are counted by it.
    pub fn failure(&mut self, reason: &str) {
        match self.failed.get_mut(reason) {
            Some(count) => *count += 1,
            None => _ = self.failed.insert(reason.to_owned(), 1),
        }
    }

    /// The measurement took `duration_us`; rates refer to it. Of merged recorders, the longest counts.
    pub fn lasted(&mut self, duration_us: u64) {
        self.duration_us = self.duration_us.max(duration_us);
    }

    /// How many operations have ended so far, without those that failed.
    pub fn count(&self) -> u64 {
        self.operations.iter().flatten().map(|histogram| histogram.len()).sum()
    }

    /// Adds what another has recorded at the same time, in slices of the same length.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.slice_us, other.slice_us, "slices of the same length are added");
        add(&mut self.operations, &other.operations);
        add(&mut self.requests, &other.requests);
        for (reason, count) in &other.failed {
            *self.failed.entry(reason.clone()).or_default() += count;
        }
        if other.slices.len() > self.slices.len() {
            self.slices.resize_with(other.slices.len(), Moment::new);
        }
        for (mine, others) in self.slices.iter_mut().zip(&other.slices) {
            // Histograms without an upper bound grow, so nothing can be too large.
            _ = mine.latencies.add(&others.latencies);
            mine.sum_us += others.sum_us;
        }
        self.lasted(other.duration_us);
    }

    /// All of it in numbers.
    pub fn summary(&self) -> Summary {
        let of = |name: &str, histogram: &Option<Box<Histogram<u64>>>| {
            let latency = Latency::of(histogram.as_deref()?, self.duration_us);
            Some((name.to_owned(), latency))
        };
        let operations = OPERATIONS.iter().zip(&self.operations);
        let requests = Kind::ALL.iter().zip(&self.requests);
        let asked: u64 = self.requests.iter().flatten().map(|histogram| histogram.len()).sum();
        Summary {
            duration_us: self.duration_us,
            throughput: rate(self.count(), self.duration_us),
            requests_per_second: rate(asked, self.duration_us),
            operations: operations.filter_map(|(name, histogram)| of(name, histogram)).collect(),
            requests: requests.filter_map(|(kind, histogram)| of(kind.name(), histogram)).collect(),
            failed: self.failed.clone(),
            slices: self
                .slices
                .iter()
                .enumerate()
                .map(|(number, moment)| self.slice(number, moment))
                .collect(),
            slice_us: self.slice_us,
        }
    }

    /// How long operations took, by name, as whole distributions.
    pub fn curves(&self) -> Vec<(&'static str, Vec<crate::cdf::Point>)> {
        let operations = OPERATIONS.iter().zip(&self.operations);
        operations
            .filter_map(|(name, histogram)| Some((*name, crate::cdf::points(histogram.as_deref()?))))
            .collect()
    }

    /// The summary as one row for a table of results: see `Summary::row`.
    pub fn row(&self) -> BTreeMap<String, Value> {
        self.summary().row()
    }

    fn slice(&self, number: usize, moment: &Moment) -> Slice {
        let operations = moment.latencies.len();
        Slice {
            from_us: number as u64 * self.slice_us,
            operations,
            mean_us: if operations == 0 { 0.0 } else { moment.sum_us as f64 / operations as f64 },
            p99_us: if operations == 0 { 0 } else { moment.latencies.value_at_quantile(0.99) },
            max_us: moment.latencies.max(),
        }
    }
}

/// Adds histogram to histogram, kind by kind.
fn add(mine: &mut [Option<Box<Histogram<u64>>>], others: &[Option<Box<Histogram<u64>>>]) {
    for (mine, other) in mine.iter_mut().zip(others) {
        match (mine.as_mut(), other) {
            // All have the same bounds: nothing can be too large.
            (Some(mine), Some(other)) => _ = mine.add(other.as_ref()),
            (None, Some(other)) => *mine = Some(other.clone()),
            (_, None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_recorders_saw_is_one_measurement() {
        let (mut one, mut other) = (Recorder::new(1_000_000), Recorder::new(1_000_000));
        for us in 1..=1000 {
            one.operation(OpKind::Get, us, us * 1000);
            one.request(Kind::Read, us);
            other.operation(OpKind::Put, 5000, 2_500_000);
        }
        other.failure("MOVED");
        other.failure("MOVED");
        one.failure("TRYAGAIN");
        one.lasted(2_000_000);
        other.lasted(4_000_000);
        one.merge(&other);
        let summary = one.summary();
        let get = summary.operations["get"];
        assert_eq!((get.count, get.min_us, get.p50_us, get.p99_us, get.max_us), (1000, 1, 500, 990, 1000));
        assert_eq!((get.mean_us, get.per_second, summary.throughput), (500.5, 250.0, 500.0));
        assert_eq!((summary.requests_per_second, one.count()), (250.0, 2000));
        assert_eq!(summary.failed, Failures::from([("MOVED".into(), 2), ("TRYAGAIN".into(), 1)]));
        let slices: Vec<(u64, u64)> = summary.slices.iter().map(|s| (s.from_us, s.operations)).collect();
        assert_eq!(slices, [(0, 999), (1_000_000, 1), (2_000_000, 1000)]);
        assert_eq!((summary.slices[0].mean_us, summary.slices[2].mean_us), (500.0, 5000.0));
        let tails = [0, 2].map(|slice| summary.slices[slice]).map(|slice| (slice.p99_us, slice.max_us));
        assert_eq!(tails, [(991, 999), (5023, 5023)], "two digits, and no upper bound");
        let row = one.row();
        assert_eq!((row["failed"].as_u64(), row["throughput"].as_f64()), (Some(3), Some(500.0)));
        assert_eq!((row["get_p99_us"].as_u64(), row["put_p50_us"].as_u64()), (Some(990), Some(5003)));
        assert_eq!(row["read_mean_us"].as_f64(), Some(500.5));
        let written = serde_json::to_string(&summary).unwrap();
        assert_eq!(serde_json::from_str::<Summary>(&written).unwrap(), summary);
    }

    #[test]
    fn names_of_operations_stand_in_the_order_of_their_kinds() {
        for (kind, name) in [(OpKind::Get, "get"), (OpKind::Count, "count"), (OpKind::Query, "query")] {
            assert_eq!(OPERATIONS[kind as usize], name);
        }
        for (number, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }

    #[test]
    fn nothing_is_nothing_and_too_long_is_an_hour() {
        let mut recorder = Recorder::new(1_000_000);
        assert_eq!(recorder.summary().throughput, 0.0);
        assert!(recorder.summary().operations.is_empty());
        recorder.operation(OpKind::Rotx, u64::MAX, 0);
        recorder.lasted(1);
        let longest = recorder.summary().operations["rotx"].max_us;
        assert!((3_600_000_000..3_610_000_000).contains(&longest), "{longest}");
    }
}
