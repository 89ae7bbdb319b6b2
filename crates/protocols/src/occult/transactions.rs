//! Write transactions of Occult: two phases among the masters of what they write.
//!
//! **Idea.** *The causal timestamp of a transaction's versions names all shards that it writes.* So who sees one of them knows that the
//! others exist, and the test of every read finds them missing where they have not arrived: servers show what comes, as ever.
//!
//! **Names.** `last` the latest shardstamp that this master has given out or agreed to.

use super::*;
use std::sync::Arc;
use tidemark_contract::core::Write;
use tidemark_contract::two_phase::{
    Adds, Decided, MASTERS_MAX, Part, State, Transaction, Turn, TwoPhase, Tx, before_plain, given_up,
};

/// How often transactions are looked after: who is in doubt asks, and decisions are told again.
const TEND_US: Micros = 50_000;

/// A write of one key that waits for its turn.
type Alone = (Ticket, Key, Update);

/// The transactions of one server.
pub(super) struct Transactions {
    /// And what this master writes alone: all of it has its turn in the order of shardstamps (I1).
    pub(super) commits: TwoPhase<Shardstamps, Alone, Shardstamps>,
    last: Hlc,
    tend_at: Option<Micros>,
}

/// What masters propose.
impl Adds for Shardstamps {
    fn add(&mut self, other: Self) {
        self.merge(&other);
    }
}

impl Transactions {
    /// With what an earlier life left, which had come to `ss`.
    pub(super) fn start(was: Recovered<<Occult as Protocol>::Hard>, ss: Hlc, cx: &Cx<'_, Occult>) -> Self {
        let mut undone = was.hard;
        undone.prepared.retain(|_| PREPARED_SURVIVES.kept());
        undone.decided.retain(|_| DECIDED_SURVIVES.kept());
        let last = undone.prepared.iter().fold(ss, |last, (_, time, ..)| last.max(*time));
        let masters = cx.topology.all_partitions().map(|partition| master(partition, cx.topology));
        let commits = TwoPhase::new(cx.me, was.life, undone).among(masters.collect());
        Self { commits, last, tend_at: None }
    }

    /// The next shardstamp of this master, for a session with this causal timestamp: it may know of a transaction here whose time this
    /// master was not told yet (I5).
    fn stamp(&mut self, ct: &Shardstamps, cx: &Cx<'_, Occult>) -> Result<Stamp, Failure> {
        let known = if WRITES_ABOVE_CT.kept() { ct.get(cx.me.partition) } else { Hlc::ZERO };
        let stamp = cx.stamp_above(before_plain(self.last.max(known)), Hlc::ZERO)?;
        self.last = stamp.ts;
        Ok(stamp)
    }

    /// When to look after them, if there are any.
    pub(super) fn tend_at(&mut self, now: Micros) -> Option<Micros> {
        self.tend_at = self.commits.is_busy().then(|| self.tend_at.unwrap_or(now + TEND_US));
        self.tend_at
    }
}

impl Occult {
    /// Whether this master has agreed to what it cannot write yet.
    pub(super) fn is_held(&self) -> bool {
        self.transactions.commits.earliest().is_some()
    }

    /// A write, at the master: it is its turn when all that was agreed to before is written, or given up.
    pub(super) fn put(
        &mut self,
        ticket: Ticket,
        key: Key,
        update: Update,
        ct: Shardstamps,
        cx: &mut Cx<'_, Self>,
    ) {
        match self.transactions.stamp(&ct, cx) {
            Ok(new) if !WRITES_IN_ORDER.kept() => self.write(ticket, (key, update), (ct, new), cx),
            Ok(new) => {
                self.transactions.commits.here(new.ts, ct, Vec::new(), (ticket, key, update));
                self.turns(cx);
            }
            Err(why) => cx.fail(ticket, why),
        }
    }

    /// MSET, at the master of its first key, which coordinates.
    pub(super) fn put_all(&mut self, ticket: Ticket, writes: Writes, ct: Shardstamps, cx: &mut Cx<'_, Self>) {
        if cx.topology.partitions > MASTERS_MAX {
            let why = format!("transactions take at most {MASTERS_MAX} partitions");
            return cx.fail(ticket, Failure::Unavailable(why));
        }
        let deadline = cx.mono + cx.params.commit_limit_us;
        self.transactions.commits.begin(ticket, writes, ct, deadline, cx.topology);
    }

    pub(super) fn on_commit(&mut self, from: ServerId, message: Peer, cx: &mut Cx<'_, Self>) {
        match self.transactions.commits.on_message(from, message, cx.mono) {
            Some(Turn::Prepare(tx, ct, part, _)) => self.prepare(tx, ct, part, cx),
            Some(Turn::Decided(ticket, _, Ok(Decided { stamp, participants, .. }))) => {
                let mut ct = Shardstamps::default();
                participants.iter().for_each(|partition| ct.raise(*partition, stamp.ts));
                cx.reply(ticket, Reply::Put(Outcome::Written { stamp: Some(stamp), previous: None }, ct));
            }
            Some(Turn::Decided(ticket, _, Err(why))) => cx.fail(ticket, why),
            Some(Turn::Learnt) => self.turns(cx),
            Some(Turn::Again(tx, _)) => self.transactions.commits.applied(tx),
            // What is watched, and what writes nothing, no session of this protocol asks for.
            Some(Turn::Applied(_) | Turn::Look(..) | Turn::Seen(..)) | None => {}
        }
    }

    /// A master proposes its next shardstamp.
    fn prepare(&mut self, tx: Tx, ct: Shardstamps, part: Part, cx: &mut Cx<'_, Self>) {
        match self.transactions.stamp(&ct, cx) {
            Ok(Stamp { ts, .. }) => {
                let mut proposed = Shardstamps::default();
                proposed.raise(cx.me.partition, ts);
                self.transactions.commits.propose(tx, (ts, proposed), ct, part, cx.mono);
            }
            Err(why) => self.transactions.commits.refuse(tx, why),
        }
    }

    /// Writes all whose turn it is: nothing that is in doubt may come to lie before it (I1).
    fn turns(&mut self, cx: &mut Cx<'_, Self>) {
        let Transactions { commits, last, .. } = &mut self.transactions;
        *last = commits.decided().fold(*last, Hlc::max);
        while let Some(transaction) = self.transactions.commits.next(Hlc(u64::MAX)) {
            let stamp =
                transaction.stamp(transaction.state.tx().map_or(cx.me.dc, |tx| master(tx.0, cx.topology)));
            match transaction {
                Transaction { state: State::Here((ticket, key, update)), snap, .. } => {
                    self.write(ticket, (key, update), (snap, stamp), cx);
                }
                Transaction { state: State::Commits(_, shards), snap, writes, .. } => {
                    self.write_all(writes, snap, &shards, stamp, cx);
                }
                Transaction { state: State::InDoubt(..), .. } => unreachable!("it is not its turn"),
            }
        }
        self.wake(cx);
    }

    /// Writes this shard of a transaction, in one record (D8).
    fn write_all(
        &mut self,
        mut writes: Writes,
        mut deps: Shardstamps,
        shards: &Shardstamps,
        stamp: Stamp,
        cx: &mut Cx<'_, Self>,
    ) {
        self.ss = stamp.ts;
        let named = |partition: &&PartitionId| **partition == cx.me.partition || NAMES_ALL_SHARDS.kept();
        shards.0.keys().filter(named).for_each(|partition| deps.raise(*partition, stamp.ts)); // I4
        if writes.len() > 1 && SHARDS_ARRIVE_WHOLE.kept() {
            let first = writes[0].0.clone();
            writes = vec![(first, Write::Group(Arc::new(writes)))];
        }
        for (key, write) in writes {
            cx.write(key, Version { stamp, meta: deps.clone(), write });
        }
    }

    /// Now and then.
    pub(super) fn tend(&mut self, cx: &mut Cx<'_, Self>) {
        if self.transactions.tend_at.take_if(|at| *at <= cx.mono).is_some() {
            cx.fail_all(self.transactions.commits.tend(cx.mono), given_up);
        }
    }

    /// Ends an event: says what is to be said, and persists what has changed.
    pub(super) fn save(&mut self, cx: &mut Cx<'_, Self>) {
        if self.transactions.commits.flush(|message| message, cx) {
            cx.persist(self.transactions.commits.undone());
        }
        self.wait(cx);
    }
}
