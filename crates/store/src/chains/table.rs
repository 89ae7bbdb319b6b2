//! From keys to entries: 16,384 hash tables of handles, one a slot, over one slab of entries.
//!
//! Handles are 32-bit positions in the slab, which grows by whole chunks: an entry never moves, a table costs
//! five bytes a key, and no table is ever so large that its growth stalls the thread.

use super::Entry;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;
use tidemark_core::{SLOTS, Slot, slot::slot_of};

const SLOTS_A_GROUP: usize = 128;
const ENTRIES_A_CHUNK: usize = 1024;

/// Slots are made a group at a time, so that a store of a few keys stays small.
type Group = Box<[HashTable<u32>]>;

pub(super) struct Tables<M> {
    groups: Vec<Option<Group>>,
    chunks: Vec<Vec<Option<Entry<M>>>>,
    free: Vec<u32>,
    hasher: FixedState,
}

impl<M> Tables<M> {
    pub(super) fn new(seed: u64) -> Self {
        Self { groups: Vec::new(), chunks: Vec::new(), free: Vec::new(), hasher: FixedState::with_seed(seed) }
    }

    fn table(&self, slot: Slot) -> Option<&HashTable<u32>> {
        let group = self.groups.get(slot as usize / SLOTS_A_GROUP)?.as_ref()?;
        Some(&group[slot as usize % SLOTS_A_GROUP])
    }

    #[inline]
    pub(super) fn find(&self, key: &[u8]) -> Option<u32> {
        let table = self.table(slot_of(key))?;
        table.find(self.hasher.hash_one(key), |handle| self.entry(*handle).key.as_slice() == key).copied()
    }

    #[inline]
    pub(super) fn entry(&self, handle: u32) -> &Entry<M> {
        let at = handle as usize;
        self.chunks[at / ENTRIES_A_CHUNK][at % ENTRIES_A_CHUNK].as_ref().expect("handles point at entries")
    }

    #[inline]
    pub(super) fn entry_mut(&mut self, handle: u32) -> &mut Entry<M> {
        let at = handle as usize;
        self.chunks[at / ENTRIES_A_CHUNK][at % ENTRIES_A_CHUNK].as_mut().expect("handles point at entries")
    }

    /// REQUIRES: the key is not there.
    pub(super) fn insert(&mut self, entry: Entry<M>) -> u32 {
        let (slot, hash) = (slot_of(&entry.key) as usize, self.hasher.hash_one(entry.key.as_slice()));
        let handle = self.place(entry);
        if self.groups.is_empty() {
            self.groups.resize_with(SLOTS as usize / SLOTS_A_GROUP, || None);
        }
        let group = self.groups[slot / SLOTS_A_GROUP]
            .get_or_insert_with(|| (0..SLOTS_A_GROUP).map(|_| HashTable::new()).collect());
        let (chunks, hasher) = (&self.chunks, &self.hasher);
        group[slot % SLOTS_A_GROUP].insert_unique(hash, handle, |handle| {
            let at = *handle as usize;
            let entry = chunks[at / ENTRIES_A_CHUNK][at % ENTRIES_A_CHUNK].as_ref();
            hasher.hash_one(entry.expect("handles point at entries").key.as_slice())
        });
        handle
    }

    fn place(&mut self, entry: Entry<M>) -> u32 {
        if let Some(handle) = self.free.pop() {
            let at = handle as usize;
            self.chunks[at / ENTRIES_A_CHUNK][at % ENTRIES_A_CHUNK] = Some(entry);
            return handle;
        }
        if self.chunks.last().is_none_or(|chunk| chunk.len() == ENTRIES_A_CHUNK) {
            // The first chunk grows by doubling: small stores stay small.
            let capacity = if self.chunks.is_empty() { 4 } else { ENTRIES_A_CHUNK };
            self.chunks.push(Vec::with_capacity(capacity));
        }
        let chunk = self.chunks.len() - 1;
        self.chunks[chunk].push(Some(entry));
        (chunk * ENTRIES_A_CHUNK + self.chunks[chunk].len() - 1) as u32
    }

    pub(super) fn remove(&mut self, handle: u32) -> Entry<M> {
        let at = handle as usize;
        let place = &mut self.chunks[at / ENTRIES_A_CHUNK][at % ENTRIES_A_CHUNK];
        let entry = place.take().expect("handles point at entries");
        let slot = slot_of(&entry.key) as usize;
        let group = self.groups[slot / SLOTS_A_GROUP].as_mut().expect("the key was inserted");
        let hash = self.hasher.hash_one(entry.key.as_slice());
        let found = group[slot % SLOTS_A_GROUP].find_entry(hash, |candidate| *candidate == handle);
        found.expect("the key was inserted").remove();
        self.free.push(handle);
        entry
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry<M>> {
        self.chunks.iter().flatten().flatten()
    }

    /// Handles from `cursor` on in the order of (slot, hash), whole slots or cut between two hashes once
    /// `limit` are found. The cursor is `slot << 32 | hash` of the next one.
    pub(super) fn walk(&self, cursor: u64, limit: usize) -> (Vec<u32>, u64) {
        let (first, mut from) = ((cursor >> 32) as usize, cursor as u32);
        let mut found = Vec::new();
        for slot in first..SLOTS as usize {
            if let Some(table) = self.table(slot as Slot) {
                let mut here: Vec<(u32, u32)> =
                    table.iter().map(|handle| (self.order(*handle), *handle)).collect();
                here.retain(|(hash, _)| *hash >= from);
                here.sort_unstable();
                for (hash, handle) in here {
                    // Equal hashes are never torn apart: the cursor could not tell them apart.
                    if found.len() >= limit.max(1)
                        && found.last().is_none_or(|last| self.order(*last) != hash)
                    {
                        return (found, (slot as u64) << 32 | hash as u64);
                    }
                    found.push(handle);
                }
            } else if slot % SLOTS_A_GROUP == 0 && found.len() >= limit.max(1) {
                return (found, (slot as u64) << 32);
            }
            from = 0;
        }
        (found, 0)
    }

    /// Where an entry stands inside its slot.
    fn order(&self, handle: u32) -> u32 {
        (self.hasher.hash_one(self.entry(handle).key.as_slice()) >> 32) as u32
    }
}
