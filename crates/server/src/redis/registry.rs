//! Every connection of the server, for the commands of one that concern another: CLIENT LIST and CLIENT KILL.
//!
//! A killed connection stays in the registry, marked, until its gateway task removes it; the gateway learns from
//! [`ClientRegistry::take_killed`] whom to wake. Nothing here is touched by data commands unless the gateway calls
//! [`ClientRegistry::touch`], so a registry shared between threads behind a lock costs nothing there.

use super::subscriptions::Counts;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use tidemark_core::Micros;
use tidemark_wire::resp::Version;

/// What is known of one connection.
#[derive(Clone, Debug)]
pub struct Client {
    /// Its number, never used again.
    pub id: u64,
    /// The client's address and port.
    pub address: String,
    /// The server's.
    pub local_address: String,
    /// What CLIENT SETNAME said, or empty.
    pub name: String,
    /// What CLIENT SETINFO said of the library, or empty.
    pub library: String,
    /// Its version, or empty.
    pub library_version: String,
    /// The protocol version it speaks.
    pub version: Version,
    /// Since when it is connected.
    pub connected_at: Micros,
    /// When it last sent a command that was noted here.
    pub active_at: Micros,
    /// That command.
    pub command: &'static str,
    /// How many subscriptions it has.
    pub subscriptions: Counts,
    /// Whether a command of it waits.
    pub blocked: bool,
    /// Whether it waits for a key, so that CLIENT UNBLOCK can end that.
    pub waits: bool,
    /// Whether it has sent MONITOR.
    pub monitor: bool,
    /// Whether CLIENT NO-EVICT is on (which changes nothing but this flag).
    pub no_evict: bool,
    /// Whether CLIENT NO-TOUCH is on (likewise).
    pub no_touch: bool,
    /// Whether CLIENT KILL asked for its end.
    pub killed: bool,
}

/// The connections by number.
#[derive(Debug, Default)]
pub struct ClientRegistry {
    clients: BTreeMap<u64, Client>,
    last_id: u64,
    killed: Vec<u64>,
}

impl ClientRegistry {
    /// Adds a connection; returns its number.
    pub fn register(&mut self, address: String, local_address: String, now: Micros) -> u64 {
        self.last_id += 1;
        let client = Client {
            id: self.last_id,
            address,
            local_address,
            name: String::new(),
            library: String::new(),
            library_version: String::new(),
            version: Version::Resp2,
            connected_at: now,
            active_at: now,
            command: "NULL",
            subscriptions: [0; 3],
            blocked: false,
            waits: false,
            monitor: false,
            no_evict: false,
            no_touch: false,
            killed: false,
        };
        self.clients.insert(self.last_id, client);
        self.last_id
    }

    /// Removes a connection that has ended.
    pub fn remove(&mut self, id: u64) {
        self.clients.remove(&id);
    }

    /// What is known of connection `id`.
    pub fn get(&self, id: u64) -> Option<&Client> {
        self.clients.get(&id)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, id: u64) -> Option<&mut Client> {
        self.clients.get_mut(&id)
    }

    /// Notes what connection `id` did last.
    pub fn touch(&mut self, id: u64, command: &'static str, now: Micros) {
        if let Some(client) = self.clients.get_mut(&id) {
            (client.command, client.active_at) = (command, now);
        }
    }

    /// How many connections there are.
    pub fn len(&self) -> usize {
        self.clients.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    /// The connections, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Client> {
        self.clients.values()
    }

    /// Marks every connection that `doomed` picks; returns how many were not marked before.
    pub fn kill(&mut self, doomed: impl Fn(&Client) -> bool) -> usize {
        let before = self.killed.len();
        for client in self.clients.values_mut().filter(|client| !client.killed && doomed(client)) {
            client.killed = true;
            self.killed.push(client.id);
        }
        self.killed.len() - before
    }

    /// Whether connection `id` was killed.
    pub fn is_killed(&self, id: u64) -> bool {
        self.clients.get(&id).is_some_and(|client| client.killed)
    }

    /// The connections killed since the last call: the gateway ends them.
    pub fn take_killed(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.killed)
    }
}

impl Client {
    /// Whether it has subscriptions.
    pub fn is_subscriber(&self) -> bool {
        self.subscriptions != [0; 3]
    }

    /// Appends the line that CLIENT LIST and CLIENT INFO show. Figures that this server does not keep are zero.
    pub fn describe(&self, now: Micros, out: &mut String) {
        let seconds = |since: Micros| now.saturating_sub(since) / 1_000_000;
        let flags = [
            ('O', self.monitor),
            ('P', self.is_subscriber()),
            ('b', self.blocked),
            ('e', self.no_evict),
            ('T', self.no_touch),
        ];
        let mut flags: String = flags.iter().filter(|(_, set)| *set).map(|(flag, _)| flag).collect();
        if flags.is_empty() {
            flags.push('N');
        }
        let [channels, patterns, shards] = self.subscriptions;
        let _ = writeln!(
            out,
            "id={} addr={} laddr={} fd=-1 name={} age={} idle={} flags={flags} db=0 sub={channels} psub={patterns} ssub={shards} \
             multi=-1 \
             qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r \
             cmd={} user=default redir=-1 resp={} lib-name={} lib-ver={}",
            self.id,
            self.address,
            self.local_address,
            self.name,
            seconds(self.connected_at),
            seconds(self.active_at),
            self.command,
            self.version.number(),
            self.library,
            self.library_version,
        );
    }
}
