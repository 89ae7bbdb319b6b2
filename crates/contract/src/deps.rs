//! Dependencies that name operations: what a session has read or written since, as COPS, Eiger and CC-LO keep it.
//!
//! A dependency is on *that very* update, which its partition and its stamp name, never on "some version of the key
//! that is at least as new": such a version says nothing about the causes of the one that was meant (erratum E-4).
//!
//! Lists of operations grow with every read. Two things keep them short, and neither can lose a cause: what is applied
//! in every data centre is nothing that anybody has to wait for ([`Deps::settle`]); and what one server wrote up to a
//! time implies each update that it wrote before ([`Deps::bound`]), as Orbe's dependency matrices have it.

use crate::{Past, Reach};
use serde::{Deserialize, Serialize};
use std::fmt;
use tidemark_core::{DcId, Hlc, Key, PartitionId, Stamp, Vector};

/// What of an update's partition a dependency is on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scope {
    /// That very update.
    One,
    /// It, and every update of that partition that its data centre wrote before it.
    UpTo,
    /// That update is here, if only to wait: it is part of the transaction that lists it.
    Part,
    /// Some version of this key that is at least as new: what erratum E-4 convicts.
    Newer(Key),
}

/// A dependency.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Dep {
    /// Where it was written.
    pub partition: PartitionId,
    /// Which update.
    pub stamp: Stamp,
    /// It alone?
    pub scope: Scope,
}

impl fmt::Debug for Dep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.scope {
            Scope::One => write!(f, "{}/{}", self.partition, self.stamp),
            Scope::UpTo => write!(f, "{}/..{}", self.partition, self.stamp),
            Scope::Part => write!(f, "{}/{} here", self.partition, self.stamp),
            Scope::Newer(key) => write!(f, "{}/{key} from {}", self.partition, self.stamp),
        }
    }
}

/// A list that is to be short has no more than so many.
pub const SHORT: usize = 64;

/// Dependencies, in order, each once.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deps(Vec<Dep>);

impl Deps {
    /// A dependency on one update.
    pub fn one(partition: PartitionId, stamp: Stamp) -> Self {
        Dep { partition, stamp, scope: Scope::One }.into()
    }

    /// Adds a dependency on one update.
    pub fn include(&mut self, partition: PartitionId, stamp: Stamp) {
        self.add(Dep { partition, stamp, scope: Scope::One });
    }

    /// Adds a dependency, unless what is here implies it.
    pub fn add(&mut self, dep: Dep) {
        let implied =
            |has: &Dep| has.scope == Scope::UpTo && same_origin(has, &dep) && has.stamp >= dep.stamp;
        if let Err(place) = self.0.binary_search(&dep)
            && !self.0.iter().any(implied)
        {
            self.0.insert(place, dep);
        }
    }

    /// Adds those of `other`.
    pub fn merge(&mut self, other: &Self) {
        if self.0.is_empty() {
            self.clone_from(other);
        } else {
            other.0.iter().for_each(|dep| self.add(dep.clone()));
        }
    }

    /// Forgets what of `partition` is applied in every data centre: see [`crate::checks::Everywhere`].
    pub fn settle(&mut self, partition: PartitionId, everywhere: &Vector) {
        self.retain(|dep| dep.partition != partition || !everywhere.covers(dep.stamp));
    }

    /// Keeps those that `keep` says.
    pub fn retain(&mut self, keep: impl FnMut(&Dep) -> bool) {
        self.0.retain(keep);
    }

    /// If there are more than `most`: lets one stand for all before it that its data centre wrote on its partition. What
    /// is left is one a partition and data centre at most, and implies what was there.
    pub fn bound(&mut self, most: usize) {
        if self.0.len() <= most {
            return;
        }
        self.0.sort_by_key(|dep| (dep.partition, dep.stamp.origin, dep.stamp));
        let last = self.0.chunk_by(same_origin).filter_map(<[Dep]>::last);
        let mut bound: Vec<Dep> =
            last.map(|dep| Dep { scope: Scope::UpTo, partition: dep.partition, stamp: dep.stamp }).collect();
        bound.sort();
        self.0 = bound;
    }

    /// Each, those of a partition together.
    pub fn iter(&self) -> std::slice::Iter<'_, Dep> {
        self.0.iter()
    }

    /// Those of each partition.
    pub fn by_partition(&self) -> impl Iterator<Item = (PartitionId, &[Dep])> {
        self.0.chunk_by(|a, b| a.partition == b.partition).map(|deps| (deps[0].partition, deps))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A partition that holds some of them.
    pub fn holder(&self) -> PartitionId {
        self.0.first().map_or_else(PartitionId::default, |dep| dep.partition)
    }

    /// The latest time among them: what depends on them is stamped above it.
    pub fn latest(&self) -> Hlc {
        self.0.iter().map(|dep| dep.stamp.ts).max().unwrap_or_default()
    }

    /// How far a token with these and `latest` reaches, whose home is `home`.
    pub fn reach_with(&self, home: DcId, latest: Hlc) -> Reach {
        let origins = self.0.iter().map(|dep| dep.stamp.origin.index());
        Reach {
            latest: latest.max(self.latest()),
            dcs: origins.fold(home.index(), usize::max) + 1,
            partitions: self.0.last().map_or(0, |dep| dep.partition.index() + 1),
        }
    }
}

impl From<Dep> for Deps {
    fn from(dep: Dep) -> Self {
        Self(vec![dep])
    }
}

impl Past for Deps {
    type Said = Self;

    fn merge(&mut self, other: &Self) {
        Deps::merge(self, other);
    }

    fn shorten(&mut self) {
        self.bound(SHORT);
    }

    fn reach(&self, home: DcId) -> Reach {
        self.reach_with(home, Hlc::ZERO)
    }
}

impl fmt::Debug for Deps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.0).finish()
    }
}

fn same_origin(a: &Dep, b: &Dep) -> bool {
    (a.partition, a.stamp.origin) == (b.partition, b.stamp.origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(ts: u64, origin: u8) -> Stamp {
        Stamp::new(Hlc(ts), DcId(origin))
    }

    fn deps(list: &[(u16, u64, u8)]) -> Deps {
        let mut deps = Deps::default();
        list.iter().for_each(|(p, ts, origin)| deps.include(PartitionId(*p), stamp(*ts, *origin)));
        deps
    }

    #[test]
    fn each_is_kept_once_and_those_of_a_partition_together() {
        let deps = deps(&[(1, 5, 0), (0, 7, 1), (1, 5, 0), (0, 3, 0)]);
        let groups: Vec<(u16, usize)> = deps.by_partition().map(|(p, deps)| (p.0, deps.len())).collect();
        assert_eq!((deps.len(), groups, deps.latest()), (3, vec![(0, 2), (1, 1)], Hlc(7)));
    }

    #[test]
    fn what_is_applied_everywhere_is_forgotten_and_nothing_else() {
        let mut list = deps(&[(0, 5, 0), (0, 6, 0), (0, 5, 1), (1, 5, 0)]);
        list.settle(PartitionId(0), &Vector::from_entries([Hlc(5), Hlc(4)]));
        assert_eq!(list, deps(&[(0, 6, 0), (0, 5, 1), (1, 5, 0)]));
    }

    #[test]
    fn bounded_they_are_one_a_partition_and_data_centre_and_imply_what_was_there() {
        let many: Vec<(u16, u64, u8)> = (0..200).map(|n| ((n % 3) as u16, n, (n % 2) as u8)).collect();
        let mut list = deps(&many);
        list.bound(200);
        assert_eq!(list.len(), 200);
        list.bound(199);
        assert_eq!(list.len(), 6);
        for dep in deps(&many).iter() {
            let implied =
                |has: &Dep| same_origin(has, dep) && has.scope == Scope::UpTo && has.stamp >= dep.stamp;
            assert!(list.iter().any(implied), "{dep:?}");
            list.add(dep.clone());
        }
        assert_eq!(list.len(), 6, "what is implied is not added");
    }

    #[test]
    fn a_reach_is_that_of_the_farthest() {
        let reach = deps(&[(0, 5, 2), (3, 9, 0)]).reach_with(DcId(1), Hlc(7));
        assert_eq!((reach.latest, reach.dcs, reach.partitions), (Hlc(9), 3, 4));
        assert_eq!(Deps::default().reach_with(DcId(1), Hlc(7)).dcs, 2);
    }
}
