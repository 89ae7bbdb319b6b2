//! Two-phase commit among the servers of a data centre: transactions that write keys of several partitions.
//!
//! The coordinator asks each partition that holds some of the keys to prepare. Each proposes a time; the latest is the
//! commit's. From its proposal until it is applied a transaction is *pending* at a partition. It is applied in the order
//! of commit times: nothing is, while something prepared may still commit before it.
//!
//! **Crashes.** What is prepared is durable before it is proposed, and a decision to commit before anybody hears of
//! it; both are values for the protocol's hard state ([`Undone`]). A decision is remembered until every participant has
//! said that it applied it, and told again now and then. Of what did not commit nothing is remembered: a participant in
//! doubt asks, and is told *aborted* if the coordinator neither decided nor still gathers. So a message may be lost or
//! late, and either side crash: what one partition applies, all do.
//!
//! `S` is what names a snapshot, as in [`crate::Slices`]; `L` is what a protocol keeps of a transaction that needs no
//! agreement, because one partition holds all of its keys.
//!
//! **Invariants**
//! - I1 The time of what is pending only rises: a transaction commits at what it proposed here, or later.
//! - I2 Stamps are unique: commit times of one coordinator strictly increase, and `seq` tells coordinators apart; it
//!   is 0 of what needed none.

use crate::gather::{Gather, GatherId};
use crate::{Cx, Protocol, Ticket, Topology, Wire};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tidemark_core::{DcId, Failure, Hlc, Key, Micros, PartitionId, ServerId, Stamp, Write};

/// How long a server is in doubt about a transaction before it asks, or tells a decision again.
const DOUBT_US: Micros = 50_000;

/// The writes of a transaction.
pub type Writes = Vec<(Key, Write)>;

/// Names a transaction in its data centre: who decides, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tx(pub PartitionId, pub GatherId);

/// What coordinators and participants say to each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Commit<S> {
    /// To a participant: the snapshot, and the writes there.
    Prepare(GatherId, S, Writes),
    /// To the coordinator: the proposed time, or why there is none.
    Prepared(GatherId, Result<Hlc, Failure>),
    /// To a participant: the commit time, or that it was aborted.
    Decision(GatherId, Option<Hlc>),
    /// To the coordinator: it may forget its decision, as far as this participant is concerned.
    Applied(GatherId),
    /// To the coordinator: what became of it?
    Doubt(GatherId),
}

/// What a message asks of the protocol.
#[derive(Debug)]
pub enum Turn<S> {
    /// To call [`TwoPhase::propose`] or [`TwoPhase::refuse`], now or later.
    Prepare(Tx, S, Writes),
    /// To answer a session whose transaction commits with this stamp, or does not.
    Decided(Ticket, S, Result<Stamp, Failure>),
    /// To apply what can be applied now: something is not in doubt any more.
    Learnt,
}

/// What of the transactions of a server has to outlive a crash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undone<S> {
    /// What is prepared here and not applied: its time, the snapshot, the writes.
    pub prepared: Vec<(Tx, Hlc, S, Writes)>,
    /// What was decided here and not applied by all: the commit time, and who is missing.
    pub decided: Vec<(GatherId, Hlc, Vec<PartitionId>)>,
    /// The latest commit time that was decided here.
    pub latest: Hlc,
}

impl<S> Default for Undone<S> {
    fn default() -> Self {
        Self { prepared: Vec::new(), decided: Vec::new(), latest: Hlc::ZERO }
    }
}

/// A transaction for which proposals are gathered: the latest, or why one was refused.
struct Gathered<S> {
    ticket: Ticket,
    snap: S,
    participants: Vec<PartitionId>,
    at: Result<Hlc, Failure>,
}

struct Decided {
    at: Hlc,
    missing: Vec<PartitionId>,
    tell_again: Micros,
}

/// A transaction that is to be applied here.
#[derive(Debug, PartialEq, Eq)]
pub struct Transaction<S, L> {
    /// Its time: proposed, or of the commit.
    pub time: Hlc,
    /// The snapshot.
    pub snap: S,
    /// Its writes here.
    pub writes: Writes,
    /// Where it stands.
    pub state: State<L>,
}

/// Where a transaction stands.
#[derive(Debug, PartialEq, Eq)]
pub enum State<L> {
    /// It commits at its time or later, or never; its coordinator is asked at the moment given.
    InDoubt(Tx, Micros),
    /// It commits at its time.
    Commits(Tx),
    /// It commits at its time, and concerns no other partition.
    Here(L),
}

impl<L> State<L> {
    fn tx(&self) -> Option<Tx> {
        match self {
            Self::InDoubt(tx, _) | Self::Commits(tx) => Some(*tx),
            Self::Here(_) => None,
        }
    }
}

impl<S, L> Transaction<S, L> {
    /// The stamp of its versions, in their data centre (I2).
    pub fn stamp(&self, origin: DcId) -> Stamp {
        Stamp { ts: self.time, origin, seq: self.state.tx().map_or(0, |tx| seq(tx.0)) }
    }

    fn in_doubt(&self) -> bool {
        matches!(self.state, State::InDoubt(..))
    }
}

fn seq(coordinator: PartitionId) -> u32 {
    u32::from(coordinator.0) + 1
}

/// The transactions that one server coordinates, and those that are pending there.
pub struct TwoPhase<S, L> {
    me: ServerId,
    gathering: Gather<Gathered<S>>,
    decided: BTreeMap<GatherId, Decided>,
    latest: Hlc,
    pending: Vec<Transaction<S, L>>,
    said: Vec<(PartitionId, Commit<S>)>,
    unsaved: bool,
}

impl<S: Wire, L> TwoPhase<S, L> {
    /// With what an earlier life left undone. `life` differs for every start of this server.
    pub fn new(me: ServerId, life: u64, Undone { prepared, decided, latest }: Undone<S>) -> Self {
        let in_doubt =
            |(tx, time, snap, writes)| Transaction { time, snap, writes, state: State::InDoubt(tx, 0) };
        let kept = |(id, at, missing)| (id, Decided { at, missing, tell_again: 0 });
        Self {
            me,
            gathering: Gather::new(life),
            decided: decided.into_iter().map(kept).collect(),
            latest,
            pending: prepared.into_iter().map(in_doubt).collect(),
            said: Vec::new(),
            unsaved: false,
        }
    }

    /// Begins a transaction: each partition that holds some of its keys, this one perhaps among them, is asked to
    /// prepare. It is given up at `deadline`.
    pub fn begin(&mut self, ticket: Ticket, writes: Writes, snap: S, deadline: Micros, topology: &Topology) {
        let parts = by_partition(writes, topology);
        let participants: Vec<PartitionId> = parts.keys().copied().collect();
        let asked = participants.iter().map(|p| ServerId::new(self.me.dc, *p)).collect();
        let gathered = Gathered { ticket, snap: snap.clone(), participants, at: Ok(Hlc::ZERO) };
        let id = self.gathering.open(asked, deadline, gathered);
        let prepare = |(p, writes)| (p, Commit::Prepare(id, snap.clone(), writes));
        self.said.extend(parts.into_iter().map(prepare));
    }

    /// Takes a message.
    pub fn on_message(&mut self, from: ServerId, message: Commit<S>, now: Micros) -> Option<Turn<S>> {
        match message {
            Commit::Prepare(id, snap, writes) => Some(Turn::Prepare(Tx(from.partition, id), snap, writes)),
            Commit::Prepared(id, proposal) => self.proposed(from, id, proposal, now),
            Commit::Decision(id, at) => self.learn(Tx(from.partition, id), at),
            Commit::Applied(id) => {
                if let Some(decided) = self.decided.get_mut(&id) {
                    decided.missing.retain(|partition| *partition != from.partition);
                }
                self.decided.retain(|_, decided| !decided.missing.is_empty()); // what is durable of it does no harm
                None
            }
            Commit::Doubt(id) if self.gathering.is_open(id) => None, // nobody knows yet
            Commit::Doubt(id) => {
                let at = self.decided.get(&id).map(|decided| decided.at);
                self.said.push((from.partition, Commit::Decision(id, at)));
                None
            }
        }
    }

    fn proposed(
        &mut self,
        from: ServerId,
        id: GatherId,
        proposal: Result<Hlc, Failure>,
        now: Micros,
    ) -> Option<Turn<S>> {
        let merge = |gathered: &mut Gathered<S>| match (&mut gathered.at, proposal) {
            (Ok(at), Ok(proposed)) => *at = proposed.max(*at),
            (at, Err(why)) => *at = Err(why),
            (Err(_), Ok(_)) => {}
        };
        let Gathered { ticket, snap, participants, at } = self.gathering.answer(id, from, merge)?;
        let at = at.map(|at| at.max(self.latest.next())); // I2
        let decision = Commit::Decision(id, at.as_ref().ok().copied());
        self.said.extend(participants.iter().map(|partition| (*partition, decision.clone())));
        let stamp = at.map(|at| {
            self.latest = at;
            self.decided.insert(id, Decided { at, missing: participants, tell_again: now + DOUBT_US });
            self.unsaved = true;
            Stamp { ts: at, origin: self.me.dc, seq: seq(self.me.partition) }
        });
        Some(Turn::Decided(ticket, snap, stamp))
    }

    fn learn(&mut self, tx: Tx, at: Option<Hlc>) -> Option<Turn<S>> {
        match (self.pending.iter().position(|t| t.state.tx() == Some(tx)), at) {
            (Some(place), Some(at)) => {
                let transaction = &mut self.pending[place];
                debug_assert!(transaction.time <= at, "I1");
                (transaction.time, transaction.state) = (at, State::Commits(tx));
            }
            (Some(place), None) => {
                debug_assert!(self.pending[place].in_doubt(), "what was decided is not aborted");
                self.pending.remove(place);
                self.unsaved = true;
            }
            (None, Some(_)) => {
                self.said.push((tx.0, Commit::Applied(tx.1))); // it was, and the coordinator has not heard
                return None;
            }
            (None, None) => return None,
        }
        Some(Turn::Learnt)
    }

    /// Proposes `time` for a transaction, which is pending from `now` on.
    pub fn propose(&mut self, tx: Tx, time: Hlc, snap: S, writes: Writes, now: Micros) {
        self.pending.push(Transaction { time, snap, writes, state: State::InDoubt(tx, now + DOUBT_US) });
        self.unsaved = true;
        self.said.push((tx.0, Commit::Prepared(tx.1, Ok(time))));
    }

    /// Proposes no time: the transaction will not commit.
    pub fn refuse(&mut self, tx: Tx, why: Failure) {
        self.said.push((tx.0, Commit::Prepared(tx.1, Err(why))));
    }

    /// A transaction that concerns no other partition commits at `time`. It is not durable before it is applied.
    pub fn here(&mut self, time: Hlc, snap: S, writes: Writes, local: L) {
        self.pending.push(Transaction { time, snap, writes, state: State::Here(local) });
    }

    /// Takes out the earliest transaction, if it commits and `clock` has reached its time. REQUIRES: it is applied within
    /// the same event.
    pub fn next(&mut self, clock: Hlc) -> Option<Transaction<S, L>> {
        let order = |place: &usize| (self.pending[*place].time, !self.pending[*place].in_doubt());
        let place = (0..self.pending.len()).min_by_key(order)?;
        if self.pending[place].in_doubt() || self.pending[place].time > clock {
            return None;
        }
        let transaction = self.pending.remove(place);
        if let Some(Tx(coordinator, id)) = transaction.state.tx() {
            self.unsaved = true;
            self.said.push((coordinator, Commit::Applied(id)));
        }
        Some(transaction)
    }

    /// The times of what is decided and not applied.
    pub fn decided(&self) -> impl Iterator<Item = Hlc> {
        self.pending.iter().filter(|transaction| !transaction.in_doubt()).map(|transaction| transaction.time)
    }

    /// The time of the earliest that is pending.
    pub fn earliest(&self) -> Option<Hlc> {
        self.pending.iter().map(|transaction| transaction.time).min()
    }

    /// Now and then: asks about what is in doubt, and tells decisions again; and gives up what has passed its deadline:
    /// whom to tell. None of that happened.
    pub fn tend(&mut self, now: Micros) -> Vec<Ticket> {
        self.ask(|_, ask_at| ask_at <= now, now);
        for (id, decided) in self.decided.iter_mut().filter(|(_, decided)| decided.tell_again <= now) {
            decided.tell_again = now + DOUBT_US;
            let decision = Commit::Decision(*id, Some(decided.at));
            self.said.extend(decided.missing.iter().map(|partition| (*partition, decision.clone())));
        }
        self.gathering.expire(now).into_iter().map(|gathered| gathered.ticket).collect()
    }

    /// `peer` restarted: asks it about what is in doubt, and gives up what waits for it: whom to tell. None of that
    /// happened.
    pub fn reset(&mut self, peer: ServerId, now: Micros) -> Vec<Ticket> {
        if peer.dc == self.me.dc {
            self.ask(|coordinator, _| coordinator == peer.partition, now);
        }
        self.gathering.reset(peer).into_iter().map(|gathered| gathered.ticket).collect()
    }

    fn ask(&mut self, due: impl Fn(PartitionId, Micros) -> bool, now: Micros) {
        for transaction in &mut self.pending {
            if let State::InDoubt(Tx(coordinator, id), ask_at) = &mut transaction.state
                && due(*coordinator, *ask_at)
            {
                *ask_at = now + DOUBT_US;
                self.said.push((*coordinator, Commit::Doubt(*id)));
            }
        }
    }

    /// Sends what is to be said, with `wrap` as messages of the protocol. Returns whether what is undone has changed:
    /// then the protocol persists it, within the same event.
    pub fn flush<P: Protocol>(&mut self, wrap: fn(Commit<S>) -> P::Peer, cx: &mut Cx<'_, P>) -> bool {
        for (partition, message) in self.said.drain(..) {
            cx.send(ServerId::new(self.me.dc, partition), wrap(message));
        }
        std::mem::take(&mut self.unsaved)
    }

    /// What has to outlive a crash.
    pub fn undone(&self) -> Undone<S> {
        let kept = |t: &Transaction<S, L>| Some((t.state.tx()?, t.time, t.snap.clone(), t.writes.clone()));
        let decided = self.decided.iter().map(|(id, d)| (*id, d.at, d.missing.clone()));
        Undone {
            prepared: self.pending.iter().filter_map(kept).collect(),
            decided: decided.collect(),
            latest: self.latest,
        }
    }

    /// How many transactions are pending here, or decided here and not applied by all.
    pub fn unfinished(&self) -> usize {
        self.pending.len() + self.decided.len()
    }
}

/// What a client is told whose transaction was given up.
pub fn given_up() -> Failure {
    Failure::Unavailable("a partition that the transaction writes did not answer".to_string())
}

/// The writes of each partition, one a key: the last one.
fn by_partition(writes: Writes, topology: &Topology) -> BTreeMap<PartitionId, Writes> {
    let mut parts = BTreeMap::<PartitionId, BTreeMap<Key, Write>>::new();
    for (key, write) in writes {
        parts.entry(topology.partition_of(&key)).or_default().insert(key, write);
    }
    parts.into_iter().map(|(partition, writes)| (partition, writes.into_iter().collect())).collect()
}

#[cfg(test)]
mod tests;
