//! A distribution of times: percentiles, and points of the curve.

use crate::summary::{Latency, histogram, saturating};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Times in microseconds (1 µs to 1 h, three significant digits) as a cumulative distribution.
#[derive(Clone, Debug)]
pub struct Cdf {
    histogram: Histogram<u64>,
}

/// One point of the curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// A time, in microseconds.
    pub us: u64,
    /// Which share of all times is no longer, 0 to 1.
    pub share: f64,
}

impl Default for Cdf {
    fn default() -> Self {
        Self::new()
    }
}

impl Cdf {
    /// Of nothing yet.
    pub fn new() -> Self {
        Self { histogram: histogram() }
    }

    /// One more time, in microseconds; longer than an hour counts as an hour.
    pub fn record(&mut self, us: u64) {
        self.histogram.saturating_record(saturating(us));
    }

    /// Adds what another has recorded.
    pub fn merge(&mut self, other: &Self) {
        // Both have the same bounds: nothing can be too large.
        self.histogram.add(&other.histogram).unwrap_or_else(|_| unreachable!("same bounds"));
    }

    /// How many times were recorded.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The time that `percent` (0 to 100) of all times do not exceed, in microseconds; 0 if there are none.
    pub fn percentile(&self, percent: f64) -> u64 {
        if self.histogram.is_empty() { 0 } else { self.histogram.value_at_quantile(percent / 100.0) }
    }

    /// Mean, extremes and percentiles. Without a duration, there is no rate (0).
    pub fn summary(&self) -> Latency {
        Latency::of(&self.histogram, 0)
    }

    /// The whole curve: a point for every time that was recorded, to three digits. The last has share 1.
    pub fn points(&self) -> Vec<Point> {
        points(&self.histogram)
    }
}

/// The curve of what a histogram has recorded.
pub(crate) fn points(histogram: &Histogram<u64>) -> Vec<Point> {
    let (all, mut below) = (histogram.len() as f64, 0u64);
    let steps = histogram.iter_recorded();
    steps
        .map(|step| {
            below += step.count_since_last_iteration();
            Point { us: step.value_iterated_to(), share: below as f64 / all }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_rises_to_one_and_percentiles_lie_on_it() {
        let mut low = Cdf::new();
        let mut high = Cdf::new();
        (1..=500).for_each(|us| low.record(us));
        (501..=1000).for_each(|us| high.record(us));
        low.merge(&high);
        assert_eq!((low.count(), low.percentile(50.0), low.percentile(100.0)), (1000, 500, 1000));
        let points = low.points();
        assert_eq!(points.len(), 1000);
        assert!(points.is_sorted_by(|a, b| a.us < b.us && a.share < b.share));
        assert_eq!(points[499], Point { us: 500, share: 0.5 });
        assert_eq!(points[999], Point { us: 1000, share: 1.0 });
        assert_eq!(Cdf::new().percentile(99.0), 0);
        assert!(Cdf::new().points().is_empty());
    }
}
