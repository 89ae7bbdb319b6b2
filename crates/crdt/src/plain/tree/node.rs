//! The nodes of a tree that counts.

use super::{Leaf, Probe};

/// The most children of a node.
const CHILDREN: usize = 64;

#[derive(Clone)]
pub(super) enum Node<L: Leaf> {
    Leaf(L),
    Inner(Box<Inner<L>>),
}

/// Children, all of the same height.
pub(super) struct Inner<L: Leaf> {
    /// How many elements lie below each child.
    counts: Vec<u32>,
    /// The first key of each child; that of the first child may be out of date, and nothing reads it.
    keys: Vec<L::Key>,
    nodes: Vec<Node<L>>,
    /// Bytes that the children allocate.
    below: usize,
}

impl<L: Leaf> Clone for Inner<L> {
    fn clone(&self) -> Self {
        // Copies of arrays have no room to spare: they take less memory.
        let nodes = self.nodes.clone();
        let below = nodes.iter().map(Node::memory).sum();
        Self { counts: self.counts.clone(), keys: self.keys.clone(), nodes, below }
    }
}

/// A node that was split off its left neighbour.
pub(super) struct Right<L: Leaf> {
    count: usize,
    key: L::Key,
    node: Node<L>,
}

/// Where a full node of `len` is split if the last one came to `at`. Series that grow at an end leave full nodes.
fn split_point(len: usize, at: usize) -> usize {
    if at + 1 == len {
        len - 1
    } else if at == 0 {
        1
    } else {
        len / 2
    }
}

impl<L: Leaf> Inner<L> {
    #[inline]
    pub(super) fn node(&self, child: usize) -> &Node<L> {
        &self.nodes[child]
    }

    fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The number of elements before a child.
    #[inline]
    pub(super) fn before(&self, child: usize) -> usize {
        self.counts[..child].iter().sum::<u32>() as usize
    }

    /// The child that has the place `probe`.
    #[inline]
    pub(super) fn child(&self, probe: &impl Probe<L>) -> usize {
        probe.count_keys(&self.keys[1..])
    }

    /// The child that has the element of that rank, and the number of elements before the child.
    #[inline]
    pub(super) fn child_of(&self, rank: usize) -> (usize, usize) {
        let mut before = 0;
        for (child, count) in self.counts.iter().enumerate() {
            if rank < before + *count as usize {
                return (child, before);
            }
            before += *count as usize;
        }
        unreachable!("the rank lies below the node")
    }

    fn count(&self) -> usize {
        self.before(self.len())
    }

    fn adopt(&mut self, child: usize, right: Right<L>) {
        self.counts[child - 1] -= right.count as u32;
        self.below += right.node.memory();
        self.counts.insert(child, right.count as u32);
        self.keys.insert(child, right.key);
        self.nodes.insert(child, right.node);
    }

    fn split_off(&mut self, at: usize) -> Right<L> {
        let nodes = self.nodes.split_off(at);
        let below = nodes.iter().map(Node::memory).sum();
        self.below -= below;
        let right = Self { counts: self.counts.split_off(at), keys: self.keys.split_off(at), nodes, below };
        Right { count: right.count(), key: right.keys[0].clone(), node: Node::Inner(Box::new(right)) }
    }

    fn drop_child(&mut self, child: usize) -> Right<L> {
        let (count, key) = (self.counts.remove(child) as usize, self.keys.remove(child));
        let node = self.nodes.remove(child);
        self.below -= node.memory();
        Right { count, key, node }
    }

    /// Repairs what a removal below `child` left: drops the child, or updates its key, or joins it with a neighbour.
    /// True if the first key below this node is another one now.
    fn repair(&mut self, child: usize, first_changed: bool) -> bool {
        if self.counts[child] == 0 && self.len() > 1 {
            self.drop_child(child);
            return child == 0;
        }
        if first_changed && child > 0 {
            self.keys[child] = self.nodes[child].first();
        }
        if self.nodes[child].is_small() {
            let joined = child + 1 < self.len() && self.join(child);
            if !joined && child > 0 {
                self.join(child - 1);
            }
        }
        first_changed && child == 0
    }

    /// Joins a child with its right neighbour if they fit.
    fn join(&mut self, child: usize) -> bool {
        if !self.nodes[child].fits(&self.nodes[child + 1]) {
            return false;
        }
        let right = self.drop_child(child + 1);
        self.counts[child] += right.count as u32;
        self.below -= self.nodes[child].memory();
        self.nodes[child].append(right);
        self.below += self.nodes[child].memory();
        true
    }

    fn memory(&self) -> usize {
        self.counts.capacity() * size_of::<u32>()
            + self.keys.capacity() * size_of::<L::Key>()
            + self.nodes.capacity() * size_of::<Node<L>>()
            + self.below
    }
}

impl<L: Leaf> Node<L> {
    fn first(&self) -> L::Key {
        match self {
            Self::Leaf(leaf) => leaf.first(),
            Self::Inner(inner) => inner.nodes[0].first(),
        }
    }

    fn is_small(&self) -> bool {
        match self {
            Self::Leaf(leaf) => leaf.is_small(),
            Self::Inner(inner) => inner.len() < CHILDREN / 4,
        }
    }

    fn fits(&self, right: &Self) -> bool {
        match (self, right) {
            (Self::Leaf(left), Self::Leaf(right)) => left.fits(right),
            (Self::Inner(left), Self::Inner(right)) => left.len() + right.len() <= CHILDREN / 4 * 3,
            _ => unreachable!("neighbours are of the same height"),
        }
    }

    fn append(&mut self, right: Right<L>) {
        match (self, right.node) {
            (Self::Leaf(left), Node::Leaf(leaf)) => left.append(leaf),
            (Self::Inner(left), Node::Inner(mut inner)) => {
                inner.keys[0] = right.key;
                left.counts.append(&mut inner.counts);
                left.keys.append(&mut inner.keys);
                left.nodes.append(&mut inner.nodes);
                left.below += inner.below;
            }
            _ => unreachable!("neighbours are of the same height"),
        }
    }

    /// Counts the memory of all nodes, for tests.
    #[cfg(test)]
    pub(super) fn count_memory(&self) -> usize {
        match self {
            Self::Leaf(leaf) => leaf.memory(),
            Self::Inner(inner) => {
                let below = inner.nodes.iter().map(Self::count_memory).sum::<usize>();
                assert_eq!(below, inner.below);
                self.memory()
            }
        }
    }

    /// See [`super::Tree::insert`]; also what had to be split off.
    pub(super) fn insert(
        &mut self,
        probe: &impl Probe<L>,
        put: impl FnOnce(&mut L, usize) -> bool,
    ) -> (bool, Option<Right<L>>) {
        match self {
            Self::Leaf(leaf) => {
                let at = probe.count(leaf);
                let new = put(leaf, at);
                // A value in place of a shorter one may have filled the leaf, too.
                let full = leaf.is_full() && leaf.len() > 1;
                (new, full.then(|| Self::split_leaf(leaf, at)))
            }
            Self::Inner(inner) => {
                let child = inner.child(probe);
                inner.below -= inner.nodes[child].memory();
                let (new, right) = inner.nodes[child].insert(probe, put);
                inner.below += inner.nodes[child].memory();
                inner.counts[child] += u32::from(new);
                let Some(right) = right else { return (new, None) };
                inner.adopt(child + 1, right);
                let full = inner.len() > CHILDREN;
                let at = if child == 0 { 0 } else { child + 1 };
                (new, full.then(|| inner.split_off(split_point(inner.len(), at))))
            }
        }
    }

    fn split_leaf(leaf: &mut L, at: usize) -> Right<L> {
        let right = leaf.split_off(split_point(leaf.len(), at));
        Right { count: right.len(), key: right.first(), node: Node::Leaf(right) }
    }

    /// See [`super::Tree::remove`]; also whether the first key below this node is another one now.
    pub(super) fn remove<R>(
        &mut self,
        probe: &impl Probe<L>,
        take: impl FnOnce(&mut L, usize) -> Option<R>,
    ) -> Option<(R, bool)> {
        match self {
            Self::Leaf(leaf) => {
                let at = probe.count(leaf);
                take(leaf, at).map(|taken| (taken, at == 1))
            }
            Self::Inner(inner) => {
                let child = inner.child(probe);
                let before = inner.nodes[child].memory();
                let (taken, first_changed) = inner.nodes[child].remove(probe, take)?;
                inner.below = inner.below - before + inner.nodes[child].memory();
                inner.counts[child] -= 1;
                Some((taken, inner.repair(child, first_changed)))
            }
        }
    }

    /// Makes this node and what was split off it the two children of a new root with `len` elements.
    pub(super) fn rise(&mut self, len: usize, right: Right<L>) {
        let left = std::mem::replace(self, Self::Leaf(L::default()));
        let counts = vec![(len - right.count) as u32, right.count as u32];
        let keys = vec![left.first(), right.key];
        let below = left.memory() + right.node.memory();
        *self = Self::Inner(Box::new(Inner { counts, keys, nodes: vec![left, right.node], below }));
    }

    /// Drops roots with one child, and all nodes if there are no elements.
    pub(super) fn sink(&mut self, len: usize) {
        if len == 0 {
            *self = Self::Leaf(L::default());
        }
        while let Self::Inner(inner) = self
            && inner.len() == 1
        {
            *self = inner.nodes.pop().expect("there is one child");
        }
    }

    pub(super) fn change(&mut self, leaf: &mut impl FnMut(&mut L), key: &mut impl FnMut(&mut L::Key)) {
        match self {
            Self::Leaf(here) => leaf(here),
            Self::Inner(inner) => {
                inner.keys.iter_mut().for_each(&mut *key);
                inner.nodes.iter_mut().for_each(|node| node.change(leaf, key));
            }
        }
    }

    pub(super) fn memory(&self) -> usize {
        match self {
            Self::Leaf(leaf) => leaf.memory(),
            Self::Inner(inner) => size_of::<Inner<L>>() + inner.memory(),
        }
    }
}
