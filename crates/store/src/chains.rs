//! Version chains in memory: for each key its versions, newest first by [`Stamp`].
//!
//! **Idea.** One thread owns a store, so nothing here locks. Keys are grouped by slot ([`SLOTS`] hash tables,
//! made when first used), because a walk in slot order survives growth (`SCAN`), and a slot is what will move
//! between partitions. An entry holds its newest version in place, or the object of a key of a data type; older
//! versions, which exist only until the protocol's safe point passes them, stand in a list beside it.
//!
//! **Invariants**
//! - I1 A chain never holds two versions with the same stamp: inserting one again changes nothing, so that a
//!   log may be replayed over a snapshot that already contains some of it.
//! - I2 Every entry with more than one version, or whose only version is a tombstone, is queued for collection. A queued
//!   handle may outlive its entry where a store follows another.
//! - I3 Nothing depends on the order of a hash table: walks sort.

pub use copies::Copies;
use entry::{Body, Entry};
use older::{NONE, Older};
use smallvec::SmallVec;
use std::collections::VecDeque;
use table::Tables;
use tidemark_core::{Hlc, Key, Stamp, Write};

mod ahead;
mod at_once;
mod copies;
mod deadlines;
mod entry;
mod frozen;
mod journal;
mod listened;
pub mod object;
mod older;
mod table;
mod told;
mod totals;
mod typed;
mod understood;
mod undo;
mod versions;

pub use ahead::Sought;
pub use deadlines::Expired;
pub use frozen::{Dump, Frozen, Mark, Part};
pub use journal::Dropped;
pub use listened::Added;
pub use object::{Absorb, Object};
pub use told::Folded;
pub use totals::{Collected, Totals};
pub use understood::{Misunderstood, effect_of};
pub use versions::Versions;

/// A scan looks at so many times as many keys as are wanted, where most of them hold nothing.
const EMPTY_WALKS: usize = 16;

/// One version of a key: what it does, its place in the order, and what the protocol stores beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version<M> {
    /// Identity and order.
    pub stamp: Stamp,
    /// The protocol's metadata.
    pub meta: M,
    /// What it does to the key.
    pub write: Write,
}

/// The version chains of one partition.
pub struct Store<M> {
    tables: Tables<M>,
    older: Older<M>,
    /// Handles of entries that collection has to look at (I2).
    queue: VecDeque<u32>,
    objects: typed::Objects<M>,
    /// See [`Store::with_copies`].
    copies: Option<Copies<M>>,
    /// Versions that have copies, until it is settled which of them counts.
    copied: Vec<(Key, Stamp)>,
    deadlines: deadlines::DeadlineIndex,
    /// What was dropped, if others are to be told.
    journal: Option<journal::Journal>,
    /// The tombstones that went with their keys, if they are kept for somebody.
    gone: Option<Vec<(Key, Version<M>)>>,
    /// What was added, if somebody listens.
    listened: Option<Vec<listened::Added>>,
    totals: Totals,
}

fn bytes<M>(version: &Version<M>) -> u64 {
    version.write.len() as u64
}

impl<M: Clone> Store<M> {
    /// An empty store. `seed` decides where keys stand inside a slot: keep it secret from those who choose
    /// keys, and the same for one data directory, so that a cursor survives a restart.
    pub fn new(seed: u64) -> Self {
        let (tables, older) = (Tables::new(seed), Older::new());
        let (queue, objects, deadlines, totals) = Default::default();
        let (copies, copied, journal, gone, listened) = (None, Vec::new(), None, None, None);
        Self { tables, older, queue, objects, copies, copied, deadlines, journal, gone, listened, totals }
    }

    /// All versions of an entry that are not folded.
    #[inline]
    fn versions_of<'a>(&'a self, entry: &'a Entry<M>) -> Versions<'a, M> {
        match &entry.body {
            Body::Register { newest, older, .. } => Versions::new(Some(newest), &self.older, *older),
            Body::Object { object, .. } => Versions::pending(object),
        }
    }

    /// Adds a version to its key's chain. Returns false if it was there already.
    pub fn insert(&mut self, key: &[u8], version: Version<M>) -> bool {
        self.insert_evaluated(key, version, &[])
    }

    fn insert_register(&mut self, key: &[u8], version: Version<M>, added: u64) -> bool {
        let mut gone = None;
        let handle = match self.tables.find(key) {
            Some(handle) => {
                let Some(chain) = self.tables.entry_mut(handle).chain() else { return false };
                let inserted = if self.objects.folds() {
                    gone = chain.replace(version);
                    gone.is_some()
                } else {
                    chain.insert(&mut self.older, version)
                };
                if !inserted {
                    return false;
                }
                handle
            }
            None => {
                self.totals.keys += 1;
                self.totals.bytes += key.len() as u64;
                self.tables.insert(Entry::register(key, version))
            }
        };
        if self.tables.entry(handle).needs_collection() {
            self.queue(handle);
        }
        self.totals.versions += 1;
        self.totals.bytes += added;
        if let Some(gone) = gone {
            self.forget((1, bytes(&gone)));
        }
        true
    }

    /// All versions of `key`, newest first.
    #[inline]
    pub fn chain(&self, key: &[u8]) -> Versions<'_, M> {
        match self.tables.find(key) {
            Some(handle) => self.versions_of(self.tables.entry(handle)),
            None => Versions::new(None, &self.older, NONE),
        }
    }

    /// What the protocol stores beside the version `stamp` of `key`, if that is the newest. It is changed in memory: the
    /// log keeps what was written.
    pub fn newest_meta(&mut self, key: &[u8], stamp: Stamp) -> Option<&mut M> {
        let handle = self.tables.find(key)?;
        let newest = self.tables.entry_mut(handle).chain()?.newest;
        (newest.stamp == stamp).then_some(&mut newest.meta)
    }

    /// What the protocol stores beside the version `stamp` of `key`, if the version is there.
    pub fn meta_mut(&mut self, key: &[u8], stamp: Stamp) -> Option<&mut M> {
        let handle = self.tables.find(key)?;
        match &mut self.tables.entry_mut(handle).body {
            Body::Register { newest, .. } if newest.stamp == stamp => Some(&mut newest.meta),
            Body::Register { older, .. } => {
                self.older.find_mut(*older, stamp).map(|version| &mut version.meta)
            }
            Body::Object { object, .. } => object.meta_mut(stamp),
        }
    }

    /// Drops every version of `key` but the newest: the whole collection of a protocol that keeps one.
    pub fn keep_newest(&mut self, key: &[u8]) {
        self.cut(key, |_| true);
    }

    /// As [`Self::keep_newest`], of each key that a version of `key` with this `write` is of.
    pub fn keep_newest_of(&mut self, key: &[u8], write: &Write) {
        match write {
            Write::Group(writes) => writes.iter().for_each(|(key, _)| self.keep_newest(key)),
            _ => self.keep_newest(key),
        }
    }

    /// Drops every version of `key` that is older than the newest that is `safe`.
    pub fn cut(&mut self, key: &[u8], safe: impl FnMut(&Version<M>) -> bool) {
        let Some(handle) = self.tables.find(key) else { return };
        let entry = self.tables.entry_mut(handle);
        let Some(mut chain) = entry.chain() else { return };
        let dropped = chain.cut(&mut self.older, safe);
        if dropped.0 > 0 {
            journal::note(&mut self.journal, &entry.key, None);
        }
        self.forget(dropped);
    }

    /// Collects up to `budget` queued keys: of each, everything older than the newest version that is `safe`
    /// goes; a tombstone that is left alone goes with its key once it is `gone`.
    ///
    /// REQUIRES: every snapshot that will ever be read here contains what is `safe`, and every version that
    /// can still arrive is newer than what is `gone`.
    pub fn collect(
        &mut self,
        budget: usize,
        mut safe: impl FnMut(&Version<M>) -> bool,
        mut gone: impl FnMut(Stamp) -> bool,
    ) -> Collected {
        let mut collected = Collected::default();
        let seen = self.seen_by_all();
        self.collect_expired();
        for _ in 0..budget.min(self.queue.len()) {
            let Some(handle) = self.queue.pop_front() else { break };
            let Some(entry) = self.tables.get_mut(handle) else { continue };
            if !std::mem::take(entry.queued()) {
                continue;
            }
            let Some(mut chain) = entry.chain() else {
                collected.keys += u64::from(self.collect_typed(handle, &mut safe));
                continue;
            };
            let dropped = chain.cut(&mut self.older, &mut safe);
            let base = &*chain.newest;
            let goes = *chain.older == NONE
                && base.write == Write::Remove
                && safe(base)
                && gone(base.stamp)
                && base.stamp.ts <= seen;
            if goes || dropped.0 > 0 {
                let tombstone = goes.then_some(base.stamp);
                journal::note(&mut self.journal, &entry.key, tombstone);
            }
            if goes {
                self.remove(handle);
                collected.keys += 1;
            } else if entry.needs_collection() {
                self.queue(handle);
            }
            collected.versions += dropped.0;
            self.forget(dropped);
        }
        collected
    }

    /// Removes a register's entry with its only version.
    fn remove(&mut self, handle: u32) {
        let Entry { key, body } = self.tables.remove(handle);
        let Body::Register { newest, .. } = body else { return };
        self.totals.keys -= 1;
        self.totals.versions -= 1;
        self.totals.bytes -= key.len() as u64 + bytes(&newest);
        if let Some(gone) = &mut self.gone {
            gone.push((Key(bytes::Bytes::copy_from_slice(&key)), newest));
        }
    }

    /// Keeps the tombstones that go with their keys from now on, until [`Self::take_gone`].
    pub fn keep_gone(&mut self) {
        self.gone = Some(Vec::new());
    }

    /// The tombstones that have gone since [`Self::keep_gone`], with their keys.
    pub fn take_gone(&mut self) -> Vec<(Key, Version<M>)> {
        self.gone.take().unwrap_or_default()
    }

    fn forget(&mut self, (versions, bytes): (u64, u64)) {
        self.totals.versions -= versions;
        self.totals.bytes -= bytes;
    }

    /// How many keys collection has to look at.
    pub fn garbage(&self) -> usize {
        self.queue.len()
    }

    /// How much waits for collection: keys, or versions, of which one key can have many.
    pub fn waiting(&self) -> usize {
        let registers = self.totals.keys - self.objects.count;
        self.queue.len().max(self.totals.versions.saturating_sub(registers) as usize)
    }

    /// Keys from `cursor` on that hold a value in the version that `pick` chooses among all of theirs: at least `limit` if there
    /// are as many, and not too many others come before; and the cursor to go on with, 0 at the end. A key that is there during
    /// the whole walk is returned; one that comes or goes meanwhile may or may not be. `saw` is called with each version that
    /// decided.
    pub fn scan(
        &self,
        (cursor, limit): (u64, usize),
        time: Hlc,
        pick: impl for<'a> Fn(Versions<'a, M>) -> Option<&'a Version<M>>,
        visible: impl Fn(&Version<M>) -> bool,
        mut saw: impl FnMut(&Version<M>),
    ) -> (Vec<Key>, u64) {
        let mut holds = |entry: &Entry<M>| {
            if let Some(object) = entry.object() {
                return object.view(&visible, &mut saw).kind_at(time).is_some();
            }
            let found = pick(self.versions_of(entry));
            found.is_some_and(|found| {
                saw(found);
                found.write.value().is_some()
            })
        };
        let (mut keys, mut next) = (Vec::new(), cursor);
        for _ in 0..EMPTY_WALKS {
            let (candidates, end) = self.tables.walk(next, limit - keys.len());
            let entries = candidates.into_iter().map(|handle| self.tables.entry(handle));
            let holding = entries.filter(|entry| holds(entry));
            keys.extend(holding.map(|entry| Key(bytes::Bytes::copy_from_slice(&entry.key))));
            next = end;
            if next == 0 || keys.len() >= limit {
                break;
            }
        }
        (keys, next)
    }

    /// How many keys hold a value in the version that `pick` chooses among all of theirs, or of a data type at `time` in what is `visible`.
    pub fn count(
        &self,
        time: Hlc,
        pick: impl for<'a> Fn(Versions<'a, M>) -> Option<&'a Version<M>>,
        visible: impl Fn(&Version<M>) -> bool,
    ) -> u64 {
        let found = self.tables.entries().filter(|entry| {
            if let Some(object) = entry.object() {
                return object.view(&visible, |_| ()).kind_at(time).is_some();
            }
            pick(self.versions_of(entry)).is_some_and(|version| version.write.value().is_some())
        });
        found.count() as u64
    }

    /// Every key with its versions, oldest first, from `cursor` on, at least `limit` keys if there are as
    /// many; and the cursor to go on with, 0 at the end. What a snapshot file writes.
    pub fn dump(&self, cursor: u64, limit: usize, mut each: impl FnMut(&[u8], &Version<M>)) -> u64 {
        self.dump_all(cursor, limit, |key, item| {
            if let Dump::Version(version) = item {
                each(key, version);
            }
        })
    }

    /// As [`Self::dump`], with the objects of data types, each before its versions.
    pub fn dump_all(&self, cursor: u64, limit: usize, mut each: impl FnMut(&[u8], Dump<'_, M>)) -> u64 {
        let (handles, next) = self.tables.walk(cursor, limit);
        for handle in handles {
            let entry = self.tables.entry(handle);
            if let Some(object) = entry.object() {
                each(&entry.key, Dump::Object(object));
            }
            let newest_first: SmallVec<[&Version<M>; 4]> = self.versions_of(entry).collect();
            newest_first.into_iter().rev().for_each(|version| each(&entry.key, Dump::Version(version)));
        }
        next
    }

    /// Every version, in no particular order.
    pub fn versions(&self) -> impl Iterator<Item = &Version<M>> {
        self.tables.entries().flat_map(|entry| self.versions_of(entry))
    }

    /// What the store holds.
    pub fn totals(&self) -> Totals {
        self.totals
    }
}

#[cfg(test)]
mod tests;
