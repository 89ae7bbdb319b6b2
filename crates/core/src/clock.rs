//! When: physical time, hybrid logical clocks and the total order of versions.
//!
//! A hybrid logical clock ([`Hlc`]) is one 64-bit integer: microseconds since 1970 in the upper 52 bits, a
//! counter in the lower 12. As one integer, the rules of the dissertation's Algorithm 2.1 shrink to a
//! `max`: the counter carries into the microseconds when it overflows, which is harmless.

use crate::DcId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Physical time: microseconds since 1970 (virtual time in the simulator), or a duration in microseconds.
pub type Micros = u64;

/// A hybrid logical clock reading, or a physical one in the same unit (counter 0).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Hlc(pub u64);

impl Hlc {
    /// Bits of the counter.
    pub const COUNTER_BITS: u32 = 12;
    /// Before every reading.
    pub const ZERO: Self = Self(0);

    /// The reading at physical time `now` with counter 0. Times that do not fit are as late as can be.
    #[inline]
    pub fn at(now: Micros) -> Self {
        Self(now.saturating_mul(1 << Self::COUNTER_BITS))
    }

    /// The physical part, in microseconds.
    #[inline]
    pub fn micros(self) -> Micros {
        self.0 >> Self::COUNTER_BITS
    }

    /// The smallest reading above this one; at the end of time, which lies too far ahead to be given to anything,
    /// the same.
    #[inline]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The largest reading below this one; at the beginning of time, the same.
    #[inline]
    pub fn prev(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// A new reading for an event at physical time `now`: above the last one, at or above `now`.
    #[inline]
    #[must_use]
    pub fn tick(self, now: Micros) -> Self {
        Self::at(now).max(self.next())
    }

    /// A new reading for an event at `now` that has observed `seen`: above the last one and above `seen`.
    #[inline]
    #[must_use]
    pub fn observe(self, now: Micros, seen: Hlc) -> Self {
        self.tick(now).max(seen.next())
    }
}

impl fmt::Display for Hlc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 & ((1 << Self::COUNTER_BITS) - 1) {
            0 => write!(f, "{}", self.micros()),
            counter => write!(f, "{}+{counter}", self.micros()),
        }
    }
}

/// The identity of a version among the versions of its key, and its place in their total order: the last
/// writer wins by `(ts, origin, seq)`.
///
/// `seq` only tells apart two versions that one server stamped with the same `ts`; a protocol whose clock is
/// strictly increasing leaves it 0.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Stamp {
    /// The papers' update time `ut`.
    pub ts: Hlc,
    /// The papers' source replica `sr`.
    pub origin: DcId,
    /// Breaks ties within one server.
    pub seq: u32,
}

impl Stamp {
    /// The stamp of the only version that `origin` stamps with `ts` on its partition.
    #[inline]
    pub fn new(ts: Hlc, origin: DcId) -> Self {
        Self { ts, origin, seq: 0 }
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.ts, self.origin)?;
        if self.seq > 0 { write!(f, "#{}", self.seq) } else { Ok(()) }
    }
}

impl fmt::Debug for Hlc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_rises_with_time_with_events_and_with_what_it_observed() {
        let a = Hlc::ZERO.tick(10);
        assert_eq!(a, Hlc::at(10));
        assert_eq!(a.tick(10), Hlc(Hlc::at(10).0 + 1));
        assert_eq!(a.tick(5), a.next(), "a clock that jumps back does not take stamps back");
        assert_eq!(a.observe(10, Hlc::at(99)), Hlc::at(99).next());
        assert_eq!(a.observe(200, Hlc::at(99)), Hlc::at(200));
    }

    #[test]
    fn at_the_end_of_time_nothing_wraps() {
        let end = Hlc(u64::MAX);
        assert_eq!((end.next(), end.tick(10), Hlc::ZERO.observe(10, end)), (end, end, end));
        assert_eq!(
            (Hlc::at(u64::MAX), Hlc::at(1 << 52), Hlc::at((1 << 52) - 1).next()),
            (end, end, Hlc(!0xfff + 1))
        );
    }

    #[test]
    fn stamps_are_totally_ordered_by_time_then_origin_then_sequence() {
        let s = |ts, origin, seq| Stamp { ts: Hlc(ts), origin: DcId(origin), seq };
        assert!(s(1, 2, 9) < s(2, 0, 0));
        assert!(s(1, 0, 9) < s(1, 1, 0));
        assert!(s(1, 1, 0) < s(1, 1, 1));
    }
}
