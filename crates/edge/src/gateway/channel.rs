//! Clients that go from base to base together.

use super::connection::Connection;
use super::{Answer, Ask, ConnectionId, Gateway, Stamped, Why};
use crate::frames::{Base, Change, Tick, ToClient, Update, Value};
use crate::rule::{READINGS_ARE_WHOLE, READINGS_END_WITH_CHANNELS, VALUES_ARE_OF_THE_BASE};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tidemark_core::{Guard, guard_of};

/// So many keys are read at a time.
const KEYS_A_READ: usize = 512;

/// A key that somebody watches.
pub(super) struct Watched {
    /// At the channel's base, once it is known.
    pub(super) value: Option<Value<Stamped>>,
    pub(super) watchers: BTreeSet<ConnectionId>,
}

/// Clients of one K.
///
/// **Invariants**
/// - I1 `unknown` has the keys whose value is not known, `opening` the members that are not live, `asking` those that are and have asked
///   for a tick or wait for a value, and `ticked` those that are, with when they were sent their last tick. So a new base costs work for
///   what has changed, and for those that are told of it; not for all that are there.
#[derive(Default)]
pub(super) struct Channel {
    pub(super) base: Arc<Base>,
    pub(super) keys: BTreeMap<Bytes, Watched>,
    pub(super) unknown: BTreeSet<Bytes>,
    pub(super) members: BTreeSet<ConnectionId>,
    pub(super) opening: BTreeSet<ConnectionId>,
    pub(super) asking: BTreeSet<ConnectionId>,
    ticked: BTreeSet<(u64, ConnectionId)>,
    /// A read is under way: at which base, how many answers are missing, and what was read.
    reading: Option<Reading>,
}

struct Reading {
    /// What answers to it name: a channel that was left, and is there again, takes none of those to the one before.
    number: u64,
    at: Base,
    missing: usize,
    failed: bool,
    values: BTreeMap<Bytes, Value<Stamped>>,
}

impl Reading {
    fn new(number: u64, at: Base) -> Self {
        Self { number, at, missing: 0, failed: false, values: BTreeMap::new() }
    }
}

impl Channel {
    pub(super) fn watch(&mut self, key: &Bytes, id: ConnectionId) {
        let watched = self.keys.entry(key.clone()).or_insert_with(|| {
            self.unknown.insert(key.clone());
            Watched { value: None, watchers: BTreeSet::new() }
        });
        watched.watchers.insert(id);
    }

    pub(super) fn unwatch(&mut self, key: &[u8], id: ConnectionId) {
        let Some(watched) = self.keys.get_mut(key) else { return };
        watched.watchers.remove(&id);
        if watched.watchers.is_empty() {
            self.keys.remove(key);
            self.unknown.remove(key);
        }
    }

    /// Whether the reading of that number is under way.
    fn reads(&self, number: u64) -> bool {
        let is_it = |reading: &Reading| reading.number == number || !READINGS_END_WITH_CHANNELS.kept();
        self.reading.as_ref().is_some_and(is_it)
    }

    /// A client comes; it is not live.
    pub(super) fn joins(&mut self, id: ConnectionId) {
        self.members.insert(id);
        self.opening.insert(id);
    }

    /// It goes. It was sent its last tick at `ticked_us`.
    pub(super) fn leaves(&mut self, id: ConnectionId, ticked_us: u64) {
        self.members.remove(&id);
        self.opening.remove(&id);
        self.asking.remove(&id);
        self.ticked.remove(&(ticked_us, id));
    }

    /// The value of a key at the base, if it is known.
    pub(super) fn value(&self, key: &[u8]) -> Option<&Value<Stamped>> {
        self.keys.get(key)?.value.as_ref()
    }
}

impl Gateway {
    /// There may be newer bases.
    pub(super) fn advance(&mut self) {
        let all: Vec<u64> = self.channels.keys().copied().collect();
        all.into_iter().for_each(|regions| self.step(regions));
    }

    /// Goes on to the newest base of a channel, or reads at its base what it does not know.
    pub(super) fn step(&mut self, regions: u64) {
        let newest = self.bases.get(regions as usize - 1).cloned().unwrap_or_default();
        let number = self.last_ask + 1; // that of its first question: no other reading has it
        let Some(channel) = self.channels.get_mut(&regions).filter(|channel| channel.reading.is_none())
        else {
            return;
        };
        let moves = newest != *channel.base && newest.dominates(&channel.base);
        if moves && channel.base.newest_us() > 0 {
            let from = (*channel.base).clone();
            channel.reading = Some(Reading::new(number, newest.clone()));
            self.ask(Why::Changed(regions, number), Ask::Changed(from, newest));
        } else {
            let at = if moves { newest } else { (*channel.base).clone() };
            let keys: Vec<Bytes> = channel.unknown.iter().cloned().collect();
            if at.newest_us() > 0 && (moves || !keys.is_empty()) {
                channel.reading = Some(Reading::new(number, at));
                self.read_all(regions, &keys);
            }
        }
    }

    /// It is known what may differ at the base that a channel goes on to.
    pub(super) fn changed(&mut self, regions: u64, number: u64, answer: Answer) {
        let Some(channel) = self.channels.get_mut(&regions).filter(|channel| channel.reads(number)) else {
            return;
        };
        let keys: Vec<Bytes> = match answer {
            Answer::Changed(Some(changed)) => {
                let changed = changed.into_iter().filter(|key| channel.keys.contains_key(key));
                let all: BTreeSet<Bytes> = changed.chain(channel.unknown.iter().cloned()).collect();
                all.into_iter().collect()
            }
            Answer::Changed(None) => channel.keys.keys().cloned().collect(),
            _ => {
                channel.reading = None; // another time
                return;
            }
        };
        self.read_all(regions, &keys);
    }

    fn read_all(&mut self, regions: u64, keys: &[Bytes]) {
        let Some(reading) = self.channels.get_mut(&regions).and_then(|channel| channel.reading.as_mut())
        else {
            return;
        };
        reading.missing = keys.len().div_ceil(KEYS_A_READ);
        let (at, number) = (reading.at.clone(), reading.number);
        for keys in keys.chunks(KEYS_A_READ) {
            self.ask(Why::Read(regions, number, keys.to_vec()), Ask::Read(at.clone(), keys.to_vec()));
        }
        if keys.is_empty() {
            self.arrive(regions);
        }
    }

    /// Values have come.
    pub(super) fn read(&mut self, regions: u64, number: u64, keys: Vec<Bytes>, answer: Answer) {
        let channel = self.channels.get_mut(&regions).filter(|channel| channel.reads(number));
        let Some(reading) = channel.and_then(|channel| channel.reading.as_mut()) else { return };
        reading.missing -= 1;
        match answer {
            Answer::Values(values) => reading.values.extend(keys.into_iter().zip(values)),
            _ => reading.failed = true,
        }
        if reading.missing == 0 {
            self.arrive(regions);
        }
    }

    /// All is read: the channel is at its new base.
    fn arrive(&mut self, regions: u64) {
        let Some(channel) = self.channels.get_mut(&regions) else { return };
        let Some(Reading { at, failed, values, .. }) = channel.reading.take() else { return };
        if failed && READINGS_ARE_WHOLE.kept() {
            return; // what it has is kept, and read again at the next base
        }
        let moves = *channel.base != at;
        channel.base = Arc::new(at);
        let mut changes = BTreeMap::<Bytes, Change<Stamped>>::new();
        for (key, value) in values {
            let Some(watched) = channel.keys.get_mut(&key) else { continue };
            channel.unknown.remove(&key);
            let before = watched.value.replace(value);
            let now = watched.value.as_ref().expect("just put there");
            if before.as_ref() != Some(now) {
                changes.insert(
                    key,
                    before
                        .and_then(|before| change(&before, now))
                        .unwrap_or_else(|| Change::Whole(now.clone())),
                );
            }
        }
        for (id, updates) in self.told(regions, &changes, moves) {
            if self.connections.get(&id).is_some_and(|connection| connection.live) {
                self.tell(id, regions, updates);
            } else {
                self.open_if_ready(id);
            }
            self.fill(id);
        }
        if self.channels.get(&regions).is_some_and(|channel| !channel.unknown.is_empty()) {
            self.step(regions); // keys that were watched meanwhile
        }
    }

    /// Who may have to be told something, and what has changed for each. Without a new base these are clients whose values were read.
    fn told(
        &self,
        regions: u64,
        changes: &BTreeMap<Bytes, Change<Stamped>>,
        moves: bool,
    ) -> BTreeMap<ConnectionId, Vec<Update>> {
        let channel = &self.channels[&regions];
        let mut told = BTreeMap::<ConnectionId, Vec<Update>>::new();
        for (key, change) in changes {
            for id in channel.keys.get(key).into_iter().flat_map(|watched| &watched.watchers) {
                let updates = told.entry(*id).or_default();
                let Some(connection) = self.connections.get(id) else { continue };
                // A guard has no reference.
                let reference = connection.link.reference_of(key);
                let reference = reference.filter(|reference| !connection.waits.contains(reference));
                let change = || change.map(|stamped| stamped.told(connection.client));
                updates.extend(reference.map(|reference| Update { reference, change: change() }));
            }
        }
        let idle_us = self.settings.idle_ms * 1000;
        let idle = channel.ticked.iter().take_while(|(ticked_us, _)| ticked_us + idle_us <= self.now_us);
        let others = channel.opening.iter().chain(&channel.asking).chain(idle.map(|(_, id)| id));
        for id in others.filter(|_| moves) {
            told.entry(*id).or_default();
        }
        told
    }

    /// Sends a tick to a client that is live, if it has something to be told.
    fn tell(&mut self, id: ConnectionId, regions: u64, mut updates: Vec<Update>) {
        let Some(connection) = self.connections.get(&id) else { return };
        updates.sort_unstable_by_key(|update| update.reference);
        let guard = self.guard(regions, connection);
        let due = connection.asks || self.now_us >= connection.ticked_us + self.settings.idle_ms * 1000;
        if !updates.is_empty() || guard.k != connection.in_base || due {
            self.send_tick(id, regions, guard, updates);
        }
    }

    /// How far the transactions of a client are in the base of its channel.
    pub(super) fn guard(&self, regions: u64, connection: &Connection) -> Guard {
        let value = self.channels[&regions].value(&guard_of(connection.client));
        match value {
            Some(Value::String(written)) => Guard::decode(Some(&written.bytes)),
            _ => Guard::default(),
        }
    }

    pub(super) fn send_tick(&mut self, id: ConnectionId, regions: u64, guard: Guard, updates: Vec<Update>) {
        let shared = self.channels[&regions].base.clone();
        let to = (*shared).clone();
        let have =
            (0..).zip(&self.told).filter(|(_, told)| told.dominates(&to)).fold(0, |all, (n, _)| all | 1 << n);
        let mut check = [0; 8];
        if guard.k > 0 {
            check.copy_from_slice(&guard.digest[..8]);
        }
        let now_us = self.now_us;
        if let Some(connection) = self.connections.get_mut(&id) {
            if let Some(channel) = self.channels.get_mut(&regions) {
                channel.opening.remove(&id);
                channel.ticked.remove(&(connection.ticked_us, id));
                channel.ticked.insert((now_us, id));
                if connection.waits.is_empty() {
                    channel.asking.remove(&id);
                }
            }
            (connection.asks, connection.ticked_us, connection.in_base) = (false, now_us, guard.k);
            // The client sends on after what is in its base.
            connection.head = connection.head.map(|head| if guard.k > head.k { guard } else { head });
        }
        self.send(id, &ToClient::Tick(Tick { to, regions, in_base: guard.k, check, have, updates }));
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.link.share_base(&shared);
        }
    }

    /// Sends a client that is live the values that it waits for, as far as they are known.
    pub(super) fn fill(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get(&id).filter(|connection| connection.live) else { return };
        let Some(regions) = connection.channel else { return };
        let channel = &self.channels[&regions];
        let known: Vec<(u64, Value)> = connection
            .waits
            .iter()
            .filter_map(|reference| {
                let key = connection.link.key_of(*reference)?;
                Some((*reference, channel.value(key)?.map(|stamped| stamped.told(connection.client))))
            })
            .collect();
        if known.is_empty() {
            return;
        }
        if *connection.link.base() != *channel.base && VALUES_ARE_OF_THE_BASE.kept() {
            let guard = self.guard(regions, connection);
            self.send_tick(id, regions, guard, Vec::new()); // I1
        }
        for (reference, value) in known {
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.waits.remove(&reference);
                if let Some(channel) = self.channels.get_mut(&regions)
                    && connection.waits.is_empty()
                    && !connection.asks
                {
                    channel.asking.remove(&id);
                }
            }
            self.send(id, &ToClient::Value { reference, value });
        }
    }
}

/// What has changed, if both are maps, lists or sets, and it is less than the whole.
fn change(before: &Value<Stamped>, now: &Value<Stamped>) -> Option<Change<Stamped>> {
    match (before, now) {
        (Value::Map(before), Value::Map(now)) | (Value::List(before), Value::List(now)) => {
            let set = now.iter().filter(|(field, written)| before.get(*field) != Some(*written));
            let set = set.map(|(field, written)| (field.clone(), written.clone())).collect();
            let gone = before.keys().filter(|field| !now.contains_key(*field)).cloned().collect();
            Some(Change::Fields(set, gone))
        }
        (Value::Set(before), Value::Set(now)) => Some(Change::Set(
            now.difference(before).cloned().collect(),
            before.difference(now).cloned().collect(),
        )),
        _ => None,
    }
}
