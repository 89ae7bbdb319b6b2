//! Elements between two ranks, from either end.

use super::{Leaf, Tree};

/// An iterator over leaves and places in them. A new leaf costs a descent, an element inside a leaf almost nothing.
pub(in crate::plain) struct Range<'a, L: Leaf> {
    tree: &'a Tree<L>,
    from: usize,
    to: usize,
    front: Option<Window<'a, L>>,
    back: Option<Window<'a, L>>,
}

/// A leaf and the rank of its first element.
struct Window<'a, L> {
    leaf: &'a L,
    start: usize,
}

impl<L> Clone for Window<'_, L> {
    fn clone(&self) -> Self {
        Self { leaf: self.leaf, start: self.start }
    }
}

impl<L: Leaf> Clone for Range<'_, L> {
    fn clone(&self) -> Self {
        Self { front: self.front.clone(), back: self.back.clone(), ..*self }
    }
}

/// The element of that rank; `window` moves to its leaf.
#[inline]
fn seek<'a, L: Leaf>(tree: &'a Tree<L>, window: &mut Option<Window<'a, L>>, rank: usize) -> (&'a L, usize) {
    if let Some(Window { leaf, start }) = window
        && let Some(place) = rank.checked_sub(*start)
        && place < leaf.len()
    {
        return (leaf, place);
    }
    let (leaf, place) = tree.locate(rank);
    *window = Some(Window { leaf, start: rank - place });
    (leaf, place)
}

impl<'a, L: Leaf> Range<'a, L> {
    pub(super) fn new(tree: &'a Tree<L>, ranks: std::ops::Range<usize>) -> Self {
        let to = ranks.end.min(tree.len());
        Self { tree, from: ranks.start.min(to), to, front: None, back: None }
    }
}

impl<'a, L: Leaf> Iterator for Range<'a, L> {
    type Item = (&'a L, usize);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.from == self.to {
            return None;
        }
        self.from += 1;
        Some(seek(self.tree, &mut self.front, self.from - 1))
    }

    fn nth(&mut self, skipped: usize) -> Option<Self::Item> {
        self.from += skipped.min(self.len());
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.to - self.from, Some(self.to - self.from))
    }
}

impl<L: Leaf> DoubleEndedIterator for Range<'_, L> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.from == self.to {
            return None;
        }
        self.to -= 1;
        Some(seek(self.tree, &mut self.back, self.to))
    }
}

impl<L: Leaf> ExactSizeIterator for Range<'_, L> {}
