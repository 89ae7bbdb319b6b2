//! What a protocol costs: rounds, messages, bytes, waiting and staleness, counted while a schedule is played.
//!
//! The meter knows no protocol. It follows causes: a message that a server sends while it handles an operation's
//! question belongs to that operation, and so does what is sent when that message arrives, and so on. An answer that
//! is given while something else is handled (a timer, a heartbeat, another's message) was waited for: the server had
//! blocked the operation. Whose answer it is shows in the ticket, between servers in the id that it shares with its
//! question. What servers say without any operation behind it is background.

mod results;
mod traffic;
mod weigh;

pub use results::{Background, Measured, Operation, Updates};
pub(crate) use traffic::heading;
pub(crate) use weigh::{Size, Weight, key, key_number, size, value, weigh};

use std::collections::{BTreeMap, BTreeSet};
use tidemark_contract::{AskId, Topology};
use tidemark_core::{DcId, Found, Key, Micros, Op, Outcome, ServerId, Stamp};
use tidemark_node::Content;
use traffic::{Traffic, Variant};

/// On whose behalf something happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cause {
    /// On nobody's: a timer, a heartbeat.
    #[default]
    Nobody,
    /// On that of an operation, so many messages between servers after its question.
    Op { number: u32, hops: u32 },
    /// On that of a version that has arrived from another data centre.
    Update,
}

/// Operations that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Get,
    Put,
    Transaction,
    WriteTransaction,
}

const KINDS: [Kind; 4] = [Kind::Get, Kind::Put, Kind::Transaction, Kind::WriteTransaction];

/// One operation.
struct Metered {
    kind: Kind,
    /// It counts: it began after warming up, and nobody asked only to measure.
    counts: bool,
    /// The keys that it is about.
    keys: Vec<u32>,
    /// The newest version of each key that had arrived where the session asks, when the operation began; and the
    /// newest of those that had been written there.
    newest: Vec<(Stamp, Stamp)>,
    began: Micros,
    /// Its questions: the round of each, and the keys in it.
    asks: Vec<(AskId, u32, Vec<u32>)>,
    /// The round of the question that was answered last.
    round: u32,
    rounds: u32,
    hops: u32,
    /// When something was done on its behalf last.
    touched: Micros,
    /// How long it was blocked.
    waited: Option<Micros>,
    request_bytes: u64,
    reply_bytes: u64,
    client_messages: u64,
    /// How many values answers brought, of each question.
    values: Vec<(AskId, usize)>,
    ended: Option<Ended>,
}

impl Metered {
    /// It goes on, blocked since something was done on its behalf last.
    fn has_waited(&mut self, now: Micros) {
        self.waited = Some(self.waited.unwrap_or(0) + now.saturating_sub(self.touched));
        self.touched = now;
    }
}

/// How an operation ended.
struct Ended {
    at: Micros,
    failed: bool,
    /// The version of each key that it has read.
    found: Vec<Stamp>,
    token_bytes: u64,
}

/// A version that others wait to see in another data centre.
struct Watch {
    key: Key,
    stamp: Stamp,
    dc: DcId,
    since: Micros,
}

/// When what happens counts. What was asked until the end counts to its own end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// From here on nobody asks anything …
    pub(crate) quiet: Micros,
    /// … until here, where measuring begins …
    pub(crate) from: Micros,
    /// … which ends here, for what happens on nobody's behalf.
    pub(crate) until: Micros,
    /// One of so many replicated versions is watched for.
    pub(crate) watch_one_of: u64,
}

/// The meter of one run.
pub(crate) struct Meter {
    times: Times,
    topology: Topology,
    /// How many keys there are.
    keys: usize,
    ops: Vec<Metered>,
    /// The running operation of each client.
    running: Vec<Option<u32>>,
    /// The newest version at each server of each key, and of those the newest that was written there.
    newest: Vec<(Stamp, Stamp)>,
    /// What write transactions have written.
    written_together: BTreeSet<Stamp>,
    variants: BTreeMap<String, Variant>,
    /// What an answer to a question between two servers follows from: who asked whom, and the id.
    questions: BTreeMap<(ServerId, ServerId, String), (String, Cause)>,
    heartbeats: Traffic,
    /// Versions sent to other data centres, and their metadata.
    records: Traffic,
    watches: Vec<Watch>,
    /// What the clients that only look are looking for.
    probes: BTreeMap<usize, usize>,
    visible: Vec<Micros>,
}

impl Meter {
    pub(crate) fn new(times: Times, topology: Topology, keys: usize) -> Self {
        let servers = topology.dcs * topology.partitions;
        Self {
            times,
            topology,
            keys,
            ops: Vec::new(),
            running: Vec::new(),
            newest: vec![Default::default(); servers * keys],
            written_together: BTreeSet::new(),
            variants: BTreeMap::new(),
            questions: BTreeMap::new(),
            heartbeats: Traffic::default(),
            records: Traffic::default(),
            watches: Vec::new(),
            probes: BTreeMap::new(),
            visible: Vec::new(),
        }
    }

    fn counts(&self, now: Micros) -> bool {
        now >= self.times.from
    }

    fn place(&self, dc: DcId, key: &Key) -> Option<usize> {
        let number = key_number(key)? as usize;
        let server = dc.index() * self.topology.partitions + self.topology.partition_of(key).index();
        (number < self.keys).then_some(server * self.keys + number)
    }

    /// A client begins an operation.
    pub(crate) fn begin(&mut self, client: usize, dc: DcId, op: &Op, now: Micros) {
        let (kind, keys) = match op {
            Op::Get { key } => (Kind::Get, vec![key]),
            Op::Put { key, .. } => (Kind::Put, vec![key]),
            Op::Rotx { keys } | Op::Snapshot { keys } => (Kind::Transaction, keys.iter().collect()),
            Op::PutAll { writes } => (Kind::WriteTransaction, writes.iter().map(|(key, _)| key).collect()),
            _ => return,
        };
        let newest = |key: &&Key| self.place(dc, key).map(|at| self.newest[at]).unwrap_or_default();
        let newest = keys.iter().map(newest).collect();
        let counts = self.counts(now) && !self.probes.contains_key(&client);
        if self.running.len() <= client {
            self.running.resize(client + 1, None);
        }
        self.running[client] = Some(self.ops.len() as u32);
        self.ops.push(Metered {
            kind,
            counts,
            keys: keys.into_iter().filter_map(|key| key_number(key)).collect(),
            newest,
            began: now,
            asks: Vec::new(),
            round: 0,
            rounds: 0,
            hops: 0,
            touched: now,
            waited: None,
            request_bytes: 0,
            reply_bytes: 0,
            client_messages: 0,
            values: Vec::new(),
            ended: None,
        });
    }

    fn running(&mut self, client: usize) -> Option<&mut Metered> {
        let number = (*self.running.get(client)?)?;
        self.ops.get_mut(number as usize)
    }

    /// Its session asks a server something.
    pub(crate) fn ask(&mut self, client: usize, ask: AskId, weight: Weight) {
        let Some(op) = self.running(client) else { return };
        op.rounds = op.rounds.max(op.round + 1);
        op.client_messages += 1;
        op.request_bytes += weight.metadata(&op.keys);
        op.asks.push((ask, op.round + 1, weight.keys));
    }

    /// The question arrives: what follows is on its behalf.
    pub(crate) fn question(&mut self, client: usize, ask: AskId, now: Micros) -> Cause {
        let Some(number) = self.running.get(client).copied().flatten() else { return Cause::Nobody };
        let op = &mut self.ops[number as usize];
        if !op.asks.iter().any(|(id, ..)| *id == ask) {
            return Cause::Nobody;
        }
        op.touched = now;
        Cause::Op { number, hops: 0 }
    }

    /// A server answers; whether it had waited shows in the cause of what it does.
    pub(crate) fn answer(&mut self, client: usize, ask: AskId, cause: Cause, now: Micros) {
        let Some(number) = self.running.get(client).copied().flatten() else { return };
        let op = &mut self.ops[number as usize];
        if !op.asks.iter().any(|(id, ..)| *id == ask) {
            return;
        }
        match cause {
            Cause::Op { number: of, hops } if of == number => op.hops = op.hops.max(hops),
            _ => op.has_waited(now),
        }
    }

    /// The answer arrives at the session.
    pub(crate) fn reply(&mut self, client: usize, ask: AskId, weight: Weight) {
        let Some(op) = self.running(client) else { return };
        let Some((_, round, _)) = op.asks.iter().find(|(id, ..)| *id == ask) else { return };
        op.round = *round;
        op.client_messages += 1;
        op.reply_bytes += weight.metadata(&[]);
        op.values.push((ask, weight.values));
    }

    /// A server says something to another, on behalf of `because`. Returns the cause of what follows where it arrives.
    pub(crate) fn message(
        &mut self,
        (from, to): (ServerId, ServerId),
        message: &dyn Content,
        because: Cause,
        now: Micros,
    ) -> Cause {
        let idle = (self.times.quiet..self.times.from).contains(&now);
        let in_time = self.counts(now);
        let (variant, id) = heading(message);
        let cause = self.behind(&variant, id.clone().map(|id| (to, from, id)), because, now);
        let (kind, counts, own, follows) = match cause {
            Cause::Op { number, hops } => {
                let op = &self.ops[number as usize];
                let follows = Cause::Op { number, hops: hops + 1 };
                (Some(op.kind), op.counts, &op.keys[..], follows)
            }
            Cause::Update => (Some(Kind::Put), in_time, &[][..], Cause::Update),
            Cause::Nobody => (None, in_time, &[][..], Cause::Nobody),
        };
        let bytes = weigh(message).metadata(own);
        if let (Cause::Op { .. }, Some(id)) = (follows, id) {
            self.questions.insert((from, to, id), (variant.clone(), follows));
        }
        let variant = self.variants.entry(variant).or_default();
        variant.idle |= idle && kind.is_none();
        if counts {
            let traffic = match kind {
                Some(kind) => &mut variant.caused[kind as usize],
                None if now < self.times.until => &mut variant.uncaused,
                None => &mut variant.uncaused_late,
            };
            traffic.add(from.dc == to.dc, bytes);
        }
        follows
    }

    /// On whose behalf a server says something now: if it answers a question that it had blocked, on that of the
    /// question, which has waited since then. Two servers may ask each other under one id: a message of the question's own
    /// variant is no answer.
    fn behind(
        &mut self,
        variant: &str,
        question: Option<(ServerId, ServerId, String)>,
        because: Cause,
        now: Micros,
    ) -> Cause {
        let answered = |question: &_| self.questions.get(question).is_some_and(|(asked, _)| asked != variant);
        let asked = question.filter(answered).and_then(|question| self.questions.remove(&question));
        let Some((_, Cause::Op { number, hops })) = asked else { return because };
        if !matches!(because, Cause::Op { number: running, .. } if running == number) {
            self.ops[number as usize].has_waited(now);
        }
        Cause::Op { number, hops }
    }

    /// Whether a read-only transaction is the cause.
    pub(crate) fn is_transaction(&self, cause: Cause) -> bool {
        matches!(cause, Cause::Op { number, .. } if self.ops[number as usize].kind == Kind::Transaction)
    }

    /// A message that belongs to an operation arrives.
    pub(crate) fn arrives(&mut self, cause: Cause, now: Micros) {
        if let Cause::Op { number, .. } = cause {
            self.ops[number as usize].touched = now;
        }
    }

    /// A version leaves its data centre. Returns the number of a watch, if somebody is to look for it there.
    pub(crate) fn record(
        &mut self,
        (from, to): (ServerId, DcId),
        (key, stamp): (&Key, Stamp),
        weight: &Weight,
        now: Micros,
    ) -> Option<usize> {
        if let Some(at) = self.place(from.dc, key) {
            let (newest, local) = &mut self.newest[at];
            *newest = stamp.max(*newest);
            *local = stamp.max(*local);
        }
        if !self.counts(now) {
            return None;
        }
        let own: Vec<u32> = key_number(key).into_iter().collect();
        self.records.add(false, weight.metadata(&own));
        if !self.records.far.is_multiple_of(self.times.watch_one_of) {
            return None;
        }
        self.watches.push(Watch { key: key.clone(), stamp, dc: to, since: now });
        Some(self.watches.len() - 1)
    }

    /// A version has arrived.
    pub(crate) fn received(&mut self, at: ServerId, key: &Key, stamp: Stamp) {
        if let Some(place) = self.place(at.dc, key) {
            let (newest, _) = &mut self.newest[place];
            *newest = stamp.max(*newest);
        }
    }

    /// A heartbeat leaves for a peer.
    pub(crate) fn heartbeat(&mut self, weight: &Weight, now: Micros) {
        if self.counts(now) && now < self.times.until {
            self.heartbeats.add(false, weight.metadata(&[]));
        }
    }

    /// What to look for and where; `client` will do it.
    pub(crate) fn watch(&mut self, number: usize, client: usize) -> (Key, DcId) {
        self.probes.insert(client, number);
        (self.watches[number].key.clone(), self.watches[number].dc)
    }

    /// An operation ends.
    pub(crate) fn end(&mut self, client: usize, outcome: &Outcome, token: Weight, now: Micros) {
        let Some(op) = self.running(client) else { return };
        let found: &[Found] = match outcome {
            Outcome::Found(found) => std::slice::from_ref(found),
            Outcome::FoundAll(all) => all,
            _ => &[],
        };
        op.ended = Some(Ended {
            at: now,
            failed: matches!(outcome, Outcome::Failed(_)),
            found: found.iter().map(|found| found.stamp.unwrap_or_default()).collect(),
            token_bytes: token.bytes as u64,
        });
        if let (Kind::WriteTransaction, Outcome::Written { stamp: Some(stamp), .. }) = (op.kind, outcome) {
            self.written_together.insert(*stamp);
        }
        self.running[client] = None;
    }

    /// What a client that only looks has found. Returns the number of its watch if it has to look again.
    pub(crate) fn looked(&mut self, client: usize, outcome: &Outcome, began: Micros) -> Option<usize> {
        let number = self.probes.remove(&client)?;
        let watch = &self.watches[number];
        if matches!(outcome, Outcome::Found(found) if found.stamp >= Some(watch.stamp)) {
            self.visible.push(began.saturating_sub(watch.since));
            return None;
        }
        Some(number)
    }
}
