//! Write transactions of Tidemark: two phases among the servers of a data centre, and then L.
//!
//! **Idea.** A transaction commits at the latest of the times that its participants propose. A server announces nothing at or above
//! what it has prepared, so the least that all servers of the data centre have announced, L, tells up to where transactions
//! are applied everywhere here. Versions of a transaction show once L has come to its time, and its client is answered then. Nobody
//! who reads waits for it, and nobody who writes one key.
//!
//! **Source.** PROTOCOLS §19.1; steps are numbered as there.
//!
//! **Names.** `pt` the time that a participant proposes · `ct` commit time · L, in `st.stable[l]`.
//!
//! **Where §19.1 leaves a choice**
//! - D7 The coordinator owns the first key. Each transaction has its own round of announcements (T8), of which the coordinator is the
//!   root: siblings tell it once they have announced `ct`, and it tells them the least.
//! - D8 Keys of one partition that the same data centres hold are written by one version: that is no transaction.
//! - D9 What is written to a key of a data type is evaluated when it is prepared, and the transaction depends on what was seen. Until
//!   it is applied, this server tells no floor above that view.
//! - D10 If L is far behind, a sibling is down or slow: a new transaction is refused at once. Far is half of what waits for anything may
//!   take ([`Params::wait_limit_us`](super::Params::wait_limit_us)), and at least a second.

use super::commands::Places;
use super::edge::{Added, Snap};
use super::failures::{changed, contested, lags, too_late};
use super::interactive::{Slice, Sliced};
use super::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tidemark_contract::core::{Acceptance, Write};
use tidemark_contract::cx::apart::{Ground, Looked};
use tidemark_contract::cx::edge::WithoutEffect;
use tidemark_contract::gather::GatherId;
use tidemark_contract::stabilised::Messages as _;
use tidemark_contract::synced::REPORTS_ARE_SYNCED;
use tidemark_contract::two_phase::{self, Adds, Commit, Decided, Part, State, Turn, TwoPhase, Tx};

/// What servers of a data centre say to each other about transactions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message {
    /// Of the two phases, and that a transaction is shown (T9).
    Commit(Commit<Snap, Added>),
    /// To who takes no part: a transaction has committed at this time (T8).
    Lift(Hlc),
    /// To the coordinator: the sender has announced so much (T8).
    Announced(Hlc),
    /// L (T8).
    Stable(Hlc),
    /// What are these keys?
    Fetch(GatherId, Known, Places),
    /// This.
    Fetched(GatherId, Vec<(u32, Looked)>, Past, Ground),
    /// Read this for an interactive transaction (T13).
    Read(GatherId, Slice),
    /// This is found, and limits what it finds here later.
    Found(GatherId, Option<Sliced>),
    /// What has changed between these bases?
    WhichChanged(GatherId, Vector, Vector),
    /// These; anything may have, if none are given.
    HaveChanged(GatherId, Option<Vec<Key>>),
    /// From root to root: the sender's data centre has this, and will have it after a crash (D16).
    Told(Vector),
}

/// See [`Extensions::for_client`](tidemark_contract::Extensions::for_client).
pub(super) fn for_client(message: &Peer) -> bool {
    let Peer::Own(message) = message else { return message.is_for_client() };
    match message {
        Message::Fetch(..) | Message::Fetched(..) | Message::Read(..) | Message::Found(..) => true,
        Message::Commit(message) => message.is_for_client(),
        Message::Announced(_) | Message::Stable(_) => !REPORTS_ARE_SYNCED.kept(),
        Message::Lift(_) | Message::WhichChanged(..) | Message::HaveChanged(..) | Message::Told(_) => false,
    }
}

/// So far behind L may always be (D10).
const LAG_US: Micros = 1_000_000;

/// A transaction whose client waits for its answer (T10).
pub(super) struct Unanswered {
    pub(super) ticket: Ticket,
    pub(super) stamp: Stamp,
    past: Past,
    pub(super) deadline: Micros,
    previous: Option<Found>,
    /// Of an edge client: what of it had no effect.
    accepted: Option<WithoutEffect>,
}

/// The transactions of one server.
pub(super) struct Transactions {
    pub(super) commits: TwoPhase<Snap, (), Added>,
    /// Those that this server coordinates.
    pub(super) unanswered: BTreeMap<GatherId, Unanswered>,
    /// What is applied here and was not said to be shown (T9).
    pub(super) unshown: Vec<(Hlc, Tx)>,
    /// Whom to tell once so much is announced (T8).
    pub(super) owed: Vec<(Hlc, PartitionId)>,
    /// What each server of the data centre has announced, as far as this one was told, and the L that it has told them (T8).
    pub(super) heard: Vec<Hlc>,
    pub(super) told: Hlc,
    /// How far ahead of this clock proposals are asked for: more while siblings' clocks are ahead (D14).
    pub(super) ahead: Micros,
    /// When this server started.
    began: Hlc,
    /// Below this L, a transaction is applied here and not shown.
    pub(super) hidden_below: Hlc,
}

impl Transactions {
    /// With what an earlier life left.
    pub(super) fn start(was: &mut Recovered<Lasting>, cx: &mut Cx<'_, Tidemark>) -> Self {
        was.hard.undone.prepared.retain(|_| PREPARED_SURVIVES.kept());
        was.hard.undone.decided.retain(|_| DECIDED_SURVIVES.kept());
        let effects = was.hard.undone.prepared.iter().any(|(.., part)| has_effects(&part.writes));
        let of_transactions =
            cx.store().versions().filter(|d| is_of_transaction(d.meta.at(d.stamp), cx.me.dc));
        let hidden_below = of_transactions.map(|d| d.meta.local()).fold(Hlc::ZERO, Hlc::max);
        cx.hold_floor(effects); // D9
        Self {
            commits: TwoPhase::new(cx.me, was.life, was.hard.undone.clone()),
            unanswered: BTreeMap::new(),
            unshown: Vec::new(),
            owed: Vec::new(),
            heard: vec![Hlc::ZERO; cx.topology.partitions],
            told: Hlc::ZERO,
            ahead: *proposals::AHEAD_US.start(),
            began: Hlc::at(cx.now),
            hidden_below,
        }
    }

    /// How many are not done with.
    pub(super) fn unfinished(&self) -> usize {
        self.commits.unfinished()
    }
}

impl Tidemark {
    /// Everything that this server has written up to here is applied, and it will write nothing more (T2).
    #[inline]
    pub(super) fn announced(&self, cx: &Cx<'_, Self>) -> Hlc {
        let hlc = self.st.vv[cx.me.dc];
        match self.transactions.commits.earliest() {
            Some(pt) if ANNOUNCES_BELOW_PREPARED.kept() => hlc.min(pt.prev()),
            _ => hlc,
        }
    }

    /// MSET, or what an interactive transaction commits, at the coordinator (T1).
    pub(super) fn put_all(&mut self, ticket: Ticket, all: Part, past: Past, cx: &mut Cx<'_, Self>) {
        let m = cx.me.dc;
        self.bring(&past, cx);
        if all.watched.is_empty() && together(&all.writes, cx) {
            return self.put_together(ticket, all.writes, past, cx);
        }
        if self.lags(cx) {
            return cx.fail(ticket, lags()); // D10
        }
        let snap = Past { dsv: self.need(&past.ds, m), ..past };
        self.begin(ticket, all, Snap::of(snap), cx.mono + cx.params.wait_limit_us, cx);
        self.save(cx);
    }

    /// Whether transactions would wait for long (D10).
    pub(super) fn lags(&self, cx: &Cx<'_, Self>) -> bool {
        let known = self.st.stable[self.l].max(self.transactions.began); // siblings start, too
        cx.now.saturating_sub(known.micros()) > LAG_US.max(cx.params.wait_limit_us / 2)
    }

    /// D8.
    fn put_together(&mut self, ticket: Ticket, writes: Writes, past: Past, cx: &mut Cx<'_, Self>) {
        if !cx.bears(&writes) {
            return cx.fail(ticket, too_late());
        }
        let (m, view) = (cx.me.dc, self.fresh(cx));
        let mut seen = Past { dsv: self.known(cx), ..Past::default() };
        let overwritten = cx.overwritten(last_of_each(writes), &view, |d| seen.saw(d, m));
        let versioned = overwritten.and_then(|writes| Ok((writes, self.version(past, &mut seen, cx)?)));
        let (writes, (stamp, meta)) = match versioned {
            Ok(versioned) => versioned,
            Err(why) => return cx.fail(ticket, why),
        };
        if meta.need.is_some() {
            writes.iter().for_each(|(key, _)| self.exceptional.watch(key, stamp)); // D5
        }
        if WRITTEN_TOGETHER.kept() {
            let (key, write) = (writes[0].0.clone(), Write::Group(Arc::new(writes)));
            let version = Version { stamp, meta, write };
            self.came(&key, &version);
            cx.write(key, version);
        } else {
            let version = |write| Version { stamp, meta: meta.clone(), write };
            writes.into_iter().for_each(|(key, write)| cx.write(key, version(write)));
        }
        cx.answer(ticket, Outcome::Written { stamp: Some(stamp), previous: None }, seen);
    }

    /// A message about transactions.
    pub(super) fn on_transaction(&mut self, from: ServerId, message: Message, cx: &mut Cx<'_, Self>) {
        match message {
            Message::Commit(message) => self.commit(from, message, cx),
            Message::Lift(ct) => {
                self.advance(ct, cx);
                self.owe(ct, from.partition, cx);
            }
            Message::Announced(up_to) => {
                let heard = &mut self.transactions.heard[from.partition.index()];
                *heard = up_to.max(*heard);
                self.tell(cx);
            }
            Message::Stable(up_to) => {
                self.take_l(up_to, cx);
                self.show(cx);
            }
            Message::WhichChanged(id, older, newer) => self.tell_changes(from, id, (&older, &newer), cx),
            Message::HaveChanged(id, keys) => self.changes_told(from, id, keys, cx),
            Message::Told(stable) => self.kept.told(from.dc, &stable),
            Message::Read(id, slice) => self.read_slice_at(from, id, slice, cx),
            Message::Found(id, slice) => self.slice_found(from, id, slice, cx),
            message => self.on_fetch(from, message, cx),
        }
        self.stir(cx);
        self.save(cx);
    }

    fn commit(&mut self, from: ServerId, message: Commit<Snap, Added>, cx: &mut Cx<'_, Self>) {
        match self.transactions.commits.on_message(from, message, cx.mono) {
            Some(Turn::Prepare(tx, snap, part, from)) => self.prepare(tx, snap, part, from, cx),
            Some(Turn::Look(tx, ct)) => self.look_again(tx, ct, cx),
            Some(Turn::Seen(ticket, snap)) => {
                let previous = self.commands.finish(ticket).map(answered);
                cx.answer(ticket, Outcome::Written { stamp: None, previous }, snap.past);
            }
            Some(Turn::Decided(ticket, snap, Ok(decided))) => self.decided(ticket, snap, decided, cx),
            Some(Turn::Decided(ticket, Snap { edge: Some(edge), .. }, Err(why)))
                if why == too_late() || why == two_phase::too_late() =>
            {
                let what = Outcome::Accepted(Box::new(self.too_late(edge.stamp.ts, edge.new)));
                cx.answer(ticket, what, Past::default());
            }
            Some(Turn::Decided(ticket, _, Err(why))) => self.refused(ticket, why, cx),
            Some(Turn::Learnt) => self.apply(cx),
            Some(Turn::Again(tx, ct)) => {
                if self.transactions.unshown.iter().all(|(_, known)| *known != tx) {
                    self.transactions.unshown.push((ct, tx));
                }
                self.show(cx);
            }
            Some(Turn::Applied(id)) => {
                let Some(done) = self.transactions.unanswered.remove(&id) else { return };
                let Unanswered { ticket, stamp, past, previous, accepted, .. } = done;
                let outcome = match accepted {
                    Some(without) => Outcome::Accepted(Box::new(Acceptance::Taken(without))),
                    None => Outcome::Written { stamp: Some(stamp), previous },
                };
                cx.answer(ticket, outcome, past); // T10
            }
            None => {}
        }
    }

    /// The coordinator has decided (T6). The client waits until all participants show it (T10).
    fn decided(&mut self, ticket: Ticket, snap: Snap, decided: Decided<Added>, cx: &mut Cx<'_, Self>) {
        let Decided { id, stamp, added, participants, sure, from } = decided;
        let (Snap { past: snap, edge }, Added { past: added, without }) = (snap, added);
        let accepted = edge.map(|_| without);
        let ct = stamp.ts;
        self.look_ahead(ct > from);
        let mut past = Past { dsv: snap.dsv, l: ct, ..Past::default() };
        past.add(added);
        past.ds.include(stamp);
        let previous = self.commands.finish(ticket).map(answered);
        if previous.is_some() {
            past.ds.merge(&snap.ds); // what it has seen
        }
        if ANSWERS_WHEN_SHOWN.kept() {
            let deadline = cx.mono + cx.params.wait_limit_us;
            self.transactions
                .unanswered
                .insert(id, Unanswered { ticket, stamp, past, deadline, previous, accepted });
        } else {
            cx.answer(ticket, Outcome::Written { stamp: Some(stamp), previous }, past);
        }
        if ct > from {
            self.lift(ct, &participants, cx); // T8
        }
        if sure {
            let heard = &mut self.transactions.heard;
            participants.iter().for_each(|p| heard[p.index()] = heard[p.index()].max(ct)); // D14
            self.save(cx); // the decision goes first
            self.tell(cx);
        }
    }

    /// A participant applies what has committed, in one step (T7).
    pub(super) fn apply(&mut self, cx: &mut Cx<'_, Self>) {
        let m = cx.me.dc;
        let mut owed = Vec::new();
        while let Some(transaction) = self.transactions.commits.take() {
            let stamp = transaction.stamp(m);
            let State::Commits(tx, added) = transaction.state else { continue };
            let (ct, Snap { mut past, edge }) = (stamp.ts, transaction.snap);
            past.add(added.past);
            let ds = past.of_transaction(m, ct);
            if APPLYING_TAKES_NEED.kept() {
                self.st.stable.merge(&self.excluded.believed(&past.dsv));
            }
            self.advance(ct, cx);
            let announced = self.announced(cx);
            let upto = if announced < ct.prev() { announced } else { Hlc::ZERO };
            for (key, write) in transaction.writes {
                let need = Some(Box::new(Need { stable: past.dsv.clone(), local: ct, upto }));
                let (stamp, edge) = edge.as_ref().map_or((stamp, None), |edge| edge.copy(stamp)); // D17
                self.exceptional.watch(&key, stamp); // D5
                let version = Version { stamp, meta: Meta { ds: ds.clone(), need, edge }, write };
                self.came(&key, &version);
                cx.write(key, version);
            }
            self.transactions.hidden_below = self.transactions.hidden_below.max(ct);
            self.transactions.unshown.push((ct, tx));
            owed.push((ct, tx.0));
        }
        self.hold_floor(cx);
        cx.heartbeat(self.announced(cx)); // behind all versions of a transaction
        owed.into_iter().for_each(|(ct, coordinator)| self.owe(ct, coordinator, cx));
        self.report(cx); // what is pending no more may have held others back
    }

    /// D9.
    pub(super) fn hold_floor(&self, cx: &mut Cx<'_, Self>) {
        cx.hold_floor(
            self.transactions.commits.pending().any(|transaction| has_effects(&transaction.writes)),
        );
    }

    /// A participant has refused: if only because something had changed, a command is evaluated once more, and an interactive
    /// transaction is told.
    fn refused(&mut self, ticket: Ticket, why: Failure, cx: &mut Cx<'_, Self>) {
        let (has_changed, command) = (why == changed(), self.commands.runs(ticket));
        if command && (has_changed || why == too_late()) && self.again(ticket, cx) {
            return;
        }
        if has_changed && !command {
            let previous = Some(answered(Box::new(tidemark_contract::core::Reply::NullArray)));
            return cx.answer(ticket, Outcome::Written { stamp: None, previous }, Past::default());
        }
        self.fail(ticket, why, cx);
    }

    /// A transaction, or the command that it is of, has failed.
    pub(super) fn fail(&mut self, ticket: Ticket, why: Failure, cx: &mut Cx<'_, Self>) {
        let command = self.commands.runs(ticket);
        self.commands.finish(ticket);
        cx.fail(ticket, if command && (why == changed() || why == too_late()) { contested() } else { why });
    }

    /// Says what is to be said, and persists what has changed.
    pub(super) fn save(&mut self, cx: &mut Cx<'_, Self>) {
        let commits = &mut self.transactions.commits;
        if commits.flush(|message| Peer::Own(Message::Commit(message)), cx) {
            let undone = commits.undone();
            self.st.ceiling.persist(|hard| hard.undone = undone, cx);
        }
    }
}

/// What a command answers that was carried out.
pub(super) fn answered(reply: Box<tidemark_contract::core::Reply>) -> Found {
    Found { reply: Some(reply), ..Found::default() }
}

pub(super) fn writes(all: &Writes, key: &Key) -> bool {
    all.iter().any(|(written, _)| written == key)
}

/// Whether all of them are here, and go to the same data centres.
fn together(writes: &Writes, cx: &Cx<'_, Tidemark>) -> bool {
    let (topology, first) = (cx.topology, &writes[0].0);
    writes.iter().all(|(key, _)| {
        topology.partition_of(key) == cx.me.partition && topology.holders(key) == topology.holders(first)
    })
}

/// Of several writes of one key the last one counts. They stay in the client's order, in which others are told of them.
fn last_of_each(mut writes: Writes) -> Writes {
    let mut known = BTreeSet::new();
    writes.reverse();
    writes.retain(|(key, _)| known.insert(key.clone()));
    writes.reverse();
    writes
}

/// Whether a version with this stamp is one of a transaction of data centre `m`.
fn is_of_transaction(stamp: Stamp, m: DcId) -> bool {
    stamp.origin == m && stamp.seq > 0
}

fn has_effects(writes: &Writes) -> bool {
    writes.iter().any(|(_, write)| matches!(write, Write::Apply(_)))
}
