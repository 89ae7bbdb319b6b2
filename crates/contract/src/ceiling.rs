//! Stamps that survive a restart: a durable bound above everything that a server has announced.
//!
//! A heartbeat raises what peers believe about a server without leaving anything in its log. After a restart
//! with a slow clock the server could stamp a write at or below such an announcement, and its peers would
//! count the write as received before it was. So a server makes a ceiling durable ahead of its clock, in
//! steps, and starts again at the ceiling (PROTOCOLS: E-8, E-12).

use tidemark_core::{Hlc, Micros};

/// How far ahead of the clock the ceiling is renewed, in microseconds.
pub const STEP: Micros = 400_000;

/// The durable ceiling of one server's stamps.
#[derive(Clone, Copy, Debug)]
pub struct Ceiling {
    durable: Hlc,
}

impl Ceiling {
    /// The ceiling that was recovered: the first stamp of this life must lie above it.
    pub fn new(recovered: Hlc) -> Self {
        Self { durable: recovered }
    }

    /// If `stamp` comes near the ceiling or passes it: the new ceiling, which the caller persists in the same
    /// event, before anything that carries `stamp` leaves.
    #[must_use = "the new ceiling has to be persisted"]
    pub fn renew(&mut self, stamp: Hlc) -> Option<Hlc> {
        if stamp < self.durable {
            return None;
        }
        self.durable = Hlc::at(stamp.micros() + STEP);
        Some(self.durable)
    }

    /// The ceiling: nothing above it was announced.
    pub fn get(&self) -> Hlc {
        self.durable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ceiling_is_renewed_in_steps_and_always_lies_above_the_stamp() {
        let mut ceiling = Ceiling::new(Hlc::ZERO);
        let renewed = (0..2_000).filter(|ms| {
            let stamp = Hlc::at(ms * 1000);
            let new = ceiling.renew(stamp);
            assert!(stamp < ceiling.get());
            new.is_some()
        });
        assert_eq!(renewed.count(), 5);
    }
}
