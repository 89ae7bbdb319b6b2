//! A region that is to be excluded: what is taken of it.

use super::{Host, StreamError, StreamItem};
use tidemark_contract::Protocol;
use tidemark_core::{PartitionId, ServerId};

impl<P: Protocol> Host<P> {
    /// The number of the next record of `from` at `at`, before which this item came; none if the item is not taken, and nothing is
    /// missing for that.
    ///
    /// # Errors
    /// No stream was accepted, or it has ended.
    pub(super) fn expects(
        &self,
        from: ServerId,
        at: PartitionId,
        item: &StreamItem<P>,
    ) -> Result<Option<u64>, StreamError> {
        let received = &self.place(at).received[from.dc.index()];
        if received.incarnation == 0 {
            return Err(StreamError::NotAccepted(from));
        }
        let (expected, last) = (received.seq + 1, self.last_of(from, at));
        match (item, last) {
            (StreamItem::Record { seq, .. } | StreamItem::Skipped { seq, .. }, Some(last))
                if *seq > last && *seq >= expected =>
            {
                Err(StreamError::Ended(from.dc))
            }
            (StreamItem::Heartbeat { .. } | StreamItem::Floor { .. }, Some(_)) => Ok(None),
            _ => Ok(Some(expected)),
        }
    }

    /// The number of the last record of `from` that `at` takes, if it does not take all.
    fn last_of(&self, from: ServerId, at: PartitionId) -> Option<u64> {
        P::EXTENSIONS.ends.and_then(|ends| ends(self.partition(at), from.dc))
    }

    /// Whether `at` takes no more records of `from` than it has.
    pub fn has_all_of(&self, from: ServerId, at: PartitionId) -> bool {
        self.last_of(from, at).is_some_and(|last| last <= self.place(at).received[from.dc.index()].seq)
    }

    /// Whether others have records of `from` that `at` has to get before that one is excluded.
    pub fn lacks_some_of(&self, from: ServerId, at: PartitionId) -> bool {
        self.last_of(from, at).is_some_and(|last| last > self.place(at).received[from.dc.index()].seq)
    }
}
