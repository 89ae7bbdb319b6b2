//! Which key: of all keys (YCSB's choices, and a session's own set), or within a partition.

use crate::keys::hash;
use crate::{Choice, KeySpace, Pattern, Workload, Zipf};
use fastrand::Rng;

/// How many ranks YCSB scatters over the keys: popularity does not depend on how many keys there are.
const SCRAMBLED_RANKS: u64 = 10_000_000_000;

/// Draws numbers of keys.
#[derive(Clone, Debug)]
pub(crate) struct Chooser {
    choice: Choice,
    /// Over the scattered ranks, over the keys by age, or over those of a partition.
    zipf: Zipf,
    /// How many keys a scattered choice can mean: those that are expected are among them.
    scattered_over: u64,
    /// The session's own keys, and how often one of them is chosen.
    own: Vec<u64>,
    locality: f64,
}

impl Chooser {
    pub(crate) fn new(workload: &Workload, keys: &KeySpace, rng: &mut Rng) -> Self {
        let (ranks, expected) = match (&workload.pattern, workload.choice) {
            (Pattern::Mix { .. }, Choice::Latest) => (keys.loaded(), 0),
            (Pattern::Mix { expected_inserts, .. }, _) => (SCRAMBLED_RANKS, *expected_inserts),
            _ => (keys.loaded_per_partition(), 0),
        };
        let skew = if workload.choice == Choice::Uniform { 0.0 } else { workload.skew };
        let own = if workload.locality > 0.0 { workload.locality_keys } else { 0 };
        Self {
            choice: workload.choice,
            zipf: Zipf::new(ranks, skew),
            scattered_over: keys.loaded() + expected,
            own: (0..own).map(|_| rng.u64(0..keys.loaded())).collect(),
            locality: workload.locality,
        }
    }

    /// Of all keys that exist.
    pub(crate) fn any(&mut self, keys: &KeySpace, rng: &mut Rng) -> u64 {
        if self.locality > 0.0 && rng.f64() < self.locality {
            return self.own[rng.usize(0..self.own.len())];
        }
        match self.choice {
            Choice::Uniform => rng.u64(0..keys.loaded()),
            Choice::Zipfian => loop {
                let number = hash(self.zipf.sample(rng)) % self.scattered_over;
                if number < keys.present() {
                    return number;
                }
            },
            Choice::Latest => {
                let present = keys.present();
                if self.zipf.ranks() != present {
                    self.zipf = self.zipf.with_ranks(present);
                }
                present - 1 - self.zipf.sample(rng)
            }
        }
    }

    /// The index of a key in a partition.
    pub(crate) fn within(&self, rng: &mut Rng) -> u64 {
        self.zipf.sample(rng)
    }
}
