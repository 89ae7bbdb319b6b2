//! How a client comes, says what it has and what it watches, and goes.

use super::connection::Connection;
use super::{Ask, ConnectionId, Gateway, Why};
use crate::frames::{Change, Hello, NO_HASH, ToClient, ToGateway, Update, Welcome};
use crate::rule::{BASES_DOMINATE, K_IS_KEPT};
use std::collections::BTreeSet;
use tidemark_core::{ClientId, Guard, guard_of};

/// So many transactions of one client wait. Clients send 64 ahead.
const QUEUE_MAX: usize = 1024;

impl Gateway {
    /// A frame of a client.
    pub(super) fn take(&mut self, id: ConnectionId, frame: ToGateway) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        match frame {
            ToGateway::Hello(hello) => self.hello(id, hello),
            ToGateway::Transfer { body, sent_before } => {
                if connection.queue.len() >= QUEUE_MAX {
                    return self.refuse(
                        id,
                        "TOOMANY",
                        "more transactions were sent ahead than a gateway takes",
                    );
                }
                connection.queue.push_back((body, sent_before));
                self.transfer(id);
            }
            ToGateway::Watch { reference, key, have } => {
                if connection.live {
                    connection.waits.insert(reference);
                } else {
                    connection.have.insert(reference, have);
                }
                if let Some(regions) = connection.channel {
                    let channel = self.channels.entry(regions).or_default();
                    channel.watch(&key, id);
                    if connection.live {
                        channel.asking.insert(id);
                    }
                    self.fill(id);
                    self.step(regions);
                }
            }
            ToGateway::Unwatch { reference } => self.unwatch(id, reference),
            ToGateway::SetK { regions } => {
                connection.wants = regions;
                connection.most = connection.most.max(regions);
                self.join(id);
                self.tell_shared(id);
            }
            ToGateway::Sync => {
                (connection.synced, connection.asks) = (true, true);
                let channel = connection.channel.filter(|_| connection.live);
                if let Some(channel) = channel.and_then(|regions| self.channels.get_mut(&regions)) {
                    channel.asking.insert(id);
                }
                self.open_if_ready(id);
                self.ask_for_bases();
            }
        }
    }

    fn hello(&mut self, id: ConnectionId, hello: Hello) {
        if self.settings.token.as_ref().is_some_and(|token| *token != hello.token) {
            return self.refuse(id, "NOAUTH", "the token of Hello is not the password of this node");
        }
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let client = ClientId(hello.secret.cid());
        (connection.client, connection.wants, connection.most) = (client, hello.regions, hello.regions);
        connection.hello = Some(hello);
        self.ask(Why::Welcome(id), Ask::Guard(client));
        self.join(id);
    }

    /// How far this region has the client's transactions is known.
    pub(super) fn welcome(&mut self, id: ConnectionId, guard: Guard) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let Some(hello) = &connection.hello else { return };
        let own = self.bases.first();
        let covered = hello.base.newest_us() == 0 || own.is_some_and(|own| own.dominates(&hello.base));
        connection.head = Some(guard);
        let mut check = [0; 8];
        if guard.k > 0 {
            check.copy_from_slice(&guard.digest[..8]);
        }
        let settings = &self.settings;
        let welcome = Welcome {
            region: settings.region,
            regions: settings.regions,
            time_us: self.now_us,
            head: guard.k,
            check,
            // A quiet client is sent a tick four times as seldom.
            period_ms: settings.period_ms.max(settings.idle_ms / 4),
            retain_ms: settings.retain_ms,
            covered,
            name: settings.name.clone(),
        };
        self.send(id, &ToClient::Welcome(welcome));
        self.open_if_ready(id);
        self.transfer(id);
    }

    /// Takes a client into the channel of its K, as far as that is kept here.
    pub(super) fn join(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get(&id).filter(|connection| connection.hello.is_some())
        else {
            return;
        };
        let most = (self.bases.len() as u64).max(1);
        let regions = connection.wants.clamp(1, if self.bases.is_empty() { u64::MAX } else { most });
        let regions = if K_IS_KEPT.kept() { regions } else { 1 };
        if connection.channel == Some(regions) {
            return;
        }
        let connection = self.connections.remove(&id).expect("just seen");
        let (have, waits) = self.has(&connection);
        self.leave(id, &connection);
        let channel = self.channels.entry(regions).or_default();
        channel.joins(id);
        channel.watch(&guard_of(connection.client).0, id);
        connection.link.watched().for_each(|(_, key)| channel.watch(key, id));
        let live = false;
        self.connections.insert(id, Connection { channel: Some(regions), have, waits, live, ..connection });
        self.open_if_ready(id);
        self.step(regions);
    }

    /// What a client has of the keys that it watches.
    fn has(&self, connection: &Connection) -> (std::collections::BTreeMap<u64, [u8; 8]>, BTreeSet<u64>) {
        let Some(channel) = connection.channel.filter(|_| connection.live) else {
            return (connection.have.clone(), BTreeSet::new());
        };
        let value = |key| self.channels.get(&channel).and_then(|channel| channel.value(key));
        let all = connection.link.watched().map(|(reference, key)| {
            let known = value(key).filter(|_| !connection.waits.contains(&reference));
            (reference, known.map_or(NO_HASH, |value| value.map(|one| one.told(connection.client)).hash()))
        });
        (all.collect(), BTreeSet::new())
    }

    /// A client is in no channel any more.
    pub(super) fn leave(&mut self, id: ConnectionId, connection: &Connection) {
        let Some(regions) = connection.channel else { return };
        let Some(channel) = self.channels.get_mut(&regions) else { return };
        channel.leaves(id, connection.ticked_us);
        channel.unwatch(&guard_of(connection.client), id);
        connection.link.watched().for_each(|(_, key)| channel.unwatch(key, id));
        if channel.members.is_empty() {
            self.channels.remove(&regions);
        }
    }

    fn unwatch(&mut self, id: ConnectionId, reference: u64) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.have.remove(&reference);
        connection.waits.remove(&reference);
        let Some(key) = connection.link.take_unwatched() else { return };
        // Its guard it watches as long as it is here.
        let is_guard = *key == *guard_of(connection.client).0;
        let channel = connection.channel.and_then(|regions| self.channels.get_mut(&regions));
        if let Some(channel) = channel.filter(|_| !is_guard) {
            channel.unwatch(&key, id);
        }
    }

    /// Ends the opening of a client with a tick, if its channel has come to a base that dominates the client's, and all that it watches
    /// is known.
    pub(super) fn open_if_ready(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get(&id) else { return };
        let ready = connection.synced && connection.fresh && !connection.live && connection.head.is_some();
        let Some((regions, channel)) = connection
            .channel
            .filter(|_| ready)
            .and_then(|regions| Some((regions, self.channels.get(&regions)?)))
        else {
            return;
        };
        let dominates = channel.base.dominates(connection.link.base()) || !BASES_DOMINATE.kept();
        if channel.base.newest_us() == 0
            || !dominates
            || channel.value(&guard_of(connection.client)).is_none()
        {
            return;
        }
        let mut updates = Vec::new();
        for (reference, key) in connection.link.watched() {
            let Some(value) = channel.value(key) else { return };
            let value = value.map(|stamped| stamped.told(connection.client));
            let have = connection.have.get(&reference).copied().unwrap_or(NO_HASH);
            if have == NO_HASH || have != value.hash() {
                updates.push(Update { reference, change: Change::Whole(value) });
            }
        }
        let guard = self.guard(regions, connection);
        self.tell_shared(id);
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.live = true;
            connection.have.clear();
        }
        self.send_tick(id, regions, guard, updates);
    }
}
