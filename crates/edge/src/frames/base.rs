//! A base: one point of the past of all regions.

use tidemark_core::Hlc;

/// A hybrid logical clock for each region, in the order of regions; empty before the first. Entries that are missing count as zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Base(pub Vec<Hlc>);

impl Base {
    /// A base has at most this many entries.
    pub const ENTRIES_MAX: usize = 64;

    /// The entry of a region, zero if it has none.
    pub fn entry(&self, region: usize) -> Hlc {
        self.0.get(region).copied().unwrap_or(Hlc::ZERO)
    }

    /// The greatest entry in whole microseconds, 0 if there is none: what times beside this base are differences to.
    pub fn newest_us(&self) -> u64 {
        self.0.iter().max().map_or(0, |entry| entry.micros())
    }

    /// Whether no entry is less than that of `other`.
    pub fn dominates(&self, other: &Base) -> bool {
        (0..other.0.len()).all(|region| self.entry(region) >= other.entry(region))
    }
}
