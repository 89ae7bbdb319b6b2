//! The time, on two clocks: physical time for protocols, a clock that never jumps for timers.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tidemark_core::Micros;
use tidemark_replica::Now;

/// Reads the clocks of this machine. Clones agree.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    start: Instant,
    ahead_us: Rc<Cell<i64>>,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { start: Instant::now(), ahead_us: Rc::default() }
    }

    /// Both clocks.
    #[inline]
    pub(crate) fn now(&self) -> Now {
        // Before 1970 is as good as 1970: such a clock is refused by every peer.
        let wall =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as Micros);
        Now { wall: wall.saturating_add_signed(self.ahead_us.get()), mono: self.mono() }
    }

    /// From now on physical time is so much ahead of this machine's, or behind it.
    pub(crate) fn skew(&self, ahead_us: i64) {
        self.ahead_us.set(ahead_us);
    }

    /// How far physical time was put ahead.
    pub(crate) fn ahead_us(&self) -> i64 {
        self.ahead_us.get()
    }

    /// The clock that never jumps.
    #[inline]
    pub(crate) fn mono(&self) -> Micros {
        self.start.elapsed().as_micros() as Micros
    }

    /// When the clock that never jumps will show `mono`.
    pub(crate) fn instant(&self, mono: Micros) -> tokio::time::Instant {
        (self.start + std::time::Duration::from_micros(mono)).into()
    }
}
