//! What came before its time: work that has to wait until physical time is above something.
//!
//! A clock that was set back stands still until physical time has caught up, and coarse ones stand still between ticks. So
//! nobody can tell when a time is reached: who waits for one looks at the clock when it should be, and again if it is not.
//!
//! **Invariant** I1: whatever comes to wait later, the alarm rings no later than it would have.

use crate::{Cx, Protocol, Waiters, stabilised};
use tidemark_core::{Hlc, Micros};

/// How long to wait for a clock that may stand still: no longer where it did, no shorter where nobody knows.
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

/// When a timer rings next, of a protocol that arms it for whatever comes first. It is never put off (I1): under load somebody
/// else comes to wait all the time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alarm {
    /// When it rings, by the clock that does not jump.
    at: Option<Micros>,
    /// What the clock was when the alarm rang last.
    seen: Hlc,
    /// How long to wait at least where the clock should have moved by now: longer the longer it stands still.
    pause: Micros,
}

impl Alarm {
    /// It has rung, and the clock is at `time`.
    pub fn rang(&mut self, time: Hlc) {
        self.pause = if time > self.seen { 0 } else { (2 * self.pause).clamp(1, SHORTEST_WAIT_US) };
        (self.at, self.seen) = (None, time);
    }

    /// How long until the clock should be above `time`.
    pub fn until<P: Protocol>(&self, time: Hlc, cx: &Cx<'_, P>) -> Micros {
        (time.micros() + 1).saturating_sub(cx.now).max(self.pause)
    }

    /// Lets `timer` ring in `wait` microseconds, unless it rings before.
    pub fn ring<P: Protocol>(&mut self, timer: P::Timer, wait: Micros, cx: &mut Cx<'_, P>) {
        let at = cx.mono + wait;
        if self.at.is_none_or(|rings| at < rings) {
            self.at = Some(at);
            cx.arm(timer, wait);
        }
    }
}

/// Work that waits for the clock.
pub struct Early<W> {
    waiting: Waiters<Hlc, W>,
    alarm: Alarm,
}

impl<W> Default for Early<W> {
    fn default() -> Self {
        Self { waiting: Waiters::default(), alarm: Alarm::default() }
    }
}

impl<W> Early<W> {
    /// Parks `work` until the clock has reached `time`, or `deadline` has passed.
    pub fn park<P>(&mut self, time: Hlc, deadline: Micros, work: W, cx: &mut Cx<'_, P>)
    where
        P: Protocol<Timer: From<Clock>>,
    {
        self.waiting.park(time, deadline, work);
        self.arm(cx);
    }

    /// [`Clock`] has fired: takes out what need not wait any more, now that it is `time`. REQUIRES: [`Self::arm`] is called once
    /// that is done, for it may have parked more.
    pub fn wake(&mut self, time: Hlc) -> Vec<W> {
        self.alarm.rang(time);
        self.waiting.wake(&time)
    }

    /// Sees to it that the clock is looked at again, if anything waits for it.
    pub fn arm<P: Protocol<Timer: From<Clock>>>(&mut self, cx: &mut Cx<'_, P>) {
        if let Some(time) = self.waiting.least() {
            self.alarm.ring(Clock.into(), self.alarm.until(*time, cx), cx);
        }
    }

    /// Takes out what has waited too long.
    pub fn expire(&mut self, now: Micros) -> Vec<W> {
        self.waiting.expire(now)
    }

    /// How much waits.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
}
