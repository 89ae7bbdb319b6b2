//! Zipf's law: of `n` ranks, rank `k` is drawn with a probability proportional to 1 / k^skew.
//!
//! Source: W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from monotone discrete
//! distributions" (1996). Exact for every skew and in constant time and space, also for 10^10 ranks, where sums of
//! the whole series (as in the approximation of Gray et al. that YCSB uses) take minutes.

use fastrand::Rng;

/// A sampler of ranks 0 to `n` − 1, the lowest most often.
#[derive(Clone, Debug)]
pub struct Zipf {
    ranks: u64,
    skew: f64,
    /// The area under the hat up to the first rank, and up to the last.
    first_area: f64,
    last_area: f64,
    /// How far right of a rank a point may lie to be taken without looking.
    sure: f64,
}

impl Zipf {
    /// Of `ranks` ranks (at least one), with `skew` ≥ 0: 0 is uniform, YCSB's constant is 0.99.
    pub fn new(ranks: u64, skew: f64) -> Self {
        assert!(ranks > 0, "there is nothing to choose from");
        assert!(skew >= 0.0 && skew.is_finite(), "a skew is a number from 0 on, not {skew}");
        let mut zipf = Self { ranks, skew, first_area: 0.0, last_area: 0.0, sure: 0.0 };
        zipf.first_area = zipf.area(1.5) - 1.0;
        zipf.last_area = zipf.area(ranks as f64 + 0.5);
        zipf.sure = 2.0 - zipf.at_area(zipf.area(2.5) - zipf.height(2.0));
        zipf
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> u64 {
        self.ranks
    }

    /// The same law over another number of ranks.
    pub(crate) fn with_ranks(&self, ranks: u64) -> Self {
        Self { ranks, last_area: self.area(ranks as f64 + 0.5), ..self.clone() }
    }

    /// One rank, from 0 on.
    #[inline]
    pub fn sample(&self, rng: &mut Rng) -> u64 {
        if self.skew == 0.0 {
            return rng.u64(0..self.ranks);
        }
        loop {
            let area = self.last_area + rng.f64() * (self.first_area - self.last_area);
            let x = self.at_area(area);
            let rank = (x + 0.5).clamp(1.0, self.ranks as f64).floor();
            if rank - x <= self.sure || area >= self.area(rank + 0.5) - self.height(rank) {
                return rank as u64 - 1;
            }
        }
    }

    /// The hat: x^−skew.
    fn height(&self, x: f64) -> f64 {
        (-self.skew * x.ln()).exp()
    }

    /// The integral of the hat from 1 to `x`: (x^(1−skew) − 1) / (1 − skew), ln x where the skew is 1.
    fn area(&self, x: f64) -> f64 {
        let log = x.ln();
        let t = (1.0 - self.skew) * log;
        // Near zero the quotient loses all digits: its series has them.
        let quotient = if t.abs() > 1e-8 { t.exp_m1() / t } else { 1.0 + t / 2.0 * (1.0 + t / 3.0) };
        quotient * log
    }

    /// The inverse of `area`.
    fn at_area(&self, area: f64) -> f64 {
        // Rounding may lead below −1, where there is no logarithm.
        let t = (area * (1.0 - self.skew)).max(-1.0);
        let quotient = if t.abs() > 1e-8 { t.ln_1p() / t } else { 1.0 - t * (0.5 - t / 3.0) };
        (quotient * area).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pearson's sum over ranks that are expected often enough, against its mean and six of its deviations.
    fn agrees_with_the_formula(ranks: u64, skew: f64) {
        const DRAWS: u64 = 400_000;
        let (zipf, mut rng) = (Zipf::new(ranks, skew), Rng::with_seed(ranks ^ skew.to_bits()));
        let mut counts = vec![0u64; ranks as usize];
        (0..DRAWS).for_each(|_| counts[zipf.sample(&mut rng) as usize] += 1);
        let zeta: f64 = (1..=ranks).map(|k| (k as f64).powf(-skew)).sum();
        let (mut sum, mut cells, mut rest, mut expected_rest) = (0.0, 0.0, 0.0, 0.0);
        for (k, count) in counts.iter().enumerate() {
            let expected = DRAWS as f64 * (k as f64 + 1.0).powf(-skew) / zeta;
            if expected < 10.0 {
                (rest, expected_rest) = (rest + *count as f64, expected_rest + expected);
                continue;
            }
            sum += (*count as f64 - expected).powi(2) / expected;
            cells += 1.0;
        }
        if expected_rest > 10.0 {
            sum += (rest - expected_rest).powi(2) / expected_rest;
            cells += 1.0;
        }
        let limit = cells + 6.0 * (2.0f64 * cells).sqrt();
        assert!(
            sum < limit,
            "{ranks} ranks, skew {skew}: chi-square {sum:.1} of {cells} cells, limit {limit:.1}"
        );
    }

    #[test]
    fn frequencies_follow_the_closed_formula_for_every_skew() {
        for ranks in [1, 2, 3, 10, 1000, 20_000] {
            for skew in [0.0, 0.5, 0.8, 0.99, 1.0, 1.2, 2.5] {
                agrees_with_the_formula(ranks, skew);
            }
        }
    }

    /// YCSB's scrambled generator has 10^10 ranks, whose zeta at 0.99 is 26.469 (YCSB's constant).
    #[test]
    fn ten_billion_ranks_need_no_sum_of_their_series() {
        let (zipf, mut rng) = (Zipf::new(10_000_000_000, 0.99), Rng::with_seed(7));
        let draws = 1_000_000;
        let first = (0..draws).filter(|_| zipf.sample(&mut rng) == 0).count() as f64;
        let expected = f64::from(draws) / 26.469_028_201_783_02;
        assert!((first - expected).abs() < 6.0 * expected.sqrt(), "{first} instead of {expected}");
    }
}
