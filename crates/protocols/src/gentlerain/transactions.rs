//! Snapshots and read-only transactions: the servers' side of Algorithms 3 and 4.
//!
//! **Deviations**
//! - D7 α is infinite unless it is set: a ROTX waits until `gst` is above `dt`, at most [`Params::wait_limit_us`](super::Params::wait_limit_us).
//!   Where §4.3 falls back on Eiger's transactions there is a snapshot that waits for nothing, takes one round, and
//!   needs no Lamport clock: everything up to `gst`, and of what was written here also what is at or below `dt` and
//!   was written at or below that `gst`. A server that was asked stamps above `dt` from then on (its fence), and a PUT
//!   tells its `gst`. Eiger's own rule is unsound here: a server that has yet to hear of a `gst` says of a version
//!   that it is valid now, and another one that has heard shows what depends on the next.
//! - D8 The coordinator of a snapshot is the owner of its first key.

use super::{FENCE_SURVIVES, GentleRain, ONE_GST, Past, ROTX_COVERS_DT, ROTX_WAITS, Request, SLICE_FENCES};
use tidemark_contract::prelude::{Cx, Failure, Hlc, Key, Micros, Outcome, Several, Ticket};
use tidemark_contract::stabilised::{self, FoundSlice};

impl GentleRain {
    /// Algorithm 3 lines 9 to 15, with the `gst` of the session.
    pub(super) fn snapshot(&mut self, ticket: Ticket, keys: Several, session: Past, cx: &mut Cx<'_, Self>) {
        self.raise(session.gst, cx); // 10
        let st = Past { gst: self.gst(), ..session }; // 12
        self.st.scatter((ticket, keys), st, Past::default(), cx); // 11, 13, 14
    }

    /// Algorithm 4 lines 9 to 14.
    pub(super) fn rotx(&mut self, ticket: Ticket, keys: Several, past: Past, cx: &mut Cx<'_, Self>) {
        self.raise(past.gst, cx);
        let waits = |alpha| alpha > 0 && past.dt.0 - self.gst().0 <= Hlc::at(alpha).0; // 10; 0: never
        if past.dt < self.gst() || !ROTX_WAITS.kept() {
            self.snapshot(ticket, keys, Past { dt: Hlc::ZERO, ..past }, cx); // 12
        } else if cx.params.alpha_us.is_none_or(waits) {
            self.st.block(past.dt.next().into(), (ticket, Request::Rotx(keys, past)), unstable, cx); // 11
        } else {
            let dt = if ROTX_COVERS_DT.kept() { past.dt } else { Hlc::ZERO };
            self.snapshot(ticket, keys, Past { dt, ..past }, cx); // 14, D7
        }
    }

    /// D11.
    pub(super) fn at(&mut self, ticket: Ticket, keys: Vec<Key>, time: Micros, cx: &mut Cx<'_, Self>) {
        if self.exclusion.obscures(Hlc::at(time)) {
            let why = "a region is done without, and some of what it wrote before that time is hidden";
            return cx.fail(ticket, Failure::Refused(why.to_string()));
        }
        let request = Request::At(keys.clone(), time);
        let Some(time) = stabilised::at_a_time(self, time, (ticket, request), cx) else { return };
        let mut seen = Past { dt: Hlc::ZERO, gst: self.gst() };
        let view = self.view(Past { dt: Hlc::ZERO, gst: time }, false, cx.me.dc);
        let found = cx.read_all(&keys, &view, |d| seen.dt = seen.dt.max(d.stamp.ts));
        cx.answer(ticket, Outcome::FoundAll(found), seen);
    }

    /// Algorithm 3 lines 20 to 24.
    pub(super) fn read_slice(
        &mut self,
        mut st: Past,
        keys: &Several<(u32, Key)>,
        cx: &mut Cx<'_, Self>,
    ) -> FoundSlice<Self> {
        self.raise(st.gst, cx); // 22
        if SLICE_FENCES.kept() && st.dt > self.fence {
            self.fence = st.dt;
            if FENCE_SURVIVES.kept() {
                self.st.promise(st.dt, cx);
            }
        }
        if !ONE_GST.kept() {
            st.gst = self.gst();
        }
        let mut seen = Past { dt: Hlc::ZERO, gst: self.gst() };
        let view = self.view(st, false, cx.me.dc);
        let found = cx.read_slice(keys, &view, |d| seen.dt = seen.dt.max(d.stamp.ts)); // 23
        (found, seen)
    }
}

fn unstable() -> Failure {
    Failure::Unavailable("the session's past is not stable here yet: a region lags or is cut off".to_string())
}
