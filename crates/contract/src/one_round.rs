//! Sessions that are their past, and whose every operation is one question and one answer: the client side of
//! GentleRain, CausalSpartanX and most that followed. What remains for a protocol to say is what it asks.

use crate::{AskId, Cx, Parts, Protocol, Reach, Session, SessionCx, Ticket, Token, Wire};
use serde::{Deserialize, Serialize};
use tidemark_core::{DcId, Failure, Found, Hlc, Op, Outcome, PartitionId, ServerId, Vector};

/// What a session remembers, and what an answer adds to it.
pub trait Past: Wire + Default {
    /// What an answer says: the same, as a rule.
    type Said: Said<Self>;

    /// Adds what another session remembered.
    fn merge(&mut self, other: &Self);

    /// Takes over what an answer says, of an operation that ended so: adds it, as a rule.
    fn learn(&mut self, _outcome: &Outcome, said: &Self) {
        self.merge(said);
    }

    /// Makes it short ([`crate::Reaches::shorten`]): nothing, as a rule.
    fn shorten(&mut self) {}

    /// How far it reaches, for a session whose home is `home`.
    fn reach(&self, home: DcId) -> Reach;

    /// Up to when its session reads in snapshots what it wrote itself, where sessions keep their later writes for
    /// themselves ([`crate::own_writes::OwnWrites`]). Then another session of the same region takes a past over like one from
    /// elsewhere; without, what one session remembers is enough for another.
    fn own_writes(&self) -> Option<Hlc> {
        None
    }

    /// What of it, from another region, holds here too, before anyone was asked: nothing, as a rule (erratum E-13).
    fn abroad(&self) -> Self {
        Self::default()
    }

    /// The partition that says whether a region covers it.
    fn coverer(&self) -> PartitionId {
        PartitionId::default()
    }
}

/// What an answer says to a session that remembers a `T`.
pub trait Said<T>: Wire + Default {
    /// Teaches a session what a server of `partition` said of an operation that ended so.
    fn teach(&self, past: &mut T, partition: PartitionId, outcome: &Outcome);
}

impl<T: Past> Said<T> for T {
    fn teach(&self, past: &mut T, _: PartitionId, outcome: &Outcome) {
        past.learn(outcome, self);
    }
}

/// A past that is one vector.
impl Past for Vector {
    type Said = Self;

    fn merge(&mut self, other: &Self) {
        Vector::merge(self, other);
    }

    fn reach(&self, home: DcId) -> Reach {
        Reach::of(home, [self])
    }
}

/// Nothing is remembered.
impl Past for () {
    type Said = Self;

    fn merge(&mut self, (): &Self) {}

    fn reach(&self, home: DcId) -> Reach {
        Reach::of(home, [])
    }
}

/// An answer: how the operation ended, and what its session comes to remember.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer<T>(pub Outcome, pub T);

/// A protocol of which each operation is one question to one server; a read of several keys is one to each partition of
/// theirs if the protocol [says so](crate::Info::splits_reads).
pub trait OneRound: Protocol<Reply = Answer<<Self::Past as Past>::Said>> {
    /// What a session remembers.
    type Past: Past;

    /// What a session asks that remembers `past`, of the server that [`SessionCx::begin`] names; of keys at a time, of each of
    /// their servers. Without an operation, `past` comes
    /// from another region, its `home` so far: the answer, an [`Outcome::Adopted`] once this region covers it, says what to
    /// remember.
    fn question(op: Option<Op>, home: DcId, past: &Self::Past) -> Self::Request;
}

/// What a session keeps for itself beside its past, and puts into answers: nothing, as a rule.
pub trait Own<P: OneRound>: Default + 'static {
    /// An operation begins.
    fn begins(&mut self, op: &Op);

    /// It ends, and the session remembers `past` from now on.
    fn ends(&mut self, outcome: &mut Outcome, past: &P::Past);
}

impl<P: OneRound> Own<P> for () {
    fn begins(&mut self, _op: &Op) {}

    fn ends(&mut self, _outcome: &mut Outcome, _past: &P::Past) {}
}

/// A session of such a protocol.
pub struct OneRoundSession<P: OneRound, O = ()> {
    token: Token<P::Past>,
    own: O,
    /// The read of several keys that runs, if this session puts it together.
    parts: Parts<Found>,
}

impl<P: OneRound, O: Own<P>> Session<P> for OneRoundSession<P, O> {
    type Token = Token<P::Past>;

    fn open(home: DcId) -> Self {
        Self { token: Token { home, past: P::Past::default() }, own: O::default(), parts: Parts::default() }
    }

    fn begin(&mut self, op: Op, cx: &mut SessionCx<'_, P>) {
        let Some(server) = cx.begin(&op) else { return };
        self.own.begins(&op);
        let Token { home, past } = &self.token;
        match op {
            Op::Rotx { keys } | Op::Snapshot { keys } if P::INFO.splits_reads => {
                let question = |keys| P::question(Some(Op::Snapshot { keys }), *home, past);
                self.parts = Parts::ask(&keys, question, cx);
            }
            // The time names the snapshot: no server has to coordinate it.
            Op::At { keys, time } => {
                let question = |keys| P::question(Some(Op::At { keys, time }), *home, past);
                self.parts = Parts::ask(&keys, question, cx);
            }
            op => drop(cx.ask(server, P::question(Some(op), *home, past))),
        }
    }

    fn on_reply(
        &mut self,
        ask: AskId,
        from: ServerId,
        Answer(mut outcome, said): P::Reply,
        cx: &mut SessionCx<'_, P>,
    ) {
        said.teach(&mut self.token.past, from.partition, &outcome);
        if self.parts.awaits(ask)
            && let Outcome::FoundAll(found) = outcome
        {
            self.parts.heard(ask, found);
            let Some(found) = self.parts.whole() else { return };
            outcome = Outcome::FoundAll(found);
        }
        self.parts.clear();
        self.own.ends(&mut outcome, &self.token.past);
        cx.done(outcome);
    }

    fn token(&self) -> Token<P::Past> {
        self.token.clone()
    }

    fn adopt(&mut self, Token { home, past }: Token<P::Past>, cx: &mut SessionCx<'_, P>) {
        if home == self.token.home && past.own_writes().is_none() {
            self.token.past.merge(&past);
            return cx.done(Outcome::Adopted);
        }
        self.token.past.merge(&past.abroad());
        cx.ask_partition(past.coverer(), P::question(None, home, &past));
    }
}

impl<T: Default> From<Failure> for Answer<T> {
    fn from(failure: Failure) -> Self {
        Self(Outcome::Failed(failure), T::default())
    }
}

impl<P: Protocol> Cx<'_, P> {
    /// Answers `ticket`.
    #[inline]
    pub fn answer<T>(&mut self, ticket: Ticket, outcome: Outcome, past: T)
    where
        P::Reply: From<Answer<T>>,
    {
        self.reply(ticket, Answer(outcome, past).into());
    }

    /// Tells `ticket` that its operation failed.
    pub fn fail(&mut self, ticket: Ticket, failure: Failure)
    where
        P::Reply: From<Failure>,
    {
        self.reply(ticket, failure.into());
    }

    /// Tells all of `tickets` that their operations failed.
    pub fn fail_all(&mut self, tickets: impl IntoIterator<Item = Ticket>, failure: impl Fn() -> Failure)
    where
        P::Reply: From<Failure>,
    {
        tickets.into_iter().for_each(|ticket| self.fail(ticket, failure()));
    }
}
