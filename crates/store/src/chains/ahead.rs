//! Looking ahead: what look-ups of several keys will read is fetched from memory beside each other.
//!
//! In a large store a look-up waits for three lines of memory, one after the other: the index's, the entry's and the
//! value's; one of an element of a large collection for as many more. Each of these steps is taken for all keys before the next
//! one begins, so that the waits overlap.

use super::Store;
use super::entry::{Body, Entry};
use super::table::Place;
use tidemark_core::Write;
use tidemark_crdt::Near;

/// A key that a command names.
#[derive(Clone, Copy, Debug)]
pub struct Sought<'a> {
    /// The key.
    pub key: &'a [u8],
    /// What may be an element of it: the second argument of the command, and the last.
    pub elements: [&'a [u8]; 2],
}

/// Where a look-up of a key begins.
#[derive(Clone, Copy)]
pub struct Start(Place);

/// Where it probably ends.
#[derive(Clone, Copy)]
pub struct Probable(u32);

impl<M: Clone> Store<M> {
    /// Reads no memory but the key.
    #[inline]
    pub fn start(&self, key: &[u8]) -> Start {
        Start(self.tables.place_of(key))
    }

    /// Reads the index.
    #[inline]
    pub fn probable(&self, Start(place): Start) -> Option<Probable> {
        self.tables.home(place).map(Probable)
    }

    /// Reads the entry. The result says nothing, but has to be used: else nothing would be read.
    #[inline]
    pub fn touch(&self, Probable(handle): Probable) -> u64 {
        self.tables.get(handle).map_or(0, Entry::touch)
    }

    /// Reads the value, as [`Self::touch`] the entry, which comes before it.
    #[inline]
    pub fn touch_value(&self, Probable(handle): Probable) -> u64 {
        self.tables.get(handle).map_or(0, Entry::touch_value)
    }

    /// Reads the index of a large collection, which comes after the entry: where the look-up of an element probably ends.
    #[inline]
    pub fn near(&self, Probable(handle): Probable, elements: [&[u8]; 2]) -> Option<Near<'_>> {
        self.tables.get(handle)?.object()?.head().near(elements)
    }
}

impl<M: Clone> Entry<M> {
    /// Reads parts that may lie in different lines.
    #[inline]
    fn touch(&self) -> u64 {
        let body = match &self.body {
            Body::Register { newest, older, .. } => {
                newest.stamp.ts.0 ^ u64::from(*older) ^ newest.write.len() as u64
            }
            Body::Object { object, .. } => object.last().ts.0,
        };
        body ^ self.key.first().copied().map_or(0, u64::from)
    }

    #[inline]
    fn touch_value(&self) -> u64 {
        match &self.body {
            Body::Register { newest, .. } => match &newest.write {
                Write::Assign(value) => ends(value),
                _ => 0,
            },
            Body::Object { object, .. } => object.head().touch(),
        }
    }
}

/// Reads a string's first and last byte: a short one lies in two lines at most.
#[inline]
fn ends(value: &[u8]) -> u64 {
    value.first().zip(value.last()).map_or(0, |(first, last)| u64::from(first ^ last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chains::Version;
    use tidemark_core::Stamp;

    #[test]
    fn most_look_ups_end_where_they_probably_do() {
        let mut store = Store::<()>::new(7);
        assert!(store.probable(store.start(b"k")).is_none());
        let keys: Vec<String> = (0..1_000).map(|number| format!("{{one slot}}:{number}")).collect();
        for key in &keys {
            let write = Write::Assign(key.as_bytes().into());
            store.insert(key.as_bytes(), Version { stamp: Stamp::default(), meta: (), write });
        }
        let hits = keys.iter().filter(|key| {
            let end = store.probable(store.start(key.as_bytes()));
            let handle = end.map(|Probable(handle)| handle);
            handle.is_some_and(|handle| store.tables.find(key.as_bytes()) == Some(handle))
        });
        let hits = hits.count();
        assert!(hits > 500, "{hits} of 1,000");
        // Where no entry is, there is nothing to read.
        assert_eq!(store.touch(Probable(u32::MAX)) | store.touch_value(Probable(u32::MAX)), 0);
    }
}
