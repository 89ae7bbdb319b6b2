//! The client library: contexts, and what a session asks.
//!
//! **Deviation**
//! - D4 Contexts are bounded, and a session that only reads is where they would grow. Every θ servers tell their peers
//!   what they have applied, and a session forgets what is applied in every data centre (the paper's *never depend*,
//!   without a time to wait for). Beyond [`most_deps`] the rest become dependencies on *all* that a server wrote up
//!   to a time, which is more than is needed and one a server. They cannot wait for each other: stamps rise along them.

use super::{CHECKS_THAT_UPDATE, Cops, LISTS_ARE_LONG, PUT_IS_NEAR, READS_ARE_NEAR};
use tidemark_contract::one_round::Said;
use tidemark_contract::prelude::*;
use tidemark_contract::{Dep, Deps, Past, Scope};

/// D4: how many dependencies are listed one by one.
pub fn most_deps() -> usize {
    if LISTS_ARE_LONG.kept() { 64 } else { 2 }
}

/// What a session depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// The latest time in its past.
    pub clock: Hlc,
    /// What was read since the last put, and that put.
    pub near: Deps,
}

impl Context {
    /// A version of `key`, and nothing else. As published (E-4): any version that is at least as new.
    pub(super) fn of(key: &Key, partition: PartitionId, stamp: Stamp) -> Self {
        let scope = if CHECKS_THAT_UPDATE.kept() { Scope::One } else { Scope::Newer(key.clone()) };
        Self { clock: stamp.ts, near: Dep { partition, stamp, scope }.into() }
    }
}

/// What a server answers beside an outcome: what the session depends on now, and what is applied everywhere of the server's
/// partition. After a put that is all that the session depends on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Known(pub Context, pub Vector);

impl Said<Context> for Known {
    fn teach(&self, past: &mut Context, partition: PartitionId, outcome: &Outcome) {
        let Self(seen, everywhere) = self;
        let put = matches!(outcome, Outcome::Written { stamp: Some(_), .. });
        if put {
            past.near = Deps::default(); // 2
        }
        past.clock = past.clock.max(seen.clock);
        if if put { PUT_IS_NEAR.kept() } else { READS_ARE_NEAR.kept() } {
            past.merge(seen); // 1, I2
        }
        past.near.settle(partition, everywhere); // D4
        past.near.bound(most_deps());
    }
}

impl Past for Context {
    type Said = Known;

    fn merge(&mut self, other: &Self) {
        self.clock = self.clock.max(other.clock);
        self.near.merge(&other.near);
    }

    fn shorten(&mut self) {
        self.near.shorten();
    }

    fn reach(&self, home: DcId) -> Reach {
        self.near.reach_with(home, self.clock)
    }

    /// D6: a partition that holds some of it.
    fn coverer(&self) -> PartitionId {
        self.near.holder()
    }
}

/// What a session asks: an operation, or to wait until what it depends on is applied (D6). Reads bring nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request(pub Option<Op>, pub Context);

/// A session: what it remembers is its context.
impl OneRound for Cops {
    type Past = Context;

    fn question(op: Option<Op>, _: DcId, past: &Context) -> Request {
        let brings = matches!(op, None | Some(Op::Put { .. }));
        Request(op, if brings { past.clone() } else { Context::default() })
    }
}
