//! What a version and a session carry, and the numbers.

use super::{Hybrid, LISTS_ARE_LONG, Request, STABLE_STAYS_HOME};
use tidemark_contract::prelude::*;
use tidemark_contract::{Deps, stabilised};

/// D8: how many causes are listed one by one.
pub fn most_deps() -> usize {
    if LISTS_ARE_LONG.kept() { 64 } else { 2 }
}

/// The numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// θ: how often a server passes on what it has received.
    pub theta_us: Micros,
    /// Δ: how long a server that writes nothing lets its peers wait for a heartbeat.
    pub delta_us: Micros,
    /// Children of a node of the aggregation tree.
    pub fan_out: usize,
    /// How long a GET waits for the causes of a version, and then for θ; at 0 it does not: the check is for the next.
    pub check_wait_us: Micros,
    /// How often a check that is not answered is asked again.
    pub retry_us: Micros,
    /// How long a ROTX, or a session that moved here, waits.
    pub wait_limit_us: Micros,
}

impl tidemark_contract::Params for Params {}

impl Default for Params {
    fn default() -> Self {
        let (theta_us, delta_us, fan_out) = (5_000, 5_000, 2);
        Self {
            theta_us,
            delta_us,
            fan_out,
            check_wait_us: 2_000,
            retry_us: 500_000,
            wait_limit_us: 2_000_000,
        }
    }
}

impl Params {
    /// Those that the component knows.
    pub(super) fn shared(&self) -> stabilised::Params {
        let &Self { theta_us, delta_us, fan_out, wait_limit_us, .. } = self;
        stabilised::Params { theta_us, delta_us, fan_out, wait_limit_us }
    }
}

/// What is stored beside a version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// Its nearest causes above `floor`; none once it shows, for nobody asks again.
    pub near: Deps,
    /// What is not listed was stable up to here, in every data centre.
    pub floor: Hlc,
    /// It shows, and did so first under this GST (D4). Not shipped.
    pub since: Option<Hlc>,
}

/// What a session remembers, and what an answer adds to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Past {
    pub near: Deps,
    pub dt: Hlc,
    pub gst: Hlc,
    pub ust: Hlc,
}

impl Past {
    pub(super) fn see(&mut self, partition: PartitionId, stamp: Stamp) {
        self.near.include(partition, stamp);
        self.dt = self.dt.max(stamp.ts);
    }
}

impl tidemark_contract::Past for Past {
    type Said = Self;

    fn merge(&mut self, other: &Self) {
        self.dt = self.dt.max(other.dt);
        self.gst = self.gst.max(other.gst);
        self.ust = self.ust.max(other.ust);
        self.near.merge(&other.near);
        self.near.retain(|dep| dep.stamp.ts > self.ust); // 8
    }

    fn shorten(&mut self) {
        self.near.shorten();
    }

    fn reach(&self, home: DcId) -> Reach {
        self.near.reach_with(home, self.dt.max(self.gst).max(self.ust))
    }

    /// What is stable everywhere (D7).
    fn abroad(&self) -> Self {
        let gst = if STABLE_STAYS_HOME.kept() { self.ust } else { self.gst };
        Self { gst, ust: self.ust, ..Self::default() }
    }

    /// What a session wrote depends on all that it knew: from then on that is all it has to list.
    fn learn(&mut self, outcome: &Outcome, said: &Past) {
        if matches!(outcome, Outcome::Written { stamp: Some(_), .. }) {
            self.near = Deps::default(); // 6
        }
        self.merge(said);
        self.near.bound(most_deps()); // D8
    }
}

/// A session.
impl OneRound for Hybrid {
    type Past = Past;

    fn question(op: Option<Op>, _: DcId, past: &Past) -> Request {
        let gst = past.gst;
        match op {
            Some(Op::Get { key }) => Request::Get(key, gst),
            Some(Op::Put { key, update }) => Request::Put(key, update, past.clone()),
            Some(Op::Snapshot { keys }) => Request::Rotx(keys, Hlc::ZERO, gst),
            Some(Op::Rotx { keys }) => Request::Rotx(keys, past.dt, gst),
            Some(walk) => Request::Walk(Walk::of(&walk), gst),
            None => Request::Cover(past.clone()), // D7
        }
    }
}
