//! What stands in a store's slab for each key.

use super::Version;
use super::object::Object;
use super::older::{NONE, Older};
use smallvec::SmallVec;
use std::cmp::Ordering;
use tidemark_core::Write;

pub(crate) struct Entry<M> {
    /// Up to sixteen bytes stand in the entry itself: no other line of memory is touched to compare them.
    pub(crate) key: SmallVec<[u8; 16]>,
    pub(super) body: Body<M>,
}

/// What an entry holds of its key. Both forms stand in place and are about equally large, so that neither pays for the other.
pub(super) enum Body<M> {
    Register {
        newest: Version<M>,
        /// The list of older versions, if there are any.
        older: u32,
        /// Whether the entry is queued for collection. In each form: apart from both it would take eight bytes.
        queued: bool,
    },
    /// A key of a data type.
    Object { object: Object<M>, queued: bool },
}

/// The versions of a register.
pub(super) struct Chain<'a, M> {
    pub(super) newest: &'a mut Version<M>,
    pub(super) older: &'a mut u32,
}

impl<M> Entry<M> {
    pub(super) fn register(key: &[u8], newest: Version<M>) -> Self {
        Self { key: key.into(), body: Body::Register { newest, older: NONE, queued: false } }
    }

    pub(super) fn typed(key: &[u8]) -> Self {
        Self { key: key.into(), body: Body::Object { object: Object::default(), queued: false } }
    }

    #[inline]
    pub(super) fn is_typed(&self) -> bool {
        matches!(self.body, Body::Object { .. })
    }

    #[inline]
    pub(super) fn object(&self) -> Option<&Object<M>> {
        match &self.body {
            Body::Object { object, .. } => Some(object),
            Body::Register { .. } => None,
        }
    }

    #[inline]
    pub(super) fn object_mut(&mut self) -> Option<&mut Object<M>> {
        match &mut self.body {
            Body::Object { object, .. } => Some(object),
            Body::Register { .. } => None,
        }
    }

    #[inline]
    pub(super) fn chain(&mut self) -> Option<Chain<'_, M>> {
        match &mut self.body {
            Body::Register { newest, older, .. } => Some(Chain { newest, older }),
            Body::Object { .. } => None,
        }
    }

    #[inline]
    pub(super) fn queued(&mut self) -> &mut bool {
        match &mut self.body {
            Body::Register { queued, .. } | Body::Object { queued, .. } => queued,
        }
    }

    #[inline]
    pub(super) fn needs_collection(&self) -> bool {
        match &self.body {
            Body::Register { newest, older, .. } => *older != NONE || newest.write == Write::Remove,
            Body::Object { .. } => true,
        }
    }
}

impl<M> Chain<'_, M> {
    /// Inserts by stamp; false if the stamp is there already (I1).
    #[inline]
    pub(super) fn insert(self, older: &mut Older<M>, version: Version<M>) -> bool {
        if version.stamp > self.newest.stamp {
            *self.older = older.push(std::mem::replace(self.newest, version), *self.older);
            return true;
        }
        if version.stamp == self.newest.stamp {
            return false;
        }
        let (list, inserted) = older.insert(*self.older, version);
        *self.older = list;
        inserted
    }

    /// Keeps the newer one of this version and the newest, and returns the other; none if their stamps are the same (I1).
    /// REQUIRES: nothing older is ever read, nor is there anything.
    #[inline]
    pub(super) fn replace(self, version: Version<M>) -> Option<Version<M>> {
        match version.stamp.cmp(&self.newest.stamp) {
            Ordering::Greater => Some(std::mem::replace(self.newest, version)),
            Ordering::Equal => None,
            Ordering::Less => Some(version),
        }
    }

    /// Drops what is older than the newest version that satisfies `safe`; returns how many versions that were and how
    /// many bytes of values.
    #[inline]
    pub(super) fn cut(
        &mut self,
        older: &mut Older<M>,
        mut safe: impl FnMut(&Version<M>) -> bool,
    ) -> (u64, u64) {
        if *self.older == NONE {
            (0, 0)
        } else if safe(self.newest) {
            older.drop_list(std::mem::replace(self.older, NONE))
        } else {
            older.cut(*self.older, safe)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_core::Vector;

    /// Most keys are plain strings: what data types need must not cost them anything.
    #[test]
    fn an_entry_is_as_large_as_a_key_and_one_version() {
        assert!(size_of::<Object<Vector>>() <= size_of::<Version<Vector>>());
        let needed = size_of::<SmallVec<[u8; 16]>>() + size_of::<Version<Vector>>() + 8;
        assert_eq!((size_of::<Entry<Vector>>(), size_of::<Option<Entry<Vector>>>()), (needed, needed));
    }
}
