//! Commands on keys of several partitions, and what waits for transactions (PROTOCOLS §19.1: T3 to T5, T11, T12).
//!
//! **Idea.** The coordinator asks each partition what its keys are, evaluates the command on that, and begins a transaction of what it
//! writes. When all have proposed, each participant looks for a second time: if everything is what it was, and nothing will
//! be written below the commit time, the command is as good as evaluated then. Otherwise it is evaluated again. Nothing is locked.
//!
//! - D11 Of two such transactions that meet, each of which writes what the other one looks at, the one whose name comes first goes on, if
//!   the other one has not looked yet: it will be refused when it does.

use super::edge::{Added, Snap};
use super::failures::{changed, lags};
use super::transactions::{Message, answered, writes};
use super::*;
use tidemark_contract::core::Reply;
use tidemark_contract::cx::apart::{Evaluated, Ground, Looked};
use tidemark_contract::gather::{Gather, GatherId};
use tidemark_contract::two_phase::{Adds, Part, Transaction, Tx, Watched as Seen};

/// Keys of one partition, each with its place in the command.
pub type Places = Vec<(u32, Key)>;

const ELSEWHERE: Reply = Reply::error("CROSSSLOT Keys in request are placed in different regions");

/// A command that is carried out.
struct Running {
    ticket: Ticket,
    key: Key,
    update: Update,
    /// What its session brought.
    brought: Past,
    deadline: Micros,
    /// What it answers if it commits.
    reply: Option<Box<Reply>>,
}

/// What partitions have said of its keys.
struct Fetching {
    ticket: Ticket,
    looked: Vec<(u32, Looked)>,
    seen: Past,
    ground: Ground,
}

/// What waits until transactions have ended that write the same keys (T11).
enum Held {
    Request(Ticket, Request),
    Fetch(ServerId, GatherId, Known, Places),
}

/// The commands of one server.
pub(super) struct Commands {
    running: Vec<Running>,
    fetching: Gather<Fetching>,
    held: Vec<(Micros, Held)>,
}

impl Commands {
    pub(super) fn start(life: u64) -> Self {
        Self { running: Vec::new(), fetching: Gather::new(life), held: Vec::new() }
    }

    pub(super) fn waiting(&self) -> usize {
        self.running.len() + self.held.len()
    }

    /// Whether a command of this session is carried out.
    pub(super) fn runs(&self, ticket: Ticket) -> bool {
        self.running.iter().any(|one| one.ticket == ticket)
    }

    /// Forgets the command of a session that is told something now; its reply.
    pub(super) fn finish(&mut self, ticket: Ticket) -> Option<Box<Reply>> {
        let place = self.running.iter().position(|one| one.ticket == ticket)?;
        self.running.swap_remove(place).reply
    }
}

impl Tidemark {
    /// Whether keys of the command are in other partitions than this.
    #[inline]
    pub(super) fn is_apart(update: &Update, cx: &Cx<'_, Self>) -> bool {
        let apart = |key: &Key| cx.topology.partition_of(key) != cx.me.partition;
        update.command.as_ref().is_some_and(|command| command.keys.iter().any(apart))
    }

    /// Whether an update observes a key that a transaction is about to change (T11).
    #[inline]
    pub(super) fn has_to_wait(&self, key: &Key, update: &Update, cx: &Cx<'_, Self>) -> bool {
        if !update.observes() || self.is_quiet() || !CONDITIONS_WAIT.kept() {
            return false;
        }
        let more = update.command.iter().flat_map(|command| &command.keys);
        std::iter::once(key).chain(more).any(|key| self.is_disturbed(key, cx))
    }

    /// Holds such an update until then.
    pub(super) fn hold(&mut self, ticket: Ticket, key: Key, update: Update, past: Past, cx: &Cx<'_, Self>) {
        self.hold_request(ticket, Request::Of(request::Request::Put(key, update, past)), cx);
    }

    /// The same of any request.
    pub(super) fn hold_request(&mut self, ticket: Ticket, request: Request, cx: &Cx<'_, Self>) {
        self.commands.held.push((cx.mono + cx.params.wait_limit_us, Held::Request(ticket, request)));
    }

    /// Whether a transaction is about to change a key of this partition.
    pub(super) fn is_disturbed(&self, key: &Key, cx: &Cx<'_, Self>) -> bool {
        self.is_written(key) || cx.hides(key, &self.fresh(cx))
    }

    /// Goes on with what was held, as far as it need not wait any more.
    pub(super) fn stir(&mut self, cx: &mut Cx<'_, Self>) {
        for (deadline, held) in std::mem::take(&mut self.commands.held) {
            match held {
                Held::Request(ticket, _) if deadline <= cx.mono => cx.fail(ticket, lags()),
                Held::Fetch(..) if deadline <= cx.mono => {}
                Held::Request(ticket, request) => {
                    let before = self.commands.held.len();
                    self.on_request(ticket, request, cx);
                    self.commands.held[before..].iter_mut().for_each(|(again, _)| *again = deadline);
                }
                Held::Fetch(from, id, known, keys) => self.look_up(from, id, known, keys, deadline, cx),
            }
        }
    }

    /// A command on keys of several partitions, at the coordinator.
    pub(super) fn transact(
        &mut self,
        ticket: Ticket,
        key: Key,
        update: Update,
        brought: Past,
        cx: &mut Cx<'_, Self>,
    ) {
        let more = update.command.iter().flat_map(|command| &command.keys);
        if !std::iter::once(&key).chain(more).all(|key| cx.topology.holders(key).contains(cx.me.dc)) {
            let previous = Some(answered(Box::new(ELSEWHERE)));
            return cx.answer(ticket, Outcome::Written { stamp: None, previous }, Past::default());
        }
        if self.lags(cx) {
            return cx.fail(ticket, lags()); // D10
        }
        let deadline = cx.mono + cx.params.wait_limit_us;
        self.commands.running.push(Running { ticket, key, update, brought, deadline, reply: None });
        self.fetch(ticket, cx);
    }

    /// Asks all partitions what the keys are.
    fn fetch(&mut self, ticket: Ticket, cx: &mut Cx<'_, Self>) {
        let Commands { running, fetching, .. } = &mut self.commands;
        let Some(one) = running.iter().find(|one| one.ticket == ticket) else { return };
        let more = one.update.command.iter().flat_map(|command| &command.keys);
        let mut parts = std::collections::BTreeMap::<PartitionId, Places>::new();
        for (place, key) in (0..).zip(std::iter::once(&one.key).chain(more)) {
            parts.entry(cx.topology.partition_of(key)).or_default().push((place, key.clone()));
        }
        let m = cx.me.dc;
        let server = |partition: &PartitionId| ServerId::new(m, *partition);
        let nothing =
            Fetching { ticket, looked: Vec::new(), seen: Past::default(), ground: Ground::default() };
        let id = fetching.open(parts.keys().map(server).collect(), one.deadline, nothing);
        let known = (one.brought.dsv.clone(), one.brought.l);
        for (partition, keys) in parts {
            cx.send(server(&partition), Peer::Own(Message::Fetch(id, known.clone(), keys)));
        }
    }

    /// A message about commands.
    pub(super) fn on_fetch(&mut self, from: ServerId, message: Message, cx: &mut Cx<'_, Self>) {
        match message {
            Message::Fetch(id, known, keys) => {
                let deadline = cx.mono + cx.params.wait_limit_us;
                self.look_up(from, id, known, keys, deadline, cx);
            }
            Message::Fetched(id, looked, seen, ground) => {
                let add = |fetching: &mut Fetching| {
                    fetching.looked.extend(looked);
                    fetching.seen.add(seen);
                    fetching.ground.add(ground);
                };
                if let Some(fetched) = self.commands.fetching.answer(id, from, add) {
                    self.evaluate(fetched, cx);
                }
            }
            _ => {}
        }
    }

    fn look_up(
        &mut self,
        from: ServerId,
        id: GatherId,
        known: Known,
        keys: Places,
        deadline: Micros,
        cx: &mut Cx<'_, Self>,
    ) {
        self.learn_from(&known, cx);
        if !self.is_quiet() && keys.iter().any(|(_, key)| self.is_disturbed(key, cx)) {
            self.commands.held.push((deadline, Held::Fetch(from, id, known, keys)));
            return;
        }
        let (m, view, mut seen) = (cx.me.dc, self.fresh(cx), Past::default());
        let (places, keys): (Vec<u32>, Vec<Key>) = keys.into_iter().unzip();
        let (looked, ground) = cx.look_at(&keys, &view, |d| seen.saw(d, m));
        seen.dsv = self.need(&seen.ds, m);
        let looked = places.into_iter().zip(looked).collect();
        cx.send(from, Peer::Own(Message::Fetched(id, looked, seen, ground)));
    }

    /// Everything is known: the command is evaluated, and what it writes is a transaction.
    fn evaluate(&mut self, fetched: Fetching, cx: &mut Cx<'_, Self>) {
        let Fetching { ticket, mut looked, seen, ground } = fetched;
        let Some(one) = self.commands.running.iter_mut().find(|one| one.ticket == ticket) else { return };
        looked.sort_unstable_by_key(|(place, _)| *place);
        let more = one.update.command.iter().flat_map(|command| &command.keys);
        let keys = std::iter::once(&one.key).chain(more);
        let mut watched: Seen = Vec::new();
        for (key, (_, looked)) in keys.zip(&looked) {
            if watched.iter().all(|(known, _)| known != key) {
                watched.push((key.clone(), looked.mark.clone()));
            }
        }
        let looked = looked.into_iter().map(|(_, looked)| looked).collect();
        let Evaluated { reply, writes } = cx.evaluate_apart(&one.key, &one.update, looked, ground);
        one.reply = Some(Box::new(reply));
        let (brought, deadline) = (one.brought.clone(), one.deadline);
        let mut snap = Past { dsv: self.need(&brought.ds, cx.me.dc), ..brought };
        if DEPENDS_ON_SEEN.kept() {
            snap.add(seen);
        }
        let all = Part { writes, watched, ..Part::default() };
        self.begin(ticket, all, Snap::of(snap), deadline, cx);
    }

    /// The second look (T4).
    pub(super) fn look_again(&mut self, tx: Tx, ct: Hlc, cx: &mut Cx<'_, Self>) {
        let part = self.transactions.commits.prepared(tx).map(|one| one.part());
        let unchanged = part.is_some_and(|part| self.is_unchanged(tx, &part, cx));
        if unchanged && LOOKS_LIFT.kept() {
            self.st.advance(ct, cx); // what is written later lies above
        }
        self.transactions.commits.looked(tx, ct, if unchanged { Ok(()) } else { Err(changed()) });
    }

    /// Whether what a transaction watches here is as it was, and will be.
    fn is_unchanged(&self, tx: Tx, part: &Part, cx: &mut Cx<'_, Self>) -> bool {
        let Part { writes, watched, .. } = part;
        let view = self.fresh(cx);
        watched.iter().all(|(key, mark)| {
            !self.is_contested(key, tx, writes)
                && (cx.is_as_it_was(key, mark, &view) || !LOOKS_AGAIN.kept())
                && (!cx.hides(key, &view) || !HIDDEN_COUNTS.kept())
        })
    }

    /// Whether no transaction is about to change anything here.
    #[inline]
    fn is_quiet(&self) -> bool {
        self.transactions.commits.earliest().is_none()
            && self.transactions.hidden_below <= self.st.stable[self.l]
    }

    /// Whether what is prepared here writes a key.
    fn is_written(&self, key: &Key) -> bool {
        self.transactions.commits.pending().any(|one| writes(&one.writes, key))
    }

    /// Whether another transaction may change a key before `tx`, which writes these keys here, commits, or at that time (T4, D11).
    fn is_contested(&self, key: &Key, tx: Tx, written: &Writes) -> bool {
        let gives_way = |other: &Transaction<Snap, (), Added>| {
            let is_refused = other.watched.iter().any(|(key, _)| writes(written, key))
                || !WHO_YIELDS_IS_REFUSED.kept() && !other.watched.is_empty();
            is_refused && !other.looked && other.state.tx() > Some(tx)
        };
        let mut others = self.transactions.commits.pending().filter(|one| one.state.tx() != Some(tx));
        INTENTIONS_CONTEND.kept() && others.any(|one| writes(&one.writes, key) && !gives_way(one))
    }

    /// A transaction was refused because something had changed: the command is evaluated again. False if it has no more time.
    pub(super) fn again(&mut self, ticket: Ticket, cx: &mut Cx<'_, Self>) -> bool {
        let in_time = |one: &Running| one.ticket == ticket && cx.mono < one.deadline;
        let goes_on = self.commands.running.iter().any(in_time);
        if goes_on {
            self.fetch(ticket, cx);
        }
        goes_on
    }

    /// θ, or a server has restarted: whom nobody answers any more.
    pub(super) fn given_up(&mut self, peer: Option<ServerId>, now: Micros) -> Vec<Ticket> {
        let fetching = &mut self.commands.fetching;
        let lost = match peer {
            Some(peer) => fetching.reset(peer),
            None => fetching.expire(now),
        };
        lost.into_iter().map(|fetching| fetching.ticket).collect()
    }
}
