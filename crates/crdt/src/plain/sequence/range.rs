//! Values between two indices.

use super::Position;
use super::chunk::Chunk;
use crate::plain::tree;

/// Positions and values in order, from either end.
#[derive(Clone)]
pub struct SequenceRange<'a>(tree::Range<'a, Chunk>);

impl<'a> SequenceRange<'a> {
    pub(super) fn new(range: tree::Range<'a, Chunk>) -> Self {
        Self(range)
    }
}

impl<'a> Iterator for SequenceRange<'a> {
    type Item = (Position<'a>, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(chunk, at)| chunk.get(at))
    }

    fn nth(&mut self, skipped: usize) -> Option<Self::Item> {
        self.0.nth(skipped).map(|(chunk, at)| chunk.get(at))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl DoubleEndedIterator for SequenceRange<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(chunk, at)| chunk.get(at))
    }
}

impl ExactSizeIterator for SequenceRange<'_> {}
