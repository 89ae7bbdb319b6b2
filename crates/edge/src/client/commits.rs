//! Rule 2: commits. One batch is on its way to the disk at a time; what comes meanwhile is the next one.

use super::lists::least_us;
use super::reading::{Entry, Sent};
use super::{Client, Effect, Transaction};
use crate::durable::Row;
use crate::frames::{Base, Body, FRAME_MAX, MICROS_END, Operation};
use crate::rule::{COMMITS_ARE_DURABLE, TIMES_RISE};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a Transfer has beside the body, at most, and some more.
const ROOM: usize = 1024;

/// Transactions on their way to the disk.
#[derive(Clone, Debug, Default)]
pub(super) struct Commits {
    /// Those that wait, with the application's names.
    waiting: Vec<(u64, Transaction)>,
    /// Those that are being persisted.
    batch: Vec<(u64, Entry)>,
    pub(super) persist: Option<u64>,
}

impl Commits {
    /// Whether a batch is being persisted.
    pub(super) fn is_busy(&self) -> bool {
        self.persist.is_some()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && !self.is_busy()
    }
}

impl Client {
    pub(super) fn commit(&mut self, id: u64, transaction: Transaction) {
        self.commits.waiting.push((id, transaction));
    }

    /// Persists what waits.
    pub(super) fn advance_commits(&mut self) {
        let forking = self.fork.as_ref().is_some_and(|fork| fork.persist().is_some());
        if self.commits.is_busy() || self.commits.waiting.is_empty() || forking {
            return;
        }
        let (mut k, mut h_us) = (self.last_k(), self.last_h_us);
        for (id, transaction) in std::mem::take(&mut self.commits.waiting) {
            let (dep, epoch, operations) = transaction.into_parts();
            if operations.is_empty() {
                self.out.push(Effect::Committed { id, k: 0 });
                continue;
            }
            let next_h_us = self.time_after(h_us, &dep).max(least_us(&operations));
            let body = Body { k: k + 1, h_us: next_h_us, dep, operations };
            if let Some(why) = cannot_be(&body) {
                self.out.push(Effect::CommitFailed { id, why });
                continue;
            }
            (k, h_us) = (k + 1, next_h_us);
            self.commits.batch.push((id, Entry { body: Arc::new(body), epoch, sent: Sent::No }));
        }
        if self.commits.batch.is_empty() {
            return;
        }
        let rows = self.commits.batch.iter().map(|(_, entry)| Row::Entry((*entry.body).clone())).collect();
        self.commits.persist = Some(self.persist(rows));
        if !COMMITS_ARE_DURABLE.kept() {
            self.show_commits();
        }
    }

    /// A time above that of the last transaction, above everything in the base, and not before the server's clock.
    fn time_after(&self, last_h_us: u64, dep: &Base) -> u64 {
        if !TIMES_RISE.kept() {
            return (dep.newest_us() / 2).max(1);
        }
        let clock = self.server_time_us().unwrap_or_default();
        let above = last_h_us.max(self.base.base.newest_us()) + 1;
        above.max(clock).min(MICROS_END - 1)
    }

    pub(super) fn on_commits_persisted(&mut self, done: bool) {
        self.commits.persist = None;
        if done {
            self.show_commits();
        }
        for (id, _) in std::mem::take(&mut self.commits.batch) {
            self.out.push(Effect::CommitFailed { id, why: "it could not be made durable" });
        }
    }

    /// Makes the batch visible.
    fn show_commits(&mut self) {
        let mut keys = BTreeSet::new();
        for (id, entry) in std::mem::take(&mut self.commits.batch) {
            let body = &entry.body;
            keys.extend(body.operations.iter().map(|operation| operation.key.clone()));
            self.last_h_us = self.last_h_us.max(body.h_us);
            self.out.push(Effect::Committed { id, k: body.k });
            let k = body.k;
            Arc::make_mut(&mut self.view.log).insert(k, entry);
        }
        self.changed(keys);
    }
}

/// Why a transaction cannot be sent, ever.
fn cannot_be(body: &Body) -> Option<&'static str> {
    if !body.operations.iter().all(Operation::is_valid) {
        return Some("a key has 1 to 4096 bytes");
    }
    (body.encode().len() > FRAME_MAX - ROOM).then_some("it is longer than 16 MiB")
}
