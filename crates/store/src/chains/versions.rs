//! The versions of one key, one after the other.

use super::older::Older;
use super::{Object, Store, Version};
use tidemark_core::{Key, Stamp};

/// The versions of one key, newest first; of a data type those that are not folded.
pub struct Versions<'a, M>(Inner<'a, M>);

enum Inner<'a, M> {
    Register { newest: Option<&'a Version<M>>, older: &'a Older<M>, next: u32 },
    Pending(Box<dyn Iterator<Item = &'a Version<M>> + 'a>),
}

impl<'a, M> Versions<'a, M> {
    /// `newest`, and then the list `next` of `older`.
    #[inline]
    pub(super) fn new(newest: Option<&'a Version<M>>, older: &'a Older<M>, next: u32) -> Self {
        Self(Inner::Register { newest, older, next })
    }

    /// What is pending of a key of a data type.
    pub(super) fn pending(object: &'a Object<M>) -> Self
    where
        M: Clone,
    {
        Self(Inner::Pending(Box::new(object.pending())))
    }
}

impl<'a, M> Iterator for Versions<'a, M> {
    type Item = &'a Version<M>;

    #[inline]
    fn next(&mut self) -> Option<&'a Version<M>> {
        match &mut self.0 {
            Inner::Register { newest, older, next } => newest.take().or_else(|| {
                let (version, after) = older.at(*next)?;
                *next = after;
                Some(version)
            }),
            Inner::Pending(versions) => versions.next(),
        }
    }
}

impl<M: Clone> Store<M> {
    /// The versions that `pick` picks, by their stamps, with their keys and what it takes of them.
    pub fn pick<T>(&self, mut pick: impl FnMut(&Version<M>) -> Option<T>) -> Vec<(Stamp, Key, T)> {
        let mut picked = Vec::new();
        for entry in self.tables.entries() {
            let key = || Key(bytes::Bytes::copy_from_slice(&entry.key));
            let versions = self.versions_of(entry);
            picked.extend(
                versions
                    .filter_map(|version| Some((version.stamp, pick(version)?)))
                    .map(|(stamp, taken)| (stamp, key(), taken)),
            );
        }
        picked.sort_by_key(|(stamp, ..)| *stamp);
        picked
    }
}
