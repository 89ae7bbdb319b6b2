//! Axes: how far they reach, where their ticks are, and what stands there.

use crate::file::Scale;

/// One axis.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) log: bool,
    /// Lists of ticks, the preferred one first, for whoever knows which has room.
    candidates: Vec<Vec<f64>>,
}

impl Axis {
    /// An axis of `count` groups of bars, each one wide.
    pub(super) fn groups(count: usize) -> Self {
        Self { low: -0.5, high: count as f64 - 0.5, log: false, candidates: vec![Vec::new()] }
    }

    /// An axis from nothing to all.
    pub(super) fn shares() -> Self {
        let quarters = vec![0.0, 0.25, 0.5, 0.75, 1.0];
        Self { low: 0.0, high: 1.0, log: false, candidates: vec![quarters] }
    }

    /// An axis that has all values well inside it; if it is linear it begins at 0, unless the values are far from it.
    pub(super) fn horizontal(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let (low, high) = ends(&values);
        if scale == Scale::Log {
            return Self::log(low, high, &values);
        }
        let low = if low >= 0.0 && low < high * 0.4 { 0.0 } else { low };
        let pad = (high - low) * 0.03;
        let candidates = (3..=8).rev().map(|count| nice(low, high, count)).collect();
        let (low, high) = if high > low { (low - pad, high + pad) } else { (low - 0.5, high + 0.5) };
        Self { low, high, log: false, candidates }
    }

    /// An axis from 0, or from the lowest value if that is below, to the tick above the highest.
    pub(super) fn vertical(scale: Scale, bars: bool, values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let (low, high) = ends(&values);
        if scale == Scale::Log {
            // Bars need a foot to stand on below the least of them.
            return Self::log(if bars { low / 2.0 } else { low }, high, &[]);
        }
        let (low, high) = (low.min(0.0), if high > 0.0 { high * 1.04 } else { high.max(0.0) });
        let high = if low == high { low + 1.0 } else { high };
        let step = step_of(low, high, 6);
        let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
        Self { low, high, log: false, candidates: vec![nice(low, high, 6)] }
    }

    fn log(low: f64, high: f64, values: &[f64]) -> Self {
        let wide = if high > low { (high / low).powf(0.05).max(1.05) } else { 2.0 };
        let (low, high) = (low / wide, high * wide);
        let mut candidates = Vec::new();
        if (2..=10).contains(&values.len()) {
            candidates.push(values.to_vec());
        }
        for steps in [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]] {
            candidates.push(decades(low, high, steps, 1));
        }
        candidates.extend((2..=6).map(|every| decades(low, high, &[1.0], every)));
        candidates.retain(|ticks| ticks.len() >= 2);
        if candidates.is_empty() {
            candidates.push(nice(low, high, 5));
        }
        Self { low, high, log: true, candidates }
    }

    /// The first list of ticks whose labels stand apart, where `extent` says how many pixels a label takes of an axis
    /// that is `length` pixels long.
    pub(super) fn ticks(&self, length: f64, extent: impl Fn(&str) -> f64) -> Vec<f64> {
        let place = |value: f64| self.share(value) * length;
        let apart = |ticks: &&Vec<f64>| {
            ticks.windows(2).all(|pair| {
                let halves = [pair[0], pair[1]].map(|value| extent(&readable(value)) / 2.0);
                place(pair[1]) - place(pair[0]) >= halves[0] + halves[1] + 6.0
            })
        };
        let found = self.candidates.iter().find(apart).or(self.candidates.last());
        let ends = found.map(|ticks| ticks.iter().copied());
        ends.into_iter().flatten().filter(|tick| (-1e-9..=1.0 + 1e-9).contains(&self.share(*tick))).collect()
    }

    /// How far along the axis a value is: 0 at its beginning, 1 at its end.
    pub(super) fn share(&self, value: f64) -> f64 {
        let of = |value: f64| if self.log { value.ln() } else { value };
        (of(value) - of(self.low)) / (of(self.high) - of(self.low))
    }
}

fn ends(sorted: &[f64]) -> (f64, f64) {
    (sorted.first().copied().unwrap_or(0.0), sorted.last().copied().unwrap_or(1.0))
}

/// A round step by which some `count` ticks cover the range.
fn step_of(low: f64, high: f64, count: usize) -> f64 {
    let rough = (high - low).max(f64::MIN_POSITIVE) / count as f64;
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0];
    steps.into_iter().map(|step| step * power).find(|step| *step >= rough * 0.999).unwrap_or(10.0 * power)
}

/// Round numbers from `low` to `high`, at most some `count`.
fn nice(low: f64, high: f64, count: usize) -> Vec<f64> {
    if high <= low {
        return vec![low];
    }
    let step = step_of(low, high, count);
    let (first, last) = ((low / step - 1e-6).ceil() as i64, (high / step + 1e-6).floor() as i64);
    (first..=last).map(|index| index as f64 * step).collect()
}

/// The multiples of powers of ten within the range, of every so many powers.
fn decades(low: f64, high: f64, steps: &[f64], every: i32) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let powers = (first..=last).filter(|power| power.rem_euclid(every) == 0);
    let all = powers.flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
    all.filter(|tick| *tick >= low * 0.999 && *tick <= high * 1.001).collect()
}

/// A number for people: four digits that count, thousands apart.
pub(crate) fn readable(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-5..=14).contains(&magnitude) {
        let text = format!("{value:.3e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        return format!("{digits}e{power}").replace('-', "−");
    }
    let decimals = (3 - magnitude).clamp(0, 8) as usize;
    let text = format!("{:.decimals$}", value.abs());
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let part = part.trim_end_matches('0');
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let sign = if value < 0.0 { "−" } else { "" };
    let dot = if part.is_empty() { "" } else { "." };
    format!("{sign}{grouped}{dot}{part}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_with_the_digits_that_count() {
        let told = [1.0, 1234567.0, 0.5, 12.34567, 0.00012, -1500.0, 999.96, 1e20, 1.2000000000000002e-7]
            .map(readable);
        assert_eq!(told, ["1", "1,234,567", "0.5", "12.35", "0.00012", "−1,500", "1,000", "1e20", "1.2e−7"]);
    }

    #[test]
    fn ticks_are_round_and_where_data_is() {
        let axis = Axis::vertical(Scale::Linear, false, [3.0, 1670.0, 748.0].into_iter());
        assert_eq!((axis.low, axis.high), (0.0, 2000.0));
        assert_eq!(axis.ticks(400.0, |_| 12.0), [0.0, 500.0, 1000.0, 1500.0, 2000.0]);
        let sizes = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
        let axis = Axis::horizontal(Scale::Log, sizes.into_iter());
        assert_eq!(axis.ticks(600.0, |_| 20.0), sizes, "the values themselves, where there is room");
        assert_eq!(axis.ticks(120.0, |_| 20.0), [1.0, 3.0, 10.0, 30.0], "fewer where there is none");
    }

    #[test]
    fn a_range_of_one_value_and_a_wide_one_have_ticks_that_stand_apart() {
        for (scale, values) in [
            (Scale::Linear, vec![5.0]),
            (Scale::Log, vec![5.0]),
            (Scale::Linear, vec![0.0]),
            (Scale::Log, (0..40).map(|power| 10f64.powi(power - 4)).collect()),
            (Scale::Log, (1..40).map(f64::from).collect()),
        ] {
            let axis = Axis::horizontal(scale, values.iter().copied());
            assert!(axis.low < axis.high, "{values:?}");
            let ticks = axis.ticks(500.0, |label| 7.0 * label.len() as f64);
            assert!(!ticks.is_empty(), "{values:?}");
            let places: Vec<f64> = ticks.iter().map(|tick| axis.share(*tick) * 500.0).collect();
            assert!(places.windows(2).all(|pair| pair[1] - pair[0] > 12.0), "{ticks:?}");
        }
    }
}
