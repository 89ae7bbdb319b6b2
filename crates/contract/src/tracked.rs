//! Dependencies by tracking group (ACCF): of what the servers of each group have written, up to when.

use crate::{Past, Reach};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::fmt;
use tidemark_core::{DcId, Hlc, TrackingGroup, Vector};

/// At most one time a tracking group, in the order of the groups. A group without an entry is not depended on.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tracked(SmallVec<[(TrackingGroup, Hlc); 2]>);

impl Tracked {
    /// Raises the entry of `group` to at least `ts`.
    pub fn raise(&mut self, group: TrackingGroup, ts: Hlc) {
        match self.0.binary_search_by_key(&group, |(group, _)| *group) {
            Ok(place) => self.0[place].1 = self.0[place].1.max(ts),
            Err(place) => self.0.insert(place, (group, ts)),
        }
    }

    /// Entry-wise maximum with `other`: the papers' `maxDS`.
    pub fn merge(&mut self, other: &Self) {
        if self.0.is_empty() {
            self.0.clone_from(&other.0);
        } else {
            other.entries().for_each(|(group, ts)| self.raise(group, ts));
        }
    }

    /// The entries.
    pub fn entries(&self) -> impl Iterator<Item = (TrackingGroup, Hlc)> + '_ {
        self.0.iter().copied()
    }

    /// The entry of `group`; zero if there is none.
    pub fn get(&self, group: TrackingGroup) -> Hlc {
        let place = self.0.binary_search_by_key(&group, |(group, _)| *group);
        place.map_or(Hlc::ZERO, |place| self.0[place].1)
    }

    /// Whether every entry is at or below that of `vector`, which has one a tracking group.
    #[inline]
    pub fn le(&self, vector: &Vector) -> bool {
        self.0.iter().all(|(group, ts)| *ts <= vector[*group])
    }

    /// The same as a vector with one entry a tracking group.
    pub fn to_vector(&self) -> Vector {
        let mut vector = Vector::default();
        self.entries().for_each(|(group, ts)| vector.raise(group, ts));
        vector
    }

    /// The latest time; zero if it depends on nothing.
    pub fn max(&self) -> Hlc {
        self.0.iter().map(|(_, ts)| *ts).max().unwrap_or_default()
    }

    /// How many tracking groups there have to be for it to name none that does not exist.
    pub fn groups(&self) -> usize {
        self.0.last().map_or(0, |(group, _)| group.index() + 1)
    }
}

impl Past for Tracked {
    fn merge(&mut self, other: &Self) {
        Self::merge(self, other);
    }

    fn reach(&self, home: DcId) -> Reach {
        Reach { latest: self.max(), ..Reach::of(home, []) }
    }
}

impl fmt::Debug for Tracked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        self.entries().for_each(|(group, ts)| {
            map.entry(&group.0, &format_args!("{ts}"));
        });
        map.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tracked(entries: &[(u16, u64)]) -> Tracked {
        let mut tracked = Tracked::default();
        entries.iter().for_each(|(group, ts)| tracked.raise(TrackingGroup(*group), Hlc(*ts)));
        tracked
    }

    #[test]
    fn it_behaves_like_the_vector_that_it_stands_for() {
        let lists: [&[(u16, u64)]; 5] = [&[], &[(0, 3)], &[(2, 5), (0, 9)], &[(1, 1), (2, 6)], &[(300, 4)]];
        for (a, b) in lists.iter().flat_map(|a| lists.iter().map(move |b| (a, b))) {
            let (mut a, b) = (tracked(a), tracked(b));
            assert_eq!(a.le(&b.to_vector()), a.to_vector().le(&b.to_vector()), "{a:?} {b:?}");
            let mut merged = a.to_vector();
            merged.merge(&b.to_vector());
            a.merge(&b);
            assert_eq!((a.to_vector(), a.max()), (merged.clone(), merged.max()));
            assert!(a.groups() == merged.entries().len() || a == Tracked::default());
        }
    }

    #[test]
    fn entries_stand_in_order_each_once() {
        let it = tracked(&[(4, 1), (1, 7), (4, 5), (1, 2)]);
        assert_eq!(format!("{it:?}"), format!("{{1: {}, 4: {}}}", Hlc(7), Hlc(5)));
        assert_eq!((it.get(TrackingGroup(4)), it.get(TrackingGroup(2))), (Hlc(5), Hlc::ZERO));
    }
}
