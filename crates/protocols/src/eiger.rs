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

use std::collections::VecDeque;
use tidemark_contract::dependants::Applied;
use tidemark_contract::dependency_checked::{self, Checked, DependencyChecked, Messages, Peer};
use tidemark_contract::prelude::*;
use tidemark_contract::{Collector, Deps, Parts, Past};

pub use crate::cops::{Context, Timer};

tidemark_contract::rules! {
    SECOND_ROUND, // T2
    LATE_ASKS_LIFT, // T3, I2
    SIBLINGS_LIFT, // I1
    PEERS_LIFT, // D1
    EVT_IS_LOCAL, // I1, I2
    REFUSES_DROPPED, // D3
    FLOOR_SURVIVES; // D3
    of dependency_checked: ASKS_SIBLINGS, APPLIED_SURVIVES, MOVERS_WAIT
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

/// How often a transaction begins before it is given up.
const TRIES: u32 = 20;
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
    /// What the clock was, each with the time when no transaction is that old any more.
    aged: VecDeque<(Micros, Hlc)>,
    collector: Collector,
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
        let dc = DependencyChecked::start(&was, params, cx);
        let (floor, aged, collector) = (Hlc::ZERO, VecDeque::new(), Collector::default());
        let mut server = Self { dc, floor, aged, collector };
        dependency_checked::recover(&mut server, cx);
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
                dependency_checked::arrive(self, ticket, near.clone(), &near, cx);
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

    fn theta(&mut self, cx: &mut Cx<'_, Self>) {
        dependency_checked::theta(self, cx);
        self.collect(cx);
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
            let new = cx.stamp_above(self.dc.clock, context.clock)?;
            self.dc.advance(new.ts, cx);
            *seen = Deps::one(n, new);
            let meta = |near| Meta { evt: new.ts, near };
            Ok(Draft::new(new, meta(near)).in_memory(meta(Deps::default())))
        });
        self.answer(ticket, outcome, seen, cx);
    }

    /// Drops what no transaction asks for any more, if none takes longer than it should (D3, I3, I4).
    fn collect(&mut self, cx: &mut Cx<'_, Self>) {
        self.aged.push_back((cx.mono + cx.params.trans_time_us, self.dc.clock));
        while self.aged.front().is_some_and(|(until, _)| *until <= cx.mono) {
            self.floor = self.aged.pop_front().map_or(self.floor, |(_, clock)| self.floor.max(clock));
        }
        self.collector.raise(self.dc.everywhere.get(), cx.store);
        let floor = self.floor;
        let safe = |everywhere: &Vector, d: &Version<Meta>| {
            Self::visible(&floor, d.stamp, &d.meta) && d.stamp.ts <= everywhere.min()
        };
        self.collector.work(cx.store, safe);
    }
}

/// A session.
pub struct Client {
    /// Its past is its context.
    token: Token<Context>,
    /// The get or transaction that runs.
    trans: Trans,
}

/// A read-only transaction, or a get: a transaction of one key.
#[derive(Default)]
struct Trans {
    single: bool,
    keys: Vec<Key>,
    /// How often it began.
    tries: u32,
    /// T1: what was found, with its LVT.
    first: Parts<(Got, Hlc)>,
    /// What is returned, but for the places of which the second round is to tell.
    got: Vec<Got>,
    late: Vec<usize>,
    second: Parts<Got>,
}

impl Client {
    /// T1.
    fn begin_trans(&mut self, cx: &mut SessionCx<'_, Eiger>) {
        self.trans.tries += 1;
        if self.trans.tries > TRIES {
            let why = "the transaction takes longer than overwritten versions are kept".to_string();
            return cx.fail(Failure::Unavailable(why));
        }
        let clock = self.token.past.clock;
        self.trans.second = Parts::default();
        self.trans.first = Parts::ask(&self.trans.keys, |keys| Request::Read(clock, keys), cx);
    }

    /// T2: does what was found show at one time?
    fn second_round(&mut self, first: Vec<(Got, Hlc)>, cx: &mut SessionCx<'_, Eiger>) {
        let trans = &mut self.trans;
        let eff_t = first.iter().map(|(got, _)| got.evt).max().unwrap_or_default();
        let late = |place: &usize| first[*place].1 < eff_t && SECOND_ROUND.kept();
        trans.late = (0..first.len()).filter(late).collect();
        trans.got = first.into_iter().map(|(got, _)| got).collect();
        if trans.late.is_empty() {
            return self.end_trans(cx);
        }
        let late: Vec<Key> = trans.late.iter().map(|place| trans.keys[*place].clone()).collect();
        trans.second = Parts::ask(&late, |keys| Request::ReadAt(eff_t, keys), cx); // T3
    }

    fn end_trans(&mut self, cx: &mut SessionCx<'_, Eiger>) {
        let Trans { single, keys, got, .. } = std::mem::take(&mut self.trans);
        let near = &mut self.token.past.near;
        for (key, got) in keys.iter().zip(&got).filter(|(_, got)| got.matters) {
            got.found.stamp.into_iter().for_each(|stamp| near.include(cx.topology.partition_of(key), stamp));
        }
        near.bound(MOST_DEPS);
        let mut found: Vec<Found> = got.into_iter().map(|got| got.found).collect();
        cx.done(if single { Outcome::Found(found.remove(0)) } else { Outcome::FoundAll(found) });
    }
}

impl Session<Eiger> for Client {
    type Token = Token<Context>;

    fn open(home: DcId) -> Self {
        let token = Token { home, past: Context::default() };
        Self { token, trans: Trans::default() }
    }

    fn begin(&mut self, op: Op, cx: &mut SessionCx<'_, Eiger>) {
        let Some(server) = cx.begin(&op) else { return };
        let past = &self.token.past;
        let request = match op {
            Op::Get { key } => {
                self.trans = Trans { single: true, keys: vec![key], ..Trans::default() };
                return self.begin_trans(cx);
            }
            Op::Rotx { keys } | Op::Snapshot { keys } => {
                self.trans = Trans { keys, ..Trans::default() };
                return self.begin_trans(cx);
            }
            Op::Put { key, update } => Request::Put(key, update, past.clone()),
            walk => Request::Walk(Walk::of(&walk)),
        };
        cx.ask(server, request);
    }

    fn on_reply(&mut self, ask: AskId, from: ServerId, reply: Reply, cx: &mut SessionCx<'_, Eiger>) {
        let past = &mut self.token.past;
        match reply {
            Reply::Done(outcome, seen, everywhere) => {
                if matches!(outcome, Outcome::Written { stamp: Some(_), .. }) {
                    past.near = Deps::default();
                }
                past.merge(&seen);
                past.near.settle(from.partition, &everywhere);
                past.near.bound(MOST_DEPS);
                cx.done(outcome);
            }
            Reply::Slice(got, lvt, everywhere) => {
                past.clock = past.clock.max(lvt);
                past.near.settle(from.partition, &everywhere);
                let Trans { first, second, late, .. } = &mut self.trans;
                if first.heard(ask, got.iter().map(|got| (got.clone(), lvt))) {
                    first.whole().into_iter().for_each(|first| self.second_round(first, cx));
                } else if second.heard(ask, got)
                    && let Some(second) = second.whole()
                {
                    let places = std::mem::take(late).into_iter();
                    places.zip(second).for_each(|(place, got)| self.trans.got[place] = got);
                    self.end_trans(cx);
                }
            }
            Reply::TooOld(clock) => {
                past.clock = past.clock.max(clock);
                if self.trans.second.heard(ask, []) {
                    self.begin_trans(cx); // D3
                }
            }
        }
    }

    fn token(&self) -> Token<Context> {
        self.token.clone()
    }

    fn adopt(&mut self, Token { home, past }: Token<Context>, cx: &mut SessionCx<'_, Eiger>) {
        if home == self.token.home {
            self.token.past.merge(&past);
            return cx.done(Outcome::Adopted);
        }
        let partition = past.near.iter().next().map_or_else(Default::default, |dep| dep.partition);
        cx.ask_partition(partition, Request::Cover(past));
    }
}
