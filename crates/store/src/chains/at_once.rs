//! Versions that take their place as they come.
//!
//! **Idea.** Where one server holds all keys there is, and every view sees all that was written, nothing older than the newest is ever
//! read, and every operation has observed everything before it. So a register's version takes the place of the one before it, and one
//! of a data type is applied to the base at once. It costs no older or pending version, no undo, no cell and no visit of the
//! collection. It raises the floor, so that what is logged later says that it was observed: replaying the log somewhere
//! else comes to the same.

use super::understood::effect_of;
use super::{Store, Version, bytes};
use std::borrow::Cow;
use tidemark_core::Write;
use tidemark_crdt::Effect;

impl<M: Clone> Store<M> {
    /// Versions are folded as they are written, or take the place of others, from now on. REQUIRES: no other store holds its keys, and every view
    /// sees every version.
    #[must_use]
    pub fn folding_at_once(mut self) -> Self {
        self.objects.at_once = true;
        self
    }

    /// As [`Self::insert`]; `effects` are what [`Write::Apply`] says, of each key that the version changes, if somebody knows.
    pub fn insert_evaluated(&mut self, key: &[u8], version: Version<M>, effects: &[Effect]) -> bool {
        if let Write::Group(writes) = &version.write {
            return self.insert_group(writes, &version, effects);
        }
        let effect = effects.first();
        if self.joins(key, &version) {
            return false;
        }
        self.note_added(key, &version);
        let added = bytes(&version);
        if self.objects.any() || matches!(version.write, Write::Apply(_)) {
            return self.insert_typed(key, version, effect);
        }
        self.insert_register(key, version, added)
    }

    /// Folds a version of a key of a data type; false if it has to be inserted.
    pub(super) fn fold_new(&mut self, handle: u32, version: &Version<M>, effect: Option<&Effect>) -> bool {
        let object = self.tables.object_mut(handle);
        let effect = effect.map_or_else(|| Cow::Owned(effect_of(&version.write)), Cow::Borrowed);
        if !object.fold_new(version.stamp, &effect) {
            return false;
        }
        let rests = object.is_at_rest();
        self.index_deadline(handle);
        self.raise_floor(version.stamp.ts);
        if !rests {
            self.queue(handle);
        }
        true
    }
}
