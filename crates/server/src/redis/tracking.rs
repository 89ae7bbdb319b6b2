//! Client-side caching: which connections cache what, and what they are told when it changes.
//!
//! **Idea.** A connection that caches by default is remembered beside each key that it reads, until the key changes: then it is
//! told once, and reads it again. One that caches by prefixes (`BCAST`) is told of every key that begins so. What has changed
//! is said by the partitions ([`tidemark_replica::Change`]), whoever has changed it.
//!
//! **Invariants**
//! - I1 A key is remembered before it is read. If the connection is told of it before the reply is there, it is told again
//!   behind the reply.
//! - I2 A connection is told of its own changes behind the reply of the command that made them, of others' before any reply
//!   that may show them.

mod asked;
mod reads;

pub(super) use asked::Asked;
pub use reads::KeysRead;
pub(super) use reads::Reads;

use super::mail::{Mail, Message};
use super::registry::ClientRegistry;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use tidemark_wire::resp::Version;

/// When a connection's reads are remembered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// Always.
    #[default]
    Always,
    /// If CLIENT CACHING YES comes before.
    OptIn,
    /// Unless CLIENT CACHING NO comes before.
    OptOut,
    /// Never: it caches by prefixes.
    Broadcast,
}

/// How one connection caches.
#[derive(Clone, Debug, Default)]
pub(super) struct Tracker {
    pub(super) mode: Mode,
    /// It is not told of what it changes itself.
    pub(super) no_loop: bool,
    /// The connection that is told in its place; 0 for none.
    pub(super) redirect: u64,
    /// That one is gone.
    pub(super) broken: bool,
    pub(super) prefixes: BTreeSet<Bytes>,
}

/// Who caches keys that begin alike, and which of those have changed, each with the only connection that changed it, if it was one.
#[derive(Debug, Default)]
struct Prefix {
    clients: BTreeSet<u64>,
    changed: BTreeMap<Bytes, Option<u64>>,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Tracking {
    clients: BTreeMap<u64, Tracker>,
    keys: BTreeMap<Bytes, BTreeSet<u64>>,
    prefixes: BTreeMap<Bytes, Prefix>,
    /// How many connections are remembered, once for each key.
    items: usize,
    /// Connections that are reading, and what they were told of meanwhile.
    reading: BTreeMap<u64, BTreeSet<Bytes>>,
    /// Some prefix has changed keys.
    broadcasts: bool,
    /// What the connection whose command runs is told behind its reply, of the keys it has changed.
    own: Vec<Mail>,
    /// The key that was forgotten last because there were too many.
    evicted: Bytes,
}

/// Who has changed something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct By(pub Option<u64>);

impl Tracking {
    /// Whether any connection caches.
    #[inline]
    pub fn is_any(&self) -> bool {
        !self.clients.is_empty()
    }

    /// How many connections cache, how many keys and connections beside keys are remembered, and how many prefixes.
    pub(super) fn counts(&self) -> [usize; 4] {
        [self.clients.len(), self.keys.len(), self.items, self.prefixes.len()]
    }

    pub(super) fn tracker(&self, id: u64) -> Option<&Tracker> {
        self.clients.get(&id)
    }

    /// Connection `id` caches so from now on.
    pub(super) fn set(&mut self, id: u64, tracker: Tracker) {
        for prefix in &tracker.prefixes {
            self.prefixes.entry(prefix.clone()).or_default().clients.insert(id);
        }
        self.clients.insert(id, tracker);
    }

    /// Connection `id` caches no more. Where it stands beside keys it is passed over.
    pub(super) fn end(&mut self, id: u64) {
        let Some(tracker) = self.clients.remove(&id) else { return };
        self.reading.remove(&id);
        for name in &tracker.prefixes {
            let Some(prefix) = self.prefixes.get_mut(name) else { continue };
            prefix.clients.remove(&id);
            if prefix.clients.is_empty() {
                self.prefixes.remove(name);
            }
        }
        if self.clients.is_empty() {
            self.keys.clear();
            self.items = 0;
        }
    }

    /// Connection `id` is about to read these keys.
    pub fn remember(&mut self, id: u64, noted: &KeysRead) {
        for key in noted.keys.iter().chain(&noted.of_scripts) {
            self.items += usize::from(self.keys.entry(key.clone()).or_default().insert(id));
        }
        self.reading.insert(id, BTreeSet::new());
    }

    /// Connection `id` has read these keys; if those of scripts count, `scripts_read`. It is told again of those of which it was told
    /// since [`Self::remember`] (I1).
    pub fn confirm(
        &mut self,
        id: u64,
        (noted, scripts_read): (&KeysRead, bool),
        registry: &ClientRegistry,
        mail: &mut Vec<Mail>,
    ) {
        for key in self.reading.remove(&id).unwrap_or_default() {
            self.tell(id, Some(std::slice::from_ref(&key)), registry, mail);
        }
        for key in noted.of_scripts.iter().filter(|key| !scripts_read && !noted.keys.contains(key)) {
            let Some(clients) = self.keys.get_mut(key) else { continue };
            self.items -= usize::from(clients.remove(&id));
            if clients.is_empty() {
                self.keys.remove(key);
            }
        }
    }

    /// Forgets keys, and tells who caches them, until there are no more than `most`.
    pub fn limit(&mut self, most: u64, registry: &ClientRegistry, mail: &mut Vec<Mail>) {
        while most > 0 && self.keys.len() as u64 > most {
            let behind = (Bound::Excluded(&self.evicted), Bound::Unbounded);
            let next = self.keys.range::<Bytes, _>(behind).next().or_else(|| self.keys.iter().next());
            let Some((key, _)) = next else { return };
            self.evicted = key.clone();
            let key = key.clone();
            self.forget(&key, By(None), registry, mail);
        }
    }

    /// A key has changed.
    pub fn changed(&mut self, key: &Bytes, by: By, registry: &ClientRegistry, mail: &mut Vec<Mail>) {
        self.forget(key, by, registry, mail);
        for (name, prefix) in &mut self.prefixes {
            if key.starts_with(name) {
                let last = prefix.changed.entry(key.clone()).or_insert(by.0);
                *last = last.filter(|last| by.0 == Some(*last));
                self.broadcasts = true;
            }
        }
    }

    /// Forgets who caches a key, and tells them.
    fn forget(&mut self, key: &Bytes, By(by): By, registry: &ClientRegistry, mail: &mut Vec<Mail>) {
        let Some(clients) = self.keys.remove(key) else { return };
        self.items -= clients.len();
        for id in clients {
            let Some(tracker) = self.clients.get(&id) else { continue };
            let itself = by == Some(id);
            if tracker.mode == Mode::Broadcast || (itself && tracker.no_loop) {
                continue;
            }
            let one = std::slice::from_ref(key);
            if itself {
                let mut own = std::mem::take(&mut self.own);
                self.tell(id, Some(one), registry, &mut own);
                self.own = own;
                continue;
            }
            self.tell(id, Some(one), registry, mail);
            if let Some(told) = self.reading.get_mut(&id) {
                told.insert(key.clone());
            }
        }
    }

    /// Tells those who cache by prefixes what has changed since the last call.
    pub fn broadcast(&mut self, registry: &ClientRegistry, mail: &mut Vec<Mail>) {
        if !std::mem::take(&mut self.broadcasts) {
            return;
        }
        let mut told: Vec<(u64, Vec<Bytes>)> = Vec::new();
        for prefix in self.prefixes.values_mut() {
            let changed = std::mem::take(&mut prefix.changed);
            for id in &prefix.clients {
                let quiet = self.clients.get(id).is_some_and(|tracker| tracker.no_loop);
                let others = changed.iter().filter(|(_, by)| !(quiet && **by == Some(*id)));
                let keys: Vec<Bytes> = others.map(|(key, _)| key.clone()).collect();
                if !keys.is_empty() {
                    told.push((*id, keys));
                }
            }
        }
        for (id, keys) in told {
            self.tell(id, Some(&keys), registry, mail);
        }
    }

    /// Everything may have changed: all who cache are told. The connection `by` is told behind the reply of its command.
    pub fn flush(&mut self, By(by): By, registry: &ClientRegistry, mail: &mut Vec<Mail>) {
        self.keys.clear();
        self.items = 0;
        for id in self.clients.keys().copied().collect::<Vec<_>>() {
            let mut own = std::mem::take(&mut self.own);
            self.tell(id, None, registry, if by == Some(id) { &mut own } else { mail });
            self.own = own;
        }
    }

    /// The command that runs has ended: its connection may be told of its own changes.
    #[inline]
    pub fn release(&mut self, mail: &mut Vec<Mail>) {
        mail.append(&mut self.own);
    }

    /// Tells a connection, or the one that is told in its place, that keys have changed; all, if none are given.
    fn tell(&mut self, id: u64, keys: Option<&[Bytes]>, registry: &ClientRegistry, mail: &mut Vec<Mail>) {
        let Some(tracker) = self.clients.get_mut(&id) else { return };
        let to = if tracker.redirect > 0 { tracker.redirect } else { id };
        let speaks3 = |id| registry.get(id).is_some_and(|client| client.version == Version::Resp3);
        let Some(client) = registry.get(to) else {
            tracker.broken = true;
            if speaks3(id) {
                mail.push(Mail { to: id, message: Message::RedirectionBroken(to), source: None });
            }
            return;
        };
        // In RESP2 there are no pushes, but messages of a channel.
        let subscribes = tracker.redirect > 0 && client.is_subscriber();
        if client.version == Version::Resp3 || subscribes {
            let message = Message::Invalidate(keys.map(<[Bytes]>::to_vec));
            mail.push(Mail { to, message, source: None });
        }
    }
}

#[cfg(test)]
mod tests;
