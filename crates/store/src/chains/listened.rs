//! Which versions were added, for who wants to know when they show.

use super::entry::Body;
use super::{Store, Version};
use bytes::Bytes;
use tidemark_core::{Key, Stamp, Write};
use tidemark_crdt::creates;

/// A version that was added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// Its key.
    pub key: Key,
    /// Its stamp.
    pub stamp: Stamp,
    /// It creates the key, which was not there when it was added.
    pub creates: bool,
}

impl<M: Clone> Store<M> {
    /// Keeps a list of what is added from now on, or keeps none any more.
    pub fn listen(&mut self, listens: bool) {
        self.listened = listens.then(Vec::new);
    }

    /// Whether a list is kept.
    pub fn is_listened_to(&self) -> bool {
        self.listened.is_some()
    }

    /// What was added since the last call, in order. A version that was there already may be among it.
    pub fn take_added(&mut self) -> Vec<Added> {
        self.listened.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// A version of `key` is about to be added.
    #[inline]
    pub(super) fn note_added(&mut self, key: &[u8], version: &Version<M>) {
        if self.listened.is_some() {
            self.note_listened(key, version);
        }
    }

    #[cold]
    fn note_listened(&mut self, key: &[u8], version: &Version<M>) {
        let creates = self.is_absent(key, version.stamp) && creates(&version.write);
        let added = Added { key: Key(Bytes::copy_from_slice(key)), stamp: version.stamp, creates };
        self.listened.get_or_insert_default().push(added);
    }

    /// Whether a key is not there for a version that is about to be added. What does not show yet counts: of several versions that
    /// create a key before any shows, only the first does so.
    fn is_absent(&self, key: &[u8], stamp: Stamp) -> bool {
        let Some(handle) = self.tables.find(key) else { return true };
        match &self.tables.entry(handle).body {
            Body::Register { newest, .. } => newest.write == Write::Remove,
            Body::Object { object, .. } => {
                object.head().kind_at(stamp.ts).is_none()
                    && !object.hidden().any(|version| creates(&version.write))
            }
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
