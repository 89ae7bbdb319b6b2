//! A session that goes where its keys are held.
//!
//! It is at home in one region. For a key that this one does not hold it goes to the nearest that does, and takes its past along,
//! as a client would that moves: what it asks there waits until that region covers its past. It comes back for the
//! next key that its home holds. So causality holds across keys that are held by different regions, under every protocol
//! whose sessions can move.
//!
//! A read of several keys that no region holds together is divided: the session reads in one region after the other. Each
//! part is one snapshot, and includes what the session has seen in the parts before it; all parts together are none.

use crate::session::AsksFor;
use crate::{AskId, Protocol, Session, SessionCx};
use tidemark_core::{DcId, Failure, Found, Key, Op, Outcome, Regions, ServerId};

type TokenOf<P> = <<P as Protocol>::Session as Session<P>>::Token;

/// What begins once a session has arrived.
enum Next<P: Protocol> {
    Operation(Op, AsksFor),
    Adoption(TokenOf<P>),
}

/// Where a session that is on its way comes from, as it was there, and what it comes for.
struct Way<P: Protocol> {
    from: DcId,
    before: P::Session,
    next: Next<P>,
}

/// A read that is divided.
struct Divided {
    asks: AsksFor,
    /// The parts that come yet, the next one last, and where.
    rest: Vec<(DcId, Part)>,
    /// The places of the keys that are being read.
    places: Vec<usize>,
    /// Questions up to this one are of parts that have ended.
    since: AskId,
    /// What was found, by the places of the keys.
    found: Vec<Found>,
}

/// A session, wherever it is.
pub struct ForwardedSession<P: Protocol> {
    home: DcId,
    at: DcId,
    session: P::Session,
    way: Option<Box<Way<P>>>,
    divided: Option<Box<Divided>>,
}

impl<P: Protocol> ForwardedSession<P> {
    /// A session with an empty past, whose home is `dc`.
    pub fn open(dc: DcId) -> Self {
        Self { home: dc, at: dc, session: P::Session::open(dc), way: None, divided: None }
    }

    /// The session itself.
    pub fn session(&self) -> &P::Session {
        &self.session
    }

    /// The region that [`Self::token`] is of.
    pub fn at(&self) -> DcId {
        self.way.as_ref().map_or(self.at, |way| way.from)
    }

    /// See [`Session::begin`].
    #[inline]
    pub fn begin(&mut self, op: Op, cx: &mut SessionCx<'_, P>) {
        self.give_up();
        if cx.topology.placement.rules.is_empty() {
            return self.session.begin(op, cx);
        }
        let (holders, placement) = (cx.topology.holders_of(&op), &cx.topology.placement);
        // Snapshots of interactive transactions are of one region.
        let stays = placement.refuses || matches!(op, Op::Transact(_));
        match placement.nearest(self.home, holders, cx.topology.dcs) {
            Some(dc) if dc == self.home || !stays => {
                let next = Next::Operation(op, cx.asks_for());
                self.go(dc, next, cx);
            }
            None if !stays => self.divide(&op, cx),
            _ => cx.fail(Failure::Elsewhere(holders.iter().collect())),
        }
    }

    /// Begins an operation whose keys no region holds together.
    fn divide(&mut self, op: &Op, cx: &mut SessionCx<'_, P>) {
        let nearest = |part: Part| {
            let dc = cx.topology.placement.nearest(self.home, part.regions, cx.topology.dcs);
            dc.map(|dc| (dc, part))
        };
        let parts: Option<Vec<_>> = cx.topology.parts_of(op).into_iter().rev().map(nearest).collect();
        let Some(rest) = parts.filter(|parts| !parts.is_empty()) else {
            return cx.fail(Failure::Elsewhere(Vec::new()));
        };
        let (asks, found) = (cx.asks_for(), vec![Found::default(); keys_of(op).count()]);
        let divided = Divided { asks, rest, places: Vec::new(), since: AskId::default(), found };
        self.divided = Some(Box::new(divided));
        self.next_part(cx);
        self.read_on(cx);
    }

    /// Goes where the next part is read; the operation ends after the last one.
    fn next_part(&mut self, cx: &mut SessionCx<'_, P>) {
        let Some(divided) = &mut self.divided else { return };
        match divided.rest.pop() {
            Some((dc, part)) => {
                (divided.places, divided.since) = (part.places, cx.last_ask());
                let asks = divided.asks.clone();
                self.go(dc, Next::Operation(part.op, asks), cx);
            }
            None => {
                cx.done(Outcome::FoundAll(std::mem::take(&mut divided.found)));
                self.divided = None;
            }
        }
    }

    /// If a part of a divided read has ended, goes on with the next; if it failed, so does the whole.
    fn read_on(&mut self, cx: &mut SessionCx<'_, P>) {
        while let Some(divided) = &mut self.divided {
            match cx.take_outcome() {
                None => return,
                Some(Outcome::FoundAll(part)) => {
                    for (at, found) in divided.places.iter().zip(part) {
                        divided.found[*at] = found;
                    }
                    self.next_part(cx);
                }
                Some(outcome) => {
                    self.divided = None;
                    cx.done(outcome);
                }
            }
        }
    }

    /// Whether a question is of a part of a read that has ended.
    fn is_over(&self, ask: AskId) -> bool {
        self.divided.as_ref().is_some_and(|divided| ask <= divided.since)
    }

    /// See [`Session::on_reply`].
    #[inline]
    pub fn on_reply(&mut self, ask: AskId, from: ServerId, reply: P::Reply, cx: &mut SessionCx<'_, P>) {
        if self.is_over(ask) {
            return;
        }
        cx.dc = self.at;
        self.session.on_reply(ask, from, reply, cx);
        self.arrived(cx);
        self.read_on(cx);
    }

    /// See [`Session::on_lost`].
    pub fn on_lost(&mut self, ask: AskId, cx: &mut SessionCx<'_, P>) {
        if self.is_over(ask) {
            return;
        }
        cx.dc = self.at;
        self.session.on_lost(ask, cx);
        self.arrived(cx);
        self.read_on(cx);
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
        self.divided = None;
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
            Next::Operation(op, asks) => {
                cx.ask_for(asks);
                self.session.begin(op, cx);
            }
            Next::Adoption(token) => self.session.adopt(token, cx),
        }
    }
}

/// A part of a read of several keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The regions that hold all of its keys.
    pub regions: Regions,
    /// The places of its keys in the whole.
    pub places: Vec<usize>,
    /// The read of these.
    pub op: Op,
}

/// The parts of a read of several keys, in the order in which a session reads them, if `divide` divides its keys; none of other
/// operations.
pub(crate) fn parts(op: &Op, divide: impl Fn(&[Key]) -> Vec<(Regions, Vec<usize>)>) -> Vec<Part> {
    let (Op::Rotx { keys } | Op::Snapshot { keys } | Op::At { keys, .. } | Op::Query { keys, .. }) = op
    else {
        return Vec::new();
    };
    let part = |(regions, places): (Regions, Vec<usize>)| {
        let keys = places.iter().map(|at| keys[*at].clone()).collect();
        let op = match op {
            Op::Snapshot { .. } => Op::Snapshot { keys },
            Op::At { time, .. } => Op::At { keys, time: *time },
            Op::Query { command, .. } => Op::Query { keys, command: command.clone() },
            _ => Op::Rotx { keys },
        };
        Part { regions, places, op }
    };
    divide(keys).into_iter().map(part).collect()
}

/// The keys of an operation; none of one that walks over what a region holds.
pub(crate) fn keys_of(op: &Op) -> Box<dyn Iterator<Item = &Key> + '_> {
    match op {
        Op::Get { key } | Op::Put { key, .. } => Box::new(std::iter::once(key)),
        Op::PutAll { writes } => Box::new(writes.iter().map(|(key, _)| key)),
        Op::Rotx { keys } | Op::Snapshot { keys } | Op::At { keys, .. } | Op::Query { keys, .. } => {
            Box::new(keys.iter())
        }
        Op::Scan { .. } | Op::Count { .. } | Op::Conflicts { .. } => Box::new(std::iter::empty()),
        Op::Transact(step) => step.keys(),
    }
}

/// The regions that hold all keys of an operation.
pub(crate) fn holders(op: &Op, of: impl Fn(&Key) -> Regions, all: Regions) -> Regions {
    keys_of(op).fold(all, |holders, key| holders.and(of(key)))
}
