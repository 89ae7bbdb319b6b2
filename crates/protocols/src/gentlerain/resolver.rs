//! §4.4: which updates did not see each other, and who wins then.
//!
//! **Deviation D9.** §4.4 finds conflicts by the version that preceded a new one in its origin's chain, which misses some and
//! tells one side only of others. A version is shipped with the `gst` of its PUT instead, which says exactly what
//! was visible there: two versions from different regions conflict unless the older one's `ut` is at or below it.
//! Conflicts are counted; a [`Resolver`] resolves them, as the last writer wins by default, whenever they are
//! read: deciding once at arrival, as in §4.4, lets replicas diverge. What is hidden (D10) counts as seen.

use std::marker::PhantomData;
use tidemark_contract::conflicts::Judge;
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

/// D9: who has seen what tells the `gst` of the PUT.
pub(super) struct ByGst<R>(PhantomData<R>);

impl<R: Resolver> Judge for ByGst<R> {
    type Meta = Hlc;
    const RESOLVES: bool = R::RESOLVES;

    /// Whether `older` was visible where `newer` was written.
    fn saw(newer: &Version<Hlc>, older: &Version<Hlc>) -> bool {
        newer.stamp.origin == older.stamp.origin || older.stamp.ts <= newer.meta
    }

    fn newer_wins(older: &Version<Hlc>, newer: &Version<Hlc>) -> bool {
        R::newer_wins(older, newer)
    }
}
