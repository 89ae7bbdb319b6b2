//! A table from byte strings to nothing, byte strings or numbers: behind sets, hashes and the scores of sorted sets.
//!
//! A table is packed while it has at most 128 entries with keys and values of at most 64 bytes: one array of bytes
//! that is searched from its beginning. Then it is converted, once and for good, into an index over numbered entries.

mod large;
mod packed;
mod slot;

pub(super) use large::Large;
pub(crate) use large::Near;
use packed::Packed;
pub use slot::Slot;
use std::fmt;

use super::{PACKED_BYTES, PACKED_ENTRIES, SEED, Text};

/// A table from byte strings to values of one kind.
///
/// `V` is `()` for the members of a set, [`ShortBytes`](super::ShortBytes) for the fields of a hash, `f64` for scores.
/// Iterators and scans follow from the calls that were made.
#[derive(Clone)]
pub struct Table<V: Slot> {
    form: Form<V>,
}

#[derive(Clone)]
enum Form<V: Slot> {
    Packed(Packed<V>),
    Large(Box<Large<V>>),
}

impl<V: Slot> Default for Table<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Slot> Table<V> {
    /// An empty table; it allocates nothing.
    pub fn new() -> Self {
        Self { form: Form::Packed(Packed::new()) }
    }

    /// The number of entries. O(1).
    #[inline]
    pub fn len(&self) -> usize {
        match &self.form {
            Form::Packed(packed) => packed.len(),
            Form::Large(large) => large.len(),
        }
    }

    /// Whether there are no entries. O(1).
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the table is one array of bytes: Redis's `listpack` as opposed to its `hashtable`.
    #[inline]
    pub fn is_packed(&self) -> bool {
        matches!(self.form, Form::Packed(_))
    }

    /// The value under `key`. O(1), a walk over the entries if packed.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Option<V::Ref<'_>> {
        match &self.form {
            Form::Packed(packed) => packed.get(key),
            Form::Large(large) => large.get(key),
        }
    }

    /// Where a look-up of `key` probably ends, unless the table is packed. Reads the index.
    #[inline]
    pub(crate) fn near(&self, key: &[u8]) -> Option<Near<'_, V>> {
        match &self.form {
            Form::Packed(_) => None,
            Form::Large(large) => large.near(key),
        }
    }

    /// Whether there is an entry with `key`. As [`Self::get`].
    #[inline]
    pub fn contains(&self, key: &[u8]) -> bool {
        self.get(key).is_some()
    }

    /// Puts `value` under `key`, in place of an older one; true if there was none. O(1) amortised.
    pub fn insert(&mut self, key: &[u8], value: V::Ref<'_>) -> bool {
        if let Form::Packed(packed) = &mut self.form {
            if key.len().max(V::size(value)) <= PACKED_BYTES
                && let Some(new) = packed.insert(key, value, PACKED_ENTRIES)
            {
                return new;
            }
            self.convert();
        }
        match &mut self.form {
            Form::Large(large) => large.insert(key, value),
            Form::Packed(_) => unreachable!("it was converted"),
        }
    }

    fn convert(&mut self) {
        if let Form::Packed(packed) = &self.form {
            let large = Large::collect(SEED, packed.longest(), packed.len(), packed.iter());
            self.form = Form::Large(Box::new(large));
        }
    }

    /// Takes out the entry with `key`; true if there was one. O(1) amortised, a walk over the entries if packed.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        match &mut self.form {
            Form::Packed(packed) => packed.remove(key),
            Form::Large(large) => large.remove(key),
        }
    }

    /// All entries, in the order of their coming if packed.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], V::Ref<'_>)> {
        let (packed, large) = match &self.form {
            Form::Packed(packed) => (Some(packed.iter()), None),
            Form::Large(large) => (None, Some(large.iter())),
        };
        packed.into_iter().flatten().chain(large.into_iter().flatten())
    }

    /// One entry, each equally likely over all seeds. O(1).
    pub fn sample(&self, seed: u64) -> Option<(&[u8], V::Ref<'_>)> {
        match &self.form {
            Form::Packed(packed) => packed.sample(seed),
            Form::Large(large) => large.sample(seed),
        }
    }

    /// Calls `each` with about `count` entries and returns the cursor to go on with: 0 at the end, as at the start.
    ///
    /// An entry that is there from the start of a scan to its end is seen at least once, whatever comes and goes
    /// meanwhile. A cursor is the upper half of a hash. O(count); a packed table is seen as a whole.
    pub fn scan(&self, cursor: u64, count: usize, mut each: impl FnMut(&[u8], V::Ref<'_>)) -> u64 {
        match &self.form {
            Form::Packed(packed) => {
                packed.iter().for_each(|(key, value)| each(key, value));
                0
            }
            Form::Large(large) => large.scan(cursor, count, each),
        }
    }

    /// The length in bytes of the longest key or value that was ever inserted. O(1).
    pub fn longest(&self) -> usize {
        match &self.form {
            Form::Packed(packed) => packed.longest(),
            Form::Large(large) => large.longest(),
        }
    }

    /// Bytes allocated, without the table's own 16. O(1).
    pub fn memory(&self) -> usize {
        match &self.form {
            Form::Packed(packed) => packed.memory(),
            Form::Large(large) => size_of::<Large<V>>() + large.memory(),
        }
    }
}

impl<V: Slot> fmt::Debug for Table<V>
where
    for<'a> V::Ref<'a>: fmt::Debug,
{
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.iter().map(|(key, value)| (Text(key), value))).finish()
    }
}
