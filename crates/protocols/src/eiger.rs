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

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use tidemark_contract::core::promise::Promise;
use tidemark_contract::core::{
    DcId, Failure, Found, Hlc, Key, Micros, Op, Outcome, ServerId, Stamp, Update, Vector,
};
use tidemark_contract::{
    AskId, Ceiling, Check, Checks, Collector, Cx, Dependant, Deps, Draft, Everywhere, Hard, Info, Parts,
    Past, Protocol, Recovered, Session, SessionCx, Status, Ticket, Token, Version, Walk, found_of,
    not_covered,
};

pub use crate::cops::{Context, Timer};

tidemark_contract::rules! {
    SECOND_ROUND, // T2
    LATE_ASKS_LIFT, // T3, I2
    SIBLINGS_LIFT, // I1
    PEERS_LIFT, // D1
    EVT_IS_LOCAL, // I1, I2
    REFUSES_DROPPED, // D3
    FLOOR_SURVIVES, // D3
    CHECKS, // I1
    APPLIED_SURVIVES, // D3 of COPS
    MOVERS_WAIT, // D6 of COPS
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
        let (retry_us, trans_time_us, wait_limit_us) = (500_000, 5_000_000, 2_000_000);
        Self { theta_us: 20_000, retry_us, trans_time_us, wait_limit_us }
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
#[allow(missing_docs)]
pub enum Peer {
    Check(Hlc, Check),    // siblings
    Applied(Hlc, Vector), // peers
}

/// A server.
pub struct Eiger {
    clock: Hlc,
    checks: Checks<Dependant<Context>>,
    everywhere: Everywhere,
    /// D3: for earlier times nothing is answered.
    floor: Hlc,
    /// What the clock was, each with the time when no transaction is that old any more.
    aged: VecDeque<(Micros, Hlc)>,
    collector: Collector,
    ceiling: Ceiling,
}

const ABOUT: &str = "dependency checks; snapshots of two rounds by when versions came to show";

impl Protocol for Eiger {
    const INFO: Info = Info::new("eiger", ABOUT, Promise::CausalImmediate).rules(RULES);

    type Meta = Meta;
    type Request = Request;
    type Reply = Reply;
    type Peer = Peer;
    type Hard = Hard;
    type Timer = Timer;
    /// The time as of which it is read.
    type View = Hlc;
    type Session = Client;
    type Params = Params;
    type Component = ();

    fn start(Recovered { hard, life, received, .. }: Recovered<Hard>, cx: &mut Cx<'_, Self>) -> Self {
        let mut server = Self {
            clock: received.max().max(hard.ceiling),
            checks: Checks::new(cx.me, life, received),
            everywhere: Everywhere::new(cx.topology.dcs),
            floor: Hlc::ZERO,
            aged: VecDeque::new(),
            collector: Collector::default(),
            ceiling: Ceiling::new(hard),
        };
        let waiting = cx.store.pick(|d| (d.meta.evt == Hlc::ZERO).then(|| d.meta.near.clone()));
        waiting.iter().for_each(|(stamp, ..)| server.checks.arrived(*stamp));
        waiting.into_iter().for_each(|(stamp, key, near)| server.check(key, stamp, &near));
        server.go_on(cx);
        if FLOOR_SURVIVES.kept() {
            server.floor = server.clock; // D3
        }
        cx.arm(Timer::Theta, cx.params.theta_us);
        cx.arm(Timer::Retry, cx.params.retry_us);
        server
    }

    fn on_request(&mut self, ticket: Ticket, request: Request, cx: &mut Cx<'_, Self>) {
        match request {
            Request::Read(clock, keys) => {
                self.lift(clock.max(Hlc::at(cx.now)), cx); // the later LVT is, the fewer are asked for twice
                self.slice(ticket, &keys, NOW, cx); // T1
            }
            Request::ReadAt(time, _) if time < self.floor && REFUSES_DROPPED.kept() => {
                cx.reply(ticket, Reply::TooOld(self.clock)); // D3
            }
            Request::ReadAt(time, keys) => {
                if LATE_ASKS_LIFT.kept() {
                    self.lift(time, cx); // I2
                }
                self.slice(ticket, &keys, time, cx); // T3
            }
            Request::Put(key, update, context) => self.put(ticket, key, update, context, cx),
            Request::Walk(walk) => {
                let mut near = Deps::default();
                let outcome = cx.walk(&walk, &NOW, |d| near.include(cx.me.partition, d.stamp));
                near.bound(MOST_DEPS);
                self.done(ticket, outcome, near, cx);
            }
            Request::Cover(context) => {
                self.lift(context.clock, cx);
                let near = if MOVERS_WAIT.kept() { context.near.clone() } else { Deps::default() };
                self.checks.session(ticket, context, &near, cx.mono + cx.params.wait_limit_us);
                self.go_on(cx);
            }
        }
    }

    fn on_peer(&mut self, from: ServerId, message: Peer, cx: &mut Cx<'_, Self>) {
        match message {
            Peer::Check(clock, message) => {
                self.lift(if SIBLINGS_LIFT.kept() { clock } else { Hlc::ZERO }, cx); // I1
                self.checks.on_message(from, message);
            }
            Peer::Applied(clock, applied) => {
                self.lift(if PEERS_LIFT.kept() { clock } else { Hlc::ZERO }, cx); // D1
                self.everywhere.tell(from.dc, &applied);
            }
        }
        self.go_on(cx);
    }

    fn on_replicate(&mut self, _: ServerId, key: Key, d: Version<Meta>, cx: &mut Cx<'_, Self>) {
        let (stamp, near) = (d.stamp, d.meta.near.clone());
        cx.store.insert(&key, d);
        self.checks.arrived(stamp);
        self.check(key, stamp, &near);
        self.go_on(cx);
    }

    fn on_heartbeat(&mut self, from: ServerId, ts: Hlc, cx: &mut Cx<'_, Self>) {
        self.checks.heard(from.dc, ts);
        self.go_on(cx);
    }

    fn on_peer_reset(&mut self, peer: ServerId, cx: &mut Cx<'_, Self>) {
        self.checks.reset(peer);
        self.go_on(cx);
    }

    fn on_timer(&mut self, timer: Timer, cx: &mut Cx<'_, Self>) {
        match timer {
            Timer::Theta => {
                cx.arm(Timer::Theta, cx.params.theta_us);
                self.lift(self.clock.tick(cx.now), cx);
                cx.heartbeat(self.clock);
                let applied = self.checks.applied(self.clock);
                self.everywhere.tell(cx.me.dc, &applied);
                let told = Peer::Applied(self.clock, applied);
                cx.topology.peers(cx.me).for_each(|peer| cx.send(peer, told.clone()));
                self.collect(cx);
                for ticket in self.checks.turn_away(cx.mono) {
                    self.done(ticket, Outcome::Failed(not_covered()), Deps::default(), cx);
                }
            }
            Timer::Retry => {
                cx.arm(Timer::Retry, cx.params.retry_us);
                self.checks.ask_again();
                self.go_on(cx);
            }
        }
    }

    fn visible(time: &Hlc, _: Stamp, meta: &Meta) -> bool {
        meta.evt != Hlc::ZERO && meta.evt <= *time
    }

    fn shipped(meta: &Meta) -> Meta {
        Meta { evt: Hlc::ZERO, near: meta.near.clone() }
    }

    fn status(&self) -> Status {
        Status::new(self.everywhere.get().clone(), self.checks.len())
    }
}

impl Eiger {
    /// What of `keys` showed at `time`, since when it does, and until when that is certain.
    fn slice(&self, ticket: Ticket, keys: &[Key], time: Hlc, cx: &mut Cx<'_, Self>) {
        let found = |d: &Version<Meta>| {
            let matters = !self.everywhere.get().covers(d.stamp);
            Got { found: found_of(Some(d)), evt: d.meta.evt, matters }
        };
        let found = keys.iter().map(|key| cx.latest(key, &time).map(found).unwrap_or_default()).collect();
        cx.reply(ticket, Reply::Slice(found, self.clock, self.everywhere.get().clone()));
    }

    fn put(&mut self, ticket: Ticket, key: Key, update: Update, context: Context, cx: &mut Cx<'_, Self>) {
        let n = cx.me.partition;
        let see = |seen: &mut Deps, d: &Version<_>| *seen = Deps::one(n, d.stamp); // D5 of COPS
        let (outcome, seen) = cx.update(&key, update, &NOW, Deps::default(), see, |seen, cx| {
            let mut near = context.near;
            near.merge(seen);
            let new = cx.stamp_above(self.clock, context.clock)?;
            self.lift(new.ts, cx);
            *seen = Deps::one(n, new);
            let meta = |near| Meta { evt: new.ts, near };
            Ok(Draft::new(new, meta(near)).in_memory(meta(Deps::default())))
        });
        self.done(ticket, outcome, seen, cx);
    }

    /// Checks what a version depends on.
    fn check(&mut self, key: Key, stamp: Stamp, near: &Deps) {
        let near = if CHECKS.kept() { near } else { &Deps::default() };
        self.checks.version(key, stamp, near);
    }

    /// Does what waits for nothing any more, and says what there is to say.
    fn go_on(&mut self, cx: &mut Cx<'_, Self>) {
        while let Some(dependant) = self.checks.met() {
            match dependant {
                Dependant::Version(d) => {
                    let ts = d.stamp.ts;
                    let evt = if EVT_IS_LOCAL.kept() { self.clock.observe(cx.now, ts) } else { ts };
                    self.lift(evt, cx);
                    let shows = |meta: &mut Meta| *meta = Meta { evt, near: Deps::default() };
                    d.show(APPLIED_SURVIVES.kept(), shows, cx); // D3 of COPS
                }
                Dependant::Session(ticket, past, _) => self.done(ticket, Outcome::Adopted, past.near, cx),
            }
        }
        let clock = self.clock;
        self.checks.send(|message| Peer::Check(clock, message), cx);
    }

    /// Drops what no transaction asks for any more, if none takes longer than it should (D3, I3, I4).
    fn collect(&mut self, cx: &mut Cx<'_, Self>) {
        self.aged.push_back((cx.mono + cx.params.trans_time_us, self.clock));
        while self.aged.front().is_some_and(|(until, _)| *until <= cx.mono) {
            self.floor = self.aged.pop_front().map_or(self.floor, |(_, clock)| self.floor.max(clock));
        }
        self.collector.raise(self.everywhere.get(), cx.store);
        let floor = self.floor;
        let safe = |everywhere: &Vector, d: &Version<Meta>| {
            Self::visible(&floor, d.stamp, &d.meta) && d.stamp.ts <= everywhere.min()
        };
        self.collector.work(cx.store, safe);
    }

    fn done(&self, ticket: Ticket, outcome: Outcome, near: Deps, cx: &mut Cx<'_, Self>) {
        let seen = Context { clock: self.clock, near };
        cx.reply(ticket, Reply::Done(outcome, seen, self.everywhere.get().clone()));
    }

    /// Moves the clock up to `hlc`, and keeps the durable ceiling above it.
    fn lift(&mut self, hlc: Hlc, cx: &mut Cx<'_, Self>) {
        if hlc > self.clock {
            self.clock = hlc;
            self.ceiling.renew(hlc, Vector::default, cx);
        }
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
