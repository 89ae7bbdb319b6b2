//! A large sorted set: a table from members to scores, and a tree that keeps the entries of the table in order.
//!
//! The tree keeps, for each member, its score as a whole number, its first four bytes and the number of its entry: 16
//! bytes. Comparisons read the entry only if scores and first bytes are equal.

use crate::plain::table;
use crate::plain::tree::{self, Leaf, Probe, Tree};
use std::cmp::Ordering;
use std::ops::Range;

/// The most items of a leaf.
const ITEMS: usize = 64;

/// Where a member stands in the order.
#[derive(Clone, Copy)]
pub(super) struct Item {
    /// A number that grows with the score.
    order: u64,
    /// The member's first bytes as a number, with zeros behind a shorter one.
    start: u32,
    /// The number of the entry, which has the score itself.
    number: u32,
}

#[derive(Clone, Default)]
pub(super) struct Items(Vec<Item>);

impl Leaf for Items {
    type Key = Item;

    #[inline]
    fn len(&self) -> usize {
        self.0.len()
    }

    fn first(&self) -> Item {
        self.0[0]
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.0.len() >= ITEMS
    }

    #[inline]
    fn is_small(&self) -> bool {
        self.0.len() < ITEMS / 4
    }

    fn fits(&self, right: &Self) -> bool {
        self.0.len() + right.0.len() <= ITEMS / 4 * 3
    }

    fn split_off(&mut self, at: usize) -> Self {
        Self(self.0.split_off(at))
    }

    fn append(&mut self, mut right: Self) {
        self.0.append(&mut right.0);
    }

    fn memory(&self) -> usize {
        self.0.capacity() * size_of::<Item>()
    }
}

fn start_of(member: &[u8]) -> u32 {
    let mut start = [0; 4];
    let length = member.len().min(4);
    start[..length].copy_from_slice(&member[..length]);
    u32::from_be_bytes(start)
}

/// A number for each score that compares as the scores do; equal for zeros of both signs.
#[inline]
fn order_of(score: f64) -> u64 {
    // Adding makes a negative zero a positive one.
    let bits = (score + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

impl Item {
    /// Score and first bytes as one number: compared without a branch.
    #[inline]
    fn rough(&self) -> u128 {
        u128::from(self.order) << 32 | u128::from(self.start)
    }
}

/// The place before or, if inclusive, behind a member with a score.
struct At<'a> {
    table: &'a table::Large<f64>,
    member: &'a [u8],
    order: u64,
    start: u32,
    inclusive: bool,
}

impl<'a> At<'a> {
    fn new(table: &'a table::Large<f64>, member: &'a [u8], order: u64, inclusive: bool) -> Self {
        Self { table, member, order, start: start_of(member), inclusive }
    }

    fn is_behind(&self, item: &Item) -> bool {
        let order = self.table.key(item.number).cmp(self.member);
        order == Ordering::Less || (self.inclusive && order == Ordering::Equal)
    }
}

impl Probe<Items> for At<'_> {
    #[inline]
    fn count_keys(&self, keys: &[Item]) -> usize {
        let rough = u128::from(self.order) << 32 | u128::from(self.start);
        let before = keys.partition_point(|item| item.rough() < rough);
        match &keys[before..] {
            [next, ..] if next.rough() == rough => {
                let is_behind = |item: &Item| item.rough() == rough && self.is_behind(item);
                before + keys[before..].partition_point(is_behind)
            }
            _ => before,
        }
    }

    #[inline]
    fn count(&self, leaf: &Items) -> usize {
        self.count_keys(&leaf.0)
    }
}

/// The place before or, if inclusive, behind all members with a score.
struct AtScore {
    order: u64,
    inclusive: bool,
}

impl Probe<Items> for AtScore {
    #[inline]
    fn count_keys(&self, keys: &[Item]) -> usize {
        let bound = u128::from(self.order) + u128::from(self.inclusive);
        keys.partition_point(|item| u128::from(item.order) < bound)
    }

    #[inline]
    fn count(&self, leaf: &Items) -> usize {
        self.count_keys(&leaf.0)
    }
}

#[derive(Clone)]
pub(super) struct Large {
    table: table::Large<f64>,
    tree: Tree<Items>,
}

impl Large {
    /// A set of `len` distinct members that come in order.
    pub(super) fn collect<'a>(
        seed: u64,
        longest: usize,
        len: usize,
        members: impl Iterator<Item = (&'a [u8], f64)> + Clone,
    ) -> Self {
        let table = table::Large::collect(seed, longest, len, members.clone());
        let mut large = Self { table, tree: Tree::new() };
        for (number, (member, score)) in members.enumerate() {
            // An empty table numbers its entries in the order of their coming.
            large.link(member, score, number as u32);
        }
        large
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    pub(super) fn longest(&self) -> usize {
        self.table.longest()
    }

    pub(super) fn memory(&self) -> usize {
        self.table.memory() + self.tree.memory()
    }

    /// See [`super::Ranked::near`].
    #[inline]
    pub(super) fn near(&self, member: &[u8]) -> Option<table::Near<'_, f64>> {
        self.table.near(member)
    }

    #[inline]
    pub(super) fn score(&self, member: &[u8]) -> Option<f64> {
        self.table.find(member).map(|number| self.table.value(number))
    }

    pub(super) fn insert(&mut self, member: &[u8], score: f64) -> Option<f64> {
        let Some(number) = self.table.find(member) else {
            let number = self.table.add(member, score);
            self.link(member, score, number);
            return None;
        };
        let old = self.table.value(number);
        if old.to_bits() != score.to_bits() {
            self.unlink(member, old);
            self.table.replace(number, score);
            self.link(member, score, number);
        }
        Some(old)
    }

    /// Puts an entry of the table into the tree.
    fn link(&mut self, member: &[u8], score: f64, number: u32) {
        let place = At::new(&self.table, member, order_of(score), true);
        let item = Item { order: place.order, start: place.start, number };
        self.tree.insert(&place, |leaf, at| {
            if leaf.0.is_empty() || leaf.0.len() == leaf.0.capacity() {
                leaf.0.reserve_exact(ITEMS - leaf.0.len());
            }
            leaf.0.insert(at, item);
            true
        });
    }

    /// Takes an entry, which is still in the table, out of the tree.
    fn unlink(&mut self, member: &[u8], score: f64) {
        let place = At::new(&self.table, member, order_of(score), true);
        let item = self.tree.remove(&place, |leaf, at| Some(leaf.0.remove(at - 1)));
        debug_assert!(item.is_some_and(|item| self.table.key(item.number) == member));
    }

    pub(super) fn remove(&mut self, member: &[u8]) -> Option<f64> {
        let score = self.score(member)?;
        self.unlink(member, score);
        self.table.take(member);
        if let Some(numbers) = self.table.pack() {
            // Keys that are out of date may have numbers that no entry has.
            let renumber = |item: &mut Item| {
                item.number = numbers.get(item.number as usize).copied().unwrap_or(u32::MAX);
            };
            self.tree.change(|leaf| leaf.0.iter_mut().for_each(renumber), renumber);
        }
        Some(score)
    }

    pub(super) fn rank(&self, member: &[u8]) -> Option<usize> {
        let order = order_of(self.score(member)?);
        Some(self.tree.rank(&At::new(&self.table, member, order, false)))
    }

    pub(super) fn rank_of_score(&self, score: f64, inclusive: bool) -> usize {
        self.tree.rank(&AtScore { order: order_of(score), inclusive })
    }

    pub(super) fn rank_of_lex(&self, member: &[u8], inclusive: bool) -> usize {
        // All scores are equal.
        let Some((_, score)) = self.range(0..1).next() else { return 0 };
        self.tree.rank(&At::new(&self.table, member, order_of(score), inclusive))
    }

    pub(super) fn range(&self, ranks: Range<usize>) -> Entries<'_> {
        Entries { table: &self.table, items: self.tree.range(ranks) }
    }

    pub(super) fn sample(&self, seed: u64) -> Option<(&[u8], f64)> {
        self.table.sample(seed)
    }

    pub(super) fn scan(&self, cursor: u64, count: usize, each: impl FnMut(&[u8], f64)) -> u64 {
        self.table.scan(cursor, count, each)
    }
}

/// Members between two ranks.
pub(super) struct Entries<'a> {
    table: &'a table::Large<f64>,
    items: tree::Range<'a, Items>,
}

impl<'a> Entries<'a> {
    #[inline]
    fn read(&self, (leaf, at): (&'a Items, usize)) -> (&'a [u8], f64) {
        let number = leaf.0[at].number;
        (self.table.key(number), self.table.value(number))
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = (&'a [u8], f64);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let found = self.items.next()?;
        Some(self.read(found))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl DoubleEndedIterator for Entries<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        let found = self.items.next_back()?;
        Some(self.read(found))
    }
}

impl ExactSizeIterator for Entries<'_> {}
