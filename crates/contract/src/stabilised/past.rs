//! The past of sessions that remember what they depend on, and up to where they have seen their region stable.

use super::{STABLE_STAYS_HOME, StableTime, arrive};
use crate::session::not_covered;
use crate::{Answer, Cx, Reach, Ticket};
use serde::{Deserialize, Serialize};
use tidemark_core::{DcId, Micros, Outcome, Stamp, Vector};

/// DS and DSV of a session, and what an answer adds to them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// What it depends on.
    pub ds: Vector,
    /// What was stable where it read.
    pub dsv: Vector,
}

impl Past {
    /// Its session read a version with this stamp and these dependencies, where `dsv` was stable.
    #[inline]
    pub fn saw(&mut self, stamp: Stamp, ds: &Vector, dsv: &Vector) {
        self.ds.depend_on(stamp, ds);
        self.dsv.merge(dsv);
    }
}

impl crate::Past for Past {
    type Said = Self;

    #[inline]
    fn merge(&mut self, other: &Self) {
        self.ds.merge(&other.ds);
        self.dsv.merge(&other.dsv);
    }

    fn reach(&self, home: DcId) -> Reach {
        Reach::of(home, [&self.ds, &self.dsv])
    }

    fn abroad(&self) -> Self {
        let dsv = if STABLE_STAYS_HOME.kept() { Vector::default() } else { self.dsv.clone() }; // S6
        Self { ds: Vector::default(), dsv }
    }
}

/// A session migrates to this region with `ds`, and waits until `stable` covers what of them was written elsewhere (S5). Then it
/// takes over the stable vector of this region.
pub fn cover<P: StableTime<Reply: From<Answer<Past>>>>(
    server: &mut P,
    ticket: Ticket,
    ds: Vector,
    cx: &mut Cx<'_, P>,
) {
    let told = |server: &mut P, ds| {
        let dsv = server.stabilised().stable.clone();
        Answer(Outcome::Adopted, Past { ds, dsv }).into()
    };
    arrive(server, ticket, (ds.without(cx.me.dc), ds), told, cx);
}

/// Refuses all sessions that wait for admission.
pub fn turn_away<P: StableTime>(server: &mut P, cx: &mut Cx<'_, P>) {
    let all = server.stabilised().arrivals.expire(Micros::MAX);
    cx.fail_all(all.into_iter().map(|(ticket, ..)| ticket), not_covered);
}
