//! §4.4 and D9: which updates did not see each other, and who wins then.

use tidemark_contract::prelude::{Hlc, Version};

/// §4.4: who wins of two updates that did not see each other.
pub trait Resolver: 'static {
    /// Whether [`Self::newer_wins`] is to be asked.
    const RESOLVES: bool = true;
    /// Whether `newer` wins against `older`, which it did not see: a function of the two alone.
    fn newer_wins(older: &Version<Hlc>, newer: &Version<Hlc>) -> bool;
}

/// The last writer wins, and nobody is asked.
pub struct LastWriter;

impl Resolver for LastWriter {
    const RESOLVES: bool = false;

    fn newer_wins(_: &Version<Hlc>, _: &Version<Hlc>) -> bool {
        true
    }
}

/// D9: whether `older` was visible where `newer` was written.
pub(super) fn saw(newer: &Version<Hlc>, older: &Version<Hlc>) -> bool {
    newer.stamp.origin == older.stamp.origin || older.stamp.ts <= newer.meta
}
