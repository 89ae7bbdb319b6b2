//! Eiger: COPS with snapshots that need no lists of the past, only the time when each version came to show.
//!
//! **Idea.** A logical clock rides on every message of a data centre, so what depends on a version comes to show at a
//! later time than the version. A server tells of each version that it returns since when it shows (EVT), and until when
//! that was so for certain (LVT: now). A transaction asks for all its keys at once, and takes the latest EVT for its time:
//! what was found and shows at that time as well is its answer, the rest it asks for once more, as of that time. Writes of
//! several keys commit in two phases, once in each data centre, and show there at one time: `transactions.rs`.
//!
//! **Source.** W. Lloyd et al., *Stronger Semantics for Low-Latency Geo-Replicated Storage*, NSDI 2013; steps as in
//! PROTOCOLS §3, for reads and writes as in §2. The paper itself could not be read: that old versions are kept for five
//! seconds, and how clocks are merged, are taken from there.
//!
//! **Names.** EVT: [`Meta::evt`] · LVT: the server's clock in a [`Reply::Slice`] · `effT` the time of a transaction · deps,
//! `near`, `dep_check`, context: those of [`crate::cops`].
//!
//! **Deviations**
//! - D1 to D6 are those of COPS; D1 is the paper's own rule. Logical clocks are hybrid ones, merged with *every* message.
//!   That is more than versions: who is told that something is applied everywhere, and forgets it, must write later than
//!   it came to show anywhere.
//! - D2 The time of a transaction is never before the clock of its session, and a GET is a transaction of one key. So a session
//!   that has seen one write of a transaction finds the others, also where they are still pending.
//! - D7 to D11 are those of write transactions: `transactions.rs`.
//! - D3 Old versions are kept for [`Params::trans_time_us`], and a transaction that comes later begins again: below its
//!   `floor` a server answers nothing. After a restart all EVT may be younger than they were, and the floor is above.
//!
//! **Invariants**
//! - I1 When a version shows in a data centre, everything that it depends on does, with an earlier EVT.
//! - I2 After a server has said LVT, whatever comes to show there does so later.
//! - I3 A version that waits is never dropped.
//! - I4 Of each key a server has, for every time from its floor on, the version that showed then.

mod session;
mod transactions;

pub use session::Client;
pub use transactions::Plan;

use tidemark_contract::aging::Aging;
use tidemark_contract::component::Component as _;
use tidemark_contract::dependants::Applied;
use tidemark_contract::dependency_checked::{self, Checked, DependencyChecked, Messages, Peer};
use tidemark_contract::gather::GatherId;
use tidemark_contract::prelude::*;
use tidemark_contract::timeline::Lasting;
use tidemark_contract::two_phase::{Commit, Writes};
use tidemark_contract::{Deps, Scope};
use transactions::{Transactions, Work};

pub use crate::cops::{Context, Timer};

tidemark_contract::rules! {
    SECOND_ROUND, // T2
    LATE_ASKS_LIFT, // T3, I2
    SIBLINGS_LIFT, // I1
    PEERS_LIFT, // D1
    EVT_IS_LOCAL, // I1, I2
    REFUSES_DROPPED, // D3
    FLOOR_SURVIVES, // D3
    TIME_COVERS_SESSION, // D2
    COMMITS_ABOVE_CLOCK, // W3
    ONE_EVT, // W4
    ANSWERS_WHEN_SHOWN, // D7
    DEPS_TRAVEL, // W5
    WAITS_FOR_PARTS, // W6
    PENDING_LIMITS_LVT, // W7
    ASKS_COORDINATORS, // W8
    UPDATES_ASK_TOO, // W8
    PREPARED_SURVIVES, // D8
    DECIDED_SURVIVES, // D8
    ANNOUNCES_BELOW_PENDING; // D9
    of dependency_checked: ASKS_SIBLINGS, WAITING_SURVIVES, APPLIED_SURVIVES, MOVERS_WAIT
}

/// The numbers: the paper's five seconds; the others it does not give.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How often servers tell their peers what they have applied.
    pub theta_us: Micros,
    /// How often a dependency check that is not answered is asked again.
    pub retry_us: Micros,
    /// How long versions are kept that newer ones have taken the place of.
    pub trans_time_us: Micros,
    /// How long a session that moved here waits for what it depends on.
    pub wait_limit_us: Micros,
}

impl tidemark_contract::Params for Params {}

impl Default for Params {
    fn default() -> Self {
        let dependency_checked::Params { theta_us, retry_us, wait_limit_us } = Default::default();
        Self { theta_us, retry_us, trans_time_us: 5_000_000, wait_limit_us }
    }
}

/// How many dependencies are kept one by one (D4 of COPS).
const MOST_DEPS: usize = 64;
/// The view of whoever reads what shows now.
const NOW: Hlc = Hlc(u64::MAX);

/// What is stored beside a version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// Since when it shows in this data centre; zero while what it depends on is checked.
    pub evt: Hlc,
    /// Its nearest dependencies, and other parts of its transaction (W5); none once it shows.
    pub near: Deps,
    /// Where it was written, its partition may still write what lies above this and below it (D9); zero if not.
    pub upto: Hlc,
}

/// What a session asks: reads with its clock or a transaction's time, the others with its context.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Request {
    Read(Hlc, Vec<Key>),   // get, and T1
    ReadAt(Hlc, Vec<Key>), // T3
    Put(Key, Update, Context),
    PutAll(Writes, Context), // W1
    Walk(Walk),
    Cover(Context),
}

/// One key's part of an answer.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Got {
    /// What was found.
    pub found: Found,
    /// Since when it shows.
    pub evt: Hlc,
    /// The session depends on it: it is not known to be applied everywhere.
    pub matters: bool,
}

/// What a server answers; the last part is what is applied everywhere of this partition.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    /// An outcome, and what the session depends on now, the server's clock in it. After a put that is all.
    Done(Outcome, Context, Vector),
    /// What was found, and the server's clock, which is the LVT of all.
    Slice(Vec<Got>, Hlc, Vector),
    /// The same, where something pending limits LVT to the time that comes first (W7).
    Limited(Hlc, Vec<Got>, Hlc, Vector),
    /// D3, and the server's clock.
    TooOld(Hlc),
}

/// What servers say to each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message {
    /// Of dependency checks, under the clock of the one that says it.
    Timed(Hlc, Peer),
    /// Of the two phases.
    Commit(Commit<Plan>),
    /// To a coordinator: does this commit up to that time (W8)?
    Status(GatherId, Hlc),
    /// It does not.
    NotBefore(GatherId, Hlc),
}

impl Messages for Message {
    fn of(message: Peer, clock: Hlc) -> Self {
        Self::Timed(clock, message)
    }

    fn shared(self) -> Option<Peer> {
        if let Self::Timed(_, message) = self { Some(message) } else { None }
    }
}

/// A server.
pub struct Eiger {
    dc: DependencyChecked<Deps, Lasting<Plan>>,
    transactions: Transactions,
    /// D3: for earlier times nothing is answered.
    floor: Hlc,
    /// What the clock was, until no transaction is that old any more.
    aged: Aging<Hlc>,
}

const ABOUT: &str = "dependency checks; snapshots by when versions came to show; atomic MSET";

impl Protocol for Eiger {
    const INFO: Info = Info::new("eiger", ABOUT, Promise::CausalImmediate).atomic_writes().rules(RULES);
    const EXTENSIONS: Extensions<Self> = Extensions {
        announces: Some(|stamp, meta| if meta.upto > Hlc::ZERO { meta.upto } else { stamp.ts }), // D9
        ..Extensions::NONE
    };

    type Meta = Meta;
    type Request = Request;
    type Reply = Reply;
    type Peer = Message;
    type Hard = Lasting<Plan>;
    type Timer = Timer;
    /// The time as of which it is read.
    type View = Hlc;
    type Session = Client;
    type Params = Params;
    type Component = DependencyChecked<Deps, Lasting<Plan>>;

    fn start(mut was: Recovered<Lasting<Plan>>, cx: &mut Cx<'_, Self>) -> Self {
        let Params { theta_us, retry_us, wait_limit_us, .. } = *cx.params;
        let params = dependency_checked::Params { theta_us, retry_us, wait_limit_us };
        let transactions = Transactions::start(&mut was, cx.me);
        let new =
            |dc, _: &mut Cx<'_, Self>| Self { dc, transactions, floor: Hlc::ZERO, aged: Aging::default() };
        let mut server = dependency_checked::start(&was, params, cx, new);
        server.save(cx);
        if FLOOR_SURVIVES.kept() {
            server.floor = server.dc.clock; // D3
        }
        server
    }

    fn on_request(&mut self, ticket: Ticket, request: Request, cx: &mut Cx<'_, Self>) {
        match request {
            Request::Read(clock, keys) => {
                self.dc.advance(clock.max(Hlc::at(cx.now)), cx); // the later LVT is, the fewer are asked for twice
                self.slice(ticket, &keys, NOW, cx); // T1
            }
            Request::ReadAt(time, keys) => {
                if LATE_ASKS_LIFT.kept() {
                    self.dc.advance(time, cx); // I2
                }
                self.find_out(time, ticket, Work::Slice(keys), cx); // T3
            }
            Request::Put(key, update, context) if update.observes() && UPDATES_ASK_TOO.kept() => {
                self.dc.advance(context.clock, cx);
                self.find_out(context.clock, ticket, Work::Put(key, update, context), cx);
            }
            Request::Put(key, update, context) => self.put(ticket, key, update, context, cx),
            Request::PutAll(writes, context) => self.put_all(ticket, writes, context, cx),
            Request::Walk(walk) => {
                let mut near = Deps::default();
                let outcome = cx.walk(&walk, &NOW, |d| near.include(cx.me.partition, d.stamp));
                near.bound(MOST_DEPS);
                self.answer(ticket, outcome, near, cx);
            }
            Request::Cover(Context { clock, near }) => {
                self.dc.advance(clock, cx);
                dependency_checked::arrive(self, ticket, near, |near| near, cx);
            }
        }
    }

    fn on_peer(&mut self, from: ServerId, message: Message, cx: &mut Cx<'_, Self>) {
        match message {
            Message::Timed(clock, message) => {
                let lifts = match message {
                    Peer::Check(_) => SIBLINGS_LIFT.kept(), // I1
                    Peer::Applied(_) => PEERS_LIFT.kept(),  // D1
                };
                if lifts {
                    self.dc.advance(clock, cx);
                }
                dependency_checked::on_peer(self, from, message, cx);
            }
            Message::Commit(message) => self.commit(from, message, cx),
            Message::Status(id, time) => self.tell_status(from, id, time, cx),
            Message::NotBefore(id, time) => self.not_before(from, id, time),
        }
        self.go_on(cx);
    }

    fn on_replicate(&mut self, from: ServerId, item: Received<'_, Meta>, cx: &mut Cx<'_, Self>) {
        Self::Component::on_replicate(self, from, item, cx);
        self.save(cx);
    }

    fn on_peer_reset(&mut self, peer: ServerId, cx: &mut Cx<'_, Self>) {
        Self::Component::on_peer_reset(self, peer, cx);
        let given_up = self.transactions.commits.reset(peer, cx.mono);
        self.give_up(given_up, cx);
        self.save(cx);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, Self>) {
        Self::Component::on_timer(self, timer, cx);
        self.save(cx);
    }

    fn visible(time: &Hlc, _: Stamp, meta: &Meta) -> bool {
        meta.evt != Hlc::ZERO && meta.evt <= *time
    }

    fn shipped(meta: &Meta) -> Meta {
        Meta { evt: Hlc::ZERO, ..meta.clone() }
    }

    fn status(&self) -> Status {
        let status = self.dc.status();
        Status { blocked: status.blocked + self.transactions.unfinished(), ..status }
    }
}

impl Checked for Eiger {
    type Context = Deps;

    fn dependency_checked(&mut self) -> &mut DependencyChecked<Deps, Lasting<Plan>> {
        &mut self.dc
    }

    fn waits(meta: &Meta) -> Option<&Deps> {
        (meta.evt == Hlc::ZERO).then_some(&meta.near)
    }

    /// A part of a transaction shows when the coordinator says so (W6).
    fn met(&mut self, d: Applied, cx: &mut Cx<'_, Self>) {
        if d.stamp.seq > 0 {
            return self.arrived(&d, cx);
        }
        self.dc.checks.apply(d.stamp);
        self.apply(&d, cx);
    }

    fn awaited(&self, _: &Key, d: &Version<Meta>, _: &Cx<'_, Self>) -> Deps {
        let mut near = d.meta.near.clone();
        near.retain(|dep| dep.scope != Scope::Part || WAITS_FOR_PARTS.kept());
        near
    }

    /// D9.
    fn announced(&mut self) -> Hlc {
        self.transactions.announced(self.dc.clock)
    }

    fn apply(&mut self, d: &Applied, cx: &mut Cx<'_, Self>) {
        let ts = d.stamp.ts;
        let evt = if EVT_IS_LOCAL.kept() { self.dc.clock.observe(cx.now, ts) } else { ts };
        self.dc.advance(evt, cx);
        d.show(|meta: &mut Meta| *meta = Meta { evt, ..Meta::default() }, cx); // D3 of COPS
    }

    fn answer(&mut self, ticket: Ticket, outcome: Outcome, near: Deps, cx: &mut Cx<'_, Self>) {
        let seen = Context { clock: self.dc.clock, near };
        cx.reply(ticket, Reply::Done(outcome, seen, self.dc.everywhere.get().clone()));
    }

    /// D3, I3, I4: no transaction asks for what is older, if none takes longer than it should.
    fn settled(&self, everywhere: &Vector, d: &Version<Meta>) -> bool {
        Self::visible(&self.floor, d.stamp, &d.meta) && d.stamp.ts <= everywhere.min()
    }

    fn theta(&mut self, cx: &mut Cx<'_, Self>) {
        dependency_checked::announce(self, cx);
        self.aged.keep(cx.mono + cx.params.trans_time_us, self.dc.clock);
        while let Some(clock) = self.aged.ripe(cx.mono) {
            self.floor = self.floor.max(clock); // D3
        }
        dependency_checked::collect(self, cx);
        self.tend(cx);
    }
}

impl Eiger {
    /// What of `keys` showed at `time`, since when it does, and until when that is certain.
    fn slice(&self, ticket: Ticket, keys: &[Key], time: Hlc, cx: &mut Cx<'_, Self>) {
        let found = |d: &Version<Meta>| {
            let matters = !self.dc.everywhere.get().covers(d.stamp);
            Got { found: found_of(Some(d)), evt: d.meta.evt, matters }
        };
        let found = keys.iter().map(|key| cx.latest(key, &time).map(found).unwrap_or_default()).collect();
        let (clock, everywhere) = (self.dc.clock, self.dc.everywhere.get().clone());
        let reply =
            match self.transactions.earliest(keys).filter(|_| time == NOW && PENDING_LIMITS_LVT.kept()) {
                Some(pending) => Reply::Limited(clock.min(pending.prev()), found, clock, everywhere),
                None => Reply::Slice(found, clock, everywhere),
            };
        cx.reply(ticket, reply);
    }

    /// Below what it is above, everything is written that will be (D9).
    fn upto(&self, ts: Hlc) -> Hlc {
        let announced = self.transactions.announced(self.dc.clock);
        if announced < ts { announced } else { Hlc::ZERO }
    }

    fn put(&mut self, ticket: Ticket, key: Key, update: Update, context: Context, cx: &mut Cx<'_, Self>) {
        let n = cx.me.partition;
        let see = |seen: &mut Deps, d: &Version<_>| *seen = Deps::one(n, d.stamp); // D5 of COPS
        let (outcome, seen) = cx.update(&key, update, &NOW, Deps::default(), see, |seen, cx| {
            let mut near = context.near;
            near.merge(seen);
            let new = self.dc.stamp(context.clock, cx)?;
            *seen = Deps::one(n, new);
            let upto = self.upto(new.ts);
            let meta = |near| Meta { evt: new.ts, near, upto };
            Ok(Draft::new(new, meta(near)).in_memory(meta(Deps::default())))
        });
        self.answer(ticket, outcome, seen, cx);
    }
}
