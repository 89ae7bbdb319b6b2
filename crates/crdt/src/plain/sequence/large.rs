//! A long list: chunks under a tree that counts.

use super::Position;
use super::chunk::{Chunk, Place};
use super::packed::Entries;
use crate::plain::tree::{Range, Tree};
use std::ops;

#[derive(Clone)]
pub(super) struct Large {
    tree: Tree<Chunk>,
    longest: usize,
}

impl Large {
    /// A list of these values, which come in order.
    pub(super) fn collect(longest: usize, entries: Entries<'_>) -> Self {
        let mut large = Self { tree: Tree::new(), longest };
        entries.for_each(|(position, value)| _ = large.insert(&position.to_vec(), value));
        large
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.tree.len()
    }

    pub(super) fn insert(&mut self, position: &[u8], value: &[u8]) -> bool {
        self.longest = self.longest.max(value.len());
        self.tree.insert(&Place { position, inclusive: true }, |chunk, at| {
            let new = at == 0 || chunk.position(at - 1) != *position;
            if new {
                chunk.insert(at, position, value);
            } else {
                chunk.replace(at - 1, position, value);
            }
            new
        })
    }

    pub(super) fn remove(&mut self, position: &[u8]) -> bool {
        let place = Place { position, inclusive: true };
        let taken = self.tree.remove(&place, |chunk, at| {
            let found = at > 0 && chunk.position(at - 1) == *position;
            found.then(|| chunk.remove(at - 1))
        });
        taken.is_some()
    }

    pub(super) fn get(&self, position: &[u8]) -> Option<&[u8]> {
        let (chunk, at, _) = self.tree.seek(&Place { position, inclusive: true });
        let found = at > 0 && chunk.position(at - 1) == *position;
        found.then(|| chunk.get(at - 1).1)
    }

    /// REQUIRES: the index is below the length.
    pub(super) fn at(&self, index: usize) -> (Position<'_>, &[u8]) {
        let (chunk, at) = self.tree.locate(index);
        chunk.get(at)
    }

    pub(super) fn index_of(&self, position: &[u8]) -> usize {
        self.tree.rank(&Place { position, inclusive: false })
    }

    pub(super) fn range(&self, indices: ops::Range<usize>) -> Range<'_, Chunk> {
        self.tree.range(indices)
    }

    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    pub(super) fn memory(&self) -> usize {
        self.tree.memory()
    }
}
