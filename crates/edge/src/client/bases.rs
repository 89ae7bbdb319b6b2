//! Rules 8 and 9: new bases, and values of watched keys.

use super::reading::written;
use super::{Client, Report};
use crate::durable::{DurableBase, Row};
use crate::frames::{Chain, Change, NO_HASH, Operation, Tick, ToGateway, Value, ValueHash, WATCHED_MAX};
use crate::rule::{
    BASE_BEFORE_PRUNING, BASES_SAY_WHAT_IS_IN_THEM, CHAINS_ARE_COMPARED, LOSSES_ARE_TOLD, TICKS_ARE_WHOLE,
    TICKS_SAY_K, VALUES_WAIT_THEIR_TURN,
};
use crate::value::Cached;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Instead of the number of a persist: the mutant's rest waits for the next event.
pub(super) const KEPT_BACK: u64 = u64::MAX;

/// Elements by key that own transactions wrote which a base brings.
type Own = BTreeMap<Bytes, BTreeSet<Bytes>>;

/// Something that is to become visible, in its turn.
#[derive(Clone, Debug)]
pub(super) enum Staged {
    /// When the base is durable.
    Tick(Tick),
    /// When the ticks before it are visible.
    Value(u64, Value),
    /// What a mutant keeps back of a tick.
    Rest(Tick),
}

impl Client {
    pub(super) fn on_tick(&mut self, tick: Tick) {
        if let Some(open) = self.connecting.opened_mut() {
            open.behind = 0;
            open.ticked_at_us = Some(self.now_us);
        }
        self.connecting.succeeded(self.regions);
        let is_ours = |known| known == tick.check || !CHAINS_ARE_COMPARED.kept();
        if tick.in_base > self.base.in_base && !self.chain_at(tick.in_base).is_some_and(is_ours) {
            // It is not this log that is in the base, or more than this log.
            let first = self.first_k();
            self.on_forked(first);
            if self.fork.is_some() {
                return;
            }
        }
        self.staged.push_back(Staged::Tick(tick));
    }

    pub(super) fn on_value(&mut self, reference: u64, value: Value) {
        let value = Staged::Value(reference, value);
        if VALUES_WAIT_THEIR_TURN.kept() {
            self.staged.push_back(value);
        } else {
            self.show_value(value);
        }
    }

    /// Makes visible what can be, and persists the next base.
    pub(super) fn advance_staged(&mut self) {
        while self.tick_persist.is_none() {
            match self.staged.front() {
                None => return,
                Some(Staged::Value(..)) => {
                    let value = self.staged.pop_front();
                    value.into_iter().for_each(|value| self.show_value(value));
                }
                Some(Staged::Rest(_)) => {
                    let Some(Staged::Rest(tick)) = self.staged.pop_front() else { return };
                    let keys = tick.updates.iter();
                    let keys =
                        keys.filter_map(|update| self.take(update.reference, &update.change, &Own::new()));
                    let keys = keys.collect();
                    self.changed(keys);
                }
                Some(Staged::Tick(tick)) => {
                    let tick = tick.clone();
                    let base = self.base_of(&tick);
                    let drop = Row::Drop(base.chain_k);
                    if !BASE_BEFORE_PRUNING.kept() {
                        self.persist(vec![drop.clone()]);
                    }
                    let mut rows = vec![Row::Base(base), drop];
                    rows.extend(self.rows_of_values(&tick));
                    self.tick_persist = Some(self.persist(rows));
                }
            }
        }
    }

    fn show_value(&mut self, value: Staged) {
        let Staged::Value(reference, value) = value else { return };
        let change = Change::Whole(value);
        let key = self.take(reference, &change, &Own::new());
        if let (Some(key), Change::Whole(value)) = (&key, &change) {
            self.keep_value(key, value);
        }
        self.changed(key.into_iter().collect());
    }

    /// The base of a tick, and the chain up to it.
    fn base_of(&self, tick: &Tick) -> DurableBase {
        let in_base = self.in_base_of(tick).max(self.base.in_base);
        let (mut chain_k, mut chain) = (self.base.chain_k, self.base.chain);
        for (k, entry) in self.view.log.range(..=in_base) {
            (chain_k, chain) = (*k, Chain::then(&chain, &entry.body.encode()));
        }
        if self.has_lost(tick) {
            chain = Chain::resumed(chain.check()); // the region has no more of it
        }
        DurableBase { base: tick.to.clone(), in_base, chain_k, chain }
    }

    /// Which of the client's transactions are in the base of a tick.
    fn in_base_of(&self, tick: &Tick) -> u64 {
        let acked = self.connecting.connection().map_or(0, |open| open.acked);
        if BASES_SAY_WHAT_IS_IN_THEM.kept() { tick.in_base } else { tick.in_base.min(acked) }
    }

    /// Rule 6: whether transactions that were in the base are not in this one, which has all of that base that is left.
    fn has_lost(&self, tick: &Tick) -> bool {
        tick.in_base < self.base.chain_k
    }

    pub(super) fn on_tick_persisted(&mut self, done: bool) {
        self.tick_persist = None;
        let Some(Staged::Tick(mut tick)) = self.staged.pop_front() else { return };
        if !done {
            // The connection goes on from a base that the disk cannot keep: another one begins at the old base.
            self.staged.clear();
            self.fail();
            return;
        }
        self.on_values_persisted();
        if self.has_lost(&tick)
            && let Some(open) = self.connecting.opened_mut()
            && !std::mem::replace(&mut open.told_loss, true)
            && LOSSES_ARE_TOLD.kept()
        {
            self.report(Report::Lost { k: tick.in_base });
        }
        self.base = self.base_of(&tick);
        self.view.base = self.base.base.clone();
        let done = self.base.chain_k;
        if let Some(open) = self.connecting.opened_mut() {
            // What is in the base needs not be sent.
            open.reaches(open.acked.max(done));
            open.next = open.next.max(done + 1);
            open.has_based = true;
        }
        self.base_regions = if TICKS_SAY_K.kept() { tick.regions } else { self.regions };
        self.epoch += 1;
        let (mut keys, mut own) = (BTreeSet::new(), Own::new());
        let log = Arc::make_mut(&mut self.view.log);
        let kept = log.split_off(&(self.base.chain_k + 1));
        for entry in std::mem::replace(log, kept).into_values() {
            for Operation { key, kind } in &entry.body.operations {
                keys.insert(key.clone());
                if let Some(element) = kind.element() {
                    own.entry(key.clone()).or_default().insert(element.clone());
                }
            }
        }
        self.reported = self.reported.split_off(&(self.base.in_base + 1, 0));
        if !TICKS_ARE_WHOLE.kept() {
            let rest = tick.updates.split_off(tick.updates.len() / 2);
            self.staged.push_front(Staged::Rest(Tick { updates: rest, ..tick.clone() }));
        }
        for update in &tick.updates {
            keys.extend(self.take(update.reference, &update.change, &own));
        }
        self.changed(keys);
        self.let_go();
        if !TICKS_ARE_WHOLE.kept() {
            self.tick_persist = Some(KEPT_BACK);
        }
    }

    /// Takes the change of a watched key. Returns the key, if it is still watched.
    fn take(&mut self, reference: u64, change: &Change, own: &Own) -> Option<Bytes> {
        let key = self.by_reference.get(&reference)?.clone();
        let none = BTreeSet::new();
        let own = own.get(&key).unwrap_or(&none);
        let cache = Arc::make_mut(&mut self.view.cache);
        let taken = match (cache.get_mut(&key), change) {
            (Some(cached), change) => Arc::make_mut(cached).change(change, self.epoch, own),
            (None, Change::Whole(value)) => {
                cache.insert(key.clone(), Arc::new(Cached::new(value.clone())));
                Ok(())
            }
            (None, _) => Err(crate::frames::Malformed("a change of a value that the client does not have")),
        };
        if let Err(malformed) = taken {
            cache.remove(&key);
            self.on_malformed(malformed);
        }
        Some(key)
    }

    pub(super) fn watch(&mut self, key: Bytes) {
        if self.left.remove(&key) {
            // It is watched still.
            if let Some(cached) = self.view.cache.get(&key).cloned() {
                self.keep_value(&key, cached.value());
                self.changed([key].into());
            }
            return;
        }
        if self.watched.contains_key(&key) {
            return;
        }
        if self.watched.len() >= WATCHED_MAX {
            std::mem::take(&mut self.left).iter().for_each(|key| self.drop_key(key)); // they are wanted less
        }
        if self.watched.len() >= WATCHED_MAX || key.is_empty() || key.len() > crate::frames::KEY_MAX {
            let text = Bytes::from_static(b"a client watches at most 65,536 keys of 1 to 4096 bytes");
            self.report(Report::Error { code: Bytes::from_static(b"WATCH"), text });
            return;
        }
        self.watched.insert(key.clone(), None);
        self.send_watch(key, NO_HASH);
    }

    pub(super) fn unwatch(&mut self, key: &Bytes) {
        if !self.watched.contains_key(key) || !self.left.insert(key.clone()) {
            return;
        }
        self.forget_value(key);
        self.let_go();
    }

    /// Watches keys no more that were given up, and that the log does not write.
    pub(super) fn let_go(&mut self) {
        if !self.left.is_empty() {
            let written = self.written();
            let gone: Vec<Bytes> = self.left.difference(&written).cloned().collect();
            for key in gone {
                self.left.remove(&key);
                self.drop_key(&key);
            }
        }
    }

    fn drop_key(&mut self, key: &Bytes) {
        let Some(reference) = self.watched.remove(key) else { return };
        Arc::make_mut(&mut self.view.cache).remove(key);
        if let Some(reference) = reference {
            self.by_reference.remove(&reference);
            self.send_if_open(&ToGateway::Unwatch { reference });
        }
    }

    /// Sends a Watch, if there is a connection, and remembers its reference.
    pub(super) fn send_watch(&mut self, key: Bytes, have: ValueHash) {
        let Some(reference) =
            self.opened().and_then(|open| open.link.as_ref()).map(|link| link.next_reference())
        else {
            return;
        };
        self.watched.insert(key.clone(), Some(reference));
        self.by_reference.insert(reference, key.clone());
        self.send_if_open(&ToGateway::Watch { reference, key, have });
    }

    /// The hash of what is cached, for the Watch of an opening.
    pub(super) fn hash_of(&self, key: &Bytes) -> ValueHash {
        self.view.cache.get(key).map_or(NO_HASH, |cached| cached.value().hash())
    }

    /// The keys that the log writes. An opening says no hash of them: a value can be equal and written later than what is cached, and
    /// it depends on that which write wins.
    pub(super) fn written(&self) -> BTreeSet<Bytes> {
        written(self.view.log.values())
    }
}
