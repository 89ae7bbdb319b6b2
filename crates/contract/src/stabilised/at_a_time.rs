//! Reads at a physical time (003 §2.2): of each key the newest version whose time is at or below one that a client names.
//!
//! **Idea.** The time of a version is above those of all that it depends on. So all versions up to a time are a causally
//! consistent snapshot, and the same one in every region. Each server shows its part of it by itself.
//!
//! **Rules**
//! - T1 A server answers once the time is stable: everything up to it has come from everywhere. What is written here later lies
//!   above what is stable (the protocol's own rule), also after a crash, for the ceiling is kept above the time (S2).
//! - T2, T3 What a read sees must not have been collected: [`Horizon`](crate::horizon::Horizon).

use super::{READS_AT_STABLE, Stabilised, StableTime};
use crate::{Cx, Params as _, Ticket};
use tidemark_core::{Failure, Hlc, Micros, Vector};

impl<P: StableTime> Stabilised<P> {
    /// T2: versions above this time make none superfluous; all do if nothing is kept.
    pub(super) fn collects_up_to(&self, cx: &Cx<'_, P>) -> Hlc {
        match cx.params.keep_us() {
            0 => Hlc(u64::MAX),
            keep_us => self.horizon.at(self.vv[cx.me.dc], keep_us),
        }
    }
}

/// A read at a time begins, or goes on after it was blocked. Returns the time up to which versions are visible, if the request can
/// be answered now. If not, it has failed; or it waits until it can (T1), and is asked once more then.
pub fn at_a_time<P: StableTime>(
    server: &mut P,
    time: Micros,
    (ticket, request): (Ticket, P::Request),
    cx: &mut Cx<'_, P>,
) -> Option<Hlc> {
    let (st, at) = (server.stabilised(), Hlc::at(time));
    let latest = cx.now.saturating_add(st.params.wait_limit_us);
    if let Err(refused) = st.horizon.admits(time, st.vv[cx.me.dc], cx.params.keep_us(), latest) {
        cx.fail(ticket, refused);
        return None;
    }
    if st.stable.min() < at && READS_AT_STABLE.kept() {
        let needs = Vector::from_entries(st.stable.entries().iter().map(|_| at));
        st.block(needs, (ticket, request), not_stable, cx);
        return None;
    }
    st.promise(at, cx);
    Some(at)
}

/// What a read at a time is told that has waited for too long.
pub fn not_stable() -> Failure {
    Failure::Unavailable("that time is not stable here yet: a region lags or is cut off".to_string())
}
