//! Dependencies by tracking group (ACCF): of what the servers of each group have written, up to when.
//!
//! Groups may change while a system runs, so what is written down says of which [`Tracking`] its entries are. Where two
//! trackings meet, one counts for the other with what can be said for certain: what depends on something of another tracking
//! depends on *everything* up to the latest time of that, and what has arrived by another tracking is known up to the *least*
//! of its entries alone. Both say too much, and for what is old that costs nothing: everybody has it.

use crate::{Past, Reach};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;
use std::fmt;
use tidemark_core::vector::Entry;
use tidemark_core::{DcId, Hlc, Vector};

/// A tracking group, numbered from 0: servers that share an entry of every version's dependencies (ACCF).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TrackingGroup(pub u16);

impl TrackingGroup {
    /// Position in a [`Vector`].
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Entry for TrackingGroup {
    #[inline]
    fn place(self) -> usize {
        self.index()
    }
}

/// A way to divide servers into tracking groups (ACCF): 0 is the one that a cluster is founded with. Entries of one mean nothing
/// in another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tracking(pub u32);

/// +∞: nothing will ever come.
pub const NEVER: Hlc = Hlc(u64::MAX);

/// At most one time a tracking group, in the order of the groups. A group without an entry is not depended on.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Tracked {
    by: Tracking,
    entries: SmallVec<[(TrackingGroup, Hlc); 2]>,
    /// Every group up to here, whatever its entry says: what was depended on by another tracking.
    all: Hlc,
}

/// Most systems never track in another way, and are to pay a byte for that, not two.
impl Serialize for Tracked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let otherwise = (self.by, self.all);
        (&self.entries, (otherwise != Default::default()).then_some(otherwise)).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Tracked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (entries, otherwise): (_, Option<_>) = Deserialize::deserialize(deserializer)?;
        let (by, all) = otherwise.unwrap_or_default();
        Ok(Self { by, entries, all })
    }
}

impl Tracked {
    /// Nothing, by a tracking.
    pub fn by(by: Tracking) -> Self {
        Self { by, ..Self::default() }
    }

    /// The tracking of its entries.
    pub fn tracking(&self) -> Tracking {
        self.by
    }

    /// Whether it depends on nothing.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.all == Hlc::ZERO
    }

    /// The same by another tracking, if it is of another.
    #[must_use]
    pub fn into_tracking(self, by: Tracking) -> Self {
        if self.by == by { self } else { Self { by, entries: SmallVec::new(), all: self.max() } }
    }

    /// Raises the entry of `group` to at least `ts`.
    pub fn raise(&mut self, group: TrackingGroup, ts: Hlc) {
        match self.entries.binary_search_by_key(&group, |(group, _)| *group) {
            Ok(place) => self.entries[place].1 = self.entries[place].1.max(ts),
            Err(place) => self.entries.insert(place, (group, ts)),
        }
    }

    /// Entry-wise maximum with `other`: the papers' `maxDS`.
    pub fn merge(&mut self, other: &Self) {
        if self.by != other.by {
            self.all = self.all.max(other.max());
        } else if self.is_empty() {
            self.clone_from(other);
        } else {
            self.all = self.all.max(other.all);
            other.entries().for_each(|(group, ts)| self.raise(group, ts));
        }
    }

    /// The same for who goes over to the tracking of `other`, if that says anything: to what a server uses now.
    pub fn follow(&mut self, other: &Self) {
        if !other.is_empty() {
            *self = std::mem::take(self).into_tracking(other.by);
            self.merge(other);
        }
    }

    /// The entries.
    pub fn entries(&self) -> impl Iterator<Item = (TrackingGroup, Hlc)> + '_ {
        self.entries.iter().copied()
    }

    /// How far it depends on `group`; zero if not at all.
    pub fn get(&self, group: TrackingGroup) -> Hlc {
        let place = self.entries.binary_search_by_key(&group, |(group, _)| *group);
        place.map_or(Hlc::ZERO, |place| self.entries[place].1).max(self.all)
    }

    /// The latest time; zero if it depends on nothing.
    pub fn max(&self) -> Hlc {
        self.entries.iter().map(|(_, ts)| *ts).max().unwrap_or_default().max(self.all)
    }

    /// How many tracking groups there have to be for it to name none that does not exist.
    pub fn groups(&self) -> usize {
        self.entries.last().map_or(0, |(group, _)| group.index() + 1)
    }
}

impl Past for Tracked {
    type Said = Self;

    fn merge(&mut self, other: &Self) {
        self.follow(other);
    }

    fn reach(&self, home: DcId) -> Reach {
        Reach { latest: self.max(), ..Reach::of(home, []) }
    }
}

impl fmt::Debug for Tracked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.by != Tracking::default() {
            write!(f, "by {} ", self.by.0)?;
        }
        let mut map = f.debug_map();
        self.entries().for_each(|(group, ts)| {
            map.entry(&group.0, &format_args!("{ts}"));
        });
        if self.all != Hlc::ZERO {
            map.entry(&format_args!("*"), &format_args!("{}", self.all));
        }
        map.finish()
    }
}

/// What has arrived, or is looked at: of each group of a tracking, up to when. It has an entry for every group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    /// The tracking of its entries.
    pub by: Tracking,
    /// One entry a group; [`NEVER`] where nothing will ever come.
    pub upto: Vector,
}

impl Reached {
    /// Whether it has all that `ds` stands for.
    #[inline]
    pub fn covers(&self, ds: &Tracked) -> bool {
        if ds.by != self.by {
            return ds.max() <= self.least();
        }
        ds.entries.iter().all(|(group, ts)| *ts <= self.upto[*group])
            && (ds.all == Hlc::ZERO || ds.all <= self.least())
    }

    /// Whether it has all that `other` has.
    pub fn covers_all(&self, other: &Self) -> bool {
        match self.by == other.by {
            true => other.upto.le(&self.upto),
            false => other.greatest() <= self.least(),
        }
    }

    /// Up to when everything is here.
    pub fn least(&self) -> Hlc {
        self.upto.entries().iter().copied().min().unwrap_or_default()
    }

    /// Up to when something is here, of groups of which something may come.
    pub fn greatest(&self) -> Hlc {
        self.upto.entries().iter().copied().filter(|ts| *ts != NEVER).max().unwrap_or_default()
    }

    /// Raises it to what `ds` stands for.
    pub fn raise(&mut self, ds: &Tracked) {
        let all = if ds.by == self.by { ds.all } else { ds.max() };
        self.raise_all(all);
        if ds.by == self.by {
            ds.entries().for_each(|(group, ts)| self.upto.raise(group, ts));
        }
    }

    /// Raises it to what `other` has.
    pub fn merge(&mut self, other: &Self) {
        match self.by == other.by {
            true => self.upto.merge(&other.upto),
            false => self.raise_all(other.greatest()),
        }
    }

    /// Lowers it to what `other` has, too.
    pub fn meet(&mut self, other: &Self) {
        let groups = self.upto.entries().len();
        self.upto.meet(&other.at_least(self.by, groups));
    }

    /// What of it is certain by a tracking of so many groups.
    pub fn at_least(&self, by: Tracking, groups: usize) -> Vector {
        if self.by == by { self.upto.clone() } else { everywhere(self.least(), groups) }
    }

    /// What has all of it, by a tracking of so many groups.
    pub fn at_most(&self, by: Tracking, groups: usize) -> Vector {
        if self.by == by { self.upto.clone() } else { everywhere(self.greatest(), groups) }
    }

    fn raise_all(&mut self, ts: Hlc) {
        if ts > self.least() {
            self.upto.merge(&everywhere(ts, self.upto.entries().len()));
        }
    }
}

/// The same time for each of so many groups.
pub fn everywhere(ts: Hlc, groups: usize) -> Vector {
    Vector::from_entries((0..groups).map(|_| ts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tracked(by: u32, entries: &[(u16, u64)]) -> Tracked {
        let mut tracked = Tracked::by(Tracking(by));
        entries.iter().for_each(|(group, ts)| tracked.raise(TrackingGroup(*group), Hlc(*ts)));
        tracked
    }

    fn reached(by: u32, entries: &[u64]) -> Reached {
        Reached { by: Tracking(by), upto: Vector::from_entries(entries.iter().copied().map(Hlc)) }
    }

    #[test]
    fn it_behaves_like_the_vector_that_it_stands_for() {
        let lists: [&[(u16, u64)]; 5] = [&[], &[(0, 3)], &[(2, 5), (0, 9)], &[(1, 1), (2, 6)], &[(3, 4)]];
        let vector = |ds: &Tracked| {
            let mut all = reached(0, &[0; 4]);
            all.raise(ds);
            all
        };
        for (a, b) in lists.iter().flat_map(|a| lists.iter().map(move |b| (a, b))) {
            let (mut a, b) = (tracked(0, a), tracked(0, b));
            assert_eq!(vector(&b).covers(&a), vector(&a).upto.le(&vector(&b).upto), "{a:?} {b:?}");
            let mut merged = vector(&a);
            merged.merge(&vector(&b));
            a.merge(&b);
            assert_eq!((vector(&a), a.max()), (merged.clone(), merged.greatest()));
        }
    }

    #[test]
    fn what_is_written_is_read_and_one_tracking_takes_a_byte() {
        let encoded = |ds: &Tracked| postcard::to_allocvec(ds).unwrap();
        for ds in [
            tracked(0, &[]),
            tracked(0, &[(0, 3), (7, 9)]),
            tracked(5, &[(1, 7)]),
            tracked(5, &[(1, 7)]).into_tracking(Tracking(0)),
        ] {
            assert_eq!(postcard::from_bytes::<Tracked>(&encoded(&ds)).unwrap(), ds);
        }
        assert_eq!(
            encoded(&tracked(0, &[(0, 3)])).len(),
            1 + 2 + 1,
            "how many, a group with its time, no other"
        );
    }

    #[test]
    fn entries_stand_in_order_each_once() {
        let it = tracked(0, &[(4, 1), (1, 7), (4, 5), (1, 2)]);
        assert_eq!(format!("{it:?}"), format!("{{1: {}, 4: {}}}", Hlc(7), Hlc(5)));
        assert_eq!((it.get(TrackingGroup(4)), it.get(TrackingGroup(2)), it.groups()), (Hlc(5), Hlc::ZERO, 5));
    }

    #[test]
    fn by_another_tracking_it_stands_for_everything_up_to_its_latest_time() {
        let ds = tracked(1, &[(0, 3), (1, 7)]);
        assert!(reached(1, &[3, 7]).covers(&ds) && !reached(2, &[3, 7]).covers(&ds));
        assert!(reached(2, &[7, NEVER.0]).covers(&ds) && !reached(2, &[6, 9]).covers(&ds));
        let mut raised = reached(2, &[1, 9, NEVER.0]);
        raised.raise(&ds);
        assert_eq!(raised, reached(2, &[7, 9, NEVER.0]));
        let other = ds.clone().into_tracking(Tracking(2));
        assert!(other.groups() == 0 && other.get(TrackingGroup(5)) == Hlc(7));
        assert!(reached(2, &[7, 8]).covers(&other) && !reached(2, &[6, 8]).covers(&other));
        assert_eq!(other.clone().into_tracking(Tracking(2)), other);
    }

    #[test]
    fn who_goes_over_to_another_tracking_loses_nothing() {
        let mut past = tracked(1, &[(0, 3), (1, 7)]);
        past.follow(&tracked(2, &[(0, 9)]));
        assert_eq!(format!("{past:?}"), format!("by 2 {{0: {}, *: {}}}", Hlc(9), Hlc(7)));
        past.follow(&Tracked::default());
        past.follow(&tracked(2, &[(1, 8)]));
        assert_eq!([0, 1, 2].map(|group| past.get(TrackingGroup(group)).0), [9, 8, 7]);
        let mut nothing = Tracked::default();
        nothing.follow(&past);
        assert_eq!(nothing, past);
        let mut stays = tracked(1, &[(0, 3)]);
        stays.merge(&past);
        assert_eq!(format!("{stays:?}"), format!("by 1 {{0: {}, *: {}}}", Hlc(3), Hlc(9)));
    }

    #[test]
    fn of_what_has_arrived_by_another_tracking_the_least_is_certain() {
        let mut here = reached(1, &[8, 9]);
        here.meet(&reached(2, &[5, 30, NEVER.0]));
        assert_eq!(here, reached(1, &[5, 5]));
        here.merge(&reached(2, &[7, 6, NEVER.0]));
        assert_eq!(here, reached(1, &[7, 7]));
        assert!(here.covers_all(&reached(2, &[7, 7])) && !here.covers_all(&reached(2, &[8, 1])));
    }
}
