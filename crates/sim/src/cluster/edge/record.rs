//! Transactions of edge clients: what the history has of them, and what became of them.
//!
//! To the checker a transaction is one read of several keys, and one write of several keys. It was acknowledged when it was on its client's
//! disk. Its versions are known once a region has taken it.

mod forgotten;
mod which;

use super::super::Cluster;
use super::client::Client;
use super::lost::Copy;
use super::operations::{does, register, registers, value_of};
use crate::outcome::ProblemKind;
use crate::trace::Happening as Line;
use crate::typed;
use crate::typed::ledger::Told;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use tidemark_core::history::{Action, Event, Fate, Read, ReadKind, SessionId};
use tidemark_core::{
    Acceptance, Command, DcId, EdgeTransaction, Failure, Hlc, Key, Micros, Op, Outcome, Stamp, Update,
};
use tidemark_edge::client::Event as Heard;
use tidemark_edge::durable::Row;

/// A transaction.
struct Record {
    client: usize,
    /// Its number there; 0 if its client does not know that it was committed.
    k: u64,
    began: Micros,
    reads: Vec<Read>,
    ops: Vec<Op>,
    /// Its writes in the history.
    events: Range<usize>,
    /// Of its versions, since a region has taken it.
    stamp: Option<Stamp>,
    /// Where it was taken, and when, while it was taken once: it may be lost with the power of the node.
    taken_in: Option<(DcId, Micros)>,
    /// A region has said that it took it. One that says that it knows a transaction of this number may know that of another branch.
    taken: bool,
    /// The same of a region that was lost, or will be: others may have it, or will take it at another time.
    lost: Option<Stamp>,
    /// With which that region was asked last: it may have taken it, and been lost before it said so.
    asked_there: Option<Stamp>,
    /// With which stamp a region was asked last to take it: it may have taken it, and died before it said so.
    asked: Option<Stamp>,
    /// Its operations that were left out of it: the client has seen them overwritten.
    left_out: Vec<usize>,
    /// It was acknowledged, and its client can still send it.
    sure: bool,
    /// It was in the log of a disk that was put back: there are two copies of it.
    copied: bool,
    /// Regions that have asked for another time.
    retimed: BTreeSet<DcId>,
    /// It was lost with a region, as its client was told.
    forgotten: bool,
}

/// All of them.
#[derive(Default)]
pub(super) struct Records {
    all: Vec<Record>,
    /// By a value that only they write.
    by_value: BTreeMap<Bytes, usize>,
    /// The last time of a transaction with this value that was on its client's disk.
    times: BTreeMap<Bytes, Hlc>,
}

impl Records {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether a transaction writes one of these values.
    pub(super) fn is_among(&self, record: usize, values: &BTreeSet<Bytes>) -> bool {
        values.iter().any(|value| self.by_value.get(value) == Some(&record))
    }

    /// A client's disk has these rows.
    pub(super) fn on_disk(&mut self, rows: &[Row]) {
        for row in rows {
            let Row::Entry(body) = row else { continue };
            let h = Hlc::at(body.h_us);
            for value in body.operations.iter().filter_map(value_of) {
                self.times.entry(value).and_modify(|time| *time = h.max(*time)).or_insert(h);
            }
        }
    }

    /// When an operation counted for its client at last.
    fn time_of(&self, op: &Op) -> Hlc {
        let Op::Put { update, .. } = op else { return Hlc::ZERO };
        written(update).and_then(|value| self.times.get(&value).copied()).unwrap_or_default()
    }

    /// A disk was put back that has a transaction with one of these values.
    pub(super) fn copied(&mut self, values: &BTreeSet<Bytes>) {
        for value in values {
            if let Some(record) = self.by_value.get(value) {
                self.all[*record].copied = true;
            }
        }
    }

    /// An operation of a client's transaction, by its place among those that were sent.
    pub(super) fn operation(&self, client: usize, k: u64, place: usize) -> Option<Op> {
        let record = self.all.iter().rev().find(|record| record.client == client && record.k == k)?;
        let mut sent = (0..record.ops.len()).filter(|at| !record.left_out.contains(at));
        Some(record.ops[sent.nth(place)?].clone())
    }
}

/// What an update writes last: a value, as a rule.
fn written(update: &Update) -> Option<Bytes> {
    match (&update.command, update.write.value()) {
        (Some(command), _) => command.args.last().cloned(),
        (None, value) => value.map(|value| Bytes::copy_from_slice(value)),
    }
}

impl Client<'_> {
    /// What it shows of a register, or of the fields of a hash; nothing if it does not have the key.
    pub(super) fn shows(&self, key: &Key) -> Option<Option<Vec<Read>>> {
        let value = self.core.as_ref()?.read(key)?;
        Some(registers(key, &value))
    }
}

impl Cluster<'_> {
    /// A client's application reads, and commits. Whether it waits for the disk.
    pub(super) fn edge_commits(&mut self, number: usize, keys: &[Key], ops: &[Op]) -> bool {
        let now = self.now;
        let edge = self.edge();
        let Some(core) = &edge.clients[number].core else { return false };
        let mut transaction = core.begin();
        let values = keys.iter().filter_map(|key| Some((key, transaction.read(key)?)));
        let (mut reads, mut wrong) = (Vec::new(), None);
        for (key, value) in values {
            match registers(key, &value) {
                Some(found) => reads.extend(found),
                None => wrong = Some(format!("edge client {number} finds {value:?} at {key}")),
            }
        }
        let ops: Vec<Op> = ops.iter().filter_map(|op| does(&mut transaction, op)).collect();
        let at = edge.records.all.len();
        let values = transaction.operations().iter().filter_map(value_of);
        let values = values.filter(|value| value.contains(&b'.'));
        edge.records.by_value.extend(values.map(|value| (value, at)));
        edge.records.all.push(Record {
            client: number,
            k: 0,
            began: now,
            reads,
            ops,
            events: 0..0,
            stamp: None,
            taken_in: None,
            taken: false,
            lost: None,
            asked_there: None,
            asked: None,
            left_out: Vec::new(),
            sure: false,
            copied: false,
            retimed: BTreeSet::new(),
            forgotten: false,
        });
        if let Some(wrong) = wrong {
            self.problem(ProblemKind::Types, wrong);
        }
        if transaction.operations().is_empty() {
            self.edge_committed(number, at, Some(0));
            return false;
        }
        self.edge().clients[number].running = Some(at);
        self.edge_tell(number, Heard::Commit { id: at as u64, transaction });
        true
    }

    /// A transaction was committed, under a number, or was not.
    pub(super) fn edge_committed(&mut self, number: usize, record: usize, done: Option<u64>) {
        self.stats.ops += 1;
        self.stats.failed += u64::from(done.is_none());
        let (now, dc) = (self.now, DcId::EDGE);
        let at = self.history.events.len();
        let edge = self.edge.as_mut().expect("there are edge clients");
        let (client, record) = (&mut edge.clients[number], &mut edge.records.all[record]);
        let Some(k) = done else { return };
        record.k = k;
        record.sure = true;
        let session = client.session;
        let times = (record.began, now);
        let txn = (!record.ops.is_empty()).then_some(client.recorded);
        let mut events = Vec::new();
        if !record.reads.is_empty() {
            let reads = std::mem::take(&mut record.reads);
            events.push(Event::read(session, dc, ReadKind::Rotx, reads).at(times.0, times.1));
        }
        let written = Outcome::Written { stamp: Some(Stamp::default()), previous: None };
        let read = events.len();
        for op in &record.ops {
            events.extend(typed::event(session, dc, times, op, &written));
            self.ledger.note(
                op,
                &Outcome::Failed(Failure::Unavailable("it is not known yet".into())),
                Told::EDGE,
            );
        }
        events.iter_mut().for_each(|event| event.txn = txn);
        record.events = at + read..at + events.len();
        client.recorded += events.len() as u64;
        let ops = &record.ops;
        if let Some(trace) = &mut self.trace {
            let said = |op: &Op| match op {
                Op::Put { key, update: Update { command: Some(command), .. } } => words(key, command),
                _ => String::new(),
            };
            let ops: Vec<String> = ops.iter().map(said).collect();
            let reads = events.iter().take(read).map(|event| &event.action);
            trace.add(
                now,
                Line::Trouble(format!(
                    "edge client {number} ({session}): {k} {ops:?} after {reads:?}",
                    reads = reads.collect::<Vec<_>>()
                )),
            );
        }
        self.history.events.extend(events);
    }

    /// A region is asked to take a transaction.
    pub(super) fn edge_sends_to_region(&mut self, dc: DcId, transaction: &EdgeTransaction) {
        let (stamp, is_lost) = (transaction.stamp(), self.plan.loses() == Some(dc));
        let Some(record) = self.edge_record_of(transaction) else { return };
        if record.asked.is_some_and(|asked| asked.ts > stamp.ts) {
            return; // a frame with an earlier time was late
        }
        record.asked = Some(stamp);
        record.asked_there = record.asked_there.filter(|_| !is_lost).or(is_lost.then_some(stamp));
        let done = |op: &Op| {
            let Op::Put { key, update } = op else { return false };
            let same = |other: &Update| written(other) == written(update);
            transaction.updates.iter().any(|(of, all)| of == key && all.iter().any(|(_, other)| same(other)))
        };
        record.left_out = (0..record.ops.len()).filter(|at| !done(&record.ops[*at])).collect();
    }

    /// A region has taken a transaction, or knows it.
    pub(super) fn edge_accepts(&mut self, dc: DcId, transaction: &EdgeTransaction, what: &Acceptance) {
        self.trace(|| {
            let (k, h, dep) = (transaction.k, transaction.h, &transaction.dep);
            let of = |(key, updates): &(Key, Vec<(u32, Update)>)| {
                let written = updates.iter().filter_map(|(_, update)| written(update));
                format!("{key} {:?}", written.collect::<Vec<_>>())
            };
            let all: Vec<String> = transaction.updates.iter().map(of).collect();
            Line::Trouble(format!(
                "{dc}: transaction {k} of an edge client at {h} after {dep}, {}: {what:?}",
                all.join(", ")
            ))
        });
        let (is_lost, now, lost) = (self.plan.loses() == Some(dc), self.now, self.times_lost());
        let Some(record) = self.edge_record_of(transaction) else { return };
        let taken = match what {
            Acceptance::Taken(_) => true,
            Acceptance::Known => false,
            Acceptance::Retime => {
                record.retimed.insert(dc);
                return;
            }
            _ => return,
        };
        // A region knows a transaction by its number: a late frame may have a time that nobody took it with.
        let stamp = if taken { transaction.stamp() } else { record.asked.unwrap_or(transaction.stamp()) };
        if is_lost {
            record.lost = Some(stamp);
            self.stats.edge_lost += u64::from(taken);
            return;
        }
        record.taken |= taken;
        // What a region took, and lost with its power, it may take at another time.
        let again = record
            .taken_in
            .is_some_and(|(dc, at)| lost.iter().any(|(of, times)| *of == dc && times.contains(&at)));
        let first = record.stamp.is_none() || again;
        record.taken_in = Some((dc, now)).filter(|_| taken && first).or(record.taken_in.filter(|_| !taken));
        let before = record.stamp.replace(stamp);
        match before {
            None => self.stats.edge += u64::from(taken),
            Some(before) if before == stamp => self.stats.edge_twice += u64::from(taken),
            // Each copy was given a time of its own, by regions that did not know of each other's.
            Some(_) if again => {}
            Some(_) if record.copied && record.retimed.len() > 1 => self.stats.edge_copied += 1,
            Some(before) => {
                let text = format!(
                    "transaction {} of an edge client was taken at {before}, and at {stamp}",
                    transaction.k
                );
                self.problem(ProblemKind::Edge, text);
            }
        }
    }

    /// Of a client's transactions since then, those that no region is known to have may be lost.
    pub(super) fn edge_unsure(&mut self, number: usize, since: usize) {
        let records = self.edge().records.all.iter_mut().skip(since);
        for record in records.filter(|record| record.client == number) {
            record.sure = false;
            record.stamp = record.stamp.filter(|_| record.taken);
        }
    }

    /// The history says what became of all transactions; `ended`: everything was to be delivered.
    pub(super) fn edge_concludes(&mut self, ended: bool) {
        let Some(edge) = &self.edge else { return };
        let (mut lost, mut copies, mut hidden) = (Vec::new(), Vec::new(), Vec::new());
        // By session: a client whose disk was put back knows nothing of what it was before.
        let mut last: BTreeMap<(SessionId, Key), Hlc> = BTreeMap::new();
        for record in &edge.records.all {
            if record.events.is_empty() && record.k == 0 && !record.sure {
                continue; // it was never committed
            }
            // Its client has seen it in a base: whether or not a region could say so before, it has taken it.
            let client = edge.clients[record.client].core.as_ref();
            let arrived = record.sure && client.is_some_and(|client| client.pending() == 0);
            let stamp = record.stamp.or(record.lost.or(record.asked).filter(|_| arrived));
            let stamp = stamp.filter(|_| !record.forgotten);
            let there = record.lost.or(record.asked_there);
            if let Some(there) = there.filter(|there| stamp.is_some_and(|stamp| stamp != *there)) {
                copies.push(Copy { events: record.events.clone(), stamp: there });
            }
            let fate = if stamp.is_some() { Fate::Ok } else { Fate::Unknown };
            let left_out = record.left_out.iter().map(|at| &record.ops[*at]);
            let left_out: BTreeMap<Key, Hlc> =
                left_out.filter_map(|op| Some((register(op)?, edge.records.time_of(op)))).collect();
            let risks = edge.clients[record.client].plan.risks;
            let events = self.history.events[record.events.clone()].iter_mut();
            for (at, event) in (record.events.start..).zip(events) {
                let session = event.session;
                if let Action::Write { version, key, .. } = &mut event.action {
                    // What was left out counted until then. It lost to what its client had seen, and was above the client's own before.
                    let before = last.entry((session, key.clone())).or_default();
                    let seq = record.client as u32;
                    let lost = |h: &Hlc| Stamp { ts: before.next().max(*h), origin: DcId::EDGE, seq };
                    let lost = left_out.get(key).map(lost);
                    hidden.extend(lost.filter(|_| risks).map(|_| at));
                    (event.fate, *version) = (fate, stamp.map(|stamp| lost.unwrap_or(stamp)));
                    *before = version.map_or(*before, |version| version.ts);
                }
            }
            let outcome = match stamp {
                Some(stamp) => Outcome::Written { stamp: Some(stamp), previous: None },
                None => Outcome::Failed(Failure::Indefinite("its client may never have sent it".into())),
            };
            record.ops.iter().for_each(|op| self.ledger.note(op, &outcome, Told::EDGE));
            if stamp.is_none() && record.sure && !record.ops.is_empty() && !record.forgotten {
                lost.push(format!(
                    "transaction {} of edge client {} was never taken",
                    record.k, record.client
                ));
            }
        }
        if let Some(dc) = self.plan.loses() {
            self.edge_tells_copies_apart(dc, copies);
            self.edge_leaves_out_lost(dc, &hidden);
        }
        if ended {
            lost.into_iter().for_each(|text| self.problem(ProblemKind::Edge, text));
        }
    }
}

fn words(key: &Key, command: &Command) -> String {
    let args: Vec<_> = command.args.iter().map(|arg| String::from_utf8_lossy(arg)).collect();
    format!("{} {key} {}", command.verb.name().to_uppercase(), args.join(" "))
}
