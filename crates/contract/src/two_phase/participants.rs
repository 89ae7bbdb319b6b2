//! What a participant does: it proposes, and applies.

use super::{Adds, Agreed, Commit, DOUBT_US, Part, State, Transaction, TwoPhase, Tx, Writes};
use crate::Wire;
use tidemark_core::limit::bytes_of;
use tidemark_core::{Failure, Hlc, Limit, Micros};

impl<S: Wire, L, D: Adds, W> TwoPhase<S, L, D, W> {
    /// Proposes a time for a transaction, which is pending from `now` on, and adds to it.
    pub fn propose(&mut self, tx: Tx, agreed: Agreed<D>, snap: S, part: Part, now: Micros) {
        self.propose_if_sure(tx, agreed, snap, part, false, now);
    }

    /// The same; `sure` as said above.
    pub fn propose_if_sure(
        &mut self,
        tx: Tx,
        (time, added): Agreed<D>,
        snap: S,
        part: Part,
        sure: bool,
        now: Micros,
    ) {
        let Part { writes, watched, .. } = part;
        let state = State::InDoubt(tx, now + DOUBT_US);
        self.pending.push(Transaction { time, snap, writes, watched, looked: false, state });
        self.unsaved = true;
        self.said.push((tx.0, Commit::Prepared(tx.1, Ok((time, added)), sure)));
    }

    /// Whether what these writes bring can be kept beside all that is pending: it becomes durable with them, in one record.
    ///
    /// # Errors
    /// It cannot before some of that has ended.
    pub fn has_room(&self, writes: &Writes, limit: Limit) -> Result<(), Failure> {
        let pending = self.pending.iter().flat_map(|transaction| &transaction.writes);
        let bytes = pending.chain(writes).map(|(key, write)| bytes_of(key, write)).sum();
        let full = |_| Failure::Unavailable("too much is under way in other transactions; try again".into());
        limit.admits(bytes).map_err(full)
    }

    /// Proposes no time: the transaction will not commit.
    pub fn refuse(&mut self, tx: Tx, why: Failure) {
        self.said.push((tx.0, Commit::Prepared(tx.1, Err(why), false)));
    }

    /// Something at this time, or above, shows in the data centre: what is in doubt here and was proposed for that time, or below,
    /// has committed as it was proposed. Whether there was such a thing, to be applied now. REQUIRES: nothing shows before all that is
    /// pending anywhere at or below its time is applied, but for what all were sure of.
    pub fn shows(&mut self, time: Hlc) -> bool {
        let mut some = false;
        for transaction in self.pending.iter_mut().filter(|t| t.in_doubt() && t.time <= time) {
            let tx = transaction.state.tx().expect("what is in doubt has a name");
            (transaction.state, some) = (State::Commits(tx, D::default()), true);
        }
        some
    }

    /// What is watched here is as it was, and nothing will be written here below the commit time `ct`; or why not.
    pub fn looked(&mut self, tx: Tx, ct: Hlc, looked: Result<(), Failure>) {
        let others = self.pending.iter().filter(|other| other.state.tx() != Some(tx));
        let first = others.map(|other| other.time).min().is_none_or(|other| other > ct);
        if let (Ok(()), Some(transaction)) = (&looked, self.prepared(tx)) {
            (transaction.time, transaction.looked) = (ct, true);
            self.unsaved = true;
        }
        self.said.push((tx.0, Commit::Looked(tx.1, looked, first)));
    }

    /// A transaction that concerns no other partition commits at `time`. It is not durable before it is applied.
    pub fn here(&mut self, time: Hlc, snap: S, writes: Writes, local: L) {
        let watched = Vec::new();
        self.pending.push(Transaction {
            time,
            snap,
            writes,
            watched,
            looked: true,
            state: State::Here(local),
        });
    }

    /// Takes out the earliest transaction, if it commits and `clock` has reached its time. REQUIRES: it is applied within
    /// the same event.
    pub fn next(&mut self, clock: Hlc) -> Option<Transaction<S, L, D>> {
        let order = |place: &usize| (self.pending[*place].time, !self.pending[*place].in_doubt());
        let place = (0..self.pending.len()).min_by_key(order)?;
        if self.pending[place].in_doubt() || self.pending[place].time > clock {
            return None;
        }
        let transaction = self.pending.remove(place);
        if let Some(tx) = transaction.state.tx() {
            self.unsaved = true;
            self.applied(tx);
        }
        Some(transaction)
    }

    /// Takes out a transaction that commits, in whatever order. REQUIRES: it is applied within the same event, and
    /// [`Self::applied`] is called then or later.
    pub fn take(&mut self) -> Option<Transaction<S, L, D>> {
        let place = self.pending.iter().position(|transaction| !transaction.in_doubt())?;
        self.unsaved = true;
        Some(self.pending.remove(place))
    }

    /// This participant has applied a transaction: the coordinator need not remember it for its sake.
    pub fn applied(&mut self, Tx(coordinator, id): Tx) {
        self.said.push((coordinator, Commit::Applied(id)));
    }
}
