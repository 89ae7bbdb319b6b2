//! Eiger: COPS with snapshots that need no lists of the past, only the time when each version came to show.
//!
//! **Idea.** A logical clock rides on every message of a data centre, so what depends on a version comes to show at a
//! later time than the version. A server tells of each version that it returns since when it shows (EVT), and until when
//! that was so for certain (LVT: now). A transaction asks for all its keys at once, and takes the latest EVT for its time:
//! what was found and shows at that time as well is its answer, the rest it asks for once more, as of that time.
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
//! - D2 Only reads are transactions: there are no writes of several keys, so no third round for those that are pending.
//! - D3 Old versions are kept for [`Params::trans_time_us`], and a transaction that comes later begins again: below its
//!   `floor` a server answers nothing. After a restart all EVT may be younger than they were, and the floor is above.
//!
//! **Invariants**
//! - I1 When a version shows in a data centre, everything that it depends on does, with an earlier EVT.
//! - I2 After a server has said LVT, whatever comes to show there does so later.
//! - I3 A version that waits is never dropped.
//! - I4 Of each key a server has, for every time from its floor on, the version that showed then.

mod session;

pub use session::Client;

use tidemark_contract::Deps;
use tidemark_contract::aging::Aging;
use tidemark_contract::dependants::Applied;
use tidemark_contract::dependency_checked::{self, Checked, DependencyChecked, Messages, Peer};
use tidemark_contract::prelude::*;

pub use crate::cops::{Context, Timer};

tidemark_contract::rules! {
    SECOND_ROUND, // T2
    LATE_ASKS_LIFT, // T3, I2
    SIBLINGS_LIFT, // I1
    PEERS_LIFT, // D1
    EVT_IS_LOCAL, // I1, I2
    REFUSES_DROPPED, // D3
    FLOOR_SURVIVES; // D3
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
    /// Its nearest dependencies; none once it shows.
    pub near: Deps,
}

/// What a session asks: reads with its clock or a transaction's time, the others with its context.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Request {
    Read(Hlc, Vec<Key>),   // get, and T1
    ReadAt(Hlc, Vec<Key>), // T3
    Put(Key, Update, Context),
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
    /// D3, and the server's clock.
    TooOld(Hlc),
}

/// What servers say to each other, under the clock of the one that says it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Timed(pub Hlc, pub Peer);

impl Messages for Timed {
    fn of(message: Peer, clock: Hlc) -> Self {
        Self(clock, message)
    }

    fn shared(self) -> Option<Peer> {
        Some(self.1)
    }
}

/// A server.
pub struct Eiger {
    dc: DependencyChecked<Deps>,
    /// D3: for earlier times nothing is answered.
    floor: Hlc,
    /// What the clock was, until no transaction is that old any more.
    aged: Aging<Hlc>,
}

const ABOUT: &str = "dependency checks; snapshots of two rounds by when versions came to show";

impl Protocol for Eiger {
    const INFO: Info = Info::new("eiger", ABOUT, Promise::CausalImmediate).rules(RULES);

    type Meta = Meta;
    type Request = Request;
    type Reply = Reply;
    type Peer = Timed;
    type Hard = Hard;
    type Timer = Timer;
    /// The time as of which it is read.
    type View = Hlc;
    type Session = Client;
    type Params = Params;
    type Component = DependencyChecked<Deps>;

    fn start(was: Recovered<Hard>, cx: &mut Cx<'_, Self>) -> Self {
        let Params { theta_us, retry_us, wait_limit_us, .. } = *cx.params;
        let params = dependency_checked::Params { theta_us, retry_us, wait_limit_us };
        let new = |dc, _: &mut Cx<'_, Self>| Self { dc, floor: Hlc::ZERO, aged: Aging::default() };
        let mut server = dependency_checked::start(&was, params, cx, new);
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
            Request::ReadAt(time, _) if time < self.floor && REFUSES_DROPPED.kept() => {
                cx.reply(ticket, Reply::TooOld(self.dc.clock)); // D3
            }
            Request::ReadAt(time, keys) => {
                if LATE_ASKS_LIFT.kept() {
                    self.dc.advance(time, cx); // I2
                }
                self.slice(ticket, &keys, time, cx); // T3
            }
            Request::Put(key, update, context) => self.put(ticket, key, update, context, cx),
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

    fn on_peer(&mut self, from: ServerId, Timed(clock, message): Timed, cx: &mut Cx<'_, Self>) {
        let lifts = match message {
            Peer::Check(_) => SIBLINGS_LIFT.kept(), // I1
            Peer::Applied(_) => PEERS_LIFT.kept(),  // D1
        };
        if lifts {
            self.dc.advance(clock, cx);
        }
        dependency_checked::on_peer(self, from, message, cx);
    }

    fn visible(time: &Hlc, _: Stamp, meta: &Meta) -> bool {
        meta.evt != Hlc::ZERO && meta.evt <= *time
    }

    fn shipped(meta: &Meta) -> Meta {
        Meta { evt: Hlc::ZERO, near: meta.near.clone() }
    }

    fn status(&self) -> Status {
        self.dc.status()
    }
}

impl Checked for Eiger {
    type Context = Deps;

    fn dependency_checked(&mut self) -> &mut DependencyChecked<Deps> {
        &mut self.dc
    }

    fn waits(meta: &Meta) -> Option<&Deps> {
        (meta.evt == Hlc::ZERO).then_some(&meta.near)
    }

    fn apply(&mut self, d: &Applied, cx: &mut Cx<'_, Self>) {
        let ts = d.stamp.ts;
        let evt = if EVT_IS_LOCAL.kept() { self.dc.clock.observe(cx.now, ts) } else { ts };
        self.dc.advance(evt, cx);
        d.show(|meta: &mut Meta| *meta = Meta { evt, near: Deps::default() }, cx); // D3 of COPS
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
        cx.reply(ticket, Reply::Slice(found, self.dc.clock, self.dc.everywhere.get().clone()));
    }

    fn put(&mut self, ticket: Ticket, key: Key, update: Update, context: Context, cx: &mut Cx<'_, Self>) {
        let n = cx.me.partition;
        let see = |seen: &mut Deps, d: &Version<_>| *seen = Deps::one(n, d.stamp); // D5 of COPS
        let (outcome, seen) = cx.update(&key, update, &NOW, Deps::default(), see, |seen, cx| {
            let mut near = context.near;
            near.merge(seen);
            let new = self.dc.stamp(context.clock, cx)?;
            *seen = Deps::one(n, new);
            let meta = |near| Meta { evt: new.ts, near };
            Ok(Draft::new(new, meta(near)).in_memory(meta(Deps::default())))
        });
        self.answer(ticket, outcome, seen, cx);
    }
}
