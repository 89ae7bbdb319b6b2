//! What some protocols can do and most cannot.

use crate::grouping::Members;
use crate::order::Order;
use crate::regrouping::Groupings;
use crate::removal::Standing;
use crate::{Cx, Protocol, Store, Topology, Version};
use derive_where::derive_where;
use tidemark_core::{CheckingGroup, Key, Micros};

/// Optional features of a protocol, as a table of functions. A driver asks `P::EXTENSIONS.follower_read.is_some()`, which the
/// compiler knows. A feature that is added here changes no protocol that does without it.
#[derive_where(Clone, Copy)]
pub struct Extensions<P: Protocol> {
    /// Carries out an operator's order, if it is one that the protocol knows ([`Order::unknown`]). The reply leaves once what it
    /// says is durable. An error says why the order is not carried out.
    pub order: Option<Obey<P>>,
    /// Chooses among the versions that a reader can see; they come newest first. Without it the last writer wins. It decides by what
    /// is seen and nothing else (see [`crate::conflicts::Conflicts`]).
    pub resolve: Option<Resolve<P>>,
    /// Whether a version that was received is stored, beside what came before it. Without it every version is. Recovery and
    /// followers do not ask: they store what logs hold.
    pub accepts: Option<Accepts<P>>,
    /// What a follower of a Raft group replies to a request that only reads, by a store that holds what is applied of each data
    /// centre's records up to these numbers; none if the leader has to reply. A follower has what its leader had a
    /// moment ago, and nothing that is not committed.
    pub follower_read: Option<FollowerRead<P>>,
    /// Groups of servers that an operation may choose among.
    pub checking: Option<CheckingGroups<P>>,
}

/// See [`Extensions::order`].
pub type Obey<P> = fn(&mut P, &Order, &mut Cx<'_, P>) -> Result<Standing, String>;

/// See [`Extensions::resolve`].
pub type Resolve<P> = for<'v> fn(
    &mut dyn Iterator<Item = &'v Version<<P as Protocol>::Meta>>,
) -> Option<&'v Version<<P as Protocol>::Meta>>;

/// See [`Extensions::accepts`].
pub type Accepts<P> = fn(&Store<<P as Protocol>::Meta>, &Key, &Version<<P as Protocol>::Meta>) -> bool;

/// See [`Extensions::follower_read`].
pub type FollowerRead<P> =
    fn(&<P as Protocol>::Request, &[u64], &Store<<P as Protocol>::Meta>) -> Option<<P as Protocol>::Reply>;

/// Checking groups, and how operations name them.
pub type NamedGroups = Vec<(CheckingGroup, Members)>;

/// What a protocol says of its checking groups ([`crate::SessionCx::checking`]).
#[derive_where(Clone, Copy)]
pub struct CheckingGroups<P: Protocol> {
    /// Those that operations may choose, as far as a server knows that has persisted this state. REQUIRES:
    /// [`crate::Params::check`] found nothing wrong.
    pub groups: fn(&P::Params, &Topology, &P::Hard) -> NamedGroups,
    /// How long a request was blocked until what its session depends on was there, in microseconds, as far as the reply tells.
    pub waited: fn(&P::Reply) -> Micros,
    /// How all of a server's groups stand, for status pages.
    pub standing: fn(&P, &P::Params, &Topology) -> Groupings,
}

impl<P: Protocol> Extensions<P> {
    /// No optional feature.
    pub const NONE: Self =
        Self { order: None, resolve: None, accepts: None, follower_read: None, checking: None };

    /// See [`CheckingGroups::groups`]: none without them.
    pub fn checking_groups(&self, params: &P::Params, topology: &Topology, hard: &P::Hard) -> NamedGroups {
        self.checking.map_or_else(Vec::new, |checking| (checking.groups)(params, topology, hard))
    }

    /// See [`CheckingGroups::waited`]: nothing without them.
    pub fn waited(&self, reply: &P::Reply) -> Micros {
        self.checking.map_or(0, |checking| (checking.waited)(reply))
    }
}
