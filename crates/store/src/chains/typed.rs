//! Keys of data types among the others: how one comes and goes.

use super::entry::{Body, Entry};
use super::frozen::{Mark, Part};
use super::object::{Absorb, Object};
use super::told::Folded;
use super::{Store, Version};
use tidemark_core::{DcId, Hlc, Key, Micros, Regions, Write};
use tidemark_crdt::{Effect, State, rule};

/// How many elements of one key a pass of collection looks at, about.
pub(super) const ELEMENTS_A_PASS: usize = 10_000;

/// What a store knows of all its keys of data types together.
pub(super) struct Objects<M> {
    /// How many there are.
    pub(super) count: u64,
    /// Whether there ever was one.
    any: bool,
    absorb: Option<Absorb<M>>,
    /// See [`Store::raise_floor`].
    floor: Hlc,
    holds_floor: bool,
    /// See [`Store::lag_floors`], as a difference of [`Hlc`]s.
    lag: u64,
    /// The floors that were heard of the other regions.
    heard: Vec<Hlc>,
    /// Up to where anything here may be settled, whoever settled it: here, before a restart, or where the leader is.
    pub(super) reached: Hlc,
    /// See [`Store::folding_at_once`].
    pub(super) at_once: bool,
    /// See [`Store::keep_versions`].
    pub(super) keeps: bool,
    pub(super) journal: Option<Vec<Folded>>,
}

impl<M> Default for Objects<M> {
    fn default() -> Self {
        Self {
            count: 0,
            any: false,
            absorb: None,
            floor: Hlc::ZERO,
            holds_floor: false,
            lag: 0,
            heard: Vec::new(),
            reached: Hlc::ZERO,
            at_once: false,
            keeps: false,
            journal: None,
        }
    }
}

impl<M> Objects<M> {
    /// Whether there ever was one.
    #[inline]
    pub(super) fn any(&self) -> bool {
        self.any
    }

    /// Whether a version takes its place as it comes.
    #[inline]
    pub(super) fn folds(&self) -> bool {
        self.at_once && !self.keeps
    }

    /// There is one more.
    fn add(&mut self) {
        self.count += 1;
        self.any = true;
    }

    pub(super) fn absorb(&self) -> Absorb<M> {
        self.absorb.expect("a protocol without it is given no data types")
    }
}

impl<M: Clone> Store<M> {
    /// Keys can be of data types: says how what sessions depend on is added up. `others` are the regions of which floors will be
    /// heard, of `regions` in all.
    #[must_use]
    pub fn with_types(mut self, absorb: Absorb<M>, regions: usize, others: Regions) -> Self {
        let floor = |dc| if others.contains(dc) { Hlc::ZERO } else { Hlc(u64::MAX) };
        self.objects.absorb = Some(absorb);
        self.objects.heard = (0..regions).map(|dc| floor(DcId(dc as u8))).collect();
        self
    }

    /// Whether keys can be of data types.
    pub fn has_types(&self) -> bool {
        self.objects.absorb.is_some()
    }

    /// Every view that is ever read or written under here contains what is at or below `floor`, and this server will say so with
    /// what it writes. It never falls.
    pub fn raise_floor(&mut self, floor: Hlc) {
        if !self.objects.holds_floor {
            let floor = Hlc(floor.0.saturating_sub(self.objects.lag));
            self.objects.floor = self.objects.floor.max(floor);
        }
    }

    /// Floors stay so far behind: versions may be written whose times lie that far back.
    pub fn lag_floors(&mut self, lag: Micros) {
        self.objects.lag = Hlc::at(lag).0;
    }

    /// The floor does not rise as long as this holds.
    pub fn hold_floor(&mut self, holds: bool) {
        self.objects.holds_floor = holds;
    }

    /// Somebody may read what was here before, as long as this holds: no version takes the place of another as it comes.
    pub fn keep_versions(&mut self, keeps: bool) {
        self.objects.keeps = keeps;
    }

    /// What every view here contains.
    pub fn floor(&self) -> Hlc {
        self.objects.floor.max(self.objects.reached)
    }

    /// Up to where elements here may be settled.
    pub fn reached(&self) -> Hlc {
        self.objects.reached
    }

    /// The floor of the same partition in another region has been heard, in order with what it writes.
    pub fn hear_floor(&mut self, of: DcId, floor: Hlc) {
        let heard = &mut self.objects.heard[of.index()];
        *heard = floor.max(*heard);
    }

    /// Whether floors are of use to anybody: some key is of a data type.
    pub fn needs_floors(&self) -> bool {
        self.objects.any()
    }

    /// Every operation that can still arrive from anywhere has observed what is at or below.
    pub fn settled(&self) -> Hlc {
        self.objects.heard.iter().copied().fold(self.objects.floor, Hlc::min)
    }

    /// The region whose floor holds [`Self::settled`] back; none if it is this one's own.
    pub fn holds_settled_back(&self) -> Option<DcId> {
        let lowest = self.objects.heard.iter().enumerate().min_by_key(|(_, floor)| **floor);
        let lower = lowest.filter(|(_, floor)| **floor < self.objects.floor);
        lower.map(|(dc, _)| DcId(dc as u8))
    }

    /// Tombstones at or below may go. If a command of a data type finds a key gone and creates it, that depends on nothing: so
    /// everybody has to have seen the tombstone. Where there are no data types the later write wins anyway.
    pub(super) fn seen_by_all(&self) -> Hlc {
        if self.objects.any() { self.settled() } else { Hlc(u64::MAX) }
    }

    /// Whether `key` is of a data type, or was written with a command of one.
    #[inline]
    pub fn is_typed(&self, key: &[u8]) -> bool {
        self.objects.any() && self.tables.find(key).is_some_and(|handle| self.tables.entry(handle).is_typed())
    }

    /// Whether updates of `key` have to be evaluated: it is of a data type, or is gone and may have expired (R18).
    #[inline]
    pub fn needs_evaluation(&self, key: &[u8]) -> bool {
        (self.objects.any() || self.is_expiring())
            && match self.tables.find(key) {
                Some(handle) => self.tables.entry(handle).is_typed(),
                None => self.is_expiring(),
            }
    }

    /// The key's object, if it is of a data type.
    pub fn object(&self, key: &[u8]) -> Option<&Object<M>> {
        self.tables.entry(self.tables.find(key)?).object()
    }

    /// The head of a key of a data type, for trials. REQUIRES: before anybody else looks, it is as it was.
    pub fn head_mut(&mut self, key: &[u8]) -> Option<&mut State> {
        let handle = self.tables.find(key)?;
        Some(self.tables.entry_mut(handle).object_mut()?.head_mut())
    }

    /// As [`Self::object`], with everything applied that is `visible`: see [`Object::refresh`].
    pub fn refreshed(
        &mut self,
        key: &[u8],
        epoch: u64,
        visible: impl Fn(&Version<M>) -> bool,
    ) -> Option<&Object<M>> {
        if !self.objects.any() {
            return None;
        }
        let handle = self.tables.find(key)?;
        let absorb = self.objects.absorb();
        if self.tables.entry_mut(handle).object_mut()?.refresh(epoch, absorb, visible) {
            self.index_deadline(handle);
        }
        self.tables.entry(handle).object()
    }

    /// The handle of the key's entry, which becomes one of a data type.
    fn typed_entry(&mut self, key: &[u8]) -> u32 {
        let Some(handle) = self.tables.find(key) else {
            self.objects.add();
            self.totals.keys += 1;
            self.totals.bytes += key.len() as u64;
            return self.tables.insert(Entry::typed(key));
        };
        let Body::Register { older, queued, .. } = &self.tables.entry(handle).body else { return handle };
        let (older, queued, mut object) = (*older, *queued, Object::default());
        let versions: Vec<Version<M>> = self.versions_of(self.tables.entry(handle)).cloned().collect();
        versions.into_iter().rev().for_each(|version| {
            object.insert(version);
        });
        self.objects.add();
        self.older.drop_list(older);
        self.tables.entry_mut(handle).body = Body::Object { object, queued };
        handle
    }

    pub(super) fn queue(&mut self, handle: u32) {
        if !std::mem::replace(self.tables.entry_mut(handle).queued(), true) {
            self.queue.push_back(handle);
        }
    }

    /// Adds a version to a key that is, or becomes, one of a data type; or a register's to a register. `effect` is what it does, if
    /// somebody knows.
    pub(super) fn insert_typed(&mut self, key: &[u8], version: Version<M>, effect: Option<&Effect>) -> bool {
        if !matches!(version.write, Write::Apply(_)) && !self.is_typed(key) {
            let added = version.write.len() as u64;
            return self.insert_register(key, version, added);
        }
        let handle = self.typed_entry(key);
        if self.objects.folds() && self.fold_new(handle, &version, effect) {
            return true;
        }
        let added = version.write.len() as u64;
        if !self.tables.object_mut(handle).insert(version) {
            return false;
        }
        self.totals.versions += 1;
        self.totals.bytes += added;
        self.queue(handle);
        true
    }

    /// Adds what a version does to several keys. False if all of it was there already.
    pub(super) fn insert_group(
        &mut self,
        writes: &[(Key, Write)],
        version: &Version<M>,
        effects: &[Effect],
    ) -> bool {
        let Version { stamp, meta, .. } = version;
        let one = |write: &Write| Version { stamp: *stamp, meta: meta.clone(), write: write.clone() };
        let mut inserted = false;
        for (nth, (key, write)) in writes.iter().enumerate() {
            let effect = effects.get(nth).map(std::slice::from_ref).unwrap_or_default();
            inserted |= self.insert_evaluated(key, one(write), effect);
        }
        inserted
    }

    /// Folds and settles what can be of a key of a data type. True if the key went.
    pub(super) fn collect_typed(&mut self, handle: u32, safe: impl FnMut(&Version<M>) -> bool) -> bool {
        let (absorb, settled) = (self.objects.absorb(), self.settled());
        let object = self.tables.object_mut(handle);
        let before = object.bytes();
        let stamps = object.fold(absorb, safe);
        let dropped = (stamps.len() as u64, before.saturating_sub(object.bytes()));
        self.index_deadline(handle);
        self.pass_before(handle, settled);
        let object = self.tables.object_mut(handle);
        let unsettled = object.unsettled();
        object.settle(settled, ELEMENTS_A_PASS);
        let (gone, rests) = (object.is_gone(settled), object.is_at_rest());
        let settles = object.unsettled() != unsettled;
        self.index_deadline(handle);
        self.objects.reached = self.objects.reached.max(settled);
        self.forget(dropped);
        if let Some(journal) = &mut self.objects.journal
            && (gone || settles || !stamps.is_empty())
        {
            let key = Key(bytes::Bytes::copy_from_slice(&self.tables.entry(handle).key));
            journal.push(Folded { key, stamps, settled, gone });
        }
        if gone {
            self.remove_typed(handle);
        } else if !rests {
            self.queue(handle);
        }
        gone
    }

    /// Adds a part of a key of a data type, of which [`Mark`] says what it contains.
    pub fn restore(&mut self, key: &[u8], part: Part<M>, mark: &Mark) {
        let handle = self.typed_entry(key);
        self.objects.reached = self.objects.reached.max(part.settled);
        self.tables.object_mut(handle).restore(part, mark);
        self.index_deadline(handle);
        self.queue(handle);
    }

    /// As [`Store::insert`], of a record of a log that is replayed: what a snapshot says of a key of a data type may contain it.
    pub fn replay(&mut self, key: &[u8], version: Version<M>, of: Option<DcId>, seq: u64) {
        let known =
            self.object(key).is_some_and(|object| object.contains(of, seq)) && rule::REPLAY_BY_MARK.kept();
        if let Write::Group(writes) = &version.write {
            let Version { stamp, meta, .. } = &version;
            for (key, write) in writes.iter() {
                let one = Version { stamp: *stamp, meta: meta.clone(), write: write.clone() };
                self.replay(key, one, of, seq);
            }
        } else if !known {
            self.insert(key, version);
        }
    }

    pub(super) fn remove_typed(&mut self, handle: u32) {
        let entry = self.tables.remove(handle);
        if let Some(object) = entry.object() {
            self.forget_deadline(handle, object);
        }
        self.objects.count -= 1;
        self.totals.keys -= 1;
        self.totals.bytes -= entry.key.len() as u64;
    }

    /// What a fresh reader sees of every key of a data type, for tests and digests. In no particular order.
    pub fn states(&self) -> impl Iterator<Item = (&[u8], &State)> {
        self.tables.entries().filter_map(|entry| Some((&entry.key[..], entry.object()?.head())))
    }
}
