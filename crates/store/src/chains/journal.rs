//! What a store drops, said to others that hold the same.
//!
//! Who collects knows why a version may go; the others need only know that it went. They are told by keys, with what is left
//! when it is told: however often a key was cut since, one statement replaces all.

use super::Store;
use serde::{Deserialize, Serialize};
use tidemark_core::{Key, Stamp};

/// What was dropped of a key's versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// The key.
    pub key: Key,
    /// The oldest version that stays; what is older is dropped.
    pub oldest: Stamp,
    /// That one too: it is a tombstone and the newest, and the key goes with it.
    pub gone: bool,
}

/// Keys of which something was dropped; with the stamp of the tombstone, if that went too.
pub(super) type Journal = Vec<(Key, Option<Stamp>)>;

/// Notes that something was dropped of a key, if a journal is kept.
pub(super) fn note(journal: &mut Option<Journal>, key: &[u8], tombstone: Option<Stamp>) {
    if let Some(journal) = journal {
        journal.push((Key(bytes::Bytes::copy_from_slice(key)), tombstone));
    }
}

impl<M: Clone> Store<M> {
    /// Keeps a journal of what is dropped, and of keys of data types folded, from now on. REQUIRES: [`Self::take_folded`] and then
    /// [`Self::take_journal`] now and then.
    pub fn keep_journal(&mut self) {
        self.journal.get_or_insert_default();
        self.objects.journal.get_or_insert_default();
    }

    /// What was dropped since the last time, in the order of keys; nothing if no journal is kept. It is exact for who
    /// hears of it after everything that was inserted here by now, unless something older than what was dropped of a
    /// key has arrived since: what that leaves behind goes when the key is next cut.
    pub fn take_journal(&mut self) -> Vec<Dropped> {
        let mut journal = self.journal.as_mut().map(std::mem::take).unwrap_or_default();
        journal.sort_unstable();
        let mut told: Vec<Dropped> = Vec::new();
        for (key, tombstone) in journal.into_iter().rev() {
            if told.last().is_some_and(|last| last.key == key) {
                continue;
            }
            match (self.chain(&key).last(), tombstone) {
                (Some(oldest), _) => told.push(Dropped { oldest: oldest.stamp, gone: false, key }),
                (None, Some(oldest)) => told.push(Dropped { key, oldest, gone: true }),
                // A key goes with its tombstone, unless it became one of a data type: it was said that it went.
                (None, None) => {}
            }
        }
        told.reverse();
        told
    }

    /// Drops what another store that holds the same has dropped, as its journal says. What it says that is left need not be
    /// here: who replays a log over a snapshot of a later time may have dropped that already, and must not keep what was
    /// older.
    pub fn follow(&mut self, dropped: &[Dropped]) {
        for Dropped { key, oldest, gone } in dropped {
            let Some(handle) = self.tables.find(key) else { continue };
            let stays = |stamp: Stamp| stamp > *oldest || stamp == *oldest && !gone;
            let Some(chain) = self.tables.entry_mut(handle).chain() else {
                self.fold_registers(handle, |stamp| !stays(stamp));
                continue;
            };
            let (left, cut) = self.older.keep(*chain.older, stays);
            *chain.older = left;
            let goes = !stays(chain.newest.stamp);
            self.forget(cut);
            if goes {
                self.remove(handle);
            }
        }
        // Nobody collects here: so that the queue stays as long as what collection would have to look at (I2), as many are
        // looked at as may have been queued for what was dropped.
        self.collect(2 * dropped.len(), |_| false, |_| false);
    }
}
