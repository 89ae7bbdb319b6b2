//! What a protocol does with versions that are stored: it looks at them, changes what stands beside them, and drops them. Versions are
//! added by [`Cx::update`] and [`Cx::write`], and by drivers.

use super::{Cx, Effect};
use crate::Protocol;
use crate::protocol::newest_only;
use tidemark_core::{DcId, Found, Hlc, Key, Micros, Stamp};
use tidemark_crdt::Effect as TypeEffect;
use tidemark_store::{Collected, Store, Version, Versions};

impl<P: Protocol> Cx<'_, P> {
    /// All version chains of this partition, to look at.
    #[inline]
    pub fn store(&self) -> &Store<P::Meta> {
        self.store
    }

    /// Reads a slice: the newest version of each key under `view`. `saw` is called with each version found.
    pub fn read(
        &mut self,
        keys: &[(u32, Key)],
        view: &P::View,
        mut saw: impl FnMut(&Version<P::Meta>),
    ) -> Vec<(u32, Found)> {
        keys.iter().map(|(place, key)| (*place, self.get(key, view, &mut saw))).collect()
    }

    /// The newest version of each key under `view`. `saw` is called with each version found.
    pub fn read_all(
        &mut self,
        keys: &[Key],
        view: &P::View,
        mut saw: impl FnMut(&Version<P::Meta>),
    ) -> Vec<Found> {
        keys.iter().map(|key| self.get(key, view, &mut saw)).collect()
    }

    /// All versions of `key`, newest first, whoever can see them. What a reader gets of them: [`Cx::latest`].
    #[inline]
    pub fn chain(&self, key: &Key) -> Versions<'_, P::Meta> {
        self.store.chain(key)
    }

    /// Stores a version, and drops what nobody asks for any more if the protocol says what that is.
    #[inline]
    pub(crate) fn insert(&mut self, key: &Key, version: Version<P::Meta>) {
        self.insert_evaluated(key, version, &[]);
    }

    /// The same, of a version whose effects are known.
    #[inline]
    pub(super) fn insert_evaluated(&mut self, key: &Key, version: Version<P::Meta>, effects: &[TypeEffect]) {
        let write = newest_only::<P>(self.params).then(|| version.write.clone());
        self.store.insert_evaluated(key, version, effects);
        write.into_iter().for_each(|write| self.store.keep_newest_of(key, &write));
    }

    /// Changes what is stored beside a version here, and logs it: the change is there after a restart, and what leaves
    /// from now on leaves after it. Nothing if the version is not in the store any more. Peers are not told.
    pub fn revise(&mut self, key: &Key, stamp: Stamp, change: impl FnOnce(&mut P::Meta)) {
        let Some(meta) = self.store.meta_mut(key, stamp) else { return };
        change(meta);
        let meta = meta.clone();
        self.effects.push(Effect::Revise { key: key.clone(), stamp, meta });
    }

    /// Changes what is stored beside a version here, in memory alone: the log keeps what it was, and so does a restart. Nothing if
    /// the version is not in the store any more. REQUIRES: a restart that finds what it was can do without the change, or makes
    /// it again.
    pub fn change_in_memory(&mut self, key: &Key, stamp: Stamp, change: impl FnOnce(&mut P::Meta)) {
        if let Some(meta) = self.store.meta_mut(key, stamp) {
            change(meta);
        }
    }

    /// Of versions that several data centres have accepted, has those copies count that a reader with `view` sees.
    #[inline]
    pub(super) fn choose_copies(&mut self, view: &P::View) {
        if let Some(edge) = P::EXTENSIONS.edge
            && self.store.has_copies()
        {
            let fresh = P::EXTENSIONS.types.is_some_and(|types| (types.fresh)(view).is_some());
            self.store.choose_copies(fresh, |stamp, meta| (edge.choose)(view, stamp, meta));
        }
    }

    /// Versions may be written here whose times lie so far back: no floor is told above, from the start on.
    pub fn lag_floors(&mut self, lag: Micros) {
        self.store.lag_floors(lag);
    }

    /// Nothing will come of a data centre any more that is not here: its floor holds nothing up.
    pub fn forget_floor_of(&mut self, dc: DcId) {
        if self.store.has_types() {
            self.store.hear_floor(dc, Hlc(u64::MAX));
        }
    }

    /// Drops every version of `key` but the newest. Where [`crate::Info::newest_only`] says so, that is done already.
    pub fn keep_newest(&mut self, key: &Key) {
        self.store.keep_newest(key);
    }

    /// Drops every version of `key` that is older than the newest that is `safe`.
    pub fn cut(&mut self, key: &Key, safe: impl FnMut(&Version<P::Meta>) -> bool) {
        self.store.cut(key, safe);
    }

    /// Collects up to `budget` keys: see [`Store::collect`], and [`crate::Collector`] for when to.
    pub fn collect(
        &mut self,
        budget: usize,
        safe: impl FnMut(&Version<P::Meta>) -> bool,
        gone: impl FnMut(Stamp) -> bool,
    ) -> Collected {
        self.store.collect(budget, safe, gone)
    }
}
