//! Write transactions of Eiger: two phases in the data centre that writes, and two more in each of the others.
//!
//! **Source.** The paper's write-only transactions, after descriptions of them: it could not be read itself.
//!
//! **Steps**
//! - W1 The session's writes are divided into parts, one a partition. A server that owns one coordinates.
//! - W2 Every cohort marks its part *pending* at a time above its clock, and votes with that time.
//! - W3 The coordinator commits above all votes and its clock. The time is the version number, and EVT in this data centre.
//! - W4 Cohorts commit: the versions show since EVT, and nothing is pending any more.
//! - W5 Each ships its part. The coordinator's lists the dependencies, and who has the other parts.
//! - W6 Elsewhere its peer waits until what it depends on is applied and the other parts have arrived. Then it runs W2 to W4 with the
//!   peers of the cohorts, for an EVT of that data centre. The version number stays.
//! - W7 Of a key with something pending LVT is below the least time of that.
//! - W8 As of a time at or above that of something pending, a server asks its coordinator, which says when it commits, or that it
//!   commits later than that: then its clock is above, and it does. What decides an update is read so, at its session's clock.
//!
//! **Deviations**
//! - D7 The client is answered once all cohorts have committed (as published: once the coordinator has), or an acknowledged write
//!   would not be visible at once.
//! - D8 Votes and decisions are durable, as [`TwoPhase`] has them. Elsewhere nothing aborts: what is given up is begun again.
//! - D9 A server's writes are not in the order of their times any more. A version tells what its server has announced, which is
//!   below all that is pending.
//! - D10 The servers divide the writes, and elsewhere the coordinator's peer asks for the parts, as it asks for dependencies. What one
//!   partition writes is one version; if that is all, it needs no second phase.
//! - D11 SCAN and COUNT tell what shows, and ask nobody.

use super::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tidemark_contract::Dep;
use tidemark_contract::core::Write;
use tidemark_contract::two_phase::{Decided, Part, Turn, TwoPhase, Tx, given_up};

/// What is agreed on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Plan {
    /// To write, for a session with this context, at these partitions; cohorts need neither but its clock.
    Write(Context, Vec<PartitionId>),
    /// To show the parts of what was written elsewhere: its stamp, and the keys of one part.
    Show(Stamp, Vec<Key>),
}

/// Who began a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asker {
    Session(Ticket),
    Version(Stamp),
}

/// What may have to wait for what is pending (W8).
pub(super) enum Work {
    Slice(Vec<Key>),
    Put(Key, Update, Context),
}

impl Work {
    fn keys(&self) -> &[Key] {
        match self {
            Self::Slice(keys) => keys,
            Self::Put(key, ..) => std::slice::from_ref(key),
        }
    }
}

/// What waits until it is known of these transactions whether they commit up to a time.
struct Held {
    time: Hlc,
    pending: Vec<Tx>,
    ticket: Ticket,
    work: Work,
    until: Micros,
}

/// The transactions of one server.
pub(super) struct Transactions {
    pub(super) commits: TwoPhase<Plan, (), (), Asker>,
    /// What has committed and does not show at every cohort yet: whom to tell, and until when (D7).
    unanswered: BTreeMap<GatherId, (Ticket, Stamp, Micros)>,
    /// What came from elsewhere and waits for nothing but its coordinator: its keys here.
    parts: BTreeMap<Stamp, Vec<Key>>,
    held: Vec<Held>,
}

impl Transactions {
    /// With what an earlier life left.
    pub(super) fn start(was: &mut Recovered<Lasting<Plan>>, me: ServerId) -> Self {
        was.hard.undone.prepared.retain(|_| PREPARED_SURVIVES.kept());
        was.hard.undone.decided.retain(|_| DECIDED_SURVIVES.kept());
        Self {
            commits: TwoPhase::new(me, was.life, was.hard.undone.clone()),
            unanswered: BTreeMap::new(),
            parts: BTreeMap::new(),
            held: Vec::new(),
        }
    }

    pub(super) fn unfinished(&self) -> usize {
        self.commits.unfinished() + self.parts.len() + self.held.len()
    }

    /// The names and times of what is pending on some of `keys`.
    fn pending(&self, keys: &[Key]) -> impl Iterator<Item = (Tx, Hlc)> {
        let concerns = |plan: &Plan, writes: &Writes| match plan {
            Plan::Write(..) => writes.iter().any(|(key, _)| keys.contains(key)),
            Plan::Show(_, shown) => shown.iter().any(|key| keys.contains(key)),
        };
        let all = self.commits.pending().filter(move |t| concerns(&t.snap, &t.writes));
        all.filter_map(|t| Some((t.state.tx()?, t.time)))
    }

    /// W7.
    pub(super) fn earliest(&self, keys: &[Key]) -> Option<Hlc> {
        self.pending(keys).map(|(_, time)| time).min()
    }

    /// Nothing will be written here up to this, if the clock shows `clock` (D9).
    pub(super) fn announced(&self, clock: Hlc) -> Hlc {
        let writes = self.commits.pending().filter(|t| matches!(t.snap, Plan::Write(..)));
        let first = writes.map(|t| t.time).min().filter(|_| ANNOUNCES_BELOW_PENDING.kept());
        first.map_or(clock, |pending| clock.min(pending.prev()))
    }

    /// Whether it is being agreed on when `stamp` shows, or that was decided and is not done yet.
    fn agrees_on(&self, stamp: Stamp) -> bool {
        let decided = |plan: &Plan| matches!(plan, Plan::Show(shown, _) if *shown == stamp);
        self.commits.askers().any(|asker| *asker == Asker::Version(stamp))
            || self.commits.pending().any(|t| decided(&t.snap))
    }
}

impl Eiger {
    /// MSET, at its coordinator (W1).
    pub(super) fn put_all(
        &mut self,
        ticket: Ticket,
        writes: Writes,
        context: Context,
        cx: &mut Cx<'_, Self>,
    ) {
        let owners = writes.iter().map(|(key, _)| cx.topology.partition_of(key));
        let partitions: BTreeSet<PartitionId> = owners.collect();
        if partitions.len() > 1 {
            let plan = Plan::Write(context, partitions.into_iter().collect());
            let (asker, until) = (Asker::Session(ticket), cx.mono + cx.params.wait_limit_us);
            self.transactions.commits.begin(asker, writes, plan, until, cx.topology);
            return self.save(cx);
        }
        let last: BTreeMap<Key, Write> = writes.into_iter().collect();
        match self.dc.stamp(context.clock, cx) {
            Ok(new) => {
                self.write(last.into_iter().collect(), new, new.ts, context.near, cx); // D10
                self.written(ticket, new, cx);
            }
            Err(why) => self.answer(ticket, Outcome::Failed(why), Deps::default(), cx),
        }
    }

    /// Writes what one partition has of a transaction: one version.
    fn write(&mut self, writes: Writes, stamp: Stamp, evt: Hlc, near: Deps, cx: &mut Cx<'_, Self>) {
        let keys: Vec<Key> = writes.iter().map(|(key, _)| key.clone()).collect();
        let write = match <[_; 1]>::try_from(writes) {
            Ok([(_, only)]) => only,
            Err(writes) => Write::Group(Arc::new(writes)),
        };
        let meta = Meta { evt, near, upto: self.upto(stamp.ts) };
        cx.write(keys[0].clone(), Version { stamp, meta, write });
        keys.iter().for_each(|key| cx.change_in_memory(key, stamp, |meta| meta.near = Deps::default()));
    }

    fn written(&mut self, ticket: Ticket, stamp: Stamp, cx: &mut Cx<'_, Self>) {
        let outcome = Outcome::Written { stamp: Some(stamp), previous: None };
        self.answer(ticket, outcome, Deps::one(cx.me.partition, stamp), cx);
    }

    /// A message of the two phases.
    pub(super) fn commit(&mut self, from: ServerId, message: Commit<Plan>, cx: &mut Cx<'_, Self>) {
        if COMMITS_ABOVE_CLOCK.kept() {
            self.transactions.commits.decide_above(self.dc.clock); // W3
        }
        match self.transactions.commits.on_message(from, message, cx.mono) {
            Some(Turn::Prepare(tx, plan, part, _)) => self.prepare(tx, plan, part, cx),
            Some(Turn::Decided(asker, _, decided)) => self.decided(asker, decided, cx),
            Some(Turn::Learnt) => self.apply_decided(cx),
            Some(Turn::Again(tx, _)) => self.transactions.commits.applied(tx),
            Some(Turn::Applied(id)) => {
                if let Some((ticket, stamp, _)) = self.transactions.unanswered.remove(&id) {
                    self.written(ticket, stamp, cx); // D7
                }
            }
            // Nothing is watched here, and every transaction does something.
            Some(Turn::Look(..) | Turn::Seen(..)) | None => {}
        }
    }

    /// A cohort votes (W2).
    fn prepare(&mut self, tx: Tx, plan: Plan, part: Part, cx: &mut Cx<'_, Self>) {
        let commits = &mut self.transactions.commits;
        let (time, plan) = match plan {
            Plan::Write(context, partitions) => {
                let time = match self.dc.stamp(context.clock, cx) {
                    Ok(stamp) => stamp.ts,
                    Err(why) => return commits.refuse(tx, why),
                };
                let coordinates = tx.0 == cx.me.partition;
                let cohort = Plan::Write(Context { near: Deps::default(), ..context }, Vec::new());
                (time, if coordinates { Plan::Write(context, partitions) } else { cohort })
            }
            Plan::Show(stamp, _) => {
                let keys = self.transactions.parts.get(&stamp);
                if keys.is_none() && WAITS_FOR_PARTS.kept() {
                    return commits.refuse(tx, given_up());
                }
                (
                    self.dc.clock.observe(cx.now, stamp.ts),
                    Plan::Show(stamp, keys.cloned().unwrap_or_default()),
                )
            }
        };
        self.dc.advance(time, cx);
        commits.propose(tx, (time, ()), plan, part, cx.mono);
    }

    /// The coordinator has decided (W3).
    fn decided(&mut self, asker: Asker, decided: Result<Decided<()>, Failure>, cx: &mut Cx<'_, Self>) {
        match (asker, decided) {
            (Asker::Session(ticket), Ok(Decided { id, stamp, .. })) => {
                self.dc.advance(stamp.ts, cx);
                if ANSWERS_WHEN_SHOWN.kept() {
                    let until = cx.mono + cx.params.wait_limit_us;
                    self.transactions.unanswered.insert(id, (ticket, stamp, until));
                } else {
                    self.written(ticket, stamp, cx);
                }
            }
            (Asker::Session(ticket), Err(why)) => {
                self.answer(ticket, Outcome::Failed(why), Deps::default(), cx);
            }
            (Asker::Version(_), _) => {} // refused, it is begun again
        }
    }

    /// A cohort commits (W4).
    fn apply_decided(&mut self, cx: &mut Cx<'_, Self>) {
        while let Some(transaction) = self.transactions.commits.take() {
            let (new, evt) = (transaction.stamp(cx.me.dc), transaction.time);
            let evt = if ONE_EVT.kept() { evt } else { self.dc.clock.tick(cx.now) };
            self.dc.advance(evt, cx);
            match transaction.snap {
                Plan::Write(context, partitions) => {
                    let mut near = if DEPS_TRAVEL.kept() { context.near } else { Deps::default() };
                    let others = partitions.into_iter().filter(|partition| *partition != cx.me.partition);
                    others.for_each(|partition| {
                        near.add(Dep { partition, stamp: new, scope: Scope::Part }); // W5
                    });
                    self.write(transaction.writes, new, evt, near, cx);
                }
                Plan::Show(stamp, keys) => {
                    let show = |meta: &mut Meta| *meta = Meta { evt, ..Meta::default() };
                    keys.iter().for_each(|key| cx.revise(key, stamp, show));
                    self.transactions.parts.remove(&stamp);
                    self.dc.checks.apply(stamp);
                }
            }
            transaction.state.tx().into_iter().for_each(|tx| self.transactions.commits.applied(tx));
        }
        dependency_checked::go_on(self, cx);
    }

    /// A part of a transaction from elsewhere is here; the coordinator's, all that it waits for (W6).
    pub(super) fn arrived(&mut self, d: &Applied, cx: &mut Cx<'_, Self>) {
        let waits = cx.chain(&d.key).any(|v| v.stamp == d.stamp && Self::waits(&v.meta).is_some());
        if waits {
            self.transactions.parts.insert(d.stamp, d.keys().cloned().collect());
            self.show_together(d.stamp, cx);
        }
    }

    /// Begins to agree on when its parts show, if this server coordinates that and has not begun (W6).
    fn show_together(&mut self, stamp: Stamp, cx: &mut Cx<'_, Self>) {
        let transactions = &mut self.transactions;
        if coordinator(stamp) != cx.me.partition || transactions.agrees_on(stamp) {
            return;
        }
        let first = transactions.parts.get(&stamp).and_then(|keys| keys.first());
        let part = first.and_then(|key| cx.chain(key).find(|v| v.stamp == stamp));
        let parts = part.into_iter().flat_map(|part| part.meta.near.iter());
        let others = parts.filter(|dep| dep.scope == Scope::Part).map(|dep| dep.partition);
        let cohorts: Vec<PartitionId> = others.chain([cx.me.partition]).collect();
        let until = cx.mono + cx.params.retry_us;
        transactions.commits.agree(Asker::Version(stamp), cohorts, Plan::Show(stamp, Vec::new()), until);
    }

    /// Does what needs to know what showed at `time`; coordinators are asked first, if something is pending (W8).
    pub(super) fn find_out(&mut self, time: Hlc, ticket: Ticket, work: Work, cx: &mut Cx<'_, Self>) {
        let pending = self.transactions.pending(work.keys());
        let pending = pending.filter(|(_, pending)| *pending <= time && ASKS_COORDINATORS.kept());
        let held = Held {
            time,
            pending: pending.map(|(tx, _)| tx).collect(),
            ticket,
            work,
            until: cx.mono + cx.params.wait_limit_us,
        };
        ask(&held, cx);
        self.transactions.held.push(held);
        self.go_on(cx);
    }

    /// A server asks about a transaction that this one coordinates (W8).
    pub(super) fn tell_status(&mut self, from: ServerId, id: GatherId, time: Hlc, cx: &mut Cx<'_, Self>) {
        if self.transactions.commits.gathers(id) {
            self.dc.advance(time, cx);
            cx.send(from, Message::NotBefore(id, time));
        } else {
            self.commit(from, Commit::Doubt(id), cx);
        }
    }

    /// The coordinator says that a transaction commits above `time`, if it does (W8).
    pub(super) fn not_before(&mut self, from: ServerId, id: GatherId, time: Hlc) {
        for held in self.transactions.held.iter_mut().filter(|held| held.time <= time) {
            held.pending.retain(|tx| *tx != Tx(from.partition, id));
        }
    }

    /// Does what waits for nothing any more, and ends an event.
    pub(super) fn go_on(&mut self, cx: &mut Cx<'_, Self>) {
        let Transactions { held, commits, .. } = &mut self.transactions;
        held.iter_mut().for_each(|held| held.pending.retain(|tx| commits.prepared(*tx).is_some()));
        let ready: Vec<Held> = held.extract_if(.., |held| held.pending.is_empty()).collect();
        for Held { time, ticket, work, .. } in ready {
            match work {
                Work::Slice(_) if time < self.floor && REFUSES_DROPPED.kept() => {
                    cx.reply(ticket, Reply::TooOld(self.dc.clock)); // D3
                }
                Work::Slice(keys) => self.slice(ticket, &keys, time, cx),
                Work::Put(key, update, context) => self.put(ticket, key, update, context, cx),
            }
        }
        self.save(cx);
    }

    /// θ: what is lost is said again, and what waits for too long is given up.
    pub(super) fn tend(&mut self, cx: &mut Cx<'_, Self>) {
        let given_up = self.transactions.commits.tend(cx.mono);
        self.give_up(given_up, cx);
        let stamps: Vec<Stamp> = self.transactions.parts.keys().copied().collect();
        stamps.into_iter().for_each(|stamp| self.show_together(stamp, cx));
        let (late, mut failed) = (|until: Micros| until <= cx.mono, Vec::new());
        self.transactions.unanswered.retain(|_, (ticket, _, until)| {
            failed.extend(late(*until).then(|| (*ticket, not_shown())));
            !late(*until)
        });
        let held = self.transactions.held.extract_if(.., |held| late(held.until));
        failed.extend(held.map(|held| (held.ticket, in_doubt())));
        for (ticket, why) in failed {
            self.answer(ticket, Outcome::Failed(why), Deps::default(), cx);
        }
        self.transactions.held.iter().for_each(|held| ask(held, cx));
    }

    /// Tells sessions that their transactions did not happen.
    pub(super) fn give_up(&mut self, askers: Vec<Asker>, cx: &mut Cx<'_, Self>) {
        for asker in askers {
            if let Asker::Session(ticket) = asker {
                self.answer(ticket, Outcome::Failed(given_up()), Deps::default(), cx);
            }
        }
    }

    /// Sends what there is to say, and persists what has changed (D8).
    pub(super) fn save(&mut self, cx: &mut Cx<'_, Self>) {
        let commits = &mut self.transactions.commits;
        if commits.flush(Message::Commit, cx) {
            let undone = commits.undone();
            self.dc.persist(|hard| hard.undone = undone, cx);
        }
    }
}

/// Who coordinates a transaction, by its stamp.
fn coordinator(stamp: Stamp) -> PartitionId {
    PartitionId((stamp.seq - 1) as u16)
}

fn ask(held: &Held, cx: &mut Cx<'_, Eiger>) {
    for Tx(coordinator, id) in &held.pending {
        cx.send(ServerId::new(cx.me.dc, *coordinator), Message::Status(*id, held.time));
    }
}

fn not_shown() -> Failure {
    Failure::Indefinite(
        "the transaction has committed, but a partition of this region does not answer".into(),
    )
}

fn in_doubt() -> Failure {
    Failure::Unavailable("the coordinator of a transaction that is pending does not answer".into())
}
