//! What nodes do costs their cores something: nodes tell what passes, and each thing has its price.

use crate::load::{Costs, Fed, Load, Messages};
use crate::meter::{heading, size};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use tidemark_core::Micros;
use tidemark_node::{Observer, Passing, SessionId, Way, What};

/// What work costs, as nodes see it.
#[derive(Clone, Default)]
pub(crate) struct Till(Arc<Mutex<Account>>);

/// What one core has to pay.
#[derive(Default)]
struct Bill {
    cost_ns: f64,
    /// Timers of servers have fired in this batch.
    timers: bool,
    /// The other processes that this batch has heard.
    heard: Vec<usize>,
    /// Those that it tells something, and whether on a replication stream.
    told: Vec<(usize, bool)>,
}

#[derive(Default)]
struct Account {
    costs: Option<Costs>,
    batched: bool,
    servers: usize,
    now: Micros,
    bills: Vec<Bill>,
    /// Of clients that ask servers themselves, by node and session: until when, in nanoseconds, a client is busy. It has a core of its own.
    clients: HashMap<(usize, SessionId), u64>,
    /// Until when the clients are busy whose requests leave at this moment.
    asking_until_ns: u64,
    /// Only what happens then counts.
    counted: std::ops::Range<Micros>,
    /// By the first byte of a message, which tells its variant.
    sent: BTreeMap<u8, (String, Messages)>,
    fed: Fed,
}

impl std::fmt::Debug for Till {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Till")
    }
}

impl Observer for Till {
    fn see(&self, passing: Passing<'_>) -> u64 {
        let mut account = self.account();
        if let Some(costs) = account.costs {
            account.pays(&costs, passing);
        }
        0
    }
}

impl Till {
    fn account(&self) -> MutexGuard<'_, Account> {
        self.0.lock().expect("one thread plays a run")
    }

    /// From now on work takes time.
    pub(super) fn opens(&self, what: &Load, servers: usize, counted: std::ops::Range<Micros>) {
        let mut account = self.account();
        (account.costs, account.batched) = (Some(what.costs), what.batched);
        (account.servers, account.counted) = (servers, counted);
        account.bills.resize_with(servers, Bill::default);
    }

    /// Time has passed.
    pub(super) fn at(&self, now: Micros) {
        let mut account = self.account();
        (account.now, account.asking_until_ns) = (now, 0);
    }

    /// How much longer clients take to send what leaves their node now.
    pub(super) fn asking_us(&self) -> Micros {
        let account = self.account();
        account.asking_until_ns.div_ceil(1_000).saturating_sub(account.now)
    }

    /// How much longer the client of a session takes to read what it was told.
    pub(super) fn reading_us(&self, at: usize, session: SessionId) -> Micros {
        let account = self.account();
        let until_ns = account.clients.get(&(at, session)).copied().unwrap_or_default();
        until_ns.div_ceil(1_000).saturating_sub(account.now)
    }

    /// Something costs a core something.
    pub(super) fn charge(&self, at: usize, cost: impl FnOnce(&Costs) -> f64) {
        let mut account = self.account();
        if let Some(costs) = account.costs {
            account.bills[at].cost_ns += cost(&costs);
        }
    }

    /// How long a core sleeps on when something has come.
    pub(super) fn idle_us(&self) -> Micros {
        self.account().costs.map_or(0, |costs| (costs.idle_ns / 1_000.0) as Micros)
    }

    /// All parts of a batch are known: how long it takes. What is left of a microsecond is added to the next one.
    /// `works` if more than time has come to it, `wakes` if the core was asleep.
    pub(super) fn ends_batch(&self, at: usize, works: bool, wakes: bool) -> Micros {
        let mut account = self.account();
        let Some(costs) = account.costs else { return 0 };
        let batched = account.batched;
        let bill = &mut account.bills[at];
        if works || std::mem::take(&mut bill.timers) {
            bill.cost_ns += costs.turn_ns + if wakes { costs.wake_ns } else { 0.0 };
        }
        bill.timers = false;
        if batched {
            bill.heard.sort_unstable();
            bill.heard.dedup();
            bill.told.sort_unstable();
            bill.told.dedup();
        }
        bill.cost_ns += bill.heard.len() as f64 * costs.arrival_ns + bill.told.len() as f64 * costs.link_ns;
        bill.heard.clear();
        bill.told.clear();
        let takes = (bill.cost_ns / 1_000.0) as Micros;
        bill.cost_ns -= takes as f64 * 1_000.0;
        takes
    }

    /// Messages that passed between servers, by the name of their variant.
    pub(super) fn sent(&self) -> BTreeMap<String, Messages> {
        let mut named: BTreeMap<String, Messages> = BTreeMap::new();
        for (name, messages) in self.account().sent.values() {
            named.entry(name.clone()).or_default().include(messages);
        }
        named
    }

    /// What was fed to other regions.
    pub(super) fn fed(&self) -> Fed {
        self.account().fed
    }
}

impl Account {
    /// Something leaves a server while that counts.
    fn counts(&mut self, what: What<'_>) {
        match what {
            What::Message { from, to, content } => {
                let size = size(content);
                let new = || (heading(content).0, Messages::default());
                let (_, sent) = self.sent.entry(size.first.unwrap_or_default()).or_insert_with(new);
                match from.dc == to.dc {
                    true => sent.near += 1,
                    false => sent.far += 1,
                }
                sent.bytes += size.bytes;
            }
            What::Record { content, .. } => {
                let bytes = size(content).bytes;
                self.fed.versions += 1;
                self.fed.version_bytes += bytes;
                self.fed.bytes += bytes;
            }
            What::Beat { content, .. } => {
                self.fed.heartbeats += 1;
                self.fed.bytes += size(content).bytes;
            }
            _ => {}
        }
    }

    /// What a client sends to servers and reads from them costs it something: each request and each reply is on a connection of
    /// its own.
    fn client_pays(&mut self, costs: &Costs, at: usize, way: Way, what: What<'_>) {
        let (ticket, takes_ns) = match (way, what) {
            (Way::Out, What::Request { ticket, content, .. }) => {
                (ticket, costs.link_ns + costs.send_ns + costs.bytes(size(content)))
            }
            (Way::In, What::Reply { ticket, content }) => {
                let bytes_ns = content.map_or(0.0, |content| costs.bytes(size(content)));
                (ticket, costs.arrival_ns + costs.receive_ns + bytes_ns)
            }
            _ => return,
        };
        let now_ns = self.now * 1_000;
        let until_ns = self.clients.entry((at, SessionId::of(ticket))).or_default();
        let wake_ns = if way == Way::In && *until_ns < now_ns { costs.idle_ns + costs.wake_ns } else { 0.0 };
        *until_ns = (*until_ns).max(now_ns) + (takes_ns + wake_ns) as u64;
        if way == Way::Out {
            self.asking_until_ns = self.asking_until_ns.max(*until_ns);
        }
    }

    /// What passes at a server costs it something.
    fn pays(&mut self, costs: &Costs, Passing { at, peer, way, what, .. }: Passing<'_>) {
        let (at, peer) = (at.index(), peer.index());
        if at >= self.servers {
            return self.client_pays(costs, at, way, what);
        }
        if way == Way::Out && self.counted.contains(&self.now) {
            self.counts(what);
        }
        let client = peer >= self.servers;
        let bill = &mut self.bills[at];
        match (way, client) {
            (Way::In, false) => bill.heard.push(peer),
            (Way::Out, false) => {
                bill.told.push((peer, matches!(what, What::Record { .. } | What::Beat { .. })))
            }
            _ => {}
        }
        bill.cost_ns += match what {
            What::Request { writes, content, .. } => {
                let asked = match way {
                    Way::Within => 0.0,
                    Way::In if client => costs.request_ns + costs.bytes(size(content)),
                    Way::In => costs.receive_ns + costs.bytes(size(content)),
                    Way::Out => return bill.cost_ns += costs.send_ns + costs.bytes(size(content)),
                };
                asked + if writes { costs.write_ns } else { 0.0 }
            }
            What::Reply { content, .. } => {
                let bytes = || content.map_or(0.0, |content| costs.bytes(size(content)));
                match way {
                    Way::Within => 0.0,
                    Way::In => costs.receive_ns + bytes(),
                    Way::Out if client => costs.reply_ns + bytes(),
                    Way::Out => costs.send_ns + bytes(),
                }
            }
            What::Message { content, .. } => {
                let each_ns = if way == Way::Out { costs.send_ns } else { costs.receive_ns };
                each_ns + costs.bytes(size(content))
            }
            What::Record { content, .. } => {
                let each_ns = if way == Way::Out { costs.stream_ns } else { costs.apply_ns };
                each_ns + costs.bytes(size(content))
            }
            What::Beat { .. } if way == Way::Out => costs.send_ns,
            What::Beat { .. } => costs.receive_ns,
            What::Raft { bytes, entries } => {
                let bytes_ns = bytes as f64 * costs.byte_ns;
                match way {
                    Way::Out => costs.send_ns + bytes_ns,
                    // An entry is written like a version from elsewhere.
                    _ => costs.receive_ns + bytes_ns + entries as f64 * costs.apply_ns,
                }
            }
            What::Timers => {
                bill.timers = true;
                costs.timer_ns
            }
            What::Token { .. } => 0.0,
        };
    }
}
