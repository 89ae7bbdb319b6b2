//! Chance, split into streams: each decision has a number of its own, drawn from the seed and from what the
//! decision is about, so that taking something out of a schedule leaves the rest as it was.

pub(crate) use fastrand::Rng;

/// What a stream of random numbers decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// The configuration of the schedule.
    Config = 1,
    /// What sessions do.
    Workload = 2,
    /// What fails, and when.
    Faults = 3,
    /// Which adversarial sequences are played.
    Motifs = 4,
    /// What a crash leaves of unsynced writes.
    Disks = 5,
    /// Delays of messages.
    Delays = 6,
    /// Which data centre is excluded, and when.
    Removal = 7,
    /// Which guarantees operations ask for.
    Guarantees = 8,
    /// What fails of groups.
    Groups = 9,
    /// What of a protocol's numbers schedules vary.
    Params = 10,
    /// Which checking groups operations ask for.
    Checking = 11,
    /// Which data centres hold which keys.
    Placement = 12,
    /// Which groups come, go and change.
    Regrouping = 13,
    /// What fails of whole nodes: their connections, their clients, their operator's cuts.
    Nodes = 14,
    /// Which reads are reads at a time, and at which.
    Dated = 15,
    /// Which operations are commands of data types.
    Typed = 16,
    /// Which operations are done in interactive transactions.
    Interactive = 17,
    /// What edge clients do, and what happens to them.
    Edge = 18,
    /// Of whom power fails, and at which moment.
    Power = 19,
}

/// The generator of one stream of a schedule.
pub(crate) fn stream(seed: u64, stream: Stream) -> Rng {
    Rng::with_seed(mix(seed, stream as u64))
}

/// Two numbers to one, well spread (the finaliser of MurmurHash3).
#[inline]
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let mut x = (a ^ b.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

/// Small draws that read well where they are used.
pub(crate) trait Draw {
    /// True in `percent` of a hundred cases.
    fn chance(&mut self, percent: u32) -> bool;
    /// One of `items`.
    fn one<T: Copy>(&mut self, items: &[T]) -> T;
    /// From `low` to `high`, small values as likely as large ones (uniform in the logarithm).
    fn scale(&mut self, low: u64, high: u64) -> u64;
}

impl Draw for Rng {
    #[inline]
    fn chance(&mut self, percent: u32) -> bool {
        self.u32(0..100) < percent
    }

    #[inline]
    fn one<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.usize(0..items.len())]
    }

    fn scale(&mut self, low: u64, high: u64) -> u64 {
        let (low, high) = (low.max(1), high.max(low.max(1)));
        let doublings = u64::from((high / low).ilog2());
        let from = low << self.u64(0..=doublings);
        self.u64(from..=(2 * from).min(high).max(from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_and_repeat() {
        let draw = |seed, what| stream(seed, what).u64(..);
        assert_eq!(draw(1, Stream::Config), draw(1, Stream::Config));
        assert_ne!(draw(1, Stream::Config), draw(1, Stream::Faults));
        assert_ne!(draw(1, Stream::Config), draw(2, Stream::Config));
    }

    #[test]
    fn a_scale_stays_within_its_ends() {
        let mut rng = Rng::with_seed(7);
        for (low, high) in [(1, 1), (3, 5), (10, 10_000), (0, 4)] {
            for _ in 0..200 {
                let n = rng.scale(low, high);
                assert!((low.max(1)..=high.max(1)).contains(&n), "{n} of {low}..={high}");
            }
        }
    }
}
