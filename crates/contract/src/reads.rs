//! A read of several partitions that the session puts together itself: Contrarian, CC-LO. Where a server does it, see
//! [`crate::Slices`].

use crate::slices::{by_partition, put_in_place};
use crate::{AskId, Topology};
use std::collections::BTreeMap;
use tidemark_core::{Found, Key, PartitionId};

/// Such a read, or none: it has no keys then. `S` is what the session comes to depend on.
#[derive(Debug, Default)]
pub struct Reads<S> {
    keys: Vec<Key>,
    found: Vec<Found>,
    seen: S,
    /// The slices that have not come: in answer to what, of which partition.
    missing: Vec<(AskId, PartitionId)>,
}

impl<S: Default> Reads<S> {
    /// A read of `keys`, which nobody was asked for yet.
    pub fn new(keys: Vec<Key>) -> Self {
        Self { found: Vec::new(), seen: S::default(), missing: Vec::new(), keys }
    }

    /// The keys, in the order of the answer.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// The keys of each partition, each with its place in the answer.
    pub fn slices(&self, topology: &Topology) -> BTreeMap<PartitionId, Vec<(u32, Key)>> {
        by_partition(self.keys.iter().cloned(), topology)
    }

    /// From now on these slices are missing, and no others: what was found before is forgotten, and what still comes of it
    /// is not heard.
    pub fn expect(&mut self, slices: impl IntoIterator<Item = (AskId, PartitionId)>) {
        self.found = vec![Found::default(); self.keys.len()];
        self.seen = S::default();
        self.missing = slices.into_iter().collect();
    }

    /// Whether an answer to this question is missing.
    pub fn waits_for(&self, ask: AskId) -> bool {
        self.missing.iter().any(|(missing, _)| *missing == ask)
    }

    /// Takes a slice; returns the whole, and there is no read any more, if it was the last one missing.
    pub fn hear(
        &mut self,
        slice: (AskId, PartitionId),
        found: Vec<(u32, Found)>,
        merge: impl FnOnce(&mut S),
    ) -> Option<(Vec<Found>, S)> {
        let place = self.missing.iter().position(|missing| *missing == slice)?;
        self.missing.swap_remove(place);
        put_in_place(&mut self.found, found);
        merge(&mut self.seen);
        if !self.missing.is_empty() {
            return None;
        }
        let Self { found, seen, .. } = std::mem::take(self);
        Some((found, seen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_core::Value;

    fn value(text: &str) -> Found {
        Found::new(None, Some(Value::from(text.as_bytes())))
    }

    #[test]
    fn a_read_ends_with_its_last_slice_and_hears_nothing_of_what_was_given_up() {
        let [p, q] = [PartitionId(0), PartitionId(1)];
        let mut reads = Reads::<u32>::new(["x", "y"].map(Key::from).to_vec());
        let add = |n: u32| move |seen: &mut u32| *seen += n;
        reads.expect([(AskId(1), p), (AskId(1), q)]);
        assert_eq!(reads.hear((AskId(1), p), vec![(0, value("old"))], add(100)), None);
        reads.expect([(AskId(2), p), (AskId(2), q)]);
        assert!(reads.waits_for(AskId(2)) && !reads.waits_for(AskId(1)));
        assert_eq!(reads.hear((AskId(1), q), vec![(1, value("old"))], add(100)), None);
        assert_eq!(reads.hear((AskId(2), q), vec![(1, value("y"))], add(1)), None);
        assert_eq!(reads.hear((AskId(2), q), vec![(1, value("twice"))], add(100)), None);
        let whole = reads.hear((AskId(2), p), vec![(0, value("x"))], add(2));
        assert_eq!(whole, Some((vec![value("x"), value("y")], 3)));
        assert!(reads.keys().is_empty() && !reads.waits_for(AskId(2)));
    }
}
