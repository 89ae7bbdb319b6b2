//! What a controller goes by.

use serde::{Deserialize, Serialize};

/// What a controller goes by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// In how many checking groups a server may be, those of the cluster file included.
    pub budget: usize,
    /// How much waiting a client puts up with to read what is newer: a millisecond older counts as so many milliseconds of waiting.
    pub freshness: f64,
    /// What a change has to save for each request of those whom it serves, in microseconds of waiting.
    pub least_us: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { budget: 4, freshness: 0.05, least_us: 250.0 }
    }
}

impl Settings {
    /// Says what is wrong with the numbers, if something is.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=64).contains(&self.budget) {
            return Err(format!("a server may be in 1 to 64 checking groups, not {}", self.budget));
        }
        if !(0.0..=1000.0).contains(&self.freshness) {
            return Err(format!("freshness is 0 (never worth waiting for) to 1000, not {}", self.freshness));
        }
        if !(self.least_us >= 0.0 && self.least_us.is_finite()) {
            return Err(format!("what a change has to save is a time, not {}", self.least_us));
        }
        Ok(())
    }
}
