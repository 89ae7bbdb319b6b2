//! Who: data centres (regions), partitions and the servers that hold one partition in one data centre.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A data centre (a *region* to users), numbered from 0. Shown as a letter: `A`, `B`, … `Z`, `R26`, …
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DcId(pub u8);

impl DcId {
    /// The origin of versions that clients at the edge wrote: no data centre, but a place in the order of versions.
    pub const EDGE: Self = Self(u8::MAX);

    /// Position in a [`crate::Vector`].
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for DcId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for DcId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            u8::MAX => f.write_str("edge"),
            n @ 0..26 => write!(f, "{}", (b'A' + n) as char),
            n => write!(f, "R{n}"),
        }
    }
}

/// A partition of the key space, numbered from 0, the same in every data centre.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PartitionId(pub u16);

impl PartitionId {
    /// Position in a list of partitions.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for PartitionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for PartitionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The server that holds partition `partition` in data centre `dc`: the papers' `p_n^m`. Shown as `A/0`.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ServerId {
    /// The data centre: the papers' `m`.
    pub dc: DcId,
    /// The partition: the papers' `n`.
    pub partition: PartitionId,
}

impl ServerId {
    /// The server of `partition` in `dc`.
    #[inline]
    pub fn new(dc: DcId, partition: PartitionId) -> Self {
        Self { dc, partition }
    }
}

impl fmt::Debug for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.dc, self.partition)
    }
}

/// A set of data centres: where a version is to be replicated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Regions(pub u64);

impl Regions {
    /// No region: the version stays where it was written.
    pub const NONE: Self = Self(0);

    /// Every region of `count`.
    #[inline]
    pub fn all(count: usize) -> Self {
        Self(if count >= 64 { u64::MAX } else { (1 << count) - 1 })
    }

    /// Every region of `count` but `but`.
    #[inline]
    pub fn all_but(but: DcId, count: usize) -> Self {
        Self::all(count).without(but)
    }

    /// These, and `dc`.
    #[must_use]
    pub fn with(self, dc: DcId) -> Self {
        Self(self.0 | 1 << dc.0)
    }

    /// These without `dc`.
    #[must_use]
    #[inline]
    pub fn without(self, dc: DcId) -> Self {
        Self(self.0 & !(1 << dc.0))
    }

    /// Those that are in both.
    #[must_use]
    #[inline]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = DcId> {
        (0..64).map(DcId).filter(move |dc| self.contains(*dc))
    }

    /// Whether `dc` is in the set.
    #[inline]
    pub fn contains(self, dc: DcId) -> bool {
        self.0 >> dc.0 & 1 == 1
    }
}
