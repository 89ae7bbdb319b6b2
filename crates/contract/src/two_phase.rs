//! Two-phase commit among the servers of a data centre, or among the masters of partitions: transactions that write keys of
//! several partitions.
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
//! **Sure answers.** A participant is *sure* if nothing else is pending there at or below the time that it proposes, and it adds
//! nothing; and after a second look, if that is so at the commit time. If all are sure of one time, then the transaction may show
//! somewhere while another participant is in doubt: who hears that something shows at its time knows how it ended
//! ([`TwoPhase::shows`]).
//!
//! `S` is what names a snapshot, as in [`crate::Slices`]. `D` is what participants add to it with their proposals, because they
//! looked; all of it is part of the decision. `L` is what a protocol keeps of a transaction that needs no agreement, because one
//! partition holds all of its keys. `W` is who is told how a transaction ends: a session, as a rule.
//!
//! **Invariants**
//! - I1 The time of what is pending only rises: a transaction commits at what it proposed here, or later.
//! - I2 Stamps are unique: commit times of one coordinator strictly increase, and `seq` tells coordinators apart; it
//!   is 0 of what needed none.

use crate::gather::{Gather, GatherId};
use crate::{Cx, Protocol, Ticket, Topology, Wire};
use parts::{by_partition, seq};
use std::collections::BTreeMap;
use tidemark_core::{DcId, Failure, Hlc, Micros, PartitionId, ServerId, Stamp};

/// How long a server is in doubt about a transaction before it asks, or tells a decision again.
const DOUBT_US: Micros = 50_000;

mod masters;
mod participants;
mod parts;
pub use masters::{MASTERS_MAX, before_plain};
pub use parts::*;

crate::rules! { from crate::Rule::COMPONENTS + 13;
    COMMIT_TIMES_DIFFER,
    SURE_OF_ONE_TIME, // those who are sure have proposed the commit time
}

/// A transaction for which proposals are gathered: the latest, or why one was refused.
struct Gathered<S, D, W> {
    asker: W,
    snap: S,
    participants: Vec<PartitionId>,
    at: Result<Agreed<D>, Failure>,
    /// What is watched has to be looked at again.
    looks: bool,
    writes: bool,
    /// All proposals so far are sure, and of one time.
    sure: bool,
    one_time: bool,
    /// No proposal was to be earlier.
    from: Hlc,
    until: Hlc,
    deadline: Micros,
}

struct Telling<D> {
    at: Agreed<D>,
    missing: Vec<PartitionId>,
    tell_again: Micros,
}

/// The transactions that one server coordinates, and those that are pending there.
pub struct TwoPhase<S, L, D = (), W = Ticket> {
    me: ServerId,
    /// Where the master of each partition is, if it is masters that take part.
    masters: Vec<DcId>,
    gathering: Gather<Gathered<S, D, W>>,
    decided: BTreeMap<GatherId, Telling<D>>,
    latest: Hlc,
    pending: Vec<Transaction<S, L, D>>,
    said: Vec<(PartitionId, Commit<S, D>)>,
    unsaved: bool,
}

impl<S: Wire, L, D: Adds, W> TwoPhase<S, L, D, W> {
    /// With what an earlier life left undone. `life` differs for every start of this server.
    pub fn new(me: ServerId, life: u64, Undone { prepared, decided, latest }: Undone<S, D>) -> Self {
        let in_doubt = |(tx, time, snap, Part { writes, watched, .. })| Transaction {
            time,
            snap,
            writes,
            watched,
            looked: true,
            state: State::InDoubt(tx, 0),
        };
        let kept = |(id, at, missing)| (id, Telling { at, missing, tell_again: 0 });
        Self {
            me,
            masters: Vec::new(),
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
    pub fn begin(&mut self, asker: W, writes: Writes, snap: S, deadline: Micros, topology: &Topology) {
        let part = Part { writes, ..Part::default() };
        self.begin_watching(asker, part, snap, Times { from: Hlc::ZERO, until: NEVER, deadline }, topology);
    }

    /// The same, if what is watched does not change until it commits: that is looked at once all have proposed. Proposals are asked for
    /// that are not before `from`, and it does not commit after `until`. Returns who takes part.
    pub fn begin_watching(
        &mut self,
        asker: W,
        all: Part,
        snap: S,
        times: Times,
        topology: &Topology,
    ) -> Vec<PartitionId> {
        let does = (!all.watched.is_empty(), !all.writes.is_empty());
        self.gather(asker, by_partition(all, topology), does, snap, times)
    }

    /// The same, of what these participants know already that they are to do: `snap` names it.
    pub fn agree(
        &mut self,
        asker: W,
        participants: impl IntoIterator<Item = PartitionId>,
        snap: S,
        deadline: Micros,
    ) {
        let parts = participants.into_iter().map(|partition| (partition, Part::default())).collect();
        self.gather(asker, parts, (false, true), snap, Times { from: Hlc::ZERO, until: NEVER, deadline });
    }

    fn gather(
        &mut self,
        asker: W,
        parts: BTreeMap<PartitionId, Part>,
        (looks, writes): (bool, bool),
        snap: S,
        Times { from, until, deadline }: Times,
    ) -> Vec<PartitionId> {
        let participants: Vec<PartitionId> = parts.keys().copied().collect();
        let asked = participants.iter().map(|p| self.server(*p)).collect();
        let from = from.max(self.latest.next()); // I2
        let gathered = Gathered {
            asker,
            snap: snap.clone(),
            participants: participants.clone(),
            at: Ok(Default::default()),
            looks,
            writes,
            sure: true,
            one_time: true,
            from,
            until,
            deadline,
        };
        let id = self.gathering.open(asked, deadline, gathered);
        let prepare = |(p, part)| (p, Commit::Prepare(id, snap.clone(), part, from));
        self.said.extend(parts.into_iter().map(prepare));
        participants
    }

    /// What is decided from now on commits above `time`.
    pub fn decide_above(&mut self, time: Hlc) {
        self.latest = self.latest.max(time);
    }

    /// Whether proposals for this transaction are gathered here.
    pub fn gathers(&self, id: GatherId) -> bool {
        self.gathering.is_open(id)
    }

    /// Whom transactions are gathered for.
    pub fn askers(&self) -> impl Iterator<Item = &W> {
        self.gathering.pending().map(|gathered| &gathered.asker)
    }

    /// Takes a message.
    pub fn on_message(
        &mut self,
        from: ServerId,
        message: Commit<S, D>,
        now: Micros,
    ) -> Option<Turn<S, D, W>> {
        match message {
            Commit::Prepare(id, snap, part, time) => {
                Some(Turn::Prepare(Tx(from.partition, id), snap, part, time))
            }
            Commit::Prepared(id, proposal, sure) => {
                let merge = |gathered: &mut Gathered<S, D, W>| match (&mut gathered.at, proposal) {
                    (Ok((at, all)), Ok((proposed, added))) => {
                        gathered.sure &= sure;
                        gathered.one_time &= *at == Hlc::ZERO || *at == proposed || !SURE_OF_ONE_TIME.kept();
                        *at = proposed.max(*at);
                        all.add(added);
                    }
                    (at, Err(why)) => *at = Err(why),
                    (Err(_), Ok(_)) => {}
                };
                let gathered = self.gathering.answer(id, from, merge)?;
                self.proposed(id, gathered, now)
            }
            Commit::Look(id, at) => Some(Turn::Look(Tx(from.partition, id), at)),
            Commit::Looked(id, looked, sure) => {
                let merge = |gathered: &mut Gathered<S, D, W>| {
                    gathered.sure &= sure;
                    if let Err(why) = looked {
                        gathered.at = Err(why);
                    }
                };
                let gathered = self.gathering.answer(id, from, merge)?;
                Some(self.decide(id, gathered, now))
            }
            Commit::Decision(id, at) => self.learn(Tx(from.partition, id), at),
            Commit::Applied(id) => {
                let decided = self.decided.get_mut(&id)?;
                decided.missing.retain(|partition| *partition != from.partition);
                if !decided.missing.is_empty() {
                    return None;
                }
                self.decided.remove(&id); // what is durable of it does no harm
                Some(Turn::Applied(id))
            }
            Commit::Doubt(id) if self.gathering.is_open(id) => None, // nobody knows yet
            Commit::Doubt(id) => {
                let at = self.decided.get(&id).map(|decided| decided.at.clone());
                self.said.push((from.partition, Commit::Decision(id, at)));
                None
            }
        }
    }

    /// All participants have proposed, or one has refused.
    fn proposed(
        &mut self,
        id: GatherId,
        mut gathered: Gathered<S, D, W>,
        now: Micros,
    ) -> Option<Turn<S, D, W>> {
        if let Ok((at, _)) = &mut gathered.at {
            let proposed = *at;
            *at = (*at).max(self.latest.next()); // I2
            if !self.masters.is_empty() {
                *at = masters::commit_time(*at, self.me.partition);
            }
            if gathered.looks {
                self.latest = *at;
                let look = |partition: &PartitionId| (*partition, Commit::Look(id, *at));
                self.said.extend(gathered.participants.iter().map(look));
                let asked = gathered.participants.iter().map(|p| self.server(*p)).collect();
                self.gathering.reopen(id, asked, gathered.deadline, gathered);
                return None;
            }
            gathered.sure &= gathered.one_time && *at == proposed;
            if *at > gathered.until {
                gathered.at = Err(too_late());
            }
        }
        Some(self.decide(id, gathered, now))
    }

    fn decide(&mut self, id: GatherId, gathered: Gathered<S, D, W>, now: Micros) -> Turn<S, D, W> {
        let Gathered { asker, snap, participants, at, writes, sure, from, .. } = gathered;
        let decision = Commit::Decision(id, at.as_ref().ok().filter(|_| writes).cloned());
        self.said.extend(participants.iter().map(|partition| (*partition, decision.clone())));
        if at.is_ok() && !writes {
            return Turn::Seen(asker, snap);
        }
        let decided = at.map(|(at, added)| {
            let (missing, tell_again) = (participants.clone(), now + DOUBT_US);
            self.latest = at;
            self.decided.insert(id, Telling { at: (at, added.clone()), missing, tell_again });
            self.unsaved = true;
            let stamp = Stamp { ts: at, origin: self.me.dc, seq: seq(self.me.partition) };
            Decided { id, stamp, added, participants, sure, from }
        });
        Turn::Decided(asker, snap, decided)
    }

    fn learn(&mut self, tx: Tx, at: Option<Agreed<D>>) -> Option<Turn<S, D, W>> {
        match (self.pending.iter().position(|t| t.state.tx() == Some(tx)), at) {
            (Some(place), Some((at, added))) => {
                let transaction = &mut self.pending[place];
                debug_assert!(transaction.time <= at, "I1");
                (transaction.time, transaction.state) = (at, State::Commits(tx, added));
            }
            (Some(place), None) => {
                debug_assert!(self.pending[place].in_doubt(), "what was decided is not aborted");
                self.pending.remove(place);
                self.unsaved = true;
            }
            (None, Some((at, _))) => return Some(Turn::Again(tx, at)),
            (None, None) => return None,
        }
        Some(Turn::Learnt)
    }

    /// The times of what is decided and not applied.
    pub fn decided(&self) -> impl Iterator<Item = Hlc> {
        self.pending.iter().filter(|transaction| !transaction.in_doubt()).map(|transaction| transaction.time)
    }

    /// What is prepared under this name.
    pub fn prepared(&mut self, tx: Tx) -> Option<&mut Transaction<S, L, D>> {
        self.pending.iter_mut().find(|transaction| transaction.state.tx() == Some(tx))
    }

    /// All that is pending.
    pub fn pending(&self) -> impl Iterator<Item = &Transaction<S, L, D>> {
        self.pending.iter()
    }

    /// The time of the earliest that is pending.
    pub fn earliest(&self) -> Option<Hlc> {
        self.pending.iter().map(|transaction| transaction.time).min()
    }

    /// Now and then: asks about what is in doubt, and tells decisions again; and gives up what has passed its deadline:
    /// whom to tell. None of that happened.
    pub fn tend(&mut self, now: Micros) -> Vec<W> {
        self.ask(|_, ask_at| ask_at <= now, now);
        for (id, decided) in self.decided.iter_mut().filter(|(_, decided)| decided.tell_again <= now) {
            decided.tell_again = now + DOUBT_US;
            let decision = Commit::Decision(*id, Some(decided.at.clone()));
            self.said.extend(decided.missing.iter().map(|partition| (*partition, decision.clone())));
        }
        self.gathering.expire(now).into_iter().map(|gathered| gathered.asker).collect()
    }

    /// `peer` restarted: asks it about what is in doubt, and gives up what waits for it: whom to tell. None of that
    /// happened.
    pub fn reset(&mut self, peer: ServerId, now: Micros) -> Vec<W> {
        if peer == self.server(peer.partition) {
            self.ask(|coordinator, _| coordinator == peer.partition, now);
        }
        self.gathering.reset(peer).into_iter().map(|gathered| gathered.asker).collect()
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
    pub fn flush<P: Protocol>(&mut self, wrap: fn(Commit<S, D>) -> P::Peer, cx: &mut Cx<'_, P>) -> bool {
        let mut said = std::mem::take(&mut self.said);
        said.drain(..).for_each(|(partition, message)| cx.send(self.server(partition), wrap(message)));
        self.said = said;
        std::mem::take(&mut self.unsaved)
    }

    /// What has to outlive a crash.
    pub fn undone(&self) -> Undone<S, D> {
        let kept = |t: &Transaction<S, L, D>| Some((t.state.tx()?, t.time, t.snap.clone(), t.part()));
        let decided = self.decided.iter().map(|(id, d)| (*id, d.at.clone(), d.missing.clone()));
        Undone {
            prepared: self.pending.iter().filter_map(kept).collect(),
            decided: decided.collect(),
            latest: self.latest,
        }
    }
}

/// What a client is told whose transaction was given up.
pub fn given_up() -> Failure {
    Failure::Unavailable("a partition that the transaction writes did not answer".to_string())
}

#[cfg(test)]
mod tests;
