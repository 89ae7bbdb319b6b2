//! From when on versions are kept for reads at a physical time (003 §2.2).
//!
//! **Rules**
//! - T2 A version makes older ones superfluous only once its own time is at or below the *horizon*, which follows the clock at a
//!   distance of [`Params::keep_us`](crate::Params::keep_us). A read at a time below the horizon is refused.
//! - T3 An earlier life may have collected more, for its distance may have been shorter. So the horizon begins at or above all
//!   that had been written or received when the server started.

use crate::stabilised::READS_ABOVE_HORIZON;
use tidemark_core::{Failure, Hlc, Micros};

/// The horizon of one server, whose clock never goes back, not across restarts either.
#[derive(Clone, Copy, Debug, Default)]
pub struct Horizon(Hlc);

impl Horizon {
    /// Of a server that starts, where nothing above `known` was written or received before (T3).
    pub fn starts(known: Hlc) -> Self {
        Self(known)
    }

    /// It is at or above `time` from now on.
    pub fn raise(&mut self, time: Hlc) {
        self.0 = self.0.max(time);
    }

    /// T2: where it is when the server's clock shows this.
    pub fn at(&self, clock: Hlc, keep_us: Micros) -> Hlc {
        self.0.max(Hlc::at(clock.micros().saturating_sub(keep_us)))
    }

    /// Whether a read at `time` may be answered: nothing that it sees was collected, and it does not lie after `latest`, until when
    /// it would wait.
    ///
    /// # Errors
    /// Says why not.
    pub fn admits(&self, time: Micros, clock: Hlc, keep_us: Micros, latest: Micros) -> Result<(), Failure> {
        let refused = |why: String| Err(Failure::Refused(why));
        if keep_us == 0 {
            return refused(
                "no overwritten value is kept for reads at a time: set `keep = \"60s\"` in [protocol]".into(),
            );
        }
        if time > latest {
            return refused("that time lies in the future".into());
        }
        let horizon = self.at(clock, keep_us);
        if Hlc::at(time) < horizon && READS_ABOVE_HORIZON.kept() {
            let seconds = |us: Micros| us as f64 / 1e6;
            let (from, keep) = (seconds(horizon.micros()), seconds(keep_us));
            return refused(format!(
                "that time is before what is kept here, which begins at {from:.6}: raise `keep` in [protocol], now {keep} s; it counts from \
                 when a server starts"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_the_clock_at_a_distance_from_where_it_began() {
        let mut horizon = Horizon::starts(Hlc::at(50));
        assert_eq!(horizon.at(Hlc::at(100), 80), Hlc::at(50));
        assert_eq!(horizon.at(Hlc::at(140), 80), Hlc::at(60));
        horizon.raise(Hlc::at(70));
        assert_eq!(horizon.at(Hlc::at(140), 80), Hlc::at(70));
        let admits = |time| horizon.admits(time, Hlc::at(140), 80, 200).is_ok();
        assert_eq!([69, 70, 200, 201].map(admits), [false, true, true, false]);
        assert!(horizon.admits(140, Hlc::at(140), 0, 200).is_err());
    }
}
