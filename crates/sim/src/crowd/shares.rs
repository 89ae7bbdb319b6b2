//! Sums over notifications, and a straight line through them.

/// How metadata depends on the number of updates.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Line {
    count: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
}

impl Line {
    pub(crate) fn add(&mut self, x: f64, y: f64) {
        self.count += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
    }

    pub(crate) fn count(&self) -> f64 {
        self.count
    }

    /// The mean of `x` and that of `y`; zeros of nothing.
    pub(crate) fn means(&self) -> (f64, f64) {
        let count = self.count.max(1.0);
        (self.x / count, self.y / count)
    }

    /// `y` for each `x`, all together.
    pub(crate) fn ratio(&self) -> Option<f64> {
        (self.x > 0.0).then(|| self.y / self.x)
    }

    /// What the line of least squares has at `x`; in proportion to `x` if all were the same.
    pub(crate) fn at(&self, x: f64) -> Option<f64> {
        let spread = self.count * self.xx - self.x * self.x;
        if spread.abs() < 1e-9 {
            return self.ratio().map(|ratio| ratio * x);
        }
        let slope = (self.count * self.xy - self.x * self.y) / spread;
        Some((self.y - slope * self.x) / self.count + slope * x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_through_what_lies_on_it() {
        let mut line = Line::default();
        assert_eq!((line.at(10.0), line.means()), (None, (0.0, 0.0)));
        line.add(2.0, 29.0 + 2.0 * 8.0);
        assert_eq!(line.at(10.0), Some(225.0), "of one, in proportion");
        for updates in [0.0, 5.0, 30.0] {
            line.add(updates, 29.0 + updates * 8.0);
        }
        assert!((line.at(10.0).unwrap() - 109.0).abs() < 1e-9);
        assert_eq!(line.count(), 4.0);
    }
}
