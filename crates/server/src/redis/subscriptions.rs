//! Which connections of the node have subscribed to which channels, patterns and shard channels.

use super::mail::{Mail, Message, Publication};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use tidemark_core::glob::glob_matches;

/// What a subscription names. The three name spaces are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// A channel: SUBSCRIBE and PUBLISH.
    Channels,
    /// A pattern of channels: PSUBSCRIBE.
    Patterns,
    /// A shard channel: SSUBSCRIBE and SPUBLISH.
    Shards,
}

/// How many subscriptions a connection has in each space, in the order of [`Space`].
pub type Counts = [usize; 3];

/// The subscriptions of all connections.
#[derive(Debug, Default)]
pub struct Subscriptions {
    by_name: [BTreeMap<Bytes, BTreeSet<u64>>; 3],
    by_client: BTreeMap<u64, [BTreeSet<Bytes>; 3]>,
}

impl Subscriptions {
    /// Adds a subscription of connection `id`, unless it has that one.
    pub(super) fn add(&mut self, id: u64, space: Space, name: &[u8]) {
        // A copy: the argument of a request would keep its whole read buffer alive.
        let name = Bytes::copy_from_slice(name);
        self.by_client.entry(id).or_default()[space as usize].insert(name.clone());
        self.by_name[space as usize].entry(name).or_default().insert(id);
    }

    /// Removes a subscription of connection `id`, if it has that one.
    pub(super) fn remove(&mut self, id: u64, space: Space, name: &[u8]) {
        if let Some(names) = self.by_client.get_mut(&id) {
            names[space as usize].remove(name);
            if names.iter().all(BTreeSet::is_empty) {
                self.by_client.remove(&id);
            }
        }
        let names = &mut self.by_name[space as usize];
        if let Some(clients) = names.get_mut(name) {
            clients.remove(&id);
            if clients.is_empty() {
                names.remove(name);
            }
        }
    }

    /// Removes all subscriptions of connection `id`.
    pub(super) fn forget(&mut self, id: u64) {
        for space in [Space::Channels, Space::Patterns, Space::Shards] {
            for name in self.of(id, space) {
                self.remove(id, space, &name);
            }
        }
    }

    /// The names to which connection `id` has subscribed.
    pub(super) fn of(&self, id: u64, space: Space) -> Vec<Bytes> {
        self.by_client.get(&id).map_or_else(Vec::new, |names| names[space as usize].iter().cloned().collect())
    }

    /// How many subscriptions connection `id` has.
    pub(super) fn counts(&self, id: u64) -> Counts {
        self.by_client.get(&id).map_or([0; 3], |names| [names[0].len(), names[1].len(), names[2].len()])
    }

    /// The names of a space that have subscribers.
    pub(super) fn names(&self, space: Space) -> impl Iterator<Item = &Bytes> {
        self.by_name[space as usize].keys()
    }

    /// How many connections have subscribed to `name`.
    pub(super) fn subscribers(&self, space: Space, name: &[u8]) -> usize {
        self.by_name[space as usize].get(name).map_or(0, BTreeSet::len)
    }

    /// How many subscriptions a message to `channel` meets.
    pub(super) fn receivers(&self, shard: bool, channel: &[u8]) -> usize {
        let space = if shard { Space::Shards } else { Space::Channels };
        let patterns = self.by_name[Space::Patterns as usize].iter().filter(|_| !shard);
        let matching = patterns.filter(|(pattern, _)| glob_matches(pattern, channel, false));
        self.subscribers(space, channel) + matching.map(|(_, clients)| clients.len()).sum::<usize>()
    }

    /// Appends a message for each subscription that a publication meets.
    pub(super) fn hand_out(&self, publication: &Publication, source: u16, mail: &mut Vec<Mail>) {
        let Publication { shard, channel, payload, .. } = publication;
        let source = Some(source);
        let space = if *shard { Space::Shards } else { Space::Channels };
        for to in self.by_name[space as usize].get(channel).into_iter().flatten() {
            let (channel, payload) = (channel.clone(), payload.clone());
            let message = if *shard {
                Message::Shard { channel, payload }
            } else {
                Message::Channel { channel, payload }
            };
            mail.push(Mail { to: *to, message, source });
        }
        let patterns = self.by_name[Space::Patterns as usize].iter().filter(|_| !shard);
        for (pattern, clients) in patterns.filter(|(pattern, _)| glob_matches(pattern, channel, false)) {
            for to in clients {
                let (pattern, channel, payload) = (pattern.clone(), channel.clone(), payload.clone());
                mail.push(Mail { to: *to, message: Message::Pattern { pattern, channel, payload }, source });
            }
        }
    }
}
