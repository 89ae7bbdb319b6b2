//! Interactive transactions of clients: what stands between BEGIN and COMMIT in their scripts.

use super::Cluster;
use super::clients::{Connection, Running};
use super::losing::as_far_as_is_left;
use crate::outcome::ProblemKind;
use crate::plan::Act;
use crate::rng::mix;
use crate::typed;
use crate::typed::ledger::Told;
use std::collections::BTreeMap;
use tidemark_contract::transaction::{Carried, Place, Transaction};
use tidemark_core::history::{Action, Event, Fate, Read, ReadKind, SessionId};
use tidemark_core::{
    Command, DcId, Failure, Found, Key, Micros, Op, Outcome, PartitionId, Transact, Update, Value, Write,
};

/// A transaction that a client has begun.
pub(super) struct Interactive {
    transaction: Transaction,
    /// It reads what several regions have whole, and only reads.
    base: bool,
    began: Micros,
    /// What it has read, until when: for the history one read of several keys.
    reads: Vec<(Key, Found)>,
    until: Micros,
    /// The keys that it has asked for.
    asked: Vec<Key>,
    /// What it is about to commit.
    writes: Vec<(Key, Write)>,
    /// Where there are data types: its operations, and how each has ended.
    did: Option<Vec<(Op, Outcome)>>,
}

/// What a step of a script comes to.
pub(super) enum Next {
    /// The session is asked this.
    Ask(Op),
    /// It has ended.
    Ended(Outcome),
}

impl Interactive {
    /// The operation that gives its snapshot back.
    pub(super) fn end(&self) -> Op {
        self.transaction.end()
    }

    /// An operation has ended, within the transaction.
    fn did(&mut self, op: Op, outcome: &Outcome) {
        let Some(did) = &mut self.did else { return };
        match op {
            Op::PutAll { writes } => {
                let put = |(key, write)| Op::Put { key, update: Update::put(write) };
                did.extend(writes.into_iter().map(|write| (put(write), outcome.clone())));
            }
            op => did.push((op, outcome.clone())),
        }
    }
}

/// What operations of a transaction have done to registers.
#[derive(Default)]
struct Done {
    /// What was read of the snapshot.
    reads: Vec<(Key, Found)>,
    writes: Vec<(Key, Write)>,
    /// Own writes that were not read.
    missed: Vec<String>,
}

impl Done {
    fn of(did: &[(Op, Outcome)], session: SessionId, dc: DcId) -> Self {
        let mut done = Self::default();
        let mut written = BTreeMap::new();
        for (op, outcome) in did {
            let Some(event) = typed::event(session, dc, (0, 0), op, outcome) else { continue };
            match event.action {
                _ if event.fate != Fate::Ok => {}
                Action::Read { reads, .. } => {
                    for Read { key, found } in reads {
                        match written.get(&key) {
                            None => done.reads.push((key, Found { stamp: None, ..found })),
                            Some(value) if *value == found.value => {}
                            Some(value) => {
                                done.missed.push(format!("{key} is {found:?} where {value:?} was written"));
                            }
                        }
                    }
                }
                Action::Write { key, value, .. } => {
                    let write = value.clone().map_or(Write::Remove, Write::Assign);
                    done.writes.push((key.clone(), write));
                    written.insert(key, value);
                }
                Action::Adopt { .. } => {}
            }
        }
        done
    }
}

impl Cluster<'_> {
    /// A transaction has ended, unless the client is in it still: its snapshot is given back, before the next step. Whether it is.
    pub(super) fn gives_back(&mut self, number: usize, running: &Running, end: Op) -> bool {
        let client = &mut self.clients[number];
        let Some(Connection { process, session, .. }) = client.connection.clone() else { return false };
        if client.interactive.is_some() {
            return false;
        }
        let (start, operation) = (self.now, running.operation);
        client.running = Some(Running { start, adopts: None, operation, returns: false, ends: true });
        let outcome = self.input(process, |node, now| node.begin(now, session, end)).flatten();
        self.answered(number, process, session, outcome);
        true
    }

    /// What the session of a client is asked for an operation of its script, for BEGIN, or for COMMIT.
    pub(super) fn next_of(&mut self, number: usize, act: Act) -> Next {
        let partitions = self.layout.topology.partitions as u64;
        let partition = PartitionId((mix(self.plan.seed, number as u64) % partitions) as u16);
        let refused =
            || Next::Ended(Outcome::Failed(Failure::Refused("it is in no transaction that does so".into())));
        let client = &mut self.clients[number];
        let step = client.step;
        match (act, &mut client.interactive) {
            (Act::Begin { regions: 0 }, None) => Next::Ask(Transaction::begin(partition)),
            (Act::Begin { regions }, None) => Next::Ask(Transaction::begin_base(regions)),
            (Act::Op(op), None) => Next::Ask(op),
            (Act::Op(op), Some(open)) if open.base && op.writes().is_some() => refused(),
            (Act::Op(op), Some(open)) => {
                let op = if open.did.is_some() { suited(op, number, step) } else { op };
                match open.transaction.carry(op.clone()) {
                    Carried::Ended(outcome) => {
                        open.did(op, &outcome);
                        Next::Ended(outcome)
                    }
                    Carried::Asks(op) => {
                        open.asked = keys_of(&op);
                        Next::Ask(op)
                    }
                }
            }
            (Act::Commit { check }, Some(open)) => match open.transaction.commit(check) {
                Some(op) => {
                    open.writes = writes_of(&op);
                    Next::Ask(op)
                }
                None => Next::Ended(Outcome::Written { stamp: None, previous: None }),
            },
            _ => refused(),
        }
    }

    /// The events of a step of a transaction, for the history; none if it is not one. What was read is told when the transaction
    /// ends.
    pub(super) fn transacted(
        &mut self,
        number: usize,
        running: &Running,
        outcome: &Outcome,
    ) -> Option<Vec<Event>> {
        let (now, topology) = (self.now, &self.layout.topology);
        let client = &mut self.clients[number];
        let types = self.plan.typed;
        let place = Place { dc: client.dc, alone: topology.dcs == 1, types };
        let act = &client.script[client.step].act;
        match (act, &mut client.interactive) {
            (Act::Begin { .. }, _) => {
                if let Outcome::Begun(snapshot) = outcome {
                    client.interactive = Some(Interactive {
                        transaction: Transaction::new(*snapshot, place, now),
                        base: snapshot.base,
                        began: running.start,
                        reads: Vec::new(),
                        until: now,
                        asked: Vec::new(),
                        writes: Vec::new(),
                        did: types.then(Vec::new),
                    });
                }
                Some(Vec::new())
            }
            (Act::Commit { .. }, None) => Some(Vec::new()),
            (_, None) => None,
            (Act::Op(op), Some(open)) => {
                let asked = std::mem::take(&mut open.asked);
                match outcome {
                    _ if asked.is_empty() => {}
                    Outcome::FoundAll(all) => {
                        open.until = now;
                        let ended = open.transaction.found(outcome.clone());
                        let disorder = open.did.as_ref().and_then(|_| typed::disorder(op, &ended));
                        open.did(op.clone(), &ended);
                        if open.did.is_none() {
                            open.reads.extend(asked.into_iter().zip(all.iter().cloned()));
                        }
                        disorder.into_iter().for_each(|what| self.problem(ProblemKind::Types, what));
                    }
                    _ => return Some(self.close_transaction(number)),
                }
                Some(Vec::new())
            }
            (Act::Commit { check }, Some(_)) => {
                let check = *check;
                Some(self.committed(number, check, running.start, outcome))
            }
            (Act::Adopt(_) | Act::Move(_), Some(_)) => None,
        }
    }

    /// The events of a transaction whose commit was asked at `start`: what it has read, and what it has written.
    fn committed(&mut self, number: usize, check: bool, start: Micros, outcome: &Outcome) -> Vec<Event> {
        let Some(mut open) = self.clients[number].interactive.take() else { return Vec::new() };
        self.settle_types(number, &mut open, outcome);
        let writes = std::mem::take(&mut open.writes);
        let seen = if check { open.reads.clone() } else { Vec::new() };
        let mut events = self.has_read(number, open);
        let client = &self.clients[number];
        let recorded = client.recorded + events.len() as u64;
        if matches!(outcome, Outcome::Written { previous: Some(_), .. }) {
            return events; // what it has read has changed: nothing was written
        }
        let times = (start, self.now);
        let mut written = Event::transaction(client.id, client.dc, times, recorded, &writes, outcome);
        for event in &mut written {
            if let Action::Write { key, observed, .. } = &mut event.action {
                *observed = seen.iter().find(|(read, _)| read == key).map(|(_, found)| found.clone());
            }
        }
        if !written.is_empty() && matches!(outcome, Outcome::Written { stamp: Some(_), .. }) {
            events.iter_mut().for_each(|read| read.txn = Some(recorded)); // one with its writes
        }
        events.extend(written);
        events
    }

    /// Where there are data types: what the operations of a transaction have come to, now that it has ended so.
    fn settle_types(&mut self, number: usize, open: &mut Interactive, end: &Outcome) {
        let client = &self.clients[number];
        let Some(did) = open.did.take() else { return };
        let dc = client.dc;
        let done = Done::of(&did, client.id, dc);
        (open.reads, open.writes) = (done.reads, done.writes);
        done.missed.into_iter().for_each(|what| self.problem(ProblemKind::Types, what));
        for (op, outcome) in did {
            let told = match (&outcome, end) {
                (Outcome::Written { stamp: Some(_), previous }, Outcome::Written { stamp, .. }) => {
                    Outcome::Written { stamp: *stamp, previous: previous.clone() }
                }
                (Outcome::Written { stamp: Some(_), .. }, end) => end.clone(),
                _ => outcome,
            };
            let who = Told { dc, start_us: 0, end_us: self.now };
            self.ledger.note(&op, &as_far_as_is_left(self.plan, dc, &told), who);
        }
    }

    /// A client leaves its transaction, and goes on elsewhere.
    pub(super) fn leave_transaction(&mut self, number: usize) {
        let events = self.close_transaction(number);
        self.clients[number].recorded += events.len() as u64;
        self.history.events.extend(events);
    }

    /// The transaction of a client has ended: what it has read.
    pub(super) fn close_transaction(&mut self, number: usize) -> Vec<Event> {
        let Some(mut open) = self.clients[number].interactive.take() else { return Vec::new() };
        let nothing = Outcome::Failed(Failure::Unavailable("it was not committed".into()));
        self.settle_types(number, &mut open, &nothing);
        self.has_read(number, open)
    }

    fn has_read(&self, number: usize, open: Interactive) -> Vec<Event> {
        let client = &self.clients[number];
        if open.reads.is_empty() {
            return Vec::new();
        }
        let reads = open.reads.into_iter().map(|(key, found)| Read::new(key, found));
        let kind = if open.base { ReadKind::Snapshot } else { ReadKind::Rotx };
        vec![Event::read(client.id, client.dc, kind, reads).at(open.began, open.until)]
    }
}

/// An operation of a transaction where there are data types. A delete changes nothing if nothing is there, and who overwrites a key does
/// not say what was there: a value is assigned instead, which nobody else assigns. Commands have seeds, as from a gateway: they tell apart
/// what one version adds to a document.
fn suited(op: Op, client: usize, step: usize) -> Op {
    let assigned = |write: Write| match write {
        Write::Remove => Write::Assign(Value::from(format!("i{client}.{step}").as_bytes())),
        other => other,
    };
    match op {
        Op::PutAll { writes } => {
            Op::PutAll { writes: writes.into_iter().map(|(key, write)| (key, assigned(write))).collect() }
        }
        Op::Put { key, update: Update { command: Some(command), .. } } => {
            let seed = mix(client as u64, step as u64);
            Op::Put { key, update: Update::call(Command { seed, ..*command }) }
        }
        Op::Put { key, update } if !update.observes() => {
            let update = Update { write: assigned(update.write.clone()), ..update };
            Op::Put { key, update }
        }
        op => op,
    }
}

fn keys_of(op: &Op) -> Vec<Key> {
    if let Op::Transact(step) = op { step.keys().cloned().collect() } else { Vec::new() }
}

fn writes_of(op: &Op) -> Vec<(Key, Write)> {
    match op {
        Op::Transact(step) => match &**step {
            Transact::Commit { writes, .. } => writes.clone(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}
