//! A tree that counts: leaves of many elements in order, and nodes that know how many elements lie below each child.
//!
//! The tree finds an element by its key or by its rank, and a rank by a key, in as many steps as it has levels; 64
//! children a node make a million elements three of them. Keys are the leaves' business: an element is sought with a
//! [`Probe`], which says how many of some keys lie before the place that is sought. A node keeps the first key of each
//! child but the first, exactly: a key may point at an entry that is gone once the element is.

mod node;
mod range;
#[cfg(test)]
mod tests;

use node::Node;
pub(super) use range::Range;

/// Elements in order, as many as one should copy at a time.
pub(super) trait Leaf: Clone + Default {
    /// Where an element stands in the order.
    type Key: Clone;

    /// The number of elements.
    fn len(&self) -> usize;

    /// The key of the first element. REQUIRES: there is one.
    fn first(&self) -> Self::Key;

    /// Whether it must be split.
    fn is_full(&self) -> bool;

    /// Whether it should be joined with a neighbour.
    fn is_small(&self) -> bool;

    /// Whether it can be joined with its right neighbour and is then far from full.
    fn fits(&self, right: &Self) -> bool;

    /// Keeps the first `at` elements and returns the rest. REQUIRES: neither part is empty.
    fn split_off(&mut self, at: usize) -> Self;

    /// Takes over its right neighbour's elements.
    fn append(&mut self, right: Self);

    /// Bytes allocated. O(1).
    fn memory(&self) -> usize;
}

/// A place in the order: some elements lie before it, all others do not.
pub(super) trait Probe<L: Leaf> {
    /// How many of these keys, which come in order, are of elements before the place.
    fn count_keys(&self, keys: &[L::Key]) -> usize;

    /// How many elements of a leaf lie before the place.
    fn count(&self, leaf: &L) -> usize;
}

#[derive(Clone)]
pub(super) struct Tree<L: Leaf> {
    root: Node<L>,
    len: usize,
}

impl<L: Leaf> Tree<L> {
    pub(super) fn new() -> Self {
        Self { root: Node::Leaf(L::default()), len: 0 }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Calls `put` with the leaf that has the place `probe` and the number of elements before the place in it. True
    /// if `put` says that there is an element more.
    pub(super) fn insert(&mut self, probe: &impl Probe<L>, put: impl FnOnce(&mut L, usize) -> bool) -> bool {
        let (new, right) = self.root.insert(probe, put);
        self.len += usize::from(new);
        if let Some(right) = right {
            self.root.rise(self.len, right);
        }
        new
    }

    /// Calls `take` as [`Self::insert`] does. If it returns something, it took out the last element before the place.
    pub(super) fn remove<R>(
        &mut self,
        probe: &impl Probe<L>,
        take: impl FnOnce(&mut L, usize) -> Option<R>,
    ) -> Option<R> {
        let (taken, _) = self.root.remove(probe, take)?;
        self.len -= 1;
        self.root.sink(self.len);
        Some(taken)
    }

    /// The number of elements before the place `probe`.
    pub(super) fn rank(&self, probe: &impl Probe<L>) -> usize {
        self.seek(probe).2
    }

    /// The leaf that has the place `probe`, the number of elements before the place in it, and in all.
    pub(super) fn seek(&self, probe: &impl Probe<L>) -> (&L, usize, usize) {
        let (mut node, mut before) = (&self.root, 0);
        loop {
            match node {
                Node::Leaf(leaf) => {
                    let here = probe.count(leaf);
                    return (leaf, here, before + here);
                }
                Node::Inner(inner) => {
                    let child = inner.child(probe);
                    before += inner.before(child);
                    node = inner.node(child);
                }
            }
        }
    }

    /// The leaf with the element of that rank, and the number of elements before it in the leaf.
    /// REQUIRES: the rank is below `len()`.
    pub(super) fn locate(&self, mut rank: usize) -> (&L, usize) {
        let mut node = &self.root;
        loop {
            match node {
                Node::Leaf(leaf) => return (leaf, rank),
                Node::Inner(inner) => {
                    let (child, before) = inner.child_of(rank);
                    rank -= before;
                    node = inner.node(child);
                }
            }
        }
    }

    /// The elements with these ranks, each as its leaf and its place in it.
    pub(super) fn range(&self, ranks: std::ops::Range<usize>) -> Range<'_, L> {
        Range::new(self, ranks)
    }

    /// Changes all leaves and all keys in nodes, none of which may change places.
    pub(super) fn change(&mut self, mut leaf: impl FnMut(&mut L), mut key: impl FnMut(&mut L::Key)) {
        self.root.change(&mut leaf, &mut key);
    }

    /// Bytes allocated. O(1).
    pub(super) fn memory(&self) -> usize {
        self.root.memory()
    }
}
