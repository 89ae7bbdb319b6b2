//! Versions of clients at the edge: several regions may write one, each for itself. What stands beside these copies is joined.

use super::{Store, Version};
use tidemark_core::{DcId, Key, Stamp};

/// What a protocol says of copies.
pub struct Copies<M> {
    /// Adds what stands beside a copy of a version to what stands beside the version.
    pub join: fn(&mut M, M),
    /// Whether a version has copies.
    pub any: fn(&M) -> bool,
}

impl<M> Clone for Copies<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Copies<M> {}

/// Which versions can be folded, of these in the order of their stamps: those that are `safe`. A copy of a version from the edge may come
/// later, and what removes the version has to be known then: neither that nor anything above is folded before there can be no other.
pub(super) fn below_copies<'a, M: 'a>(
    versions: impl Iterator<Item = &'a Version<M>>,
    mut safe: impl FnMut(&Version<M>) -> bool,
) -> Vec<Stamp> {
    let mut held = false;
    let mut folds = |version: &Version<M>| {
        let folds = !held && safe(version);
        held |= !folds && version.stamp.origin == DcId::EDGE;
        folds
    };
    versions.filter(|version| folds(version)).map(|version| version.stamp).collect()
}

impl<M: Clone> Store<M> {
    /// Versions may have copies.
    #[must_use]
    pub fn with_copies(mut self, copies: Copies<M>) -> Self {
        self.copies = Some(copies);
        self
    }

    /// Joins a copy with the version that is here. False if there is none.
    pub(super) fn joins(&mut self, key: &[u8], version: &Version<M>) -> bool {
        let Some(Copies { join, any }) = self.copies.filter(|_| version.stamp.origin == DcId::EDGE) else {
            return false;
        };
        let here = self.meta_mut(key, version.stamp);
        let joins = here.is_some();
        let copied = match here {
            Some(meta) => {
                join(meta, version.meta.clone());
                any(meta)
            }
            None => any(&version.meta),
        };
        if copied {
            self.copied.push((Key(bytes::Bytes::copy_from_slice(key)), version.stamp));
        }
        joins
    }

    /// Whether it is not settled of some version which of its copies counts.
    #[inline]
    pub fn has_copies(&self) -> bool {
        !self.copied.is_empty()
    }

    /// Has `choose` say of each such version which of its copies counts, and whether that is settled; it is then not asked again, if
    /// it is `over` with that.
    pub fn choose_copies(&mut self, over: bool, mut choose: impl FnMut(Stamp, &mut M) -> bool) {
        let mut copied = std::mem::take(&mut self.copied);
        copied.retain(|(key, stamp)| {
            self.meta_mut(key, *stamp).is_some_and(|meta| !choose(*stamp, meta) || !over)
        });
        self.copied = copied;
    }
}
