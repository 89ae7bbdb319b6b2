//! Checking groups as drivers see them: operations name some, and servers say which there are and how they stand.

use super::{Groupings, Members};
use crate::{Extensions, Protocol, Topology};
use derive_where::derive_where;
use serde::{Deserialize, Serialize};
use tidemark_core::Micros;

/// A checking group: servers that tell each other what they have received, so that who reads at them alone never waits (ACCF).
/// Those that a cluster is founded with are numbered from 0; those that come later have numbers that nothing else has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CheckingGroup(pub u64);

/// The checking groups that an operation asks for.
pub type Checking = smallvec::SmallVec<[CheckingGroup; 2]>;

/// A checking group with its members' names, and how operations name it.
pub type NamedGroup = (CheckingGroup, Members);

/// What a protocol says of its checking groups ([`crate::SessionCx::checking`]).
#[derive_where(Clone, Copy)]
pub struct CheckingGroups<P: Protocol> {
    /// Those that operations may choose, as far as a server knows that has persisted this state. REQUIRES:
    /// [`crate::Params::check`] found nothing wrong.
    pub groups: fn(&P::Params, &Topology, &P::Hard) -> Vec<NamedGroup>,
    /// How long a request was blocked until what its session depends on was there, in microseconds, as far as the reply tells.
    pub waited: fn(&P::Reply) -> Micros,
    /// How all of a server's groups stand, for status pages.
    pub standing: fn(&P, &P::Params, &Topology) -> Groupings,
}

impl<P: Protocol> Extensions<P> {
    /// See [`CheckingGroups::groups`]: none without them.
    pub fn checking_groups(
        &self,
        params: &P::Params,
        topology: &Topology,
        hard: &P::Hard,
    ) -> Vec<NamedGroup> {
        self.checking.map_or_else(Vec::new, |checking| (checking.groups)(params, topology, hard))
    }

    /// See [`CheckingGroups::waited`]: nothing without them.
    pub fn waited(&self, reply: &P::Reply) -> Micros {
        self.checking.map_or(0, |checking| (checking.waited)(reply))
    }
}
