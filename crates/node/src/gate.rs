//! What was done in a batch and may not leave yet.

use crate::node::Batch;
use std::collections::VecDeque;

/// Items by the batch (or the position of the log) that has to be released before they leave. Nothing is allocated while batches are
/// released at once.
#[derive(Debug)]
pub struct Gate<T, At = Batch>(VecDeque<(At, T)>);

impl<T, At> Default for Gate<T, At> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T, At: Copy + Ord> Gate<T, At> {
    /// Holds `item` until `batch` is released, and what was held before it.
    pub fn push(&mut self, batch: At, item: T) {
        let batch = self.0.back().map_or(batch, |(last, _)| batch.max(*last));
        self.0.push_back((batch, item));
    }

    /// The next item of those that may leave now that `released` is.
    pub fn release(&mut self, released: At) -> Option<T> {
        self.0
            .front()
            .is_some_and(|(batch, _)| *batch <= released)
            .then(|| self.0.pop_front())?
            .map(|(_, item)| item)
    }

    /// The items that are held.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().map(|(_, item)| item)
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets the items that `keep` refuses.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.0.retain(|(_, item)| keep(item));
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_leave_in_order_once_their_batch_is_released() {
        let mut gate = Gate::default();
        gate.push(Batch(1), 'a');
        gate.push(Batch(1), 'b');
        gate.push(Batch(3), 'c');
        assert_eq!(gate.release(Batch(0)), None);
        assert_eq!(
            [gate.release(Batch(2)), gate.release(Batch(2)), gate.release(Batch(2))],
            [Some('a'), Some('b'), None]
        );
        assert_eq!(gate.release(Batch(3)), Some('c'));
        assert!(gate.is_empty());
    }
}
