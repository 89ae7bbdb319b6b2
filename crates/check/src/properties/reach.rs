//! What a session's reads reach to: of each other session, how far back its writes that were read lie, and what
//! that session had read or written of a key before them. The two session guarantees that span keys ask for it.

use super::ledger::Ledger;
use crate::index::{Index, NONE, Ref};

/// Which of the two guarantees that span keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owed {
    /// What the writer had read before: writes follow reads.
    Read,
    /// What it had written before: monotonic writes.
    Written,
}

/// Per session and other session: the seat of the last of the other's writes that the session has read, and one.
pub(super) struct Reach(Ledger);

impl Reach {
    pub(super) fn new(sessions: usize) -> Self {
        Self(Ledger::new(sessions))
    }

    /// Event `e` has returned `read`.
    #[inline]
    pub(super) fn after_read(&mut self, index: &Index<'_>, e: u32, read: Ref) {
        let writer = index.version(read.version).writer;
        if writer != NONE {
            let of = index.session_of[writer as usize];
            self.0.raise(
                index.session_of[e as usize],
                of,
                index.seat[e as usize],
                index.seat[writer as usize] + 1,
            );
        }
    }

    /// `session` takes over, at `seat`, what the first `events` events of `from` had reached.
    pub(super) fn adopt(&mut self, (session, seat): (u32, u32), from: u32, events: u32) {
        for (of, reached) in self.0.known(from, events) {
            self.0.raise(session, of, seat, reached);
        }
    }

    /// What the sessions whose writes `session` had read before its event at `seat` had known of `key` before those
    /// writes: their entries in `known`.
    #[inline]
    pub(super) fn owed<'a>(
        &'a self,
        known: &'a Ledger,
        owed: Owed,
        (session, seat): (u32, u32),
        key: u32,
    ) -> impl Iterator<Item = u32> + 'a {
        known.of(key).iter().filter_map(move |chain| {
            let reached = self.0.before(session, chain.session, seat)?;
            // What the write itself observed was read before it; the write itself was not written before it.
            chain.before(if owed == Owed::Read { reached } else { reached - 1 })
        })
    }
}
