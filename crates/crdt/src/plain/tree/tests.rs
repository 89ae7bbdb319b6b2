//! The tree against a sorted set.

use super::{Leaf, Probe, Tree};
use fastrand::Rng;
use std::collections::BTreeSet;

/// A leaf of few elements, so that trees are high.
#[derive(Clone, Default)]
struct Few(Vec<u32>);

impl Leaf for Few {
    type Key = u32;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn first(&self) -> u32 {
        self.0[0]
    }

    fn is_full(&self) -> bool {
        self.0.len() >= 5
    }

    fn is_small(&self) -> bool {
        self.0.len() < 2
    }

    fn fits(&self, right: &Self) -> bool {
        self.0.len() + right.0.len() < 4
    }

    fn split_off(&mut self, at: usize) -> Self {
        Self(self.0.split_off(at))
    }

    fn append(&mut self, mut right: Self) {
        self.0.append(&mut right.0);
    }

    fn memory(&self) -> usize {
        self.0.capacity() * size_of::<u32>()
    }
}

/// The place behind a number.
struct Behind(u32);

impl Probe<Few> for Behind {
    fn count_keys(&self, keys: &[u32]) -> usize {
        keys.partition_point(|key| *key <= self.0)
    }

    fn count(&self, leaf: &Few) -> usize {
        leaf.0.partition_point(|key| *key <= self.0)
    }
}

fn insert(tree: &mut Tree<Few>, number: u32) -> bool {
    tree.insert(&Behind(number), |leaf, at| {
        let new = at == 0 || leaf.0[at - 1] != number;
        if new {
            leaf.0.insert(at, number);
        }
        new
    })
}

fn remove(tree: &mut Tree<Few>, number: u32) -> bool {
    let taken = tree.remove(&Behind(number), |leaf, at| {
        let found = at > 0 && leaf.0[at - 1] == number;
        found.then(|| leaf.0.remove(at - 1))
    });
    taken.is_some()
}

fn check(tree: &Tree<Few>, model: &BTreeSet<u32>, rng: &mut Rng) {
    assert!(tree.range(0..model.len()).map(|(leaf, at)| leaf.0[at]).eq(model.iter().copied()));
    assert_eq!(tree.root.count_memory(), tree.memory());
    for _ in 0..20 {
        let number = rng.u32(0..40_000);
        let rank = model.range(..=number).count();
        assert_eq!(tree.rank(&Behind(number)), rank);
        if rank < model.len() {
            let (leaf, at) = tree.locate(rank);
            assert_eq!(Some(&leaf.0[at]), model.range(number + 1..).next());
        }
    }
}

/// Grows to tens of thousands of elements and shrinks to none, twice, with ends and middles preferred in turn.
#[test]
fn a_tree_is_a_sorted_set_that_counts() {
    let (mut rng, mut tree, mut model) = (Rng::with_seed(5), Tree::<Few>::new(), BTreeSet::new());
    for round in 0..240_000u32 {
        let (growing, style) = ((round / 60_000) % 2 == 0, round / 20_000 % 3);
        let number = match (style, growing) {
            (0, true) => 20_000 + round % 20_000,
            (1, true) => 20_000 - round % 20_000,
            (1, false) => model.first().copied().unwrap_or(0),
            _ => rng.u32(0..40_000),
        };
        // Shrinking trees grow here and there: new elements come beside joined nodes.
        if growing || (style == 2 && rng.u32(0..4) == 0) {
            assert_eq!(insert(&mut tree, number), model.insert(number));
        } else {
            assert_eq!(remove(&mut tree, number), model.remove(&number));
        }
        assert_eq!(tree.len(), model.len());
        if round % 2000 == 0 {
            check(&tree.clone(), &model, &mut rng);
        }
    }
    while let Some(number) = model.pop_last() {
        assert!(remove(&mut tree, number));
    }
    assert_eq!((tree.len(), tree.memory()), (0, 0));
}
