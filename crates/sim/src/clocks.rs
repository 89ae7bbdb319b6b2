//! The clocks of a process: one that jumps, and one that does not.

use crate::plan::ClockPlan;
use tidemark_core::Micros;
use tidemark_replica::Now;

/// What wall clocks show at the beginning: late enough to jump back from.
pub(crate) const EPOCH_US: i64 = 1_000_000_000;

/// The two clocks of a node.
pub(crate) struct Clocks {
    plan: ClockPlan,
    /// The sum of all jumps so far.
    pub(crate) jumped_us: i64,
    /// When they stop to drift.
    steady_from: Micros,
}

impl Clocks {
    pub(crate) fn new(plan: ClockPlan) -> Self {
        Self { plan, jumped_us: 0, steady_from: Micros::MAX }
    }

    fn mono(&self, now: Micros) -> Micros {
        let drift = now.min(self.steady_from) as i64 * self.plan.drift_ppm / 1_000_000;
        now.saturating_add_signed(drift)
    }

    /// They keep the time from now on.
    pub(crate) fn stop_drifting(&mut self, now: Micros) {
        self.steady_from = self.steady_from.min(now);
    }

    /// A clock that is behind `wall` is set to it.
    pub(crate) fn catch_up(&mut self, wall: Micros, now: Micros) {
        self.jumped_us += wall.saturating_sub(self.read(now).wall) as i64;
    }

    pub(crate) fn read(&self, now: Micros) -> Now {
        let mono = self.mono(now);
        let wall = mono.saturating_add_signed(EPOCH_US + self.plan.offset_us + self.jumped_us);
        Now { wall: wall - wall % self.plan.grain_us.max(1), mono }
    }

    /// When the monotonic clock shows at least `mono`.
    pub(crate) fn when(&self, mono: Micros, now: Micros) -> Micros {
        if self.plan.drift_ppm == 0 {
            return mono.max(now);
        }
        let turned = self.mono(self.steady_from);
        if mono >= turned {
            return (self.steady_from + (mono - turned)).max(now);
        }
        let rate = 1_000_000 + self.plan.drift_ppm;
        let mut at = (mono as i64 * 1_000_000 / rate).max(0) as u64;
        while self.mono(at) < mono {
            at += 1;
        }
        at.max(now)
    }
}
