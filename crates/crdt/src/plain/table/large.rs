//! A large table: numbered entries and an index over them.
//!
//! A look-up reads one line of the index and the entry. When three quarters of the places for entries are free, the
//! entries are numbered anew and the rest of the memory is given back.

use super::Slot;
use crate::plain::index::Index;
use crate::plain::pick;
use crate::plain::short::ShortBytes;
use crate::plain::slab::Slab;
use foldhash::fast::FixedState;
use std::hash::{BuildHasher, Hasher};

/// Fewer places than these are not worth being given back.
const FEW_PLACES: usize = 64;

#[derive(Clone)]
struct Entry<V> {
    key: ShortBytes,
    value: V,
}

/// Where a look-up probably ends.
pub(crate) struct Near<'a, V> {
    large: &'a Large<V>,
    number: u32,
}

impl<V: Slot> Near<'_, V> {
    /// Reads the entry, if there is one. The result says nothing.
    #[inline]
    pub(crate) fn touch(&self) -> u64 {
        let entry = self.large.entries.get_if(self.number);
        entry.map_or(0, |entry| entry.key.as_slice().first().copied().map_or(0, u64::from))
    }

    /// Reads the value, as [`Self::touch`] the entry, which comes before it.
    #[inline]
    pub(crate) fn touch_value(&self) -> u64 {
        self.large.entries.get_if(self.number).map_or(0, |entry| entry.value.touch())
    }
}

#[derive(Clone)]
pub(in crate::plain) struct Large<V> {
    index: Index,
    entries: Slab<Entry<V>>,
    hasher: FixedState,
    longest: usize,
    /// Bytes that keys and values allocate.
    heap: usize,
}

impl<V: Slot> Large<V> {
    pub(in crate::plain) fn new(seed: u64) -> Self {
        Self {
            index: Index::default(),
            entries: Slab::new(),
            hasher: FixedState::with_seed(seed),
            longest: 0,
            heap: 0,
        }
    }

    /// A table of `len` entries with distinct keys.
    pub(in crate::plain) fn collect<'a>(
        seed: u64,
        longest: usize,
        len: usize,
        entries: impl Iterator<Item = (&'a [u8], V::Ref<'a>)>,
    ) -> Self {
        // The entry that does not fit is about to come.
        let (index, slab) = (Index::with_room(len + 1), Slab::with_room(len + len / 4 + 1));
        let mut large = Self { index, entries: slab, longest, ..Self::new(seed) };
        entries.for_each(|(key, value)| {
            large.add(key, value);
        });
        large
    }

    #[inline]
    fn tag(&self, key: &[u8]) -> u32 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(key);
        (hasher.finish() >> 32) as u32
    }

    #[inline]
    fn entry(&self, number: u32) -> &Entry<V> {
        self.entries.get(number).expect("the index points at entries")
    }

    #[inline]
    pub(in crate::plain) fn len(&self) -> usize {
        self.index.len()
    }

    pub(in crate::plain) fn longest(&self) -> usize {
        self.longest
    }

    pub(in crate::plain) fn memory(&self) -> usize {
        self.index.memory() + self.entries.memory() + self.heap
    }

    /// The number of the entry with `key`. Numbers hold until [`Self::pack`].
    #[inline]
    pub(in crate::plain) fn find(&self, key: &[u8]) -> Option<u32> {
        self.index.find(self.tag(key), |number| self.entry(number).key.as_slice() == key).map(|found| found.1)
    }

    /// Where a look-up of `key` probably ends. Reads the index.
    #[inline]
    pub(in crate::plain) fn near(&self, key: &[u8]) -> Option<Near<'_, V>> {
        self.index.first(self.tag(key)).map(|number| Near { large: self, number })
    }

    /// The key with that number. REQUIRES: there is one.
    #[inline]
    pub(in crate::plain) fn key(&self, number: u32) -> &[u8] {
        self.entry(number).key.as_slice()
    }

    /// The value with that number. REQUIRES: there is one.
    #[inline]
    pub(in crate::plain) fn value(&self, number: u32) -> V::Ref<'_> {
        self.entry(number).value.show()
    }

    #[inline]
    pub(super) fn get(&self, key: &[u8]) -> Option<V::Ref<'_>> {
        self.find(key).map(|number| self.value(number))
    }

    pub(super) fn insert(&mut self, key: &[u8], value: V::Ref<'_>) -> bool {
        let found = self.find(key);
        match found {
            Some(number) => self.replace(number, value),
            None => {
                self.add(key, value);
            }
        }
        found.is_none()
    }

    /// Puts a value in place of the one with that number. REQUIRES: there is one.
    pub(in crate::plain) fn replace(&mut self, number: u32, value: V::Ref<'_>) {
        self.longest = self.longest.max(V::size(value));
        let entry = self.entries.get_mut(number).expect("the index points at entries");
        let old = std::mem::replace(&mut entry.value, V::own(value));
        self.heap = self.heap + entry.value.heap() - old.heap();
    }

    /// Puts a new entry in and returns its number. REQUIRES: there is none with `key`.
    pub(in crate::plain) fn add(&mut self, key: &[u8], value: V::Ref<'_>) -> u32 {
        self.longest = self.longest.max(key.len()).max(V::size(value));
        let entry = Entry { key: ShortBytes::new(key), value: V::own(value) };
        self.heap += entry.key.heap() + entry.value.heap();
        let number = self.entries.insert(entry);
        self.index.insert(self.tag(key), number);
        number
    }

    pub(super) fn remove(&mut self, key: &[u8]) -> bool {
        let removed = self.take(key).is_some();
        self.pack();
        removed
    }

    /// Takes the entry with `key` out and returns the number that it had.
    pub(in crate::plain) fn take(&mut self, key: &[u8]) -> Option<u32> {
        let (at, number) =
            self.index.find(self.tag(key), |number| self.entry(number).key.as_slice() == key)?;
        self.index.remove(at);
        let entry = self.entries.remove(number).expect("the index points at entries");
        self.heap -= entry.key.heap() + entry.value.heap();
        Some(number)
    }

    /// Numbers all entries anew if three quarters of the places are free. Returns the new number for each old one.
    pub(in crate::plain) fn pack(&mut self) -> Option<Vec<u32>> {
        let places = self.entries.places();
        if places <= FEW_PLACES || self.len() >= places / 4 {
            return None;
        }
        let room = Slab::with_room(self.len());
        let mut old = std::mem::replace(&mut self.entries, room);
        let mut numbers = vec![u32::MAX; places];
        self.index.renumber(|number| {
            let entry = old.remove(number).expect("the index points at entries");
            numbers[number as usize] = self.entries.insert(entry);
            numbers[number as usize]
        });
        Some(numbers)
    }

    pub(in crate::plain) fn iter(&self) -> impl Iterator<Item = (&[u8], V::Ref<'_>)> {
        self.entries.iter().map(|entry| (entry.key.as_slice(), entry.value.show()))
    }

    pub(in crate::plain) fn sample(&self, mut seed: u64) -> Option<(&[u8], V::Ref<'_>)> {
        if self.len() == 0 {
            return None;
        }
        // At least a quarter of the places are taken.
        loop {
            let number = pick(&mut seed, self.entries.places()) as u32;
            if let Some(entry) = self.entries.get(number) {
                return Some((entry.key.as_slice(), entry.value.show()));
            }
        }
    }

    pub(in crate::plain) fn scan(
        &self,
        cursor: u64,
        count: usize,
        mut each: impl FnMut(&[u8], V::Ref<'_>),
    ) -> u64 {
        let Ok(cursor) = u32::try_from(cursor) else { return 0 };
        u64::from(self.index.scan(cursor, count, |number| {
            let entry = self.entry(number);
            each(entry.key.as_slice(), entry.value.show());
        }))
    }
}
