//! A small table: one array of bytes.
//!
//! The first byte is the number of entries, the second the longest length that was ever put in. Then comes, for each
//! entry, the length of its key in a byte, the key, and the packed value. An empty table has no array at all.

use super::Slot;
use crate::plain::block::Block;
use crate::plain::pick;
use std::marker::PhantomData;
use std::ops::Range;

const HEADER: usize = 2;

#[derive(Clone)]
pub(super) struct Packed<V> {
    bytes: Block,
    values: PhantomData<V>,
}

/// Entries from a place on.
struct Entries<'a, V> {
    bytes: &'a [u8],
    values: PhantomData<V>,
}

impl<'a, V: Slot> Iterator for Entries<'a, V> {
    type Item = (&'a [u8], V::Ref<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (length, rest) = self.bytes.split_first()?;
        let (key, rest) = rest.split_at(usize::from(*length));
        let value = V::unpack(rest);
        self.bytes = &rest[V::packed_len(value)..];
        Some((key, value))
    }
}

impl<V: Slot> Packed<V> {
    pub(super) fn new() -> Self {
        Self { bytes: Block::default(), values: PhantomData }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.bytes.first().map_or(0, |len| usize::from(*len))
    }

    pub(super) fn longest(&self) -> usize {
        self.bytes.get(1).map_or(0, |longest| usize::from(*longest))
    }

    pub(super) fn memory(&self) -> usize {
        self.bytes.memory()
    }

    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], V::Ref<'_>)> {
        Entries::<V> { bytes: self.bytes.get(HEADER..).unwrap_or_default(), values: PhantomData }
    }

    #[inline]
    pub(super) fn get(&self, key: &[u8]) -> Option<V::Ref<'_>> {
        self.iter().find(|(there, _)| *there == key).map(|(_, value)| value)
    }

    /// Where the entry with `key` stands, and where in it its value begins.
    fn find(&self, key: &[u8]) -> Option<(Range<usize>, usize)> {
        let mut from = HEADER;
        for (there, value) in self.iter() {
            let at = from + 1 + there.len();
            let to = at + V::packed_len(value);
            if there == key {
                return Some((from..to, at));
            }
            from = to;
        }
        None
    }

    /// Whether the entry is new; none, and nothing changed, if there is no room for it.
    /// REQUIRES: lengths fit into a byte, and so does `limit`.
    pub(super) fn insert(&mut self, key: &[u8], value: V::Ref<'_>, limit: usize) -> Option<bool> {
        let found = self.find(key);
        let new = found.is_none();
        if new && self.len() >= limit {
            return None;
        }
        self.prepare(key.len().max(V::size(value)), new);
        match found {
            Some((entry, at)) => V::pack(value, self.bytes.splice(at..entry.end, V::packed_len(value))),
            None => {
                let entry = self.bytes.append(1 + key.len() + V::packed_len(value));
                entry[0] = key.len() as u8;
                entry[1..=key.len()].copy_from_slice(key);
                V::pack(value, &mut entry[1 + key.len()..]);
            }
        }
        Some(new)
    }

    /// Counts an entry in the header.
    fn prepare(&mut self, longest: usize, new: bool) {
        if self.bytes.is_empty() {
            self.bytes.append(HEADER).fill(0);
        }
        self.bytes[0] += u8::from(new);
        self.bytes[1] = self.bytes[1].max(longest as u8);
    }

    pub(super) fn remove(&mut self, key: &[u8]) -> bool {
        let Some((entry, _)) = self.find(key) else { return false };
        self.bytes.splice(entry, 0);
        self.bytes[0] -= 1;
        self.bytes.shrink();
        true
    }

    pub(super) fn sample(&self, mut seed: u64) -> Option<(&[u8], V::Ref<'_>)> {
        let len = self.len();
        if len == 0 { None } else { self.iter().nth(pick(&mut seed, len)) }
    }
}
