//! Versions that newer ones have taken the place of, until collection: lists in one slab.
//!
//! Most live for some milliseconds. A slab that hands out first what was given back last keeps them in the caches,
//! where an allocation for each would be cold both when it is made and when it is freed.

use super::{Version, bytes};
use std::iter;
use tidemark_core::Stamp;

/// No list, or the end of one.
pub(super) const NONE: u32 = u32::MAX;

struct Node<M> {
    /// None if the node is free.
    version: Option<Version<M>>,
    /// The next older version, or the next free node.
    next: u32,
}

/// The slab.
pub(super) struct Older<M> {
    nodes: Vec<Node<M>>,
    free: u32,
    used: usize,
}

/// With no more nodes than this an empty slab keeps its memory.
const KEPT: usize = 4096;

impl<M> Older<M> {
    pub(super) fn new() -> Self {
        Self { nodes: Vec::new(), free: NONE, used: 0 }
    }

    /// A list of `version` and what stands in the list `next`.
    #[inline]
    pub(super) fn push(&mut self, version: Version<M>, next: u32) -> u32 {
        self.used += 1;
        let node = Node { version: Some(version), next };
        if self.free == NONE {
            self.nodes.push(node);
            return self.nodes.len() as u32 - 1;
        }
        let at = self.free;
        self.free = self.nodes[at as usize].next;
        self.nodes[at as usize] = node;
        at
    }

    #[inline]
    fn version(&self, at: u32) -> &Version<M> {
        self.nodes[at as usize].version.as_ref().expect("lists hold versions")
    }

    /// The newest version of a list, and the list of the others.
    #[inline]
    pub(super) fn at(&self, head: u32) -> Option<(&Version<M>, u32)> {
        let node = self.nodes.get(head as usize)?;
        Some((node.version.as_ref()?, node.next))
    }

    /// The version `stamp` of a list.
    pub(super) fn find_mut(&mut self, head: u32, stamp: Stamp) -> Option<&mut Version<M>> {
        let place = self.places(head).find(|at| self.version(*at).stamp == stamp)?;
        self.nodes[place as usize].version.as_mut()
    }

    fn places(&self, head: u32) -> impl Iterator<Item = u32> {
        let place = |at: u32| (at != NONE).then_some(at);
        iter::successors(place(head), move |at| place(self.nodes[*at as usize].next))
    }

    /// Puts `version` where it belongs in the list `head`; false if it is there already. Returns the list.
    pub(super) fn insert(&mut self, head: u32, version: Version<M>) -> (u32, bool) {
        let before = self.places(head).take_while(|at| self.version(*at).stamp > version.stamp).last();
        let after = before.map_or(head, |at| self.nodes[at as usize].next);
        if after != NONE && self.version(after).stamp == version.stamp {
            return (head, false);
        }
        let new = self.push(version, after);
        match before {
            Some(before) => self.nodes[before as usize].next = new,
            None => return (new, true),
        }
        (head, true)
    }

    /// Drops a list; returns how many versions that were and how many bytes of values.
    #[inline]
    pub(super) fn drop_list(&mut self, head: u32) -> (u64, u64) {
        let (mut at, mut dropped) = (head, (0, 0));
        while at != NONE {
            let node = &mut self.nodes[at as usize];
            let next = std::mem::replace(&mut node.next, self.free);
            if let Some(version) = node.version.take() {
                dropped = (dropped.0 + 1, dropped.1 + bytes(&version));
            }
            self.free = at;
            self.used -= 1;
            at = next;
        }
        if self.used == 0 && self.nodes.len() > KEPT {
            *self = Self::new(); // what a long cut took is given back
        }
        dropped
    }

    /// Drops the oldest versions of the list `head`, those that do not stay. Returns the list, and the same as
    /// [`Self::drop_list`].
    pub(super) fn keep(&mut self, head: u32, stays: impl Fn(Stamp) -> bool) -> (u32, (u64, u64)) {
        let last = self.places(head).take_while(|at| stays(self.version(*at).stamp)).last();
        match last {
            Some(last) => {
                let tail = std::mem::replace(&mut self.nodes[last as usize].next, NONE);
                (head, self.drop_list(tail))
            }
            None => (NONE, self.drop_list(head)),
        }
    }

    /// Drops what in the list `head` is older than the newest version that satisfies `safe`; returns the same as
    /// [`Self::drop_list`].
    pub(super) fn cut(&mut self, head: u32, safe: impl FnMut(&Version<M>) -> bool) -> (u64, u64) {
        let mut safe = safe;
        let Some(base) = self.places(head).find(|at| safe(self.version(*at))) else { return (0, 0) };
        let tail = std::mem::replace(&mut self.nodes[base as usize].next, NONE);
        self.drop_list(tail)
    }
}
