//! What a store folds of keys of data types, said to others that hold the same.
//!
//! As with registers ([`super::Dropped`]), who collects knows why, and the others need only know what. They are told in the order in
//! which it was done, after all that was inserted by then.

use super::typed::ELEMENTS_A_PASS;
use super::{Store, Version};
use serde::{Deserialize, Serialize};
use tidemark_core::{Hlc, Key, Stamp, Write};

/// Pending versions of a key that were folded, and up to where it was settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Folded {
    /// The key.
    pub key: Key,
    /// The versions.
    pub stamps: Vec<Stamp>,
    /// Up to where every later operation has observed everything.
    pub settled: Hlc,
    /// Whether the key went.
    pub gone: bool,
}

impl Folded {
    /// About how many bytes it has where it is written.
    pub fn bytes(&self) -> usize {
        self.key.len() + 16 * self.stamps.len() + 24
    }
}

impl<M: Clone> Store<M> {
    /// What was folded since the last time, in order; nothing if no journal is kept.
    pub fn take_folded(&mut self) -> Vec<Folded> {
        self.objects.journal.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Folds, settles and removes as another store that holds the same has done. Versions that it names need not be here: who
    /// replays a log over a snapshot of a later time may have folded them already.
    pub fn follow_folded(&mut self, folded: &[Folded]) {
        for Folded { key, stamps, settled, gone } in folded {
            self.objects.reached = self.objects.reached.max(*settled);
            let Some(handle) = self.tables.find(key).filter(|handle| self.tables.entry(*handle).is_typed())
            else {
                continue;
            };
            let registers = self.fold_all(handle, stamps);
            if let Some(newest) = registers {
                self.fold_registers(handle, |stamp| stamp < newest);
            }
            self.index_deadline(handle);
            let object = self.tables.object_mut(handle);
            object.settle(*settled, 2 * ELEMENTS_A_PASS);
            self.index_deadline(handle);
            if *gone {
                self.begin_anew(handle, key);
            }
        }
        // Nobody collects here: see [`Self::follow`].
        self.collect(2 * folded.len(), |_| false, |_| false);
    }

    /// Folds these of a key's versions, and returns the newest of a register among them.
    fn fold_all(&mut self, handle: u32, stamps: &[Stamp]) -> Option<Stamp> {
        let absorb = self.objects.absorb();
        let object = self.tables.object_mut(handle);
        let (bytes, pending) = (object.bytes(), object.pending().count());
        let mut newest = None;
        for stamp in stamps {
            let register = object.pending_at(*stamp).is_some_and(is_of_register);
            newest = newest.max(register.then_some(*stamp));
            object.fold_one(*stamp, absorb);
        }
        let left = (pending - object.pending().count(), bytes - object.bytes());
        self.forget((left.0 as u64, left.1));
        newest
    }

    /// Folds a register's versions that were dropped elsewhere, because a newer one counts: here the key is of a data type by now.
    pub(super) fn fold_registers(&mut self, handle: u32, dropped: impl Fn(Stamp) -> bool) {
        let object = self.tables.object(handle);
        let all = object.pending().filter(|one| is_of_register(one) && dropped(one.stamp));
        let stamps: Vec<Stamp> = all.map(|one| one.stamp).collect();
        self.fold_all(handle, &stamps);
    }

    /// The key went, and what is pending came after that.
    fn begin_anew(&mut self, handle: u32, key: &Key) {
        let object = self.tables.object(handle);
        let mut later: Vec<Version<M>> = object.pending().cloned().collect();
        let bytes = object.bytes();
        self.forget((later.len() as u64, bytes));
        self.remove_typed(handle);
        later.reverse();
        later.into_iter().for_each(|version| {
            self.insert(key, version);
        });
    }
}

fn is_of_register<M>(version: &Version<M>) -> bool {
    matches!(version.write, Write::Assign(_) | Write::Remove)
}
