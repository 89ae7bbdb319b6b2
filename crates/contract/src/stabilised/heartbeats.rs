//! Δ: heartbeats of those who write nothing.

use super::{Stabilised, StableTime, Timers};
use crate::Cx;
use crate::early::SHORTEST_WAIT_US;
use tidemark_core::Hlc;

impl<P: StableTime> Stabilised<P> {
    /// Whether something was written since the last time: then no heartbeat is due.
    pub fn takes_written(&mut self) -> bool {
        std::mem::take(&mut self.written_since_delta)
    }
}

/// Δ: what [`StableTime::delta`] does by default. A heartbeat, unless something was written.
pub fn delta<P: StableTime>(server: &mut P, cx: &mut Cx<'_, P>) {
    let st = server.stabilised();
    if !st.takes_written() {
        let hlc = st.vv[cx.me.dc].tick(cx.now);
        st.advance(hlc, cx);
        cx.heartbeat(hlc);
    }
}

/// Δ by a physical clock: whether a heartbeat is due, so long after the `last` announcement. If not, the timer is armed for it.
pub fn is_due<P: StableTime>(server: &mut P, last: Hlc, cx: &mut Cx<'_, P>) -> bool {
    let delta_us = server.stabilised().params.delta_us;
    let left = (last.micros() + delta_us).saturating_sub(cx.now);
    cx.arm(P::Timer::DELTA, if left > 0 { left.max(SHORTEST_WAIT_US) } else { delta_us });
    left == 0
}
