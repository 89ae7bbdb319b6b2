//! Two copies of a transaction: a region took it, was lost, and the survivors took it at another time.
//!
//! Nobody but sessions of the lost region has seen its copy, and what they wrote over it is lost with it. To the checker a write has one
//! version. So the copy is another transaction, of a session of its own, with other values: it may have happened, and only those who were there
//! have read it. What the client had seen before is not in its past.

use super::super::Cluster;
use std::collections::BTreeMap;
use std::ops::Range;
use tidemark_core::history::{Action, Event, Fate, SessionId};
use tidemark_core::{DcId, Found, Stamp, Value};

/// What the history calls the session of the first copy. REQUIRES: below the numbers of clients.
const FIRST: u64 = 500_000;

/// A copy that only a lost region had.
pub(super) struct Copy {
    /// The transaction, as the survivors have it: its writes in the history.
    pub(super) events: Range<usize>,
    /// Of the versions of the lost region.
    pub(super) stamp: Stamp,
}

/// What the copy of a write has for its value.
fn renamed(value: &Value) -> Value {
    [value, &b" of the lost region"[..]].concat().into()
}

impl Cluster<'_> {
    /// What sessions of the lost region have read of copies, they have read of another transaction.
    pub(super) fn edge_tells_copies_apart(&mut self, lost: DcId, copies: Vec<Copy>) {
        for (number, copy) in copies.into_iter().enumerate() {
            let mut writes: Vec<Event> = self.history.events[copy.events].to_vec();
            let mut values = BTreeMap::<Value, Value>::new();
            for write in &mut writes {
                (write.session, write.fate, write.txn) =
                    (SessionId(FIRST + number as u64), Fate::Unknown, Some(0));
                if let Action::Write { value: Some(value), version, .. } = &mut write.action {
                    let other = renamed(value);
                    values.insert(std::mem::replace(value, other.clone()), other);
                    *version = Some(copy.stamp);
                }
            }
            let rename = |found: &mut Found| {
                if found.stamp.is_some_and(|stamp| stamp != copy.stamp) {
                    return false; // it is the other one
                }
                let other = found.value.as_ref().and_then(|value| values.get(value)).cloned();
                let is_read = other.is_some();
                found.value = other.or(found.value.take());
                is_read
            };
            let mut is_read = false;
            for event in self.history.events.iter_mut().filter(|event| event.dc == lost) {
                match &mut event.action {
                    Action::Read { reads, .. } => {
                        reads.iter_mut().for_each(|read| is_read |= rename(&mut read.found));
                    }
                    Action::Write { observed: Some(found), .. } => is_read |= rename(found),
                    Action::Write { .. } | Action::Adopt { .. } => {}
                }
            }
            if is_read {
                self.history.events.extend(writes);
            }
        }
    }
}
