//! The client: events in, effects out. It reads and commits without the network, and sends its transactions when it can.
//!
//! What it shows is a *base*, one point of the past that K regions have whole, with its own log on top. So it fails over to any of them
//! and misses nothing; and what it has written itself is always visible to it.
//!
//! **Rules**, as numbered in the specification of the link; each has a test of its name:
//! 1. A read is the value at the base, with the log's operations on top, and those of the transaction. What own transactions wrote does
//!    not count as changed by the base that brings it: a removal that came after them takes it.
//! 2. A commit gets the next number, and a time above all that it saw. It is durable before it is visible.
//! 3. A transaction that was sent never changes, but for Retime. What an earlier process has committed counts as sent: that process, or
//!    another copy of the disk, may have sent it.
//! 4. A new connection sends the whole log, at most [`WINDOW`] transactions ahead of what is acknowledged.
//! 5. An Ack prunes nothing: it speaks of one region.
//! 6. Missing says from where to send again. What was in a base, and is not in a later one, was lost with K or more regions: the log goes on
//!    without it.
//! 7. Later and Behind say when to send again; after three times Behind the next endpoint is tried.
//! 8. A tick is a new base. The base is durable before it is visible, and the log loses what the base contains in the same step.
//! 9. A Value is of the base that is visible when its turn comes. A key that the log writes is watched for as long, whoever has given it up.
//! 10. A connection opens with Hello, the watches with the hashes of what is cached, and Sync.
//! 11. A fork makes the client go on under a new name with what was never sent.
//! 12. Each refusal is reported once. Retime gives a transaction, and those after it, new times.
//! 13. The status is one of four.
//! 14. A connection that fails is followed by one to the next endpoint, after a delay that grows.
//! 15. An operation of the wrong type is the gateway's to refuse.
//! 16. In an isolated region the next endpoint is tried, once each. If there is no better one, K is lowered for as long, if that is wanted.
//! 17. From another endpoint than the first the client goes back now and then, and stays there if that has its base.
//!
//! **What the driver owes**
//! - O1 It carries out the effects in their order. [`Effect::Persist`]s become durable in their order, each as a whole, and are answered with
//!   [`Event::Persisted`] or [`Event::PersistFailed`]. After a failure nothing of that one is on disk.
//! - O2 Frames of one connection arrive in order, and none after it was closed.
//! - O3 `now_us` is of a clock that never goes back, in microseconds since whenever.
//!
//! ```
//! use tidemark_edge::client::{Client, Config, Effect, Event, Timing};
//! use tidemark_edge::{durable::Durable, frames::{OperationKind, Secret}};
//!
//! let mut disk = Durable::new(Secret([7; 32])); // a driver draws it
//! let config = Config { endpoints: 2, seed: 1, token: "".into(), lowers: false, timing: Timing::DEFAULT };
//! let mut client = Client::new(disk.clone(), config);
//! let mut transaction = client.begin();
//! transaction.push("visits", OperationKind::Add(1));
//! let effects = client.handle(0, Event::Commit { id: 1, transaction });
//! let [Effect::Persist { id, rows }] = &effects[..] else { panic!() };
//! rows.iter().for_each(|row| disk.apply(row)); // a driver writes them to a file
//! let effects = client.handle(0, Event::Persisted { id: *id });
//! assert_eq!(effects[0], Effect::Committed { id: 1, k: 1 }); // it will be sent when there is a connection
//! ```

mod bases;
mod commits;
mod connection;
mod effect;
mod fork;
mod lists;
mod places;
mod reading;
mod transfers;
mod values;

pub use connection::Timing;
pub use effect::{Effect, Event, Report, Status};
pub use lists::NoElement;
pub use reading::Transaction;
pub use transfers::{BEHIND_MAX, WINDOW};

use crate::durable::{Durable, DurableBase, Row};
use crate::frames::{Base, Malformed, Secret, ToClient, WATCHED_MAX, Welcome};
use crate::value::Epoch;
use bases::Staged;
use bytes::Bytes;
use commits::Commits;
use connection::{Connecting, Connection, Phase};
use fork::Fork;
use lists::Hands;
use reading::{Entry, View, written};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use transfers::Retiming;
use values::Values;

/// What a client is told when it is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How many gateways it knows, in the order of preference; at least one.
    pub endpoints: usize,
    /// What the delays between tries are drawn from, and how the client calls itself in positions of lists: each process draws another one.
    pub seed: u64,
    /// What authenticates the user; may be empty.
    pub token: Bytes,
    /// Whether it lowers K while all regions that it reaches are isolated, and so may see what is lost if the one that it is at is lost.
    pub lowers: bool,
    /// How long it waits for what.
    pub timing: Timing,
}

/// A client. See the [module](self).
#[derive(Clone, Debug)]
pub struct Client {
    secret: Secret,
    /// K, as the application wants it.
    regions: u64,
    base: DurableBase,
    /// K of the base, as its tick said.
    base_regions: u64,
    view: View,
    epoch: Epoch,
    /// The greatest time that was given to a transaction.
    last_h_us: u64,
    /// What puts elements into lists.
    hands: Hands,
    /// Watched keys, with their references in this connection.
    watched: BTreeMap<Bytes, Option<u64>>,
    /// Those of them that only the log needs: it has to know what the client has seen overwritten.
    left: BTreeSet<Bytes>,
    /// Whether the disk keeps values.
    values: Values,
    /// The inverse of `watched`.
    by_reference: BTreeMap<u64, Bytes>,
    commits: Commits,
    retiming: Option<Retiming>,
    /// Ticks and values that wait for a base to become durable.
    staged: VecDeque<Staged>,
    /// The tick at the front of `staged` is being persisted, under this number.
    tick_persist: Option<u64>,
    fork: Option<Fork>,
    connecting: Connecting,
    /// The server's time in microseconds, and the own one when it came.
    clock: Option<(u64, u64)>,
    /// Refusals that have been reported: transactions, and operations of them.
    reported: BTreeSet<(u64, u64)>,
    /// The greatest acknowledged transaction of all connections; only a mutant asks for it.
    acknowledged: u64,
    persists: u64,
    status: Status,
    wake_at: Option<u64>,
    now_us: u64,
    out: Vec<Effect>,
}

impl Client {
    /// A client with the state of its disk. It stays offline until [`Event::Start`].
    ///
    /// # Panics
    /// There is no endpoint.
    pub fn new(durable: Durable, config: Config) -> Self {
        assert!(config.endpoints > 0, "there is a gateway to connect to");
        let log: BTreeMap<u64, Entry> =
            durable.log.into_iter().map(|(k, body)| (k, Entry::loaded(body))).collect();
        let left: BTreeSet<Bytes> = written(log.values()).into_iter().take(WATCHED_MAX / 2).collect();
        let last_h_us = log.values().map(|entry| entry.body.h_us).max().unwrap_or_default();
        let hands = Hands::new(config.seed, durable.secret.cid());
        Self {
            secret: durable.secret,
            regions: durable.regions,
            base_regions: 0,
            view: View::new(durable.base.base.clone(), log),
            base: durable.base,
            epoch: 0,
            last_h_us,
            hands,
            watched: left.iter().map(|key| (key.clone(), None)).collect(),
            left,
            values: Values::not_kept(&durable.values),
            by_reference: BTreeMap::new(),
            commits: Commits::default(),
            retiming: None,
            staged: VecDeque::new(),
            tick_persist: None,
            fork: None,
            connecting: Connecting::new(config),
            clock: None,
            reported: BTreeSet::new(),
            acknowledged: 0,
            persists: 0,
            status: Status::Offline,
            wake_at: None,
            now_us: 0,
            out: Vec::new(),
        }
    }

    /// Handles an event at `now_us`. The effects are to be carried out in their order.
    pub fn handle(&mut self, now_us: u64, event: Event) -> Vec<Effect> {
        self.now_us = self.now_us.max(now_us);
        self.tick_persist = self.tick_persist.filter(|id| *id != bases::KEPT_BACK);
        match event {
            Event::Start => self.start(),
            Event::Stop => self.stop(),
            Event::Connected { connection } => self.on_connected(connection),
            Event::Disconnected { connection } => self.on_disconnected(connection),
            Event::Frame { connection, bytes } => self.on_frame(connection, &bytes),
            Event::Persisted { id } => self.on_persisted(id, true),
            Event::PersistFailed { id } => self.on_persisted(id, false),
            Event::Secret(secret) => self.on_secret(secret),
            Event::Timer => {}
            Event::Watch { key } => self.watch(key),
            Event::Unwatch { key } => self.unwatch(&key),
            Event::SetRegions { regions } => self.set_regions(regions),
            Event::Commit { id, transaction } => self.commit(id, transaction),
        }
        self.advance();
        std::mem::take(&mut self.out)
    }

    /// Does what has become possible.
    fn advance(&mut self) {
        self.advance_staged();
        self.advance_fork();
        self.advance_retime();
        self.advance_commits();
        self.advance_connection();
        self.advance_transfers();
        self.renew_if_restored();
        self.tell_status();
        self.set_timer();
    }

    fn on_persisted(&mut self, id: u64, done: bool) {
        if self.commits.persist == Some(id) {
            self.on_commits_persisted(done);
        } else if self.retiming.as_ref().is_some_and(|retiming| retiming.persist == id) {
            self.on_retimed(done);
        } else if self.tick_persist == Some(id) {
            self.on_tick_persisted(done);
        } else if self.fork.as_ref().is_some_and(|fork| fork.persist() == Some(id)) {
            self.on_fork_persisted(done);
        } else if !done {
            self.on_values_lost();
        }
    }

    fn on_frame(&mut self, connection: u64, bytes: &[u8]) {
        let Some(open) = self.connecting.open(connection) else { return };
        let Some(link) = &mut open.link else { return };
        match link.decode(bytes) {
            Ok(frame) => self.on_decoded(frame),
            Err(malformed) => self.on_malformed(malformed),
        }
    }

    fn on_malformed(&mut self, malformed: Malformed) {
        let text = Bytes::from(malformed.to_string());
        self.report(Report::Error { code: Bytes::from_static(b"MALFORMED"), text });
        self.fail();
    }

    fn on_decoded(&mut self, frame: ToClient) {
        match frame {
            ToClient::Welcome(welcome) => self.on_welcome(welcome),
            ToClient::Ack { k } => self.on_ack(k),
            ToClient::Missing { k } => self.on_missing(k),
            ToClient::Later { wait_ms } => self.on_wait(wait_ms, false),
            ToClient::Behind { wait_ms } => self.on_wait(wait_ms, true),
            ToClient::Forked { k } => self.on_forked(k),
            ToClient::Retime { k } => self.on_retime(k),
            ToClient::Shared { regions } => self.on_shared(regions),
            ToClient::Refused { k, operation, code, text } => {
                self.report_once(k, operation, Report::Refused { k, operation, code, text });
            }
            ToClient::Value { reference, value } => self.on_value(reference, value),
            ToClient::Tick(tick) => self.on_tick(tick),
            ToClient::Error { code, text } => {
                self.report(Report::Error { code, text });
                self.fail();
            }
        }
    }

    /// Rule 12: once, however often the transaction is sent.
    fn report_once(&mut self, k: u64, operation: u64, report: Report) {
        if k > self.base.in_base && self.reported.insert((k, operation)) {
            self.report(report);
        }
    }

    fn report(&mut self, report: Report) {
        self.out.push(Effect::Report(report));
    }

    /// Asks for `rows` to become durable together. Returns the number of the answer.
    fn persist(&mut self, rows: Vec<Row>) -> u64 {
        self.persists += 1;
        self.out.push(Effect::Persist { id: self.persists, rows });
        self.persists
    }

    fn set_regions(&mut self, regions: u64) {
        self.regions = regions;
        self.persist(vec![Row::Regions(regions)]);
        self.choose_regions();
    }

    /// Tells subscribers that the values of `keys` may be others now.
    fn changed(&mut self, keys: BTreeSet<Bytes>) {
        if !keys.is_empty() {
            self.out.push(Effect::Changed { keys: keys.into_iter().collect() });
        }
    }

    /// The server's time now, as far as is known.
    fn server_time_us(&self) -> Option<u64> {
        self.clock.map(|(server, own)| server + (self.now_us - own))
    }

    /// The base that is visible.
    pub fn base(&self) -> &Base {
        &self.base.base
    }

    /// K of the base: at least so many regions have it, as its tick said; 0 before the first tick.
    pub fn base_regions(&self) -> u64 {
        self.base_regions
    }

    /// The client's transactions up to this one are in the base.
    pub fn in_base(&self) -> u64 {
        self.base.in_base
    }

    /// Its public name.
    pub fn cid(&self) -> [u8; 16] {
        self.secret.cid()
    }

    /// Rule 13.
    pub fn status(&self) -> Status {
        self.status
    }

    /// How many transactions are not in the base.
    pub fn pending(&self) -> usize {
        self.view.log.len()
    }

    /// How many transactions this connection's region has not acknowledged.
    pub fn unsent(&self) -> usize {
        let acked = self.connecting.connection().map_or(0, |open| open.acked);
        self.view.log.range(acked + 1..).count()
    }

    /// Its durable state, if the disk has all that it was asked for.
    pub fn durable(&self) -> Durable {
        let log = self.view.log.iter().map(|(k, entry)| (*k, (*entry.body).clone())).collect();
        let (secret, base) = (self.secret.clone(), self.base.clone());
        Durable { secret, base, regions: self.regions, log, values: self.kept_values() }
    }

    /// What the gateway has said of itself, if the client is connected to one.
    pub fn welcome(&self) -> Option<&Welcome> {
        self.connecting.connection()?.welcome.as_ref()
    }

    /// Whether the client's region is isolated: fewer than [`regions`](Self::regions) share what is new there.
    pub fn is_isolated(&self) -> bool {
        self.connecting.connection().is_some_and(|open| open.is_isolated(self.regions))
    }

    /// Which endpoint the client is connected to, or tries now or next: its index.
    pub fn endpoint(&self) -> usize {
        self.connecting.endpoint()
    }

    /// How many regions must have a base whole, as the application wants it.
    pub fn regions(&self) -> u64 {
        self.regions
    }

    /// The watched keys, in the order of bytes.
    pub fn watched(&self) -> impl Iterator<Item = &Bytes> {
        self.watched.keys().filter(|key| !self.left.contains(*key))
    }

    fn last_k(&self) -> u64 {
        self.view.log.keys().next_back().copied().unwrap_or(self.base.chain_k)
    }

    fn first_k(&self) -> u64 {
        self.base.chain_k + 1
    }

    fn opened(&self) -> Option<&Connection> {
        match &self.connecting.phase {
            Phase::Connected(open) if open.link.is_some() => Some(open),
            _ => None,
        }
    }
}
