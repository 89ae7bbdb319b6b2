//! One clock reading a data centre: version vectors, dependency vectors, stable vectors and snapshots.

use crate::{DcId, Hlc, Stamp};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::fmt;
use std::ops::{Index, IndexMut};

/// `M` clock readings, one a data centre; a missing entry reads as zero, so the empty vector is the bottom of
/// every comparison and an absent dependency is the entry 0. Up to four data centres need no allocation.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Vector(SmallVec<[Hlc; 4]>);

impl Vector {
    /// `m` entries, all zero.
    pub fn zero(m: usize) -> Self {
        Self(SmallVec::from_elem(Hlc::ZERO, m))
    }

    /// The vector with the given entries.
    pub fn from_entries(entries: impl IntoIterator<Item = Hlc>) -> Self {
        Self(entries.into_iter().collect())
    }

    /// The entries, data centre 0 first. Trailing zeros may be missing.
    #[inline]
    pub fn entries(&self) -> &[Hlc] {
        &self.0
    }

    /// Each data centre with its entry, zeros included as far as the vector is long.
    pub fn iter(&self) -> impl Iterator<Item = (DcId, Hlc)> + '_ {
        self.0.iter().enumerate().map(|(i, h)| (DcId(i as u8), *h))
    }

    /// Raises entry `dc` to at least `ts`.
    #[inline]
    pub fn raise(&mut self, dc: DcId, ts: Hlc) {
        if ts > Hlc::ZERO {
            let entry = &mut self[dc];
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
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), Hlc::ZERO);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Entry-wise minimum with `other`.
    pub fn meet(&mut self, other: &Vector) {
        for (i, mine) in self.0.iter_mut().enumerate() {
            *mine = (*mine).min(other[DcId(i as u8)]);
        }
    }

    /// Whether every entry is at or below `other`'s.
    #[inline]
    pub fn le(&self, other: &Vector) -> bool {
        let common = self.0.len().min(other.0.len());
        self.0[..common].iter().zip(&other.0[..common]).all(|(a, b)| a <= b)
            && self.0[common..].iter().all(|a| *a == Hlc::ZERO)
    }

    /// Whether `stamp`'s time is at or below the entry of its origin.
    #[inline]
    pub fn covers(&self, stamp: Stamp) -> bool {
        stamp.ts <= self[stamp.origin]
    }

    /// The smallest entry; zero for the empty vector.
    #[inline]
    pub fn min(&self) -> Hlc {
        self.0.iter().copied().min().unwrap_or_default()
    }

    /// The largest entry; zero for the empty vector.
    #[inline]
    pub fn max(&self) -> Hlc {
        self.0.iter().copied().max().unwrap_or_default()
    }
}

impl Index<DcId> for Vector {
    type Output = Hlc;
    #[inline]
    fn index(&self, dc: DcId) -> &Hlc {
        const ZERO: Hlc = Hlc::ZERO;
        self.0.get(dc.index()).unwrap_or(&ZERO)
    }
}

impl IndexMut<DcId> for Vector {
    #[inline]
    fn index_mut(&mut self, dc: DcId) -> &mut Hlc {
        if self.0.len() <= dc.index() {
            self.0.resize(dc.index() + 1, Hlc::ZERO);
        }
        &mut self.0[dc.index()]
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
        for (i, h) in self.0.iter().enumerate() {
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
