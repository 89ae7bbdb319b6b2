//! The values of an element, one by one: how large they are, and bounded counters among them.

use super::Cell;
use crate::account::Entry;
use crate::effect::Datum;
use crate::rule;
use tidemark_core::Stamp;

impl Cell {
    /// About how many bytes it holds.
    pub fn bytes(&self) -> usize {
        let of = |datum: &Datum| match datum {
            Datum::Bytes(bytes) => bytes.len(),
            Datum::Account(account) => account.memory(),
            _ => 8,
        };
        self.assigned.iter().map(|one| of(&one.datum)).chain(self.settled.as_ref().map(of)).sum()
    }

    /// The version that assigned the value that is shown, if that is still known.
    pub fn assigned_by(&self) -> Option<Stamp> {
        self.assigned.last().map(|one| one.dot)
    }

    /// A total of the bounded counter that `created` created has risen; nothing if that one is gone.
    pub fn raise(&mut self, created: Stamp, entry: Entry) {
        let data = self.assigned.iter_mut().map(|one| &mut one.datum).chain(&mut self.settled);
        for datum in data {
            if let Datum::Account(account) = datum
                && (account.created() == Some(created) || !rule::TOTALS_NAME_COUNTERS.kept())
            {
                account.raise(entry);
            }
        }
    }
}
