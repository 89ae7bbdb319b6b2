//! One clock reading a data centre, or whatever else a protocol divides servers into ([`Entry`]): version vectors, dependency vectors, stable vectors and snapshots.

use crate::{DcId, Hlc, Stamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;
use std::ops::{Index, IndexMut};

/// How many entries need no allocation.
const INLINE: usize = 4;

/// What a vector has an entry for.
pub trait Entry: Copy {
    /// Its position.
    fn place(self) -> usize;
}

impl Entry for DcId {
    #[inline]
    fn place(self) -> usize {
        self.index()
    }
}

/// `M` clock readings, one a data centre (or, where a protocol says so, one for something else); a missing entry reads as zero, so the empty vector is the bottom of
/// every comparison and an absent dependency is the entry 0. Up to four data centres need no allocation, and
/// their vectors are copied like numbers: vectors travel with every operation.
#[derive(Clone)]
pub struct Vector(Entries);

#[derive(Clone)]
enum Entries {
    /// The first `len` count; the others are zero.
    Few {
        len: Len,
        entries: [Hlc; INLINE],
    },
    Many(Vec<Hlc>),
}

/// A length as an enumeration of a whole word: its unused values tell the compiler how to mark the other variant of [`Entries`], and
/// what is copied is whole words. (Parts of words that are written apart and read together cost a processor several times as much.)
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u64)]
enum Len {
    L0,
    L1,
    L2,
    L3,
    L4,
}

const LENS: [Len; INLINE + 1] = [Len::L0, Len::L1, Len::L2, Len::L3, Len::L4];

const _: () = assert!(size_of::<Vector>() == 40);

impl Default for Vector {
    #[inline]
    fn default() -> Self {
        Self(Entries::Few { len: Len::L0, entries: [Hlc::ZERO; INLINE] })
    }
}

impl Vector {
    /// `m` entries, all zero.
    #[inline]
    pub fn zero(m: usize) -> Self {
        let mut vector = Self::default();
        vector.grow(m);
        vector
    }

    /// The vector with the given entries.
    pub fn from_entries(entries: impl IntoIterator<Item = Hlc>) -> Self {
        let mut vector = Self::default();
        for (i, entry) in entries.into_iter().enumerate() {
            vector.grow(i + 1);
            vector.entries_mut()[i] = entry;
        }
        vector
    }

    /// Makes it at least `m` entries long.
    #[inline]
    fn grow(&mut self, m: usize) {
        match &mut self.0 {
            Entries::Few { len, .. } if m <= INLINE => *len = (*len).max(LENS[m]),
            Entries::Few { len, entries } => {
                let mut many = entries[..*len as usize].to_vec();
                many.resize(m, Hlc::ZERO);
                self.0 = Entries::Many(many);
            }
            Entries::Many(many) if many.len() < m => many.resize(m, Hlc::ZERO),
            Entries::Many(_) => {}
        }
    }

    #[inline]
    fn entries_mut(&mut self) -> &mut [Hlc] {
        match &mut self.0 {
            Entries::Few { len, entries } => &mut entries[..*len as usize],
            Entries::Many(many) => many,
        }
    }

    /// The entries, data centre 0 first. Trailing zeros may be missing.
    #[inline]
    pub fn entries(&self) -> &[Hlc] {
        match &self.0 {
            Entries::Few { len, entries } => &entries[..*len as usize],
            Entries::Many(many) => many,
        }
    }

    /// Each data centre with its entry, zeros included as far as the vector is long.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (DcId, Hlc)> + '_ {
        self.entries().iter().enumerate().map(|(i, h)| (DcId(i as u8), *h))
    }

    /// Raises the entry `of` something to at least `ts`.
    #[inline]
    pub fn raise(&mut self, of: impl Entry, ts: Hlc) {
        if ts > Hlc::ZERO {
            let entry = &mut self[of];
            *entry = (*entry).max(ts);
        }
    }

    /// Raises the entry of `stamp`'s origin to at least its time: afterwards the vector covers `stamp`.
    #[inline]
    pub fn include(&mut self, stamp: Stamp) {
        self.raise(stamp.origin, stamp.ts);
    }

    /// Entry-wise maximum with `other`.
    #[inline]
    pub fn merge(&mut self, other: &Vector) {
        match (&mut self.0, &other.0) {
            (Entries::Few { len, entries }, Entries::Few { len: theirs_len, entries: theirs }) => {
                *len = (*len).max(*theirs_len);
                let higher = |m: usize| entries[m].max(theirs[m]);
                *entries = [higher(0), higher(1), higher(2), higher(3)];
            }
            _ => self.merge_many(other),
        }
    }

    #[inline(never)]
    fn merge_many(&mut self, other: &Vector) {
        self.grow(other.entries().len());
        for (mine, theirs) in self.entries_mut().iter_mut().zip(other.entries()) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// The first `m` entries.
    #[inline]
    pub fn first(&self, m: usize) -> Self {
        match &self.0 {
            Entries::Few { len, entries } if m <= INLINE => {
                let kept = |at: usize| if at < m { entries[at] } else { Hlc::ZERO };
                Self(Entries::Few { len: LENS[m].min(*len), entries: [kept(0), kept(1), kept(2), kept(3)] })
            }
            _ => Self::from_entries(self.entries().iter().take(m).copied()),
        }
    }

    /// The same without the entry of `dc`: what is owed by the other data centres.
    #[must_use]
    #[inline]
    pub fn without(&self, dc: DcId) -> Self {
        let mut others = self.clone();
        others[dc] = Hlc::ZERO;
        others
    }

    /// Adds a dependency on a version with this stamp, and on all that it depends on: `ds`.
    #[inline]
    pub fn depend_on(&mut self, stamp: Stamp, ds: &Vector) {
        self.merge(ds);
        self.include(stamp);
    }

    /// The same with the entry `of` something at `ts` or above.
    #[must_use]
    #[inline]
    pub fn raised(&self, of: impl Entry, ts: Hlc) -> Self {
        let mut raised = self.clone();
        raised.raise(of, ts);
        raised
    }

    /// Entry-wise minimum with `other`.
    #[inline]
    pub fn meet(&mut self, other: &Vector) {
        for (i, mine) in self.entries_mut().iter_mut().enumerate() {
            *mine = (*mine).min(other.entries().get(i).copied().unwrap_or(Hlc::ZERO));
        }
    }

    /// Whether every entry is at or below `other`'s.
    #[inline]
    pub fn le(&self, other: &Vector) -> bool {
        if let (Entries::Few { entries, .. }, Entries::Few { entries: theirs, .. }) = (&self.0, &other.0) {
            return (0..INLINE).all(|m| entries[m] <= theirs[m]);
        }
        let (mine, theirs) = (self.entries(), other.entries());
        let common = mine.len().min(theirs.len());
        mine[..common].iter().zip(&theirs[..common]).all(|(a, b)| a <= b)
            && mine[common..].iter().all(|a| *a == Hlc::ZERO)
    }

    /// Whether every entry but that of `here` is at or below `other`'s.
    #[inline]
    pub fn le_elsewhere(&self, other: &Vector, here: DcId) -> bool {
        self.iter().all(|(dc, entry)| dc == here || entry <= other[dc])
    }

    /// Whether `stamp`'s time is at or below the entry of its origin.
    #[inline]
    pub fn covers(&self, stamp: Stamp) -> bool {
        stamp.ts <= self[stamp.origin]
    }

    /// A number that differs, as good as certainly, from that of every other vector.
    #[inline]
    pub fn digest(&self) -> u64 {
        let mix = |sum: u64, entry: &Hlc| (sum ^ entry.0).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        self.entries().iter().fold(1, mix)
    }

    /// The smallest entry; zero for the empty vector.
    #[inline]
    pub fn min(&self) -> Hlc {
        self.entries().iter().copied().min().unwrap_or_default()
    }

    /// The largest entry; zero for the empty vector.
    #[inline]
    pub fn max(&self) -> Hlc {
        self.entries().iter().copied().max().unwrap_or_default()
    }
}

/// One time for all.
impl From<Hlc> for Vector {
    fn from(time: Hlc) -> Self {
        Self::from_entries([time])
    }
}

impl<E: Entry> Index<E> for Vector {
    type Output = Hlc;
    #[inline]
    fn index(&self, of: E) -> &Hlc {
        const ZERO: Hlc = Hlc::ZERO;
        self.entries().get(of.place()).unwrap_or(&ZERO)
    }
}

impl<E: Entry> IndexMut<E> for Vector {
    #[inline]
    fn index_mut(&mut self, of: E) -> &mut Hlc {
        self.grow(of.place() + 1);
        &mut self.entries_mut()[of.place()]
    }
}

impl Serialize for Vector {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.entries())
    }
}

impl<'de> Deserialize<'de> for Vector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from_entries(smallvec::SmallVec::<[Hlc; INLINE]>::deserialize(deserializer)?))
    }
}

impl PartialEq for Vector {
    fn eq(&self, other: &Self) -> bool {
        self.le(other) && other.le(self)
    }
}

impl Eq for Vector {}

impl PartialOrd for Vector {
    /// The entry-wise partial order.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self.le(other), other.le(self)) {
            (true, true) => Some(Ordering::Equal),
            (true, false) => Some(Ordering::Less),
            (false, true) => Some(Ordering::Greater),
            (false, false) => None,
        }
    }
}

impl fmt::Debug for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[")?;
        for (i, h) in self.entries().iter().enumerate() {
            let gap = if i == 0 { "" } else { " " };
            write!(f, "{gap}{h}")?;
        }
        write!(f, "]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v(entries: &[u64]) -> Vector {
        Vector::from_entries(entries.iter().map(|e| Hlc(*e)))
    }

    #[test]
    fn missing_entries_are_zero_in_every_comparison() {
        assert_eq!(v(&[1, 0]), v(&[1]));
        assert!(v(&[]).le(&v(&[0, 3])) && v(&[0, 0, 0]).le(&v(&[])));
        assert!(!v(&[0, 1]).le(&v(&[5])));
        assert_eq!(v(&[1, 2]).partial_cmp(&v(&[2, 1])), None);
    }

    #[test]
    fn what_is_owed_by_others_does_not_count_the_entry_of_here() {
        let (past, stable) = (v(&[9, 2, 3]), v(&[1, 2, 3]));
        assert!(past.le_elsewhere(&stable, DcId(0)) && !past.le_elsewhere(&stable, DcId(1)));
        assert!(!past.le_elsewhere(&v(&[9, 2]), DcId(0)) && v(&[]).le_elsewhere(&v(&[]), DcId(0)));
    }

    #[test]
    fn a_dependency_brings_those_that_it_has() {
        let mut ds = v(&[5, 1]);
        ds.depend_on(Stamp::new(Hlc(7), DcId(2)), &v(&[3, 4]));
        assert_eq!(ds, v(&[5, 4, 7]));
    }

    #[test]
    fn vectors_of_any_length_behave_alike() {
        let long: Vec<u64> = (1..=9).collect();
        for cut in 0..=9 {
            let mut grown = v(&long[..cut]);
            grown.raise(DcId(8), Hlc(9));
            grown.merge(&v(&long));
            assert_eq!(grown, v(&long));
            assert!(v(&long[..cut]).le(&v(&long)) && (cut == 9 || !v(&long).le(&v(&long[..cut]))));
        }
        assert_eq!(Vector::zero(7).entries().len(), 7);
    }

    /// Vectors that need no allocation, and those that do, against what the words say of each entry.
    #[test]
    fn each_entry_counts_in_vectors_of_any_two_lengths() {
        let of = |len: usize, high: usize| {
            v(&(0..len as u64).map(|m| 10 + m % 3 + u64::from(m == high as u64)).collect::<Vec<_>>())
        };
        for (len, other, high) in
            (0..=6).flat_map(|len| (0..=6).flat_map(move |other| (0..6).map(move |high| (len, other, high))))
        {
            let (one, two) = (of(len, high), of(other, 9));
            let (a, b) = (|m| one[DcId(m)], |m| two[DcId(m)]);
            assert_eq!(one.le(&two), (0..6).all(|m| a(m) <= b(m)), "{one:?} {two:?}");
            let mut up = one.clone();
            up.merge(&two);
            let mut first = one.first(other);
            // Entries that were cut off do not come back when it grows.
            first.merge(&Vector::zero(INLINE));
            for m in 0..6 {
                assert_eq!(up[DcId(m)], a(m).max(b(m)), "{one:?} {two:?}");
                let kept = if (m as usize) < other { a(m) } else { Hlc::ZERO };
                assert_eq!(first[DcId(m)], kept, "the first {other} of {one:?}");
            }
        }
    }

    #[test]
    fn merge_is_the_least_upper_bound_and_meet_the_greatest_lower() {
        let (a, b) = (v(&[1, 5]), v(&[3, 2, 4]));
        let mut up = a.clone();
        up.merge(&b);
        assert_eq!(up, v(&[3, 5, 4]));
        let mut down = b.clone();
        down.meet(&a);
        assert_eq!(down, v(&[1, 2, 0]));
    }
}
