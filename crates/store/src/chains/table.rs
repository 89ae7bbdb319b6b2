//! From keys to entries: an index of 32-bit handles over one slab of entries.
//!
//! Handles are positions in the slab, which grows by whole chunks: an entry never moves. The index is split into
//! groups of slots, so that its growth never stalls the thread for more than a thousandth of it. A group is one
//! array, probed from where a key's tag falls to: a look-up touches one line of memory beside the entry itself, and
//! growth touches no entry at all. At large sizes memory is what a look-up waits for, and this is why hash tables
//! from the shelf, which keep control bytes and places apart, were replaced.

use super::entry::Entry;
use super::object::Object;
use foldhash::fast::FixedState;
use std::cell::Cell;
use std::hash::BuildHasher;
use tidemark_core::{SLOTS, slot::slot_of};

const SLOTS_A_GROUP: u32 = 16;
const GROUPS: usize = SLOTS as usize / SLOTS_A_GROUP as usize;
const ENTRIES_A_CHUNK: usize = 1024;

/// Bits of a tag that come from the key's hash; above them stands its slot's number within the group.
const HASH_BITS: u32 = 28;

const TYPED: &str = "the entry is of a data type";

/// Where a key stands, without its entry.
#[derive(Clone, Copy)]
pub(super) struct Place {
    group: usize,
    tag: u32,
}

impl Place {
    #[inline]
    fn of(key: &[u8], hasher: &FixedState) -> Self {
        let slot = u32::from(slot_of(key));
        let hash = (hasher.hash_one(key) >> (64 - HASH_BITS)) as u32;
        Self { group: (slot / SLOTS_A_GROUP) as usize, tag: (slot % SLOTS_A_GROUP) << HASH_BITS | hash }
    }
}

/// What the index says of one key.
#[derive(Clone, Copy)]
struct Item {
    tag: u32,
    handle: u32,
}

const EMPTY: Item = Item { tag: 0, handle: u32::MAX };

/// The index of one group: open addressing with linear probing, at most three quarters full.
#[derive(Default)]
struct Group {
    /// None, or a power of two.
    items: Box<[Item]>,
    len: u32,
}

impl Group {
    /// Where the probes for `tag` begin. REQUIRES: there are items.
    #[inline]
    fn home(&self, tag: u32) -> usize {
        // Multiplied so that neighbouring tags of one slot spread over the whole array.
        ((u64::from(tag.wrapping_mul(0x9E37_79B1)) * self.items.len() as u64) >> 32) as usize
    }

    /// The place of the item with `tag` whose handle is meant.
    #[inline]
    fn find(&self, tag: u32, mut meant: impl FnMut(u32) -> bool) -> Option<usize> {
        if self.len == 0 {
            return None;
        }
        let mask = self.items.len() - 1;
        let mut at = self.home(tag);
        loop {
            let item = self.items[at];
            if item.handle == EMPTY.handle {
                return None;
            }
            if item.tag == tag && meant(item.handle) {
                return Some(at);
            }
            at = (at + 1) & mask;
        }
    }

    fn insert(&mut self, item: Item) {
        if self.len as usize >= self.items.len() / 4 * 3 {
            let larger = vec![EMPTY; (self.items.len() * 2).max(4)].into_boxed_slice();
            let items = std::mem::replace(&mut self.items, larger);
            items.into_iter().filter(|item| item.handle != EMPTY.handle).for_each(|item| self.put(item));
        }
        self.put(item);
        self.len += 1;
    }

    fn put(&mut self, item: Item) {
        let mask = self.items.len() - 1;
        let mut at = self.home(item.tag);
        while self.items[at].handle != EMPTY.handle {
            at = (at + 1) & mask;
        }
        self.items[at] = item;
    }

    /// Takes an item out; those behind it that were pushed on by it move back, so that probes need no marks.
    fn remove(&mut self, mut hole: usize) {
        let mask = self.items.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            if self.items[at].handle == EMPTY.handle {
                break;
            }
            // It may stand in the hole only if that does not lie before its home.
            let (from_home, from_hole) =
                (at.wrapping_sub(self.home(self.items[at].tag)), at.wrapping_sub(hole));
            if from_home & mask >= from_hole & mask {
                self.items[hole] = self.items[at];
                hole = at;
            }
        }
        self.items[hole] = EMPTY;
        self.len -= 1;
    }
}

/// Where a walk goes on: 0 behind the last group.
fn cursor_at(group: usize, tag: u32) -> u64 {
    let slot = group as u64 * u64::from(SLOTS_A_GROUP) + u64::from(tag >> HASH_BITS);
    if group == GROUPS { 0 } else { slot << 32 | u64::from(tag) }
}

pub(super) struct Tables<M> {
    /// None until the first key.
    groups: Vec<Group>,
    chunks: Vec<Vec<Option<Entry<M>>>>,
    free: Vec<u32>,
    hasher: FixedState,
    /// Which entry was found last: an operation looks for its key several times.
    last: Cell<u32>,
}

impl<M> Tables<M> {
    pub(super) fn new(seed: u64) -> Self {
        let (groups, chunks, free, last) = Default::default();
        Self { groups, chunks, free, hasher: FixedState::with_seed(seed), last }
    }

    #[inline]
    pub(super) fn find(&self, key: &[u8]) -> Option<u32> {
        if self.groups.is_empty() {
            return None;
        }
        let last = self.last.get();
        if self.get(last).is_some_and(|entry| entry.key.as_slice() == key) {
            return Some(last);
        }
        let Place { group, tag } = Place::of(key, &self.hasher);
        let group = &self.groups[group];
        let at = group.find(tag, |handle| self.entry(handle).key.as_slice() == key)?;
        self.last.set(group.items[at].handle);
        Some(group.items[at].handle)
    }

    #[inline]
    pub(super) fn place_of(&self, key: &[u8]) -> Place {
        Place::of(key, &self.hasher)
    }

    /// The item that a look-up sees first: as a rule it is the key's.
    #[inline]
    pub(super) fn home(&self, Place { group, tag }: Place) -> Option<u32> {
        let group = self.groups.get(group)?;
        if group.len == 0 { None } else { Some(group.items[group.home(tag)].handle) }
    }

    /// The entry, if the handle points at one.
    #[inline]
    pub(super) fn get(&self, handle: u32) -> Option<&Entry<M>> {
        let at = handle as usize;
        self.chunks.get(at / ENTRIES_A_CHUNK)?.get(at % ENTRIES_A_CHUNK)?.as_ref()
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

    /// The entry, if the handle points at one.
    #[inline]
    pub(super) fn get_mut(&mut self, handle: u32) -> Option<&mut Entry<M>> {
        let at = handle as usize;
        self.chunks[at / ENTRIES_A_CHUNK][at % ENTRIES_A_CHUNK].as_mut()
    }

    /// The object of an entry. REQUIRES: it is of a data type.
    pub(super) fn object(&self, handle: u32) -> &Object<M> {
        self.entry(handle).object().expect(TYPED)
    }

    /// As [`Self::object`].
    pub(super) fn object_mut(&mut self, handle: u32) -> &mut Object<M> {
        self.entry_mut(handle).object_mut().expect(TYPED)
    }

    /// REQUIRES: the key is not there.
    pub(super) fn insert(&mut self, entry: Entry<M>) -> u32 {
        let Place { group, tag } = Place::of(&entry.key, &self.hasher);
        let handle = self.place(entry);
        if self.groups.is_empty() {
            self.groups.resize_with(GROUPS, Group::default);
        }
        self.groups[group].insert(Item { tag, handle });
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
        let Place { group, tag } = Place::of(&entry.key, &self.hasher);
        let group = &mut self.groups[group];
        let found = group.find(tag, |candidate| candidate == handle).expect("the key was inserted");
        group.remove(found);
        self.free.push(handle);
        entry
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry<M>> {
        self.chunks.iter().flatten().flatten()
    }

    /// Handles from `cursor` on in the order of (slot, hash), at least `limit` of them if there are as many; and the
    /// cursor to go on with, 0 at the end. A cursor is (slot, tag), whatever the groups: growth changes neither, and who
    /// walks several stores knows where the next one begins.
    pub(super) fn walk(&self, cursor: u64, limit: usize) -> (Vec<u32>, u64) {
        let (first, mut from) = ((cursor >> 32) as usize / SLOTS_A_GROUP as usize, cursor as u32);
        let mut found = Vec::new();
        for (number, group) in self.groups.iter().enumerate().skip(first) {
            if group.len == 0 {
                from = 0;
                continue;
            }
            let wanted = limit.max(1) - found.len();
            let there = |item: &&Item| item.handle != EMPTY.handle && item.tag >= from;
            let mut here: Vec<Item> = group.items.iter().filter(there).copied().collect();
            let mut next = None;
            if here.len() >= wanted {
                // Equal tags are never torn apart: the cursor could not tell them apart.
                let last = here.select_nth_unstable_by_key(wanted - 1, |item| item.tag).1.tag;
                here.retain(|item| item.tag <= last);
                next =
                    Some(last.checked_add(1).map_or(cursor_at(number + 1, 0), |tag| cursor_at(number, tag)));
            }
            here.sort_unstable_by_key(|item| (item.tag, item.handle));
            found.extend(here.into_iter().map(|item| item.handle));
            if let Some(next) = next {
                return (found, next);
            }
            from = 0;
        }
        (found, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;
    use std::collections::BTreeSet;

    /// Many items with few tags: probes run long and around the end, and removals move much back.
    #[test]
    fn a_group_finds_what_was_put_in_and_not_what_was_taken_out() {
        let (mut rng, mut group, mut there) = (Rng::with_seed(7), Group::default(), BTreeSet::new());
        for round in 0..20_000 {
            let (tag, handle) = (rng.u32(0..8) * 0x1234_5677, rng.u32(0..64));
            let found = group.find(tag, |candidate| candidate == handle);
            assert_eq!(found.is_some(), there.contains(&(tag, handle)), "round {round}");
            match found {
                Some(at) => {
                    group.remove(at);
                    there.remove(&(tag, handle));
                }
                None if rng.u32(0..100) < 60 => {
                    group.insert(Item { tag, handle });
                    there.insert((tag, handle));
                }
                None => {}
            }
            assert_eq!(group.len as usize, there.len());
        }
        assert!(
            there.iter().all(|(tag, handle)| group.find(*tag, |candidate| candidate == *handle).is_some())
        );
    }
}
