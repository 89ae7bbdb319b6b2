//! Counts that a store reports.

/// What a store holds, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Keys with at least one version, tombstones included.
    pub keys: u64,
    /// Versions in all chains.
    pub versions: u64,
    /// Bytes of keys and values (not of what surrounds them).
    pub bytes: u64,
}

/// What one round of collection did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Versions dropped because a newer one is at or below the safe point.
    pub versions: u64,
    /// Keys dropped because only a tombstone was left that everybody has passed.
    pub keys: u64,
}
