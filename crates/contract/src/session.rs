//! The client's half of a protocol: what a session remembers, and how it turns operations into questions.

use crate::grouping::Checking;
use crate::info::Transactions;
use crate::{Past, Protocol, Topology, Wire};
use derive_where::derive_where;
use serde::{Deserialize, Serialize};
use tidemark_core::{
    DcId, Failure, Guarantees, Hlc, Key, Micros, Op, Outcome, PartitionId, ServerId, Stamp, Transact, Vector,
};

/// Where an answer goes. A ticket is a value that can travel: any server may answer it, and several may if the session
/// said so ([`SessionCx::ask_through`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ticket {
    /// The process that holds the session.
    pub node: u16,
    /// The session there.
    pub session: u64,
    /// The question.
    pub ask: AskId,
}

/// Names one question of one session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AskId(pub u64);

/// The client's half of a protocol. One operation at a time: after [`Session::begin`] or [`Session::adopt`]
/// nothing begins until an outcome was given; and what answers a question of an operation that has ended is
/// never delivered.
pub trait Session<P: Protocol>: Sized + 'static {
    /// What a session hands over when it moves: dependencies, and what only its home region understands
    /// (erratum E-13).
    type Token: Reaches;

    /// A session with an empty past, whose home is `dc`.
    fn open(dc: DcId) -> Self;

    /// An operation begins.
    fn begin(&mut self, op: Op, cx: &mut SessionCx<'_, P>);

    /// A server answers a question of the running operation: once, unless it was asked through another one.
    fn on_reply(&mut self, ask: AskId, from: ServerId, reply: P::Reply, cx: &mut SessionCx<'_, P>);

    /// No answer to a question will come. The operation ends; a session that can go on some other way does so.
    fn on_lost(&mut self, _ask: AskId, cx: &mut SessionCx<'_, P>) {
        cx.lost();
    }

    /// What to hand over.
    fn token(&self) -> Self::Token;

    /// Takes over the past that `token` stands for, waiting if need be until this region covers it. Ends with
    /// [`Outcome::Adopted`].
    fn adopt(&mut self, token: Self::Token, cx: &mut SessionCx<'_, P>);
}

/// What a session hands over in protocols whose sessions are their past: all that it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Token<T> {
    /// The data centre that alone understands what the past says of what is stable.
    pub home: DcId,
    /// The past.
    pub past: T,
}

impl<T: Past> Reaches for Token<T> {
    fn reach(&self) -> Reach {
        self.past.reach(self.home)
    }

    fn join(&mut self, other: &Self) {
        self.past.merge(&other.past);
    }

    fn shorten(&mut self) {
        self.past.shorten();
    }
}

/// What can be handed over.
pub trait Reaches: Wire {
    /// How far it reaches. A driver that took it from a client refuses it, before it comes to a session, if it reaches
    /// farther than its clock and its topology do.
    fn reach(&self) -> Reach;

    /// Adds another token, of a session that is in the same region: a session that takes over the result knows what both
    /// sessions knew.
    fn join(&mut self, other: &Self);

    /// Makes it short, at the cost of precision, if it is a list that grows when others are added.
    fn shorten(&mut self) {}
}

impl Reaches for () {
    fn reach(&self) -> Reach {
        Reach::default()
    }

    fn join(&mut self, (): &Self) {}
}

/// How far a token reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// The latest time in it.
    pub latest: Hlc,
    /// How many data centres there have to be for it to name none that does not exist.
    pub dcs: usize,
    /// How many partitions there have to be for it to name none that does not exist.
    pub partitions: usize,
}

impl Reach {
    /// Of a token with these vectors, whose home is `home`.
    pub fn of<'a>(home: DcId, vectors: impl IntoIterator<Item = &'a Vector>) -> Self {
        let mut reach = Self { latest: Hlc::ZERO, dcs: home.index() + 1, partitions: 0 };
        for vector in vectors {
            reach.latest = reach.latest.max(vector.max());
            reach.dcs = reach.dcs.max(vector.entries().len());
        }
        reach
    }

    /// Of a token with this version besides.
    pub fn include(&mut self, stamp: Stamp) {
        self.latest = self.latest.max(stamp.ts);
        self.dcs = self.dcs.max(stamp.origin.index() + 1);
    }
}

/// What an operation asks for ([`SessionCx::guarantees`], [`SessionCx::checking`]), to be asked for again later.
#[derive(Clone)]
pub(crate) struct AsksFor {
    guarantees: Guarantees,
    checking: Checking,
}

/// A question that a session asks a server.
#[derive_where(Clone, Debug)]
pub struct Ask<P: Protocol> {
    /// Comes back with the answer.
    pub id: AskId,
    /// Who is asked.
    pub to: ServerId,
    /// Several servers may answer: the question stays open until the operation ends.
    pub several: bool,
    /// What is asked.
    pub request: P::Request,
}

/// What a session wants done; its driver owns and drains it.
pub struct SessionEffects<P: Protocol> {
    /// Questions to send.
    pub asks: Vec<Ask<P>>,
    /// How the operation ended, if it did.
    pub outcome: Option<Outcome>,
    next_ask: u64,
    writes: bool,
}

impl<P: Protocol> Default for SessionEffects<P> {
    fn default() -> Self {
        Self { asks: Vec::new(), outcome: None, next_ask: 0, writes: false }
    }
}

/// What a session sees and does while it handles an event.
pub struct SessionCx<'a, P: Protocol> {
    /// The data centre that the session talks to.
    pub dc: DcId,
    /// Physical time where the session is held. Clocks may be wrong: nothing's safety may rest on it.
    pub now: Micros,
    /// How the key space is divided.
    pub topology: &'a Topology,
    /// What the operation asks for that begins: all guarantees, unless its driver says otherwise. A protocol that knows
    /// no weaker ones ignores it ([`crate::Info::guarantees`]).
    pub guarantees: Guarantees,
    /// Which checking groups the operation asks for ([`crate::grouping::CheckingGroups`]): none, unless its driver says otherwise, which
    /// leaves the choice to the server. A protocol that knows none ignores it.
    pub checking: Checking,
    effects: &'a mut SessionEffects<P>,
}

impl<'a, P: Protocol> SessionCx<'a, P> {
    /// For drivers: a context whose effects go to `effects`.
    pub fn new(dc: DcId, now: Micros, topology: &'a Topology, effects: &'a mut SessionEffects<P>) -> Self {
        Self { dc, now, topology, guarantees: Guarantees::ALL, checking: Checking::default(), effects }
    }

    /// What the operation asks for.
    pub(crate) fn asks_for(&self) -> AsksFor {
        AsksFor { guarantees: self.guarantees, checking: self.checking.clone() }
    }

    /// The operation asks for what another did.
    pub(crate) fn ask_for(&mut self, what: AsksFor) {
        (self.guarantees, self.checking) = (what.guarantees, what.checking);
    }

    /// Asks the server that holds `key` in this data centre.
    #[inline]
    pub fn ask_owner(&mut self, key: &Key, request: P::Request) -> AskId {
        self.ask_partition(self.topology.partition_of(key), request)
    }

    /// An operation begins. Returns the server of this data centre that it goes to: the one that holds its key
    /// or the first of its keys, or the partition that it names. An operation without a key ends here, and so does a
    /// write transaction, a read at a time or a query, where the protocol has none.
    #[inline]
    pub fn begin(&mut self, op: &Op) -> Option<ServerId> {
        self.may_write(match op {
            Op::Put { .. } | Op::PutAll { .. } => true,
            Op::Transact(step) => matches!(**step, Transact::Commit { .. } | Transact::Accept(_)),
            _ => false,
        });
        let partition = match op {
            Op::Get { key } | Op::Put { key, .. } => self.topology.partition_of(key),
            Op::PutAll { writes } => match writes.first() {
                Some((key, _)) if P::INFO.transactions >= Transactions::Writes => {
                    self.topology.partition_of(key)
                }
                Some(_) => {
                    self.fail(Failure::Unavailable("the protocol has no write transactions".to_string()));
                    return None;
                }
                None => {
                    self.done(Outcome::Written { stamp: None, previous: None });
                    return None;
                }
            },
            Op::At { .. } if !P::INFO.reads_at_a_time => {
                self.fail(Failure::Refused(format!("{} cannot read at a time", P::INFO.name)));
                return None;
            }
            Op::Query { .. } if P::EXTENSIONS.types.is_none() => {
                self.fail(Failure::Refused(format!("{} has no data types", P::INFO.name)));
                return None;
            }
            Op::Rotx { keys } | Op::Snapshot { keys } | Op::At { keys, .. } | Op::Query { keys, .. } => {
                match keys.first() {
                    Some(key) => self.topology.partition_of(key),
                    None => {
                        self.done(Outcome::FoundAll(Vec::new()));
                        return None;
                    }
                }
            }
            Op::Conflicts { .. } if P::EXTENSIONS.resolve.is_none() => {
                let why = format!("under {} the last writer wins, and conflicts are not kept", P::INFO.name);
                self.fail(Failure::Refused(why));
                return None;
            }
            Op::Scan { partition, .. } | Op::Count { partition } | Op::Conflicts { partition, .. } => {
                *partition
            }
            Op::Transact(_) if P::INFO.transactions < Transactions::Interactive => {
                self.fail(Failure::Refused(format!("{} has no interactive transactions", P::INFO.name)));
                return None;
            }
            Op::Transact(step) => match (&**step, step.keys().next()) {
                (Transact::Begin { partition, .. }, _) => *partition,
                (Transact::Read { snapshot, .. } | Transact::End { snapshot }, _) => snapshot.holder,
                (Transact::Bases | Transact::Changed { .. }, _) => PartitionId(0),
                (Transact::Accept(all), _) => self.topology.partition_of(&all.guard()),
                (Transact::Commit { .. } | Transact::ReadBase { .. }, Some(key)) => {
                    self.topology.partition_of(key)
                }
                (Transact::ReadBase { .. }, None) => {
                    self.done(Outcome::FoundAll(Vec::new()));
                    return None;
                }
                (Transact::Commit { .. }, None) => {
                    self.done(Outcome::Written { stamp: None, previous: None });
                    return None;
                }
            },
        };
        Some(ServerId::new(self.dc, partition))
    }

    /// Asks the server of `partition` in this data centre.
    pub fn ask_partition(&mut self, partition: PartitionId, request: P::Request) -> AskId {
        self.ask(ServerId::new(self.dc, partition), request)
    }

    /// Asks `to`.
    #[inline]
    pub fn ask(&mut self, to: ServerId, request: P::Request) -> AskId {
        self.push(to, false, request)
    }

    /// Asks `to`, which lets others answer, perhaps several of them. The session tells them apart by who answers, and
    /// counts for itself; the question is lost only with `to`, or at the deadline.
    pub fn ask_through(&mut self, to: ServerId, request: P::Request) -> AskId {
        self.push(to, true, request)
    }

    #[inline]
    fn push(&mut self, to: ServerId, several: bool, request: P::Request) -> AskId {
        self.effects.next_ask += 1;
        let id = AskId(self.effects.next_ask);
        self.effects.asks.push(Ask { id, to, several, request });
        id
    }

    /// The question that was asked last.
    pub(crate) fn last_ask(&self) -> AskId {
        AskId(self.effects.next_ask)
    }

    /// Says that the questions of this operation can change something, so that losing one leaves it open
    /// whether it did.
    #[inline]
    pub fn may_write(&mut self, writes: bool) {
        self.effects.writes = writes;
    }

    /// The operation ends.
    #[inline]
    pub fn done(&mut self, outcome: Outcome) {
        self.effects.outcome = Some(outcome);
    }

    /// Takes back how the operation ended, if it did: what ended was a part of it.
    pub(crate) fn take_outcome(&mut self) -> Option<Outcome> {
        self.effects.outcome.take()
    }

    /// The operation fails.
    pub fn fail(&mut self, failure: Failure) {
        self.done(Outcome::Failed(failure));
    }

    /// The operation fails because an answer is lost: a read did not happen, a write may have.
    pub fn lost(&mut self) {
        let why = "the server that was asked did not answer".to_string();
        self.fail(if self.effects.writes { Failure::Indefinite(why) } else { Failure::Unavailable(why) });
    }
}

/// What a session is told that moved to a region which does not cover its past in time.
pub fn not_covered() -> Failure {
    Failure::StaleSession("this region has not received what the session depends on".to_string())
}
