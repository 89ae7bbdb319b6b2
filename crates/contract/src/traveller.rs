//! A session that goes where its keys are held.
//!
//! It is at home in one region. For a key that this one does not hold it goes to the nearest that does, and takes its past along,
//! as a client would that moves: what it asks there waits until that region covers its past. It comes back for the
//! next key that its home holds. So causality holds across keys that are held by different regions, under every protocol
//! whose sessions can move.

use crate::session::Checking;
use crate::{AskId, Protocol, Session, SessionCx};
use tidemark_core::{DcId, Failure, Guarantees, Key, Op, Outcome, Regions, ServerId};

type TokenOf<P> = <<P as Protocol>::Session as Session<P>>::Token;

/// What begins once a session has arrived.
enum Next<P: Protocol> {
    Operation(Op, Guarantees, Checking),
    Adoption(TokenOf<P>),
}

/// Where a session that is on its way comes from, as it was there, and what it comes for.
struct Way<P: Protocol> {
    from: DcId,
    before: P::Session,
    next: Next<P>,
}

/// A session, wherever it is.
pub struct Traveller<P: Protocol> {
    home: DcId,
    at: DcId,
    session: P::Session,
    way: Option<Box<Way<P>>>,
}

impl<P: Protocol> Traveller<P> {
    /// A session with an empty past, whose home is `dc`.
    pub fn open(dc: DcId) -> Self {
        Self { home: dc, at: dc, session: P::Session::open(dc), way: None }
    }

    /// The session itself.
    pub fn session(&self) -> &P::Session {
        &self.session
    }

    /// See [`Session::begin`].
    #[inline]
    pub fn begin(&mut self, op: Op, cx: &mut SessionCx<'_, P>) {
        self.give_up();
        if cx.topology.placement.rules.is_empty() {
            return self.session.begin(op, cx);
        }
        let holders = cx.topology.holders_of(&op);
        let nearest = cx.topology.placement.nearest(self.home, holders, cx.topology.dcs);
        match nearest {
            Some(dc) if dc == self.home || !cx.topology.placement.refuses => {
                let next = Next::Operation(op, cx.guarantees, cx.checking.clone());
                self.go(dc, next, cx);
            }
            _ => cx.fail(Failure::Elsewhere(holders.iter().collect())),
        }
    }

    /// See [`Session::on_reply`].
    #[inline]
    pub fn on_reply(&mut self, ask: AskId, from: ServerId, reply: P::Reply, cx: &mut SessionCx<'_, P>) {
        cx.dc = self.at;
        self.session.on_reply(ask, from, reply, cx);
        self.arrived(cx);
    }

    /// See [`Session::on_lost`].
    pub fn on_lost(&mut self, ask: AskId, cx: &mut SessionCx<'_, P>) {
        cx.dc = self.at;
        self.session.on_lost(ask, cx);
        self.arrived(cx);
    }

    /// See [`Session::token`].
    pub fn token(&self) -> TokenOf<P> {
        self.way.as_ref().map_or(&self.session, |way| &way.before).token()
    }

    /// See [`Session::adopt`]. It is at home that the past is taken over.
    pub fn adopt(&mut self, token: TokenOf<P>, cx: &mut SessionCx<'_, P>) {
        self.give_up();
        self.go(self.home, Next::Adoption(token), cx);
    }

    /// Whoever begins something anew has given up what was under way: it is where it was.
    fn give_up(&mut self) {
        if let Some(way) = self.way.take() {
            (self.at, self.session) = (way.from, way.before);
        }
    }

    fn go(&mut self, dc: DcId, next: Next<P>, cx: &mut SessionCx<'_, P>) {
        cx.dc = dc;
        if dc == self.at {
            return self.set_about(next, cx);
        }
        let token = self.session.token();
        let before = std::mem::replace(&mut self.session, P::Session::open(dc));
        let from = std::mem::replace(&mut self.at, dc);
        self.way = Some(Box::new(Way { from, before, next }));
        cx.may_write(false);
        self.session.adopt(token, cx);
        self.arrived(cx);
    }

    /// If it was on its way and has arrived, does what it came for; if it was not let in, it is where it was.
    fn arrived(&mut self, cx: &mut SessionCx<'_, P>) {
        if self.way.is_none() {
            return;
        }
        match cx.take_outcome() {
            None => {}
            Some(Outcome::Adopted) => {
                if let Some(way) = self.way.take() {
                    self.set_about(way.next, cx);
                }
            }
            Some(outcome) => {
                self.give_up();
                cx.done(outcome);
            }
        }
    }

    fn set_about(&mut self, next: Next<P>, cx: &mut SessionCx<'_, P>) {
        match next {
            Next::Operation(op, guarantees, checking) => {
                (cx.guarantees, cx.checking) = (guarantees, checking);
                self.session.begin(op, cx);
            }
            Next::Adoption(token) => self.session.adopt(token, cx),
        }
    }
}

/// The keys of an operation; none of one that walks over what a region holds.
pub(crate) fn keys_of(op: &Op) -> Box<dyn Iterator<Item = &Key> + '_> {
    match op {
        Op::Get { key } | Op::Put { key, .. } => Box::new(std::iter::once(key)),
        Op::PutAll { writes } => Box::new(writes.iter().map(|(key, _)| key)),
        Op::Rotx { keys } | Op::Snapshot { keys } => Box::new(keys.iter()),
        Op::Scan { .. } | Op::Count { .. } => Box::new(std::iter::empty()),
    }
}

/// The regions that hold all keys of an operation.
pub(crate) fn holders(op: &Op, of: impl Fn(&Key) -> Regions, all: Regions) -> Regions {
    keys_of(op).fold(all, |holders, key| holders.and(of(key)))
}
