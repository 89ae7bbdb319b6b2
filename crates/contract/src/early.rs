//! What came before its time: work that has to wait until physical time is above something.
//!
//! A clock that was set back stands still until physical time has caught up, and coarse ones stand still between ticks. So
//! nobody can tell when a time is reached: who waits for one looks at the clock now and then.

use crate::{Cx, Protocol, Waiters, stabilised};
use tidemark_core::{Hlc, Micros};

/// How long at least until the clock is looked at again.
pub const SHORTEST_WAIT_US: Micros = 200;

/// The timer that says when to look at the clock again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Clock;

/// The timers of a protocol by stable time of which something waits for the clock.
pub type Timer = stabilised::Timer<Clock>;

impl From<Clock> for Timer {
    fn from(clock: Clock) -> Self {
        Self::Own(clock)
    }
}

/// Work that waits for the clock.
pub struct Early<W>(Waiters<Hlc, W>);

impl<W> Default for Early<W> {
    fn default() -> Self {
        Self(Waiters::default())
    }
}

impl<W> Early<W> {
    /// Parks `work` until the clock has reached `time`, or `deadline` has passed.
    pub fn park<P>(&mut self, time: Hlc, deadline: Micros, work: W, cx: &mut Cx<'_, P>)
    where
        P: Protocol<Timer: From<Clock>>,
    {
        self.0.park(time, deadline, work);
        self.arm(cx);
    }

    /// [`Clock`] has fired: takes out what need not wait any more, now that it is `time`. REQUIRES: [`Self::arm`] is called once
    /// that is done, for it may have parked more.
    pub fn wake(&mut self, time: Hlc) -> Vec<W> {
        self.0.wake(&time)
    }

    /// Sees to it that the clock is looked at again, if anything waits for it.
    pub fn arm<P: Protocol<Timer: From<Clock>>>(&self, cx: &mut Cx<'_, P>) {
        if let Some(time) = self.0.least() {
            let wait = (time.micros() + 1).saturating_sub(cx.now);
            cx.arm(Clock.into(), wait.max(SHORTEST_WAIT_US));
        }
    }

    /// Takes out what has waited too long.
    pub fn expire(&mut self, now: Micros) -> Vec<W> {
        self.0.expire(now)
    }

    /// How much waits.
    pub fn waiting(&self) -> usize {
        self.0.len()
    }
}
