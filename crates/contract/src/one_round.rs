//! Sessions that are their past, and whose every operation is one question and one answer: the client side of
//! GentleRain, CausalSpartanX and most that followed. What remains for a protocol to say is what it asks.

use crate::{AskId, Cx, Protocol, Reach, Session, SessionCx, Ticket, Token, Wire};
use serde::{Deserialize, Serialize};
use tidemark_core::{DcId, Failure, Hlc, Op, Outcome, ServerId, Vector};

/// What a session remembers, and what an answer adds to it.
pub trait Past: Wire + Default {
    /// Adds what another session remembered.
    fn merge(&mut self, other: &Self);

    /// Takes over what an answer says, of an operation that ended so: adds it, as a rule.
    fn learn(&mut self, _outcome: &Outcome, said: &Self) {
        self.merge(said);
    }

    /// How far it reaches, for a session whose home is `home`.
    fn reach(&self, home: DcId) -> Reach;

    /// Up to when its session reads in snapshots what it wrote itself, where sessions keep their later writes for
    /// themselves ([`crate::own_writes::OwnWrites`]). Then another session of the same region takes a past over like one from
    /// elsewhere; without, what one session remembers is enough for another.
    fn own_writes(&self) -> Option<Hlc> {
        None
    }
}

/// A past that is one vector.
impl Past for Vector {
    fn merge(&mut self, other: &Self) {
        Vector::merge(self, other);
    }

    fn reach(&self, home: DcId) -> Reach {
        Reach::of(home, [self])
    }
}

/// Nothing is remembered.
impl Past for () {
    fn merge(&mut self, (): &Self) {}

    fn reach(&self, home: DcId) -> Reach {
        Reach::of(home, [])
    }
}

/// An answer: how the operation ended, and what its session comes to remember.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer<T>(pub Outcome, pub T);

/// A protocol of which each operation is one question to one server.
pub trait OneRound: Protocol<Reply = Answer<Self::Past>> {
    /// What a session remembers.
    type Past: Past;

    /// What a session asks that remembers `past`, of the server that [`SessionCx::begin`] names. Without an operation, `past` comes
    /// from another region, its `home` so far: the answer, an [`Outcome::Adopted`] once this region covers it, says what to
    /// remember.
    fn question(op: Option<Op>, home: DcId, past: &Self::Past) -> Self::Request;

    /// What of a past from another region holds here too, before anyone was asked: nothing, as a rule (erratum E-13).
    fn travels(_past: &Self::Past) -> Self::Past {
        Self::Past::default()
    }
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
}

impl<P: OneRound, O: Own<P>> Session<P> for OneRoundSession<P, O> {
    type Token = Token<P::Past>;

    fn open(home: DcId) -> Self {
        Self { token: Token { home, past: P::Past::default() }, own: O::default() }
    }

    fn begin(&mut self, op: Op, cx: &mut SessionCx<'_, P>) {
        let Some(server) = cx.begin(&op) else { return };
        self.own.begins(&op);
        cx.ask(server, P::question(Some(op), self.token.home, &self.token.past));
    }

    fn on_reply(
        &mut self,
        _: AskId,
        _: ServerId,
        Answer(mut outcome, past): P::Reply,
        cx: &mut SessionCx<'_, P>,
    ) {
        self.token.past.learn(&outcome, &past);
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
        self.token.past.merge(&P::travels(&past));
        cx.ask_partition(Default::default(), P::question(None, home, &past));
    }
}

impl<T: Past> From<Failure> for Answer<T> {
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
