//! COPS: causal+ consistency by explicit dependency checks; reads and writes never wait.
//!
//! **Idea.** A session remembers what it has read and written. A write carries that list to the other data centres, and
//! shows there once everything on the list does: the server asks the siblings that hold it. Only the nearest
//! dependencies are listed, what was read since the last write and that write, for it shows only after its own.
//!
//! **Source.** W. Lloyd et al., *Don't Settle for Eventual: Scalable Causal Consistency for Wide-Area Storage with COPS*,
//! SOSP 2011; steps are numbered as in PROTOCOLS §2, which follows it (summaries in 000 §3.2.1 and 002 §3). Of the paper
//! itself only the beginning could be read: its wording of `dep_check`, and what it collects when, are taken from §2.
//!
//! **Names.** `ver` the version number: a [`Stamp`] · the context: [`Context`] · `near` the nearest dependencies: its
//! [`Deps`] · `dep_check`: [`Check`] · `put_after`: a put with its context.
//!
//! **Deviations**
//! - D1 (E-4) A dependency is on that very update, by partition and stamp. As published a check is met by any version of
//!   the key that is at least as new, which may be a concurrent one and says nothing of the other's causes.
//! - D2 Version numbers are hybrid clocks in the place of Lamport's: the same rules and one more lower bound, so that
//!   between data centres the later writer wins, and drivers can tell a stamp from a future that has not come.
//! - D3 That a version was applied is logged ([`Cx::revise`]) before anybody learns of it, unless a restart would find
//!   it out at once: a session that saw it may come back. What was not applied is checked again.
//! - D4 Contexts are bounded, and a session that only reads is where they would grow. Every θ servers tell their peers
//!   what they have applied, and a session forgets what is applied in every data centre (the paper's *never depend*,
//!   without a time to wait for). Beyond [`most_deps`] the rest become dependencies on *all* that a server wrote up
//!   to a time, which is more than is needed and one a server. They cannot wait for each other: stamps rise along them.
//! - D5 A conditional update depends on the version that decided it; so does its session. MGET is GETs to all partitions
//!   at once, and no snapshot (COPS-GT has those). Heartbeats, every θ, let go of tombstones; they need a [`Ceiling`].
//! - D6 A session that moves brings its context, and waits until it is applied there.
//!
//! **Invariants**
//! - I1 When a version shows in a data centre, everything that it depends on has been applied there.
//! - I2 Whatever a session's context does not name of its past is a cause of what it names, or applied everywhere.
//! - I3 A version that waits is never dropped: it shows, or it has lost, once it was checked.

use serde::{Deserialize, Serialize};
use tidemark_contract::core::promise::Promise;
use tidemark_contract::core::{
    DcId, Found, Hlc, Key, Micros, Op, Outcome, PartitionId, ServerId, Stamp, Update, Vector,
};
use tidemark_contract::{
    AskId, Ceiling, Check, Checks, Collector, Cx, Dep, Dependant, Deps, Draft, Everywhere, Hard, Info, Parts,
    Past, Protocol, Reach, Recovered, Scope, Session, SessionCx, Status, Ticket, Token, Variant, Version,
    Walk, found_of, not_covered,
};

tidemark_contract::rules! {
    READS_ARE_NEAR, // 1
    PUT_IS_NEAR, // 2
    PUT_ABOVE_CONTEXT, // 3
    ASKS_SIBLINGS, // 4
    WAITS_FOR_CHECKS, // 5
    CHECKS_THAT_UPDATE, // 5, D1
    LOSERS_WAIT, // 6
    APPLIED_SURVIVES, // D3
    WAITING_SURVIVES, // D3
    FORGETS, // D4
    FORGETS_ONLY_EVERYWHERE, // D4
    LISTS_ARE_LONG, // D4; safe without: for schedules that are too small to have long lists
    MOVERS_WAIT, // D6
    SPARES_WAITING, // I3
}

/// With checks that a concurrent version can meet (erratum E-4); and without a part, so that experiments can tell what it costs:
/// 001, figure 1, whose COPS forgets nothing before it writes, however long it has been applied everywhere, and whose second COPS
/// sends, answers and ignores checks.
pub const VARIANTS: &[Variant] = &[
    Variant {
        name: "cops-published",
        about: "COPS whose checks ask for a version at least as new; its flaw stays in (E-4)",
        without: &[CHECKS_THAT_UPDATE],
    },
    Variant {
        name: "cops-unforgetting",
        about: "COPS that checks even what has long been applied everywhere",
        without: &[FORGETS],
    },
    Variant {
        name: "cops-heedless",
        about: "COPS that checks dependencies and does not wait for the answers",
        without: &[FORGETS, WAITS_FOR_CHECKS],
    },
    Variant {
        name: "cops-unchecked",
        about: "COPS that ships dependencies and does not check them",
        without: &[FORGETS, ASKS_SIBLINGS, WAITS_FOR_CHECKS],
    },
];

/// D4: how many dependencies are listed one by one.
pub fn most_deps() -> usize {
    if LISTS_ARE_LONG.kept() { 64 } else { 2 }
}

/// The numbers. The paper gives none for these.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How often servers tell their peers what they have applied.
    pub theta_us: Micros,
    /// How often a dependency check that is not answered is asked again.
    pub retry_us: Micros,
    /// How long a session that moved here waits for what it depends on.
    pub wait_limit_us: Micros,
}

impl tidemark_contract::Params for Params {}

impl Default for Params {
    fn default() -> Self {
        Self { theta_us: 20_000, retry_us: 500_000, wait_limit_us: 2_000_000 }
    }
}

/// What a session depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// The latest time in its past.
    pub clock: Hlc,
    /// What was read since the last put, and that put.
    pub near: Deps,
}

impl Context {
    fn of(dep: Dep) -> Self {
        let (clock, mut near) = (dep.stamp.ts, Deps::default());
        near.add(dep);
        Self { clock, near }
    }
}

impl Past for Context {
    fn merge(&mut self, other: &Self) {
        self.clock = self.clock.max(other.clock);
        self.near.merge(&other.near);
    }

    fn reach(&self, home: DcId) -> Reach {
        self.near.reach_with(home, self.clock)
    }
}

/// What is stored beside a version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// It is not applied: what it depends on is checked.
    pub waits: bool,
    /// Its nearest dependencies; none once it was applied, for nobody asks again.
    pub near: Deps,
}

/// What a session asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Request {
    Read(Vec<Key>),            // get
    Put(Key, Update, Context), // put_after
    Walk(Walk),
    Cover(Context), // D6
}

/// What a server answers: an outcome, what the session depends on now, and what is applied everywhere of this partition.
/// After a put that is all that it depends on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reply(pub Outcome, pub Context, pub Vector);

/// What servers say to each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Peer {
    Check(Check),    // siblings
    Applied(Vector), // peers (D4)
}

/// A timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// To tell peers what is applied.
    Theta,
    /// To ask again.
    Retry,
}

/// A server.
pub struct Cops {
    clock: Hlc,
    checks: Checks<Dependant<Context>>,
    everywhere: Everywhere,
    collector: Collector,
    ceiling: Ceiling,
}

const ABOUT: &str = "causal+ by dependency checks; MGET is single reads, not a snapshot";

impl Protocol for Cops {
    const INFO: Info = Info::new("cops", ABOUT, Promise::Causal).rules(RULES).variants(VARIANTS);
    type Meta = Meta;
    type Request = Request;
    type Reply = Reply;
    type Peer = Peer;
    type Hard = Hard;
    type Timer = Timer;
    type View = ();
    type Session = Client;
    type Params = Params;
    type Component = ();

    fn start(Recovered { hard, life, received, .. }: Recovered<Hard>, cx: &mut Cx<'_, Self>) -> Self {
        let mut server = Self {
            clock: received.max().max(hard.ceiling),
            checks: Checks::new(cx.me, life, received),
            everywhere: Everywhere::new(cx.topology.dcs),
            collector: Collector::default(),
            ceiling: Ceiling::new(hard),
        };
        let waiting = cx.store.pick(|d| d.meta.waits.then(|| d.meta.near.clone()));
        waiting.iter().for_each(|(stamp, ..)| server.checks.arrived(*stamp));
        for (stamp, key, near) in waiting {
            let near = if WAITING_SURVIVES.kept() { near } else { Deps::default() };
            server.check(key, stamp, near, cx); // D3
        }
        server.go_on(cx);
        cx.arm(Timer::Theta, cx.params.theta_us);
        cx.arm(Timer::Retry, cx.params.retry_us);
        server
    }

    fn on_request(&mut self, ticket: Ticket, request: Request, cx: &mut Cx<'_, Self>) {
        match request {
            Request::Read(keys) => {
                let mut seen = Context::default();
                let find = |key: &Key| {
                    let d = cx.latest(key, &());
                    d.into_iter().for_each(|d| seen.merge(&Context::of(dep(key, cx.me.partition, d.stamp))));
                    found_of(d)
                };
                let found = keys.iter().map(find).collect();
                self.reply(ticket, Outcome::FoundAll(found), seen, cx);
            }
            Request::Put(key, update, context) => self.put(ticket, key, update, context, cx),
            Request::Walk(walk) => {
                let mut near = Deps::default();
                let outcome = cx.walk(&walk, &(), |d| near.include(cx.me.partition, d.stamp));
                near.bound(most_deps());
                self.reply(ticket, outcome, Context { clock: near.latest(), near }, cx);
            }
            Request::Cover(context) => {
                let near = if MOVERS_WAIT.kept() { context.near.clone() } else { Deps::default() };
                let until = cx.mono + cx.params.wait_limit_us;
                self.checks.session(ticket, context, &near, until);
                self.go_on(cx);
            }
        }
    }

    fn on_peer(&mut self, from: ServerId, message: Peer, cx: &mut Cx<'_, Self>) {
        match message {
            Peer::Check(Check::Ask(id, mut deps)) => {
                deps.retain(|dep| !newer_is_there(dep, cx));
                self.checks.on_message(from, Check::Ask(id, deps)); // 5
            }
            Peer::Check(met) => self.checks.on_message(from, met),
            Peer::Applied(applied) => self.everywhere.tell(from.dc, &applied),
        }
        self.go_on(cx);
    }

    fn on_replicate(&mut self, _: ServerId, key: Key, d: Version<Meta>, cx: &mut Cx<'_, Self>) {
        let (stamp, near) = (d.stamp, d.meta.near.clone());
        let loses = !LOSERS_WAIT.kept() && cx.latest(&key, &()).is_some_and(|newest| newest.stamp > stamp);
        cx.store.insert(&key, d);
        self.checks.arrived(stamp);
        self.check(key, stamp, if !loses { near } else { Deps::default() }, cx); // 4
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
                self.advance(self.clock.tick(cx.now), cx);
                cx.heartbeat(self.clock);
                let applied = self.checks.applied(self.clock);
                self.everywhere.tell(cx.me.dc, &applied);
                cx.topology.peers(cx.me).for_each(|peer| cx.send(peer, Peer::Applied(applied.clone())));
                self.collector.raise(self.everywhere.get(), cx.store);
                self.collector.work(cx.store, |everywhere, d| d.stamp.ts <= everywhere.min()); // I3
                for ticket in self.checks.turn_away(cx.mono) {
                    self.reply(ticket, Outcome::Failed(not_covered()), Context::default(), cx);
                }
            }
            Timer::Retry => {
                cx.arm(Timer::Retry, cx.params.retry_us);
                self.checks.ask_again(); // 7
                self.go_on(cx);
            }
        }
    }

    fn visible((): &(), _: Stamp, meta: &Meta) -> bool {
        !meta.waits || !WAITS_FOR_CHECKS.kept()
    }

    fn shipped(meta: &Meta) -> Meta {
        Meta { waits: true, near: meta.near.clone() }
    }

    fn status(&self) -> Status {
        Status::new(self.everywhere.get().clone(), self.checks.len())
    }
}

impl Cops {
    /// `put_after`.
    fn put(&mut self, ticket: Ticket, key: Key, update: Update, context: Context, cx: &mut Cx<'_, Self>) {
        let n = cx.me.partition;
        let see = |seen: &mut Context, d: &Version<_>| *seen = Context::of(dep(&key, n, d.stamp)); // D5
        let (outcome, seen) = cx.update(&key, update, &(), Context::default(), see, |seen, cx| {
            let mut near = context.near;
            near.merge(&seen.near);
            let above = if PUT_ABOVE_CONTEXT.kept() { context.clock } else { Hlc::ZERO };
            let ver = cx.stamp_above(self.clock, above)?; // 3
            self.advance(ver.ts, cx);
            *seen = Context::of(dep(&key, n, ver));
            // Nobody asks again what a version depends on that is applied: memory keeps nothing of it.
            Ok(Draft::new(ver, Meta { waits: false, near }).in_memory(Meta::default()))
        });
        trim(&key, cx);
        self.reply(ticket, outcome, seen, cx);
    }

    /// Checks what a version depends on.
    fn check(&mut self, key: Key, stamp: Stamp, mut near: Deps, cx: &mut Cx<'_, Self>) {
        near.retain(|dep| dep.partition != cx.me.partition || !newer_is_there(dep, cx));
        near.retain(|dep| dep.partition == cx.me.partition || ASKS_SIBLINGS.kept());
        self.checks.version(key, stamp, &near);
    }

    /// Does what waits for nothing any more, and says what there is to say.
    fn go_on(&mut self, cx: &mut Cx<'_, Self>) {
        while let Some(dependant) = self.checks.met() {
            match dependant {
                Dependant::Version(d) => {
                    self.clock = self.clock.max(d.stamp.ts); // 6
                    d.show(APPLIED_SURVIVES.kept(), |meta: &mut Meta| *meta = Meta::default(), cx); // D3
                    trim(&d.key, cx);
                }
                Dependant::Session(ticket, context, _) => self.reply(ticket, Outcome::Adopted, context, cx),
            }
        }
        self.checks.send(Peer::Check, cx);
    }

    fn reply(&self, ticket: Ticket, outcome: Outcome, seen: Context, cx: &mut Cx<'_, Self>) {
        let known = match FORGETS_ONLY_EVERYWHERE.kept() {
            _ if !FORGETS.kept() => Vector::default(),
            true => self.everywhere.get().clone(),
            false => self.checks.applied(self.clock),
        };
        cx.reply(ticket, Reply(outcome, seen, known));
    }

    /// Moves the clock, and keeps the durable ceiling above it.
    fn advance(&mut self, clock: Hlc, cx: &mut Cx<'_, Self>) {
        self.clock = clock;
        self.ceiling.renew(clock, Vector::default, cx);
    }
}

/// A dependency on a version of `key`, which is here.
fn dep(key: &Key, partition: PartitionId, stamp: Stamp) -> Dep {
    let scope = if CHECKS_THAT_UPDATE.kept() { Scope::One } else { Scope::Newer(key.clone()) };
    Dep { partition, stamp, scope }
}

/// Whether a dependency as published is met: "the current version number is at least that" (E-4).
fn newer_is_there(dep: &Dep, cx: &Cx<'_, Cops>) -> bool {
    match &dep.scope {
        Scope::Newer(key) => cx.latest(key, &()).is_some_and(|d| d.stamp >= dep.stamp),
        Scope::One | Scope::UpTo => false,
    }
}

/// Keeps one version of `key`, if none waits (I3).
fn trim(key: &Key, cx: &mut Cx<'_, Cops>) {
    if !SPARES_WAITING.kept() || !cx.store.chain(key).any(|d| d.meta.waits) {
        cx.store.keep_newest(key);
    }
}

/// A session.
pub struct Client {
    /// Its past is its context.
    token: Token<Context>,
    /// The read that runs.
    parts: Parts<Found>,
    /// It is a get: one key, and no list.
    single: bool,
}

impl Session<Cops> for Client {
    type Token = Token<Context>;

    fn open(home: DcId) -> Self {
        let token = Token { home, past: Context::default() };
        Self { token, parts: Parts::default(), single: false }
    }

    fn begin(&mut self, op: Op, cx: &mut SessionCx<'_, Cops>) {
        let Some(server) = cx.begin(&op) else { return };
        self.single = matches!(op, Op::Get { .. });
        let request = match op {
            Op::Get { key } => return self.parts = Parts::ask(&[key], Request::Read, cx), // 1
            Op::Rotx { keys } | Op::Snapshot { keys } => {
                return self.parts = Parts::ask(&keys, Request::Read, cx); // D5
            }
            Op::Put { key, update } => Request::Put(key, update, self.token.past.clone()), // 2
            walk => Request::Walk(Walk::of(&walk)),
        };
        cx.ask(server, request);
    }

    fn on_reply(&mut self, ask: AskId, from: ServerId, reply: Reply, cx: &mut SessionCx<'_, Cops>) {
        let Reply(outcome, seen, everywhere) = reply;
        let past = &mut self.token.past;
        let put = matches!(outcome, Outcome::Written { stamp: Some(_), .. });
        if put {
            past.near = Deps::default(); // 2
        }
        past.clock = past.clock.max(seen.clock);
        if if put { PUT_IS_NEAR.kept() } else { READS_ARE_NEAR.kept() } {
            past.merge(&seen); // I2
        }
        past.near.settle(from.partition, &everywhere); // D4
        past.near.bound(most_deps());
        match outcome {
            Outcome::FoundAll(found) => {
                self.parts.heard(ask, found);
                let Some(mut found) = self.parts.whole() else { return };
                cx.done(if self.single { Outcome::Found(found.remove(0)) } else { Outcome::FoundAll(found) });
            }
            outcome => cx.done(outcome),
        }
    }

    fn token(&self) -> Token<Context> {
        self.token.clone()
    }

    fn adopt(&mut self, Token { home, past }: Token<Context>, cx: &mut SessionCx<'_, Cops>) {
        if home == self.token.home {
            self.token.past.merge(&past);
            return cx.done(Outcome::Adopted);
        }
        let partition = past.near.iter().next().map_or_else(Default::default, |dep| dep.partition);
        cx.ask_partition(partition, Request::Cover(past)); // D6
    }
}
