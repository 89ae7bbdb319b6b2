//! A list: values in the order of positions, found by position and by index.
//!
//! Positions are byte strings; those of neighbours begin alike. Values stand in chunks of up to 128, each with what
//! its positions have in common, under a tree that counts. A short list is one chunk.

mod chunk;
mod position;
mod range;

use super::Text;
use super::tree::Tree;
use chunk::{Chunk, Place};
pub use position::Position;
pub use range::SequenceRange;
use std::fmt;
use std::ops::Range;

/// Values in the order of their positions.
///
/// Positions are distinct and compare as byte strings. They cost least if neighbours share long prefixes.
#[derive(Clone)]
pub struct Sequence {
    tree: Tree<Chunk>,
    longest: usize,
}

impl Default for Sequence {
    fn default() -> Self {
        Self::new()
    }
}

impl Sequence {
    /// An empty list; it allocates nothing.
    pub fn new() -> Self {
        Self { tree: Tree::new(), longest: 0 }
    }

    /// The number of values. O(1).
    #[inline]
    pub fn len(&self) -> usize {
        self.tree.len()
    }

    /// Whether there are no values. O(1).
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts a value at a position, in place of an older one; true if there was none. O(log n), least at the ends.
    pub fn insert(&mut self, position: &[u8], value: &[u8]) -> bool {
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

    /// Takes the value at a position out; true if there was one. O(log n), least at the ends.
    pub fn remove(&mut self, position: &[u8]) -> bool {
        let place = Place { position, inclusive: true };
        let taken = self.tree.remove(&place, |chunk, at| {
            let found = at > 0 && chunk.position(at - 1) == *position;
            found.then(|| chunk.remove(at - 1))
        });
        taken.is_some()
    }

    /// The value at a position. O(log n).
    pub fn get(&self, position: &[u8]) -> Option<&[u8]> {
        let (chunk, at, _) = self.tree.seek(&Place { position, inclusive: true });
        let found = at > 0 && chunk.position(at - 1) == *position;
        found.then(|| chunk.get(at - 1).1)
    }

    /// The position and the value with that index. O(log n).
    pub fn at(&self, index: usize) -> Option<(Position<'_>, &[u8])> {
        if index >= self.len() {
            return None;
        }
        let (chunk, at) = self.tree.locate(index);
        Some(chunk.get(at))
    }

    /// The number of values before a position, whether there is one at it or not. O(log n).
    pub fn index_of(&self, position: &[u8]) -> usize {
        self.tree.rank(&Place { position, inclusive: false })
    }

    /// The first position and its value. O(log n).
    pub fn first(&self) -> Option<(Position<'_>, &[u8])> {
        self.at(0)
    }

    /// The last position and its value. O(log n).
    pub fn last(&self) -> Option<(Position<'_>, &[u8])> {
        self.at(self.len().checked_sub(1)?)
    }

    /// Positions and values with these indices, as far as there are any, from either end. O(log n), and O(1) for each.
    pub fn range(&self, indices: Range<usize>) -> SequenceRange<'_> {
        SequenceRange::new(self.tree.range(indices))
    }

    /// All positions and values in their order.
    pub fn iter(&self) -> SequenceRange<'_> {
        self.range(0..self.len())
    }

    /// The length in bytes of the longest value that was ever inserted. O(1).
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Bytes allocated, without those of the list itself. O(1).
    pub fn memory(&self) -> usize {
        self.tree.memory()
    }
}

impl fmt::Debug for Sequence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.iter().map(|(position, value)| (position, Text(value)));
        formatter.debug_map().entries(entries).finish()
    }
}
