//! Which versions were added, for who wants to know when they show.

use super::{Store, Version};
use bytes::Bytes;
use tidemark_core::{Key, Stamp};

impl<M: Clone> Store<M> {
    /// Keeps a list of what is added from now on, or keeps none any more.
    pub fn listen(&mut self, listens: bool) {
        self.listened = listens.then(Vec::new);
    }

    /// Whether a list is kept.
    pub fn is_listened_to(&self) -> bool {
        self.listened.is_some()
    }

    /// What was added since the last call, in order: keys, and the stamps of their versions. One that was there already may be
    /// among them.
    pub fn take_added(&mut self) -> Vec<(Key, Stamp)> {
        self.listened.as_mut().map(std::mem::take).unwrap_or_default()
    }

    #[inline]
    pub(super) fn note_added(&mut self, key: &[u8], stamp: Stamp) {
        if let Some(listened) = &mut self.listened {
            listened.push((Key(Bytes::copy_from_slice(key)), stamp));
        }
    }

    /// Walks on from `cursor` over about so many keys, and returns those of their versions that are not folded and satisfy `wanted`;
    /// and the cursor to go on with, 0 at the end.
    pub fn walk_versions(
        &self,
        (cursor, limit): (u64, usize),
        wanted: impl Fn(&Version<M>) -> bool,
    ) -> (Vec<(Key, Stamp)>, u64) {
        let (handles, next) = self.tables.walk(cursor, limit);
        let entries = handles.into_iter().map(|handle| self.tables.entry(handle));
        let found = entries.flat_map(|entry| {
            let versions = self.versions_of(entry).filter(|version| wanted(version));
            versions.map(|version| (Key(Bytes::copy_from_slice(&entry.key)), version.stamp))
        });
        (found.collect(), next)
    }
}
