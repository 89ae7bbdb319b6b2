//! Values between two indices.

use super::Position;
use super::chunk::Chunk;
use super::packed::Entries;
use crate::plain::tree;

/// Positions and values in order, from either end.
#[derive(Clone)]
pub struct SequenceRange<'a>(Form<'a>);

#[derive(Clone)]
enum Form<'a> {
    Packed(Entries<'a>),
    Large(tree::Range<'a, Chunk>),
}

impl<'a> SequenceRange<'a> {
    pub(super) fn packed(entries: Entries<'a>) -> Self {
        Self(Form::Packed(entries))
    }

    pub(super) fn large(range: tree::Range<'a, Chunk>) -> Self {
        Self(Form::Large(range))
    }
}

impl<'a> Iterator for SequenceRange<'a> {
    type Item = (Position<'a>, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Form::Packed(entries) => entries.next(),
            Form::Large(range) => range.next().map(|(chunk, at)| chunk.get(at)),
        }
    }

    fn nth(&mut self, skipped: usize) -> Option<Self::Item> {
        match &mut self.0 {
            Form::Packed(entries) => entries.nth(skipped),
            Form::Large(range) => range.nth(skipped).map(|(chunk, at)| chunk.get(at)),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            Form::Packed(entries) => entries.size_hint(),
            Form::Large(range) => range.size_hint(),
        }
    }
}

impl DoubleEndedIterator for SequenceRange<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Form::Packed(entries) => entries.next_back(),
            Form::Large(range) => range.next_back().map(|(chunk, at)| chunk.get(at)),
        }
    }
}

impl ExactSizeIterator for SequenceRange<'_> {}
